//! The name by which programs load the library, and that it stays loaded: its threads run its code.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsinew.so.0");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
