//! Builds the library that is loaded into programs, with the compiler that builds this crate, so
//! that the command contains it.
//!
//! It needs no network and no other crate: it is one folder of source. If it cannot be built
//! (another system than GNU/Linux, or no linker for the target), an empty file replaces it, and the
//! command prints the reason when the library is needed.

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
        // An empty library tells the crate that the build failed; the other file has the reason.
        for (path, text) in [(library, ""), (folder.join("preload.why"), why.as_str())] {
            std::fs::write(path, text).expect("the build folder can be written");
        }
    } else {
        std::fs::write(folder.join("preload.why"), "").expect("the build folder can be written");
    }
}

/// Whether the target can have a library.
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
    // The name under which TBB looks for a manager of its workers.
    command.args(["-C", "link-arg=-Wl,-soname,libtcm.so.1"]);
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
