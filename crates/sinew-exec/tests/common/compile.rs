//! C programs for both OpenMP runtimes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Whether to run everything, and not only what takes a few seconds.
pub(crate) fn is_deep() -> bool {
    std::env::var_os("SINEW_DEEP").is_some()
}

/// Compilers that can build OpenMP programs here.
pub(crate) fn compilers() -> Vec<&'static str> {
    static FOUND: OnceLock<Vec<&'static str>> = OnceLock::new();
    FOUND.get_or_init(look_for_compilers).clone()
}

fn look_for_compilers() -> Vec<&'static str> {
    let names = [
        "gcc", "clang", "clang-14", "clang-15", "clang-16", "clang-17", "clang-18", "clang-19",
        "clang-20",
    ];
    let mut found: Vec<&str> = names.into_iter().filter(|name| builds_openmp(name)).collect();
    if !found.contains(&"gcc") {
        println!("skipped: gcc, which cannot build OpenMP programs here");
    }
    // One clang is enough.
    let mut clangs = 0;
    found.retain(|name| {
        !name.starts_with("clang") || {
            clangs += 1;
            clangs == 1
        }
    });
    if clangs == 0 {
        println!("skipped: clang, which cannot build OpenMP programs here");
    }
    found
}

pub(crate) fn builds_openmp(compiler: &str) -> bool {
    let folder = tempfile::tempdir().expect("a temporary folder");
    build(
        compiler,
        folder.path(),
        "int main(void) {\n#pragma omp parallel\n;\nreturn 0; }",
        "probe",
        &[],
    )
    .is_some_and(|program| Command::new(program).status().is_ok_and(|status| status.success()))
}

/// Compiles `source`; `None` if that fails.
pub(crate) fn build(
    compiler: &str,
    folder: &Path,
    source: &str,
    name: &str,
    flags: &[&str],
) -> Option<PathBuf> {
    let (file, program) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&file, source).ok()?;
    let mut command = Command::new(compiler);
    command.args(["-fopenmp", "-O1", "-o"]).arg(&program).arg(&file).args(flags).arg("-ldl");
    let output = command.output().ok()?;
    output.status.success().then_some(program)
}

pub(crate) fn plain(program: &Path, arguments: &[&OsStr]) -> String {
    let mut command = Command::new(program);
    // Short spins: this is no measurement, and other tests run on the same cores.
    command.env_remove("OMP_NUM_THREADS").env("GOMP_SPINCOUNT", "1000").env("KMP_BLOCKTIME", "1");
    let output = command.args(arguments).output().expect("the program");
    text(&output, "plain")
}

pub(crate) fn text(output: &Output, what: &str) -> String {
    assert!(
        output.status.success(),
        "{what}: {:?} {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    // LLVM's runtime complains of correct programs. Output of this project, or of the dynamic
    // linker, is an error.
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!error.contains("sinew") && !error.contains("ld.so"), "{what}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) const MODES: [&[&str]; 2] = [&[], &["--malleable"]];
