//! `sinew-lab sim`, started like a user does.
//!
//! Blind to: progress on a terminal.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

fn sim(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sinew-lab"))
        .arg("sim")
        .args(words)
        .output()
        .expect("the command starts")
}

fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect()
}

/// Catches: a run that does not repeat, a row too many or too few, a table that differs from the
/// file.
#[test]
fn a_table_has_a_row_for_each_run_and_repeats_and_can_be_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs.csv");
    let path = path.to_str().expect("a name in UTF-8");
    let words =
        ["tree:8", "--workers", "2,8", "--victims", "random", "--victims", "set", "--csv", path];
    let (first, second) = (sim(&words), sim(&words));
    assert!(first.status.success());
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(lines(&first.stdout).len(), 2 + 4);
    // A worker has one activity at a time, and each activity has a column.
    for row in &lines(&first.stdout)[2..] {
        let cells: Vec<&str> = row.split_whitespace().collect();
        let shares = cells[9..14].iter().map(|cell| cell.parse::<f64>().expect("a share"));
        assert!((shares.sum::<f64>() - 100.0).abs() < 0.5, "{row}");
    }
    let csv = fs::read_to_string(path).expect("a file");
    assert!(csv.starts_with("workers,victims,") && csv.contains("\n8,\"set:12,4\","), "{csv}");
}

/// Catches: a figure without a line for each sample size.
#[test]
fn the_figure_on_sampling_has_a_row_for_each_sample_size() {
    let out = sim(&["sampling", "--workers", "2,4", "--runs", "1"]);
    assert!(out.status.success());
    assert_eq!(lines(&out.stdout).len(), 2 + 2 * 5);
}

/// Catches: invalid input that is accepted, explained in several lines, or not named.
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
        (&["ranks:each=none"], "each=none"),
        (&["ranks:stop=7@1", "--workers", "4"], "4 ranks"),
        (&["tree:8", "--schedule", "static"], "tree:8"),
        (&["programs", "--policy", "fair"], "fair"),
        (&["programs", "--machine", "package:64 core:32"], "2048"),
        (&["programs", "--mix", "/nowhere/at/all"], "/nowhere/at/all"),
        (&["graph:/nowhere/at/all"], "/nowhere/at/all"),
        (&["tree:8", "--costs", "/nowhere/at/all"], "/nowhere/at/all"),
        (&["tree:8", "--idle", "sleep"], "sleep"),
        (&["loop:9", "--schedule", "static", "--machine", "core:0"], "core:0"),
        (&["loop:9", "--schedule", "static", "--slow", "0.5"], "0.5"),
        (&["loop:9", "--schedule", "static", "--cost", "wake=1"], "wake"),
        (&["sampling", "--machine", "core:0"], "core:0"),
        (&["worklist:units=9", "--machine", "core:0", "--workers", "2"], "core:0"),
        (&["worklist:units=9", "--costs", "/nowhere/at/all"], "/nowhere/at/all"),
        (&["worklist:reads=99999"], "99999"),
        (&["programs", "--costs", "/nowhere/at/all"], "/nowhere/at/all"),
        (&["programs", "--cost", "steal=5"], "steal"),
        (&["programs", "--cost", "delay=exp:5"], "delay=exp:5"),
        (&["programs", "--cost", "period=0"], "0 s"),
        (&["domains:9", "--script", "/nowhere/at/all"], "/nowhere/at/all"),
        (&["domains:9", "--cost", "far=0.5"], "0.5"),
        (&["tree:3", "--cost", "contention=2,0.5"], "`0.5`"),
        (&["tree:3", "--cost", "factors=1,-7"], "`-7`"),
        (&["tree:3", "--cost", "refill=soon"], "`soon`"),
        (&["loop:9", "--schedule", "static", "--cost", "contention=2"], "contention"),
        (&["--validate", "--cost", "factors=2"], "factors"),
        (&["domains:9", "--workers", "2,99"], "99 workers"),
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

/// Catches: a file that is read in part, and an incomplete file that is accepted.
#[test]
fn files_that_are_damaged_are_one_line_with_their_name_and_status_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let cut = written(&folder, "cut.graph", "sinew graph 1\n0: 5(1|2)\n0: 5(1|");
    let costs = written(&folder, "bad.costs", "sinew costs 1\nsteal -5\n");
    let factors = written(&folder, "odd.costs", "sinew costs 1\nfactors 1 -7\n");
    let top = written(&folder, "cut.json", r#"{"programs": [{"program": "a", "#);
    let mix = written(&folder, "bad.mix", "kind a\nprogram b work 1\n");
    let script = written(&folder, "bad.script", "sometimes a threads 1\n");
    for (words, says) in [
        (&[format!("graph:{cut}").as_str()][..], ["cut.graph", "cut off"]),
        (&["tree:3", "--costs", &costs], ["bad.costs", "`-5`"]),
        (&["tree:3", "--costs", &factors], ["odd.costs", "`-7`"]),
        (&["programs", "--mix", &mix], ["bad.mix", "line 2"]),
        (&["programs", "--mix", &top], ["cut.json", "sinew top"]),
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

/// Catches: a worklist or a cluster that cannot run from the command line, or lacks a row for a
/// case.
#[test]
fn worklists_and_programs_have_a_row_for_each_case() {
    let lists = sim(&["worklist:units=500,writes=3", "--workers", "1,4", "--path"]);
    assert!(lists.status.success(), "{lists:?}");
    assert!(
        lines(&lists.stdout).len() > 4
            && String::from_utf8_lossy(&lists.stdout).contains("epoch,epochs,")
    );
    let fixed = sim(&["worklist:units=500", "--workers", "4", "--tune", "4 threads, stealing"]);
    assert!(String::from_utf8_lossy(&fixed.stdout).contains("4 threads, stealing"), "{fixed:?}");
    let domains = sim(&["domains:200", "--machine", "package:2 core:2"]);
    assert_eq!(lines(&domains.stdout).len(), 2 + 12, "{domains:?}");
    let ranks = sim(&["ranks:each=5000,stop=2@1", "--workers", "1,3,8"]);
    assert_eq!(ranks.status.code(), Some(2), "one rank has no rank 2: {ranks:?}");
    let ranks = sim(&["ranks:each=5000,stop=2@1", "--workers", "3,8"]);
    assert_eq!(lines(&ranks.stdout).len(), 2 + 2 + 2, "{ranks:?}");
    let programs = sim(&["programs", "--programs", "12", "--machines", "2", "--machine", "core:4"]);
    assert!(programs.status.success(), "{programs:?}");
    assert_eq!(lines(&programs.stdout).len(), 2 + 6);
}

/// Catches: a schedule that cannot be simulated from the command line.
#[test]
fn a_loop_has_a_row_for_each_schedule() {
    let out = sim(&[
        "loop:500,heavy",
        "--workers",
        "2,8",
        "--schedule",
        "static",
        "--schedule",
        "dynamic:4",
    ]);
    assert!(out.status.success(), "{out:?}");
    assert_eq!(lines(&out.stdout).len(), 2 + 4);
}

/// Catches: a recording that is not written, cannot be read, or has lost tasks.
#[test]
fn what_a_run_records_can_be_simulated_on_other_machines() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, size) in [("nqueens", "10"), ("heat", "small"), ("multisort", "small")] {
        let path = folder.path().join(name);
        let path = path.to_str().expect("a name in UTF-8");
        let words = ["run", name, "--size", size, "--threads", "2", "--record", path];
        let run = Command::new(env!("CARGO_BIN_EXE_sinew-lab"))
            .args(words)
            .output()
            .expect("the command starts");
        assert!(run.status.success(), "{run:?}");
        let graph = format!("graph:{path}");
        let out = sim(&[
            &graph,
            "--workers",
            "1,2,16",
            "--costs",
            &written(&folder, "costs", "sinew costs 1\n"),
        ]);
        assert!(out.status.success(), "{name}: {out:?}");
        let speeds: Vec<f64> = lines(&out.stdout)[2..]
            .iter()
            .map(|row| {
                row.split_whitespace()
                    .nth(3)
                    .and_then(|cell| cell.parse().ok())
                    .expect("a speed-up")
            })
            .collect();
        // The gain depends on how busy the machine was during the recording.
        assert!(speeds[0] <= 1.0 && (0.5..=2.0).contains(&speeds[1]), "{name}: {speeds:?}");
        let text = fs::read_to_string(path).expect("a recording");
        assert!(text.matches('|').count() > 20, "{name}: {text}");
    }
}

/// Catches: measured costs that cannot be read.
#[test]
fn measured_costs_can_be_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = written(&folder, "costs", "");
    let out = sim(&["--calibrate", &path]);
    assert!(out.status.success(), "{out:?}");
    assert!(fs::read_to_string(&path).expect("costs").starts_with("sinew costs 1\nspawn "));
    assert!(sim(&["tree:6", "--costs", &path]).status.success());
}

/// Catches: an option that is silently ignored.
#[test]
fn what_is_given_in_vain_is_said() {
    for (words, options) in [
        (&["domains:20", "--victims", "random", "--runs", "3"][..], &["--victims", "--runs"][..]),
        (&["programs", "--programs", "3", "--policy", "equal", "--workers", "2"], &["--workers"]),
        (
            &["worklist:units=9", "--schedule", "static", "--stack", "open"],
            &["--stack", "--schedule"],
        ),
        (&["worklist:units=9", "--machine", "core:4", "--workers", "2"], &["--machine"]),
        (&["loop:9", "--schedule", "static", "--wait", "any", "--sweeps", "2"], &["--wait"]),
        (
            &["sampling", "--workers", "2", "--runs", "1", "--free", "--idle", "spin"],
            &["--idle", "--free"],
        ),
        (&["tree:3", "--machines", "3", "--leaf", "5"], &["--machines"]),
        (&["tree:3", "--cost", "factors=3", "--cost", "contention=2"], &["factors"]),
    ] {
        let out = sim(words);
        assert!(out.status.success(), "{words:?}: {out:?}");
        let notes: Vec<String> = lines(&out.stderr)
            .into_iter()
            .filter(|line| line.starts_with("sinew-lab: note: "))
            .collect();
        let named = |option: &&&str| notes.iter().any(|note| note.contains(**option));
        assert_eq!(notes.len(), options.len(), "{words:?}: {notes:?}");
        assert!(options.iter().all(|option| named(&option)), "{words:?}: {notes:?}");
    }
}

/// Catches: a cost that is parsed and not used.
#[test]
fn every_kind_of_simulation_has_costs_that_can_be_set() {
    for (words, costs) in [
        (
            &["worklist:units=300", "--workers", "4"][..],
            &["access=900", "transaction=900", "look=9000"][..],
        ),
        (&["worklist:units=300,variables=20", "--workers", "4"], &["abort=90000"]),
        (
            &["programs", "--programs", "9", "--policy", "efficiency"],
            &["move_cost=1e9", "delay=0", "period=1e9"],
        ),
        (&["domains:99"], &["spawn=9000", "take=0", "far=3", "bound=2"]),
        (&["loop:99", "--schedule", "dynamic"], &["attempt=900", "steal=900"]),
        (&["series:4,9,200000", "--workers", "4"], &["wake=0", "join=900"]),
        (
            &["tree:8", "--workers", "4", "--machine", "package:2 core:2"],
            &["factors=9", "factors=none", "refill=0,uniform:9000,20000", "contention=1.5,2"],
        ),
    ] {
        let usual = sim(words).stdout;
        for cost in costs {
            let out = sim(&[words, &["--cost", cost]].concat());
            assert!(out.status.success() && out.stdout != usual, "{words:?} {cost}: {out:?}");
        }
    }
}

/// Catches: sweeps without memory, a default number of workers that ignores the machine, slow
/// workers that are fast.
#[test]
fn a_loop_can_be_swept_several_times_on_the_workers_of_a_machine() {
    let words =
        ["loop:2000,decreasing", "--schedule", "affinity", "--machine", "core:4", "--sweeps", "3"];
    let out = sim(&words);
    let rows: Vec<Vec<String>> = lines(&out.stdout)[2..]
        .iter()
        .map(|row| row.split_whitespace().map(str::to_owned).collect())
        .collect();
    assert!(rows.len() == 3 && rows.iter().all(|row| row[0] == "4"), "{out:?}");
    let steals = |row: &Vec<String>| row[9].parse::<u32>().expect("steals");
    assert!(steals(&rows[2]) < steals(&rows[0]), "{rows:?}");
    assert_ne!(out.stdout, sim(&[&words[..], &["--slow", "1,2"]].concat()).stdout);
}

/// Catches: a rule for idle workers that is parsed and not used.
#[test]
fn idle_workers_can_do_as_the_runtime_does() {
    let rows = |idle: &str| sim(&["series:4,9,200000", "--workers", "4", "--idle", idle]).stdout;
    let rows = ["park:4", "spin", "adaptive"].map(rows);
    assert!(rows[0] != rows[1] && rows[1] != rows[2] && rows[0] != rows[2], "{rows:?}");
}

/// Catches: measured speeds of real programs that cannot be simulated.
#[test]
fn what_top_has_measured_can_be_simulated() {
    let folder = tempfile::tempdir().expect("a folder");
    let top = r#"{"cpus": 2, "policy": "efficiency", "programs": [
        {"program": "fib", "pid": 3, "watchdog": null, "min": 1, "max": 2, "weight": 1.0,
         "speeds": [[1, 5.0e8], [2, 9.0e8]]}], "decisions": []}"#;
    let top = written(&folder, "top.json", top);
    let out = sim(&[
        "programs",
        "--mix",
        &top,
        "--programs",
        "12",
        "--machine",
        "core:4",
        "--policy",
        "equal",
    ]);
    assert!(out.status.success(), "{out:?}");
    let row: Vec<String> = lines(&out.stdout)[2].split_whitespace().map(str::to_owned).collect();
    let [ended, died] = [1, 2].map(|at: usize| row[at].parse::<u32>().expect("a number"));
    assert_eq!(ended + died, 12, "{row:?}");
}

/// A child that is interrupted as soon as a line on standard error begins with `begins`; returns
/// its output.
fn interrupted(words: &[&str], begins: &str) -> (Output, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sinew-lab"))
        .arg("sim")
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.starts_with(begins) {
        line.clear();
        // By then it handles the signal.
        assert!(errors.read_line(&mut line).expect("a line") > 0, "no line begins with {begins}");
    }
    let killed =
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(killed.success());
    let reader = std::thread::spawn(move || {
        let mut rest = String::new();
        errors.read_to_string(&mut rest).expect("text");
        rest
    });
    let out = child.wait_with_output().expect("it ends");
    (out, reader.join().expect("text"))
}

/// Catches: an interrupted run that continues, or whose results are lost.
#[test]
fn an_interrupted_run_shows_what_it_has_done() {
    for (words, begins, rows) in [
        (&["tree:40", "--workers", "4,8"][..], "[1/2] 4 workers", 1),
        (&["domains:100000000", "--machine", "package:4 core:4"], "[1/12] 16 workers", 1),
        (
            &["loop:100000", "--schedule", "dynamic", "--sweeps", "1000000"],
            "[1/1000000] 2 workers",
            1,
        ),
        (&["--validate", "--runs", "1000000000"], "[1/8] nqueens", 0),
    ] {
        let (out, rest) = interrupted(words, begins);
        assert_eq!(out.status.code(), Some(1), "{words:?}: {rest}");
        assert!(lines(&out.stdout).len() >= 2 + rows, "{words:?}: {out:?}");
        assert!(rest.contains("stopped before the end"), "{words:?}: {rest}");
    }
}

/// Catches: an interrupted calibration that continues. It would not end otherwise, because its
/// output is not read.
#[test]
fn an_interrupted_calibration_ends_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("costs");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let pipe = pipe.to_str().expect("a name in UTF-8");
    let (out, _) = interrupted(&["--calibrate", pipe], "measuring");
    assert_eq!((out.status.code(), out.stdout.len()), (Some(130), 0));
}
