//! `sinew sim`, started as a user would.
//!
//! What this would miss: how progress looks on a terminal.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

fn sim(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sinew")).arg("sim").args(words).output().expect("the command starts")
}

fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
}

/// Would miss: a run that does not repeat, a row too many or too few, a table that is not the file's.
#[test]
fn a_table_has_a_row_for_each_run_and_repeats_and_can_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.csv");
    let path = path.to_str().expect("a name in UTF-8");
    let words = ["tree:8", "--workers", "2,8", "--victims", "random", "--victims", "set", "--csv", path];
    let (first, second) = (sim(&words), sim(&words));
    assert!(first.status.success());
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(lines(&first.stdout).len(), 2 + 4);
    let csv = fs::read_to_string(path).expect("a file");
    assert!(csv.starts_with("workers,victims,") && csv.contains("\"8\",\"set:12,4\","), "{csv}");
}

/// Would miss: a figure without a line for each sample size.
#[test]
fn the_figure_on_sampling_has_a_row_for_each_sample_size() {
    let out = sim(&["sampling", "--workers", "2,4", "--runs", "1"]);
    assert!(out.status.success());
    assert_eq!(lines(&out.stdout).len(), 2 + 2 * 5);
}

/// Would miss: bad input that is run, explained at length, or not named.
#[test]
fn bad_input_is_one_line_and_status_2() {
    for (words, says) in [
        (&["trees:8"][..], "trees:8"),
        (&["tree:8", "--machine", "core:0"], "core:0"),
        (&["tree:8", "--machine", "core:2", "--workers", "3"], "3 workers"),
        (&["tree:8", "--cost", "steal=-3"], "-3"),
        (&["tree:8", "--cost", "coffee=3"], "coffee"),
        (&["tree:8", "--leaf", "-1"], "-1"),
        (&["tree:8", "--workers", "0"], "0"),
        (&["tree:8", "--wait", "sleep"], "sleep"),
        (&["tree:8", "--free", "--spin"], "for ever"),
        (&["sampling", "--workers", "9999999"], "9999999"),
    ] {
        let out = sim(words);
        assert_eq!(out.status.code(), Some(2), "{words:?}");
        let errors = lines(&out.stderr);
        assert!(errors.len() == 1 && errors[0].contains(says), "{words:?}: {errors:?}");
    }
}

/// Would miss: a long run that is lost, or goes on, when its user has had enough.
#[test]
fn an_interrupted_run_shows_what_it_has_done() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sinew"))
        .args(["sim", "tree:40", "--workers", "4,8"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    // By then it listens.
    errors.read_line(&mut line).expect("a line");
    assert!(line.starts_with("[1/2] 4 workers"), "{line}");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success());
    let out = child.wait_with_output().expect("it ends");
    let mut rest = String::new();
    errors.read_to_string(&mut rest).expect("text");
    assert_eq!((out.status.code(), lines(&out.stdout).len()), (Some(1), 3), "{rest}");
    assert!(rest.contains("stopped before the end"), "{rest}");
}
