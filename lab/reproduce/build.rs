//! Notes what the program is built from and with: a report names the commit, the compiler and the
//! level of optimisation.

use std::env;
use std::process::Command;

fn main() {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let compiler =
        output(&rustc, &["--version"]).unwrap_or_else(|| "an unknown compiler".to_owned());
    let level = env::var("OPT_LEVEL").unwrap_or_else(|_| "unknown".to_owned());
    println!("cargo::rustc-env=REPRODUCE_COMPILER={compiler}");
    println!("cargo::rustc-env=REPRODUCE_OPT_LEVEL={level}");
    println!(
        "cargo::rustc-env=REPRODUCE_COMMIT={}",
        commit().unwrap_or_else(|| "unknown".to_owned())
    );
    println!("cargo::rerun-if-changed=build.rs");
}

/// The commit that is checked out, marked if files differ from it. Looked up again after each
/// commit and checkout.
fn commit() -> Option<String> {
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"])?;
    let log = output("git", &["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    let changes = output("git", &["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changes.is_empty() { commit } else { format!("{commit} with changes") })
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
