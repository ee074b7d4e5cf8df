//! Data per thread that another object keeps: a lowered team would leave out the parts of the
//! missing threads.
//!
//! Each run checks the kinds that differ most, in few rounds; `SINEW_DEEP=1` checks all of them, in
//! many.
//!
//! Blind to: objects that are loaded while the region that calls into them runs.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use common::compile::{MODES, build, compilers, is_deep, plain};
use common::{flapping, two_cpus, words};

const THREAD_DATA: &str = include_str!("openmp/thread_data.c");
const COUNTS: &str = include_str!("openmp/counts.c");

fn library_with_data(compiler: &str, folder: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let flags: Vec<&str> = ["-shared", "-fPIC"].into_iter().chain(flags.iter().copied()).collect();
    build(compiler, folder, THREAD_DATA, name, &flags).expect("a library")
}

/// The number of rounds of the program.
fn rounds() -> &'static str {
    if is_deep() { "-DROUNDS=1000" } else { "-DROUNDS=40" }
}

/// Runs a program in both modes while its share changes.
fn nothing_is_missing(compiler: &str, program: &Path, arguments: &[&OsStr], cpus: [usize; 2]) {
    assert_eq!(plain(program, arguments), "0\n", "{compiler} {arguments:?} plain");
    for mode in MODES {
        let wrong = flapping(&words(mode), program, arguments, cpus);
        assert_eq!(wrong, "0\n", "{compiler} {mode:?} {arguments:?} {}", program.display());
    }
}

#[test]
fn data_per_thread_of_a_linked_object_is_complete() {
    let Some(cpus) = two_cpus() else { return };
    for compiler in compilers() {
        let folder = tempfile::tempdir().unwrap();
        let library = library_with_data(compiler, folder.path(), "libdata.so", &[]);
        let place = format!("-Wl,-rpath,{}", folder.path().display());
        for kind in ["LINKED", "NAMED"].into_iter().take(if is_deep() { 2 } else { 1 }) {
            let flags = [&format!("-D{kind}"), rounds(), library.to_str().unwrap(), &place];
            let program = build(compiler, folder.path(), COUNTS, kind, &flags);
            nothing_is_missing(compiler, &program.expect("a program"), &[], cpus);
        }
    }
}

#[test]
fn data_per_thread_of_an_object_that_is_loaded_later_is_complete() {
    let Some(cpus) = two_cpus() else { return };
    for compiler in compilers() {
        let folder = tempfile::tempdir().unwrap();
        let looked_up = library_with_data(compiler, folder.path(), "libdata.so", &[]);
        let registers =
            library_with_data(compiler, folder.path(), "libregisters.so", &["-DREGISTERS"]);
        let program =
            build(compiler, folder.path(), COUNTS, "loads", &["-pthread", "-rdynamic", rounds()]);
        let program = program.expect("a program");
        let ways = [
            ("loads", &looked_up),
            ("stays", &registers),
            ("ends", &registers),
            ("registers", &registers),
        ];
        for (how, library) in ways.into_iter().take(if is_deep() { 4 } else { 2 }) {
            nothing_is_missing(compiler, &program, &[OsStr::new(how), library.as_os_str()], cpus);
        }
    }
}
