//! `sinew-lab run NAME --ranks N`, started like a user does.
//!
//! Blind to: ranks over MPI, whose tests are in `sinew-dist`, and progress, which takes a second.

use std::fs;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn run(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew-lab"));
    command.arg("run").args(words).stdin(Stdio::null());
    for name in ["SINEW_THREADS", "SINEW_COORDINATE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"] {
        command.env_remove(name);
    }
    command
}

fn good(words: &[&str]) -> String {
    let output = run(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The one line on standard error of a command that has status 2.
fn refused(output: &Output) -> String {
    let message = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.lines().count() == 1 && output.stdout.is_empty(), "{message}");
    message
}

/// A folder of real text.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

#[test]
fn every_application_over_ranks_has_the_answer_of_one_thread() {
    for words in [
        &["uts", "--size", "tiny"][..],
        &["nqueens", "--size", "8"],
        &["wordcount", "--path", SOURCES],
        &["jacobi", "--size", "tiny"],
    ] {
        for ranks in ["1", "3"] {
            let text = good(&[words, &["--ranks", ranks, "--repeat", "2"]].concat());
            let head = format!("ranks: {ranks}, workers: {ranks}, runs: 2");
            assert!(text.contains(&head) && text.contains("(right)"), "{text}");
        }
    }
}

/// Catches: a report of rank 0 alone, and counts of one rank under the number of another.
#[test]
fn one_report_and_one_timeline_hold_all_ranks_with_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let [trace, report] = ["trace.json", "run.json"].map(|name| folder.path().join(name));
    let trace_name = trace.to_str().unwrap();
    let words = ["nqueens", "--size", "9", "--ranks", "3", "--threads", "2"];
    let text = good(&[&words[..], &["--json", "--trace", trace_name]].concat());
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&json["ranks"], &json["workers"]), (&3.into(), &6.into()), "{text}");
    let ranks = json["by_rank"].as_array().unwrap();
    assert!(ranks.iter().map(|one| &one["rank"]).eq([0, 1, 2]), "{text}");
    assert!(ranks.iter().all(|one| one["traffic"]["sent"].as_u64() > Some(0)), "{text}");
    let units: u64 = ranks.iter().filter_map(|one| one["bag"]["run"].as_u64()).sum();
    // A unit is a board on which no queen attacks another, filled row by row.
    assert_eq!(units, 8_394, "{text}");

    let trace: Value = serde_json::from_str(&fs::read_to_string(trace).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |event: &&Value| event["name"] == "process_name";
    let names = events.iter().filter(named).map(|event| &event["args"]["name"]);
    assert!(names.eq(["nqueens, rank 0", "nqueens, rank 1", "nqueens, rank 2"]));
    for process in 1..=3 {
        let all =
            |name| events.iter().filter(move |one| one["ph"] == name && one["pid"] == process);
        // A worker for which nothing was left has no span.
        let times = [0, 1].map(|worker| {
            let spans = all("X").filter(|span| span["tid"] == worker);
            spans.map(|span| span["ts"].as_f64().unwrap()).collect::<Vec<_>>()
        });
        assert!(times.iter().any(|times| !times.is_empty()));
        assert!(times.iter().all(|times| times.is_sorted() && times.iter().all(|at| *at >= 0.0)));
    }

    fs::write(&report, text).unwrap();
    let page = folder.path().join("page.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew-lab"));
    command.arg("report").arg(&report).arg("--out").arg(&page);
    assert!(command.output().unwrap().status.success());
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains(">ranks<") && page.contains(">by_rank<"), "{page}");
}

#[test]
fn what_does_not_run_over_ranks_is_refused_in_one_line() {
    for (words, part) in [
        (&["fib", "--ranks", "2"][..], "uts"),
        (&["uts", "--ranks", "0"], "--ranks"),
        (&["uts", "--ranks", "2", "--size", "T9"], "T1"),
        (&["uts", "--ranks", "2", "--tune", "auto"], "--tune"),
        (&["wordcount", "--ranks", "2"], "--path"),
    ] {
        let message = refused(&run(words).output().unwrap());
        assert!(message.contains(part), "{message}");
    }
}

/// Catches: a job that runs once a process, or with another number of ranks than it was told.
#[test]
fn ranks_of_mpirun_are_as_many_as_are_told_and_need_mpi() {
    let launched = |ranks: &str| {
        let mut command = run(&["uts", "--size", "tiny", "--ranks", ranks]);
        refused(&command.env("OMPI_COMM_WORLD_SIZE", "4").output().unwrap())
    };
    assert!(launched("3").contains("mpirun has started 4 ranks, and --ranks is 3"));
    if cfg!(not(feature = "mpi")) {
        assert!(launched("4").contains("--features mpi"));
    }
}

/// Catches: a report from each rank, and one without the others.
#[test]
fn rank_0_alone_prints_for_all_processes_of_mpirun() {
    let installed = Command::new("mpirun").arg("--version").output().is_ok();
    if !cfg!(feature = "mpi") || !installed {
        println!("skipped: no MPI");
        return;
    }
    let mut command = Command::new("mpirun");
    command.args(["-n", "3", env!("CARGO_BIN_EXE_sinew-lab"), "run", "nqueens", "--size", "8"]);
    command.args(["--ranks", "3", "--json"]).env("OMPI_MCA_rmaps_base_oversubscribe", "yes");
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
        command.env(name, "1");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["by_rank"].as_array().unwrap().iter().map(|one| &one["rank"]).eq([0, 1, 2]));
    assert_eq!(json["right"], true);
}
