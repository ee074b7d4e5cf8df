//! The real binary with a standard output that is not read.
#![cfg(unix)]

use std::io;
use std::process::{Command, Output};

fn unread(words: &[&str]) -> Output {
    // Without a reader from the start, no write can succeed.
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
    command.args(words).stdout(writer).output().expect("the command starts")
}

/// Catches: a panic where a reader has seen enough (`bench | head -1`).
#[test]
fn a_reader_that_has_gone_ends_the_process_and_is_no_error() {
    for words in [&["programs", "--list"][..], &["memory", "--tiny"]] {
        let out = unread(words);
        let error = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success() && error.is_empty(), "{words:?}: {error}");
    }
}

/// Catches: a report that is not written because standard output is closed.
#[test]
fn a_report_is_written_although_nobody_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("report.json");
    let name = file.to_str().expect("a name in UTF-8");
    std::fs::write(&file, "earlier").expect("room");
    assert!(unread(&["memory", "--tiny", "--json", name]).status.success());
    let text = std::fs::read_to_string(&file).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["measurements"][0]["name"], "memory", "{text}");
}

/// Catches: a disk that is full and is taken for a reader that has gone.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_one_line_and_status_1() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
    let out =
        command.args(["programs", "--list"]).stdout(full).output().expect("the command starts");
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(1) && error.lines().count() == 1, "{error}");
    assert!(error.contains("cannot write the output"), "{error}");
}
