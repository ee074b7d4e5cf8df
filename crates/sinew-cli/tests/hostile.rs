//! Invalid command lines: wrong words, numbers and files.
#![cfg(unix)]

use std::fs;
use std::process::{Command, Stdio};

/// A folder with files that a user may name by mistake.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("binary"), b"\xff\xfe").expect("room");
    fs::write(folder.path().join("bad.script"), b"when nobody").expect("room");
    folder
}

/// Words, and a part of the message.
const REFUSED: &[(&[&str], &str)] = &[
    (&["cordinator"], "did you mean `coordinator`"),
    (&[""], "there is no command ``"),
    (&["topo", "--synthetic", "core:99999999999"], "`core:99999999999`"),
    (&["topo", "--synthetic", "cor:2"], "`cor:2`"),
    (&["coordinator", "--policy", "fair"], "`fair`"),
    (&["coordinator", "--policy", "script"], "--script FILE"),
    (&["coordinator", "--script", "missing"], "`missing`"),
    (&["coordinator", "--script", "bad.script"], "bad.script"),
    (&["coordinator", "--script", "binary"], "`binary`"),
    (&["coordinator", "--interval-ms", "99999999999999999999"], "'99999999999999999999'"),
    (&["top", "--json"], "--once"),
    (&["top"], "--once"),
    (&["exec"], "COMMAND"),
    (&["exec", "--weight", "inf", "true"], "'inf'"),
    (&["exec", "--max", "-1", "true"], "'-1'"),
    (&["exec", "--wieght", "2", "true"], "'--weight'"),
];

/// Catches: a wrong command line that runs, hangs, aborts, or is not explained in exactly one line
/// that names the wrong value.
#[test]
fn a_wrong_command_line_is_one_line_that_names_the_value() {
    let folder = folder();
    let before = fs::read_dir(folder.path()).expect("a folder").count();
    for (words, says) in REFUSED {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
        command.current_dir(folder.path()).args(*words).stdin(Stdio::null());
        let out = command.output().expect("the command starts");
        let error = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{words:?}: {error}");
        assert!(out.stdout.is_empty() && error.lines().count() == 1, "{words:?}: {error}");
        assert!(error.starts_with("sinew: ") && error.contains(says), "{words:?}: {error}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), before, "nothing is made");
}
