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
        (&["tree:8", "--stack", "heap"], "heap"),
        (&["worklist:units=9,odd=1"], "odd=1"),
        (&["worklist:variables=0"], "variables"),
        (&["domains:many"], "many"),
        (&["tree:8", "--schedule", "static"], "tree:8"),
        (&["programs", "--policy", "fair"], "fair"),
        (&["programs", "--machine", "package:64 core:32"], "2048"),
        (&["programs", "--mix", "/nowhere/at/all"], "/nowhere/at/all"),
        (&["graph:/nowhere/at/all"], "/nowhere/at/all"),
        (&["tree:8", "--costs", "/nowhere/at/all"], "/nowhere/at/all"),
        (&[], "a program is needed"),
    ] {
        let out = sim(words);
        assert_eq!(out.status.code(), Some(2), "{words:?}");
        let errors = lines(&out.stderr);
        assert!(errors.len() == 1 && errors[0].contains(says), "{words:?}: {errors:?}");
    }
}

fn written(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).expect("a file");
    path.to_str().expect("a name in UTF-8").to_owned()
}

/// Would miss: a file that is half read, and half of one that is taken for the whole.
#[test]
fn files_that_are_damaged_are_one_line_with_their_name_and_status_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let cut = written(&folder, "cut.graph", "sinew graph 1\n0: 5(1|2)\n0: 5(1|");
    let costs = written(&folder, "bad.costs", "sinew costs 1\nsteal -5\n");
    let mix = written(&folder, "bad.mix", "kind a\nprogram b work 1\n");
    let script = written(&folder, "bad.script", "sometimes a threads 1\n");
    for (words, says) in [
        (&[format!("graph:{cut}").as_str()][..], ["cut.graph", "cut off"]),
        (&["tree:3", "--costs", &costs], ["bad.costs", "`-5`"]),
        (&["programs", "--mix", &mix], ["bad.mix", "line 2"]),
        (&["programs", "--script", &script], ["bad.script", "line 1"]),
    ] {
        let out = sim(words);
        assert_eq!(out.status.code(), Some(2), "{words:?}");
        let errors = lines(&out.stderr);
        assert!(
            errors.len() == 1 && says.iter().all(|word| errors[0].contains(word)),
            "{words:?}: {errors:?}"
        );
    }
}

/// Would miss: a worklist or a cluster that does not run from the command line, or without a row for each case.
#[test]
fn worklists_and_programs_have_a_row_for_each_case() {
    let lists = sim(&["worklist:units=500,writes=3", "--workers", "1,4", "--path"]);
    assert!(lists.status.success(), "{lists:?}");
    assert!(
        lines(&lists.stdout).len() > 4 && String::from_utf8_lossy(&lists.stdout).contains("epoch,epochs,")
    );
    let fixed = sim(&["worklist:units=500", "--workers", "4", "--tune", "4 threads, stealing"]);
    assert!(String::from_utf8_lossy(&fixed.stdout).contains("4 threads, stealing"), "{fixed:?}");
    let domains = sim(&["domains:200", "--machine", "package:2 core:2"]);
    assert_eq!(lines(&domains.stdout).len(), 2 + 12, "{domains:?}");
    let programs = sim(&["programs", "--programs", "12", "--machines", "2", "--machine", "core:4"]);
    assert!(programs.status.success(), "{programs:?}");
    assert_eq!(lines(&programs.stdout).len(), 2 + 6);
}

/// Would miss: a schedule that cannot be simulated from the command line.
#[test]
fn a_loop_has_a_row_for_each_schedule() {
    let out = sim(&["loop:500,heavy", "--workers", "2,8", "--schedule", "static", "--schedule", "dynamic:4"]);
    assert!(out.status.success(), "{out:?}");
    assert_eq!(lines(&out.stdout).len(), 2 + 4);
}

/// Would miss: a recording that is not written, cannot be read, or has lost what was spawned.
#[test]
fn what_a_run_records_can_be_simulated_on_other_machines() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, size) in [("nqueens", "10"), ("heat", "small"), ("multisort", "small")] {
        let path = folder.path().join(name);
        let path = path.to_str().expect("a name in UTF-8");
        let words = ["run", name, "--size", size, "--threads", "2", "--record", path];
        let run = Command::new(env!("CARGO_BIN_EXE_sinew")).args(words).output().expect("the command starts");
        assert!(run.status.success(), "{run:?}");
        let graph = format!("graph:{path}");
        let out =
            sim(&[&graph, "--workers", "1,2,16", "--costs", &written(&folder, "costs", "sinew costs 1\n")]);
        assert!(out.status.success(), "{name}: {out:?}");
        let speeds: Vec<f64> = lines(&out.stdout)[2..]
            .iter()
            .map(|row| row.split_whitespace().nth(3).and_then(|cell| cell.parse().ok()).expect("a speed-up"))
            .collect();
        // How much it gains depends on how the machine was shared while it was recorded.
        assert!(speeds[0] <= 1.0 && (0.5..=2.0).contains(&speeds[1]), "{name}: {speeds:?}");
        let text = fs::read_to_string(path).expect("a recording");
        assert!(text.matches('|').count() > 20, "{name}: {text}");
    }
}

/// Would miss: costs that are measured and cannot be used.
#[test]
fn measured_costs_can_be_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = written(&folder, "costs", "");
    let out = sim(&["--calibrate", &path]);
    assert!(out.status.success(), "{out:?}");
    assert!(fs::read_to_string(&path).expect("costs").starts_with("sinew costs 1\nspawn "));
    assert!(sim(&["tree:6", "--costs", &path]).status.success());
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
