//! Builds the library that is loaded into programs, with the compiler that builds this, so that it
//! can be a part of the command.
//!
//! No network and no other crate is needed: it is one folder of source. Where it cannot be built
//! (another system than GNU/Linux, or no linker for the target), an empty file takes its place, and
//! the command says so when it is asked for.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let source = Path::new("../sinew-preload/src");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", source.display());
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let Some(folder) = env::var_os("OUT_DIR").map(PathBuf::from) else { return };
    let library = folder.join("preload.so");
    let failure = match suits() {
        true => compile(&source.join("lib.rs"), &library).err(),
        false => Some("it is for GNU/Linux on x86-64 and aarch64".to_owned()),
    };
    if let Some(why) = failure {
        // An empty file is how the crate knows; its text is what it says then.
        for (path, text) in [(library, ""), (folder.join("preload.why"), why.as_str())] {
            std::fs::write(path, text).expect("the build folder can be written");
        }
    } else {
        std::fs::write(folder.join("preload.why"), "").expect("the build folder can be written");
    }
}

/// Whether there can be a library for what is being built.
fn suits() -> bool {
    let is = |name: &str, values: &[&str]| {
        env::var(name).is_ok_and(|value| values.contains(&value.as_str()))
    };
    is("CARGO_CFG_TARGET_OS", &["linux"])
        && is("CARGO_CFG_TARGET_ENV", &["gnu"])
        && is("CARGO_CFG_TARGET_ARCH", &["x86_64", "aarch64"])
        && is("CARGO_CFG_TARGET_POINTER_WIDTH", &["64"])
}

fn compile(source: &Path, library: &Path) -> Result<(), String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["--edition", "2024", "--crate-name", "sinew_preload", "--crate-type", "cdylib"]);
    command.args([
        "--cfg",
        "sinew_preloaded",
        "-C",
        "opt-level=s",
        "-C",
        "panic=abort",
        "-C",
        "lto=fat",
    ]);
    // Names are bound when they are first needed: old C libraries keep some in libraries that not
    // every program has.
    command.args(["-C", "strip=symbols", "-C", "relro-level=partial"]);
    if let Ok(target) = env::var("TARGET") {
        command.args(["--target", &target]);
    }
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("linker=");
        option.push(linker);
        command.arg("-C").arg(option);
    }
    let output = command.arg(source).arg("-o").arg(library).output();
    let output = output.map_err(|error| format!("the compiler cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    let first = messages.lines().find(|line| line.starts_with("error")).unwrap_or("no message");
    Err(format!("its build failed ({first})"))
}
