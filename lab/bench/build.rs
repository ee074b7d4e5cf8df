//! Tells the program which compiler built it, for its reports.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    println!(
        "cargo::rustc-env=BENCH_RUSTC={}",
        version.unwrap_or_else(|_| "unknown compiler".to_owned())
    );
}
