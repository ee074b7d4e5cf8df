//! The real binary measures by the number of threads.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

fn scale(words: &[&str], out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
    command.args(["scale", "--tiny", "--threads", "1,2", "--out"]).arg(out).args(words);
    command
}

fn json(out: &Path) -> serde_json::Value {
    let text = std::fs::read(out.with_extension("json")).expect("a file of results");
    serde_json::from_slice(&text).expect("JSON")
}

fn list(value: &serde_json::Value) -> &[serde_json::Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Catches: a subject that fails in the real binary, a wrong answer, and a run without results.
#[test]
fn every_subject_is_measured_and_every_answer_is_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("scale");
    let run = scale(&["--rounds", "1", "--seconds", "3600"], &out).output().expect("it starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let results = json(&out);
    assert_eq!(results["is_complete"], true);
    let subjects = list(&results["subjects"]);
    assert!(subjects.len() > 25, "{}", subjects.len());
    for subject in subjects {
        assert_eq!(subject["rounds"], 1, "{}", subject["name"]);
        for cell in list(&subject["cells"]) {
            assert!(cell["fault"].is_null(), "{}: {cell}", subject["name"]);
        }
    }
    let page = std::fs::read_to_string(out.with_extension("html")).expect("a page");
    assert!(page.contains("<svg") && page.trim_end().ends_with("</html>"));
}

/// Catches: results that are only written at the end, and files that are cut by an interrupt.
#[test]
fn an_interrupted_run_leaves_what_it_has_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("scale");
    let mut run = scale(&["--seconds", "600", "--only", "fib"], &out)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(run.stderr.take().expect("piped")).lines();
    // The second line comes after the results of the first block.
    assert!(lines.nth(1).is_some_and(|line| line.is_ok()));
    run.kill().expect("it still runs");
    run.wait().expect("it has ended");
    let results = json(&out);
    assert_eq!(results["is_complete"], false);
    assert!(list(&results["subjects"]).iter().any(|one| one["rounds"].as_u64() > Some(0)));
}
