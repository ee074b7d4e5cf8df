//! `sinew-lab report` and `sinew-lab run --trace`, started like a user does.
//!
//! Blind to: the look of a page, and whether Perfetto accepts a timeline.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn sinew(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew-lab"));
    command.args(words).current_dir(folder).output().expect("the command starts")
}

fn complaint(out: &Output) -> String {
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

/// Catches: a kind of result that the command writes and the page does not show.
#[test]
fn results_of_all_commands_become_one_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |words: &[&str]| {
        let out = sinew(folder.path(), words);
        assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
        out.stdout
    };
    fs::create_dir(folder.path().join("all")).expect("a folder");
    let json = run(&["run", "fib", "--size", "tiny", "--json", "--trace", "all/fib.trace.json"]);
    fs::write(folder.path().join("all/fib.json"), json).expect("room");
    run(&["sim", "tree:6", "--workers", "1,2,4", "--csv", "all/tree.csv"]);
    let said = run(&["report", "all", "--out", "page.html", "--title", "Tonight"]);
    assert_eq!(String::from_utf8_lossy(&said), "page.html: 3 results\n");
    let page = fs::read_to_string(folder.path().join("page.html")).expect("a page");
    let (summary, results) = page.split_once("</nav>").expect("a summary first");
    for part in ["all/fib.json", "<td>fib ", ": speed-up ", "a timeline of ", "3 rows of "] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    assert!(results.contains("<th>parallel, s</th>") && results.contains("all values"));
    for part in ["<h1>Tonight</h1>", "<svg", "ui.perfetto.dev"] {
        assert!(page.contains(part), "{part}");
    }
}

/// Catches: an invalid timeline, or one without a worker.
#[test]
fn a_trace_has_spans_of_every_worker() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["run", "fib", "--size", "tiny", "--threads", "2", "--trace", "t.json"];
    assert!(sinew(folder.path(), &words).status.success());
    let trace = fs::read_to_string(folder.path().join("t.json")).expect("a trace");
    let trace: Value = serde_json::from_str(&trace).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let worked = |worker: u64| {
        events.iter().any(|event| {
            event["tid"] == worker && event["ph"] == "X" && event["dur"].as_f64() > Some(0.0)
        })
    };
    assert!(worked(0) && worked(1), "{trace}");
    assert!(events.iter().any(|event| event["name"] == "working"));
}

/// Catches: a page without results, a report that is lost or incomplete.
#[test]
fn what_cannot_be_done_is_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = sinew(folder.path(), &["report"]);
    assert!(complaint(&out).contains("`reproduced`") && out.status.code() == Some(2));
    fs::create_dir(folder.path().join("empty")).expect("a folder");
    let out = sinew(folder.path(), &["report", "empty"]);
    assert!(complaint(&out).contains("no results in `empty`") && out.status.code() == Some(2));
    let cut = folder.path().join("empty/cut.trace.json");
    fs::write(&cut, r#"{"traceEvents": [{"name": "wor"#).expect("room");
    let out = sinew(folder.path(), &["report", "empty/cut.trace.json"]);
    assert!(complaint(&out).contains("cut.trace.json") && out.status.code() == Some(2));
    fs::remove_file(cut).expect("a file");
    fs::write(folder.path().join("a.txt"), "a").expect("room");
    let out = sinew(folder.path(), &["report", "a.txt", "--out", "nowhere/page.html"]);
    assert!(complaint(&out).contains("nowhere/page.html") && out.status.code() == Some(2));
    let out = sinew(folder.path(), &["run", "fib", "--size", "tiny", "--trace", "nowhere/t.json"]);
    assert!(complaint(&out).contains("nowhere/t.json") && out.status.code() == Some(2));
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
}
