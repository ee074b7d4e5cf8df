//! Nothing is built. Cargo asks for a build script wherever `links` is set, and `links` is what
//! keeps two copies of this crate, and so two sets of workers, out of one binary.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
