//! `sinew-lab reproduce`, started like a user does: its output, its files, and its exit status.
//!
//! Blind to: wrong figures. The tests of the reports cover them; here every experiment runs once,
//! at its smallest size.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn sinew(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew-lab"));
    command.arg("reproduce").args(words).stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Asserts one line on standard error, which is returned, and no output.
#[track_caller]
fn refused(output: &Output, status: i32) -> String {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{message}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    let complaints: Vec<&str> =
        message.lines().filter(|line| line.starts_with("sinew-lab: ")).collect();
    assert_eq!(complaints.len(), 1, "{message}");
    complaints[0].to_owned()
}

fn meta(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("meta.json")).unwrap()).unwrap()
}

fn names() -> Vec<String> {
    let list = text(&sinew(&["--list"]).output().unwrap().stdout);
    // The tables and figures follow after an empty line.
    let experiments = list.lines().take_while(|line| !line.is_empty());
    let names = experiments.filter(|line| !line.starts_with(' '));
    names.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

/// Titles of columns that hold parts of a whole in percent.
const PARTS: [&str; 9] = [
    "own domain, %",
    "program, %",
    "library, %",
    "share of the run, %",
    "of the run, %",
    "of the regions, a worker, %",
    "all workers, %",
    "settled after, % of the run",
    "tuner, % of processor time",
];

/// Whether a word is a zero with a minus sign.
fn is_negative_zero(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '-');
    word.starts_with('-') && word.parse() == Ok(0.0_f64)
}

/// Asserts that a page has no negative zero, and that parts of a whole in its tables lie between 0
/// and 100 %. Returns the titles of the parts that it has.
#[track_caller]
fn check_numbers(page: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    // The titles of the present table, while there is one.
    let mut titles: Option<Vec<&str>> = None;
    for line in page.lines() {
        assert!(!line.split_whitespace().any(is_negative_zero), "{line}");
        let Some(row) = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')) else {
            titles = None;
            continue;
        };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let Some(titles) = &titles else {
            found.extend(PARTS.iter().filter(|part| cells.contains(part)));
            titles = Some(cells);
            continue;
        };
        for (title, cell) in titles.iter().zip(&cells) {
            let Ok(number) = cell.parse::<f64>() else { continue };
            let is_part = !PARTS.contains(title) || (0.0..=100.0).contains(&number);
            assert!(is_part, "{title}: {number} in {line}");
        }
    }
    found
}

/// The same for a file of figures, in which only zeros are checked.
#[track_caller]
fn check_figures(figures: &str) {
    let mut cells = figures.lines().flat_map(|line| line.split(','));
    assert!(!cells.any(is_negative_zero), "{figures}");
}

/// Catches: a check that looks at no table, or at the wrong column.
#[test]
fn a_part_of_more_than_all_and_a_negative_zero_are_caught() {
    let page = |part: &str, gain: &str| {
        let titles = "| app | of the run, % | gain, % |\n| --- | ---: | ---: |";
        format!("A\n\n{titles}\n| x | {part} | {gain} |\n")
    };
    assert_eq!(check_numbers(&page("100", "-1728")), ["of the run, %"]);
    assert_eq!(check_numbers(&page("-", "-0.5")), ["of the run, %"]);
    for (part, gain) in [("1728", "1"), ("-0.1", "1"), ("1", "-0"), ("1", "-0.00")] {
        let page = page(part, gain);
        assert!(std::panic::catch_unwind(|| check_numbers(&page)).is_err(), "{page}");
    }
    for text in ["kept (-0.0 %)", "x: -0, y"] {
        assert!(std::panic::catch_unwind(|| check_numbers(text)).is_err(), "{text}");
    }
    assert!(std::panic::catch_unwind(|| check_figures("a,b\n1,-0\n")).is_err());
    check_figures("a,b\n0,-0.5\nrun-0,1-0\n");
}

/// Catches: an experiment that cannot run, that has a wrong result, or that omits something
/// needlessly. Also figures that cannot be: a part of more than 100 %, a negative zero.
#[test]
fn every_experiment_runs_once_and_leaves_a_whole_folder() {
    let out = tempfile::tempdir().unwrap();
    let path = out.path().to_str().unwrap();
    let output = sinew(&["--size", "quick", "--threads", "2", "--repeat", "1", "--out", path])
        .output()
        .unwrap();
    let (report, progress) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{progress}");
    assert!(!progress.contains('\x1b'), "plain lines where there is no terminal: {progress:?}");
    let mut parts = check_numbers(&report);
    for name in names() {
        let folder = out.path().join(&name);
        let page = fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(report.contains(&page) && page.starts_with(&format!("# {name}: ")), "{page}");
        for absent in ["Unfinished", "Left out", "Wrong"] {
            assert!(!page.contains(absent), "{page}");
        }
        assert!(page.contains("## What this run cannot show"), "{page}");
        let meta = meta(&folder);
        assert_eq!(
            (meta["finished"].as_bool(), meta["threads"].to_string()),
            (Some(true), "[1,2]".to_owned())
        );
        let files: Vec<&str> =
            meta["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
        assert!(files.iter().any(|file| file.ends_with(".svg")), "{name} has a plot: {files:?}");
        assert!(
            files.iter().filter(|file| file.ends_with(".csv")).count() >= 2,
            "{name} has a table: {files:?}"
        );
        assert!(
            files.iter().all(|file| folder.join(file).metadata().unwrap().len() > 0),
            "{files:?}"
        );
        for file in files.iter().filter(|file| file.ends_with(".csv")) {
            check_figures(&fs::read_to_string(folder.join(file)).unwrap());
        }
        assert!(progress.contains(&format!("{name}: results so far are in ")), "{progress}");
    }
    parts.sort_unstable();
    parts.dedup();
    // One of them is the oracle's.
    assert_eq!(parts.len(), PARTS.len() - 1, "{parts:?}");
    check_page(path);
}

/// The statements that need what not every machine has, such as a compiler for OpenMP or counters
/// of the processor, or what a quick run has not: rounds, most thresholds, a run that is long
/// enough for a tuner.
const MAY_BE_MISSING: [&str; 8] = [
    "OpenMP",
    "miss ratio with helpers",
    "one socket over own sockets",
    "over first touch",
    "more workers over 2",
    "deviation (UMA16)",
    "(0.5, 0.5)",
    "tuner has settled",
];

/// Asserts that the page about the results in this folder has a number of ours for every statement,
/// and no finding of quick runs.
#[track_caller]
fn check_page(out: &str) {
    let file = Path::new(out).join("page.md");
    let output = sinew(&["--page", file.to_str().unwrap(), "--out", out]).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{}", text(&output.stderr));
    let page = fs::read_to_string(&file).unwrap();
    let rows = page.lines().filter(|line| line.split('|').count() == 9);
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split('|').map(str::trim).collect()).collect();
    assert!(rows.len() > 200, "{}", rows.len());
    for row in rows {
        let [_, label, _, _, statements, ours, verdicts, ..] = row[..] else { panic!("{row:?}") };
        let judged = ["agrees", "same direction", "contrary", "another value"];
        assert!(!judged.iter().any(|verdict| verdicts.contains(verdict)), "{label}: {verdicts}");
        assert!(!verdicts.contains("not run"), "{label}: {verdicts}");
        let missing = ours == "-" || ours.contains(": -.");
        let excused = MAY_BE_MISSING.iter().any(|words| statements.contains(words));
        assert!(!missing || statements == "-" || excused, "{label}: {statements} {ours}");
    }
}

/// Catches: a page that is written over something that holds no results, or from nothing at all
/// without a word.
#[test]
fn a_page_without_results_says_that_nothing_was_run() {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("page.md");
    let words = ["--page", file.to_str().unwrap(), "--out", out.path().to_str().unwrap()];
    assert!(sinew(&words).output().unwrap().status.success());
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.contains("Not run: ") && page.contains("| not run |"), "{page}");
    fs::create_dir(out.path().join("wool-chip")).unwrap();
    fs::write(out.path().join("wool-chip/meta.json"), "{}").unwrap();
    let message = refused(&sinew(&words).output().unwrap(), 2);
    assert!(message.contains("meta.json"), "{message}");
    assert_eq!(fs::read_to_string(&file).unwrap(), page);
}

/// Catches: a table or figure that the list forgets, or a list of one experiment with those of
/// others.
#[test]
fn the_list_names_tables_and_figures_with_experiments_or_reasons() {
    let list = text(&sinew(&["--list"]).output().unwrap().stdout);
    for words in [
        "Figure 200",
        "none: a drawing, nothing to measure",
        "Figure 6.7",
        "by wool-chip, wool-speedup",
        "none: parameters",
    ] {
        assert!(list.contains(words), "{words}");
    }
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
    let of_one = text(&sinew(&["wool-simulation", "--list"]).output().unwrap().stdout);
    assert!(of_one.contains("Figure 4") && !of_one.contains("Figure 5"), "{of_one}");
}

/// Catches: a name in the list that the command does not know.
#[test]
fn the_list_says_what_each_experiment_shows() {
    assert!(names().len() >= 2);
    for name in names() {
        let output = sinew(&[&name, "--list"]).output().unwrap();
        let list = text(&output.stdout);
        assert!(list.starts_with(&name) && output.status.success());
        assert!(list.lines().count() > 1, "{list}");
        assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
    }
}

/// Catches: a typing error that runs everything.
#[test]
fn an_unknown_experiment_is_answered_with_what_comes_close() {
    let message = refused(&sinew(&["wool-speedupp"]).output().unwrap(), 2);
    assert!(
        message.contains("`wool-speedupp`") && message.contains("did you mean `wool-speedup`?"),
        "{message}"
    );
}

/// Catches: an application that is left out of the default, means of nothing, and a quick search
/// that is not quick.
#[test]
fn several_oracles_are_averaged() {
    let out = tempfile::tempdir().unwrap();
    let path = out.path().to_str().unwrap();
    let words = ["bank", "kmeans", "--size", "tiny", "--threads", "2", "--quick", "--out", path];
    let printed = text(&oracle(&words).stdout);
    let mean =
        printed.lines().rfind(|line| line.contains("mean")).unwrap_or_else(|| panic!("{printed}"));
    assert!(mean.matches('.').count() >= 4, "{mean}");
    for app in ["bank", "kmeans"] {
        assert_eq!(meta(&out.path().join(app))["finished"], true);
    }
    let json = oracle(&[&words[..], &["--json"]].concat()).stdout;
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["applications"].as_array().map(Vec::len), Some(2), "{json}");
}

/// Catches: an interrupted search without output.
#[cfg(unix)]
#[test]
fn an_interrupted_oracle_prints_what_it_has() {
    let out = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew-lab"));
    command.args(["oracle", "kmeans", "--runs", "1000", "--out", out.path().to_str().unwrap()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut progress = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(progress.next().unwrap().unwrap().contains("results so far"));
    assert!(progress.next().unwrap().unwrap().contains("[1/"));
    let sent =
        Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stdout).contains("**Unfinished**"), "{}", text(&output.stdout));
}

/// Catches: invalid settings that are found only after an hour.
#[test]
fn impossible_settings_are_refused_before_anything_runs() {
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("new");
    for words in [
        ["--threads", "0"],
        ["--threads", "1,two"],
        ["--threads", "1000000"],
        ["--repeat", "0"],
        ["--size", "tiny"],
        ["--seed", "-1"],
    ] {
        let output =
            sinew(&["wool-speedup", "--out", path.to_str().unwrap()]).args(words).output().unwrap();
        let message = refused(&output, 2);
        assert!(message.contains(words[1].rsplit(',').next().unwrap()), "{message}");
        assert!(!path.exists(), "{words:?}");
    }
}

/// Catches: an entry of the file that is left out or runs with another entry's settings, and a file
/// that is obeyed in part.
#[test]
fn experiments_are_queued_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("queue.toml");
    let (here, there) = (folder.path().join("here"), folder.path().join("there"));
    let entry = "[[experiment]]\nname = \"plastic-metrics\"\n";
    let text = format!(
        "[defaults]\nsize = \"quick\"\nout = {here:?}\n{entry}{entry}threads = [2]\nseed = 5\nout \
         = {there:?}\nparameters = {{ tasks = 300, chunk = 7 }}\n"
    );
    fs::write(&file, &text).unwrap();
    let path = file.to_str().unwrap();
    let output = sinew(&["--config", path]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text_of(&output));
    assert_eq!(meta(&there.join("plastic-metrics"))["seed"], 5);
    assert_eq!(meta(&here.join("plastic-metrics"))["seed"], 1);
    let report = fs::read_to_string(there.join("plastic-metrics/README.md")).unwrap();
    assert!(report.contains("parameters: chunk = 7, tasks = 300"), "{report}");
    assert_eq!(meta(&there.join("plastic-metrics"))["parameters"]["tasks"], 300);
    assert!(meta(&here.join("plastic-metrics")).get("parameters").is_none());

    fs::write(&file, text.replace("seed", "sead")).unwrap();
    let message = refused(&sinew(&["--config", path]).output().unwrap(), 2);
    assert!(message.contains("queue.toml") && message.contains("`sead`"), "{message}");
}

fn text_of(output: &Output) -> String {
    text(&output.stderr)
}

/// Catches: an overwritten file or folder of the user, or a run whose results cannot be kept.
#[test]
fn a_place_that_cannot_hold_results_is_named() {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("file");
    fs::write(&file, "mine").unwrap();
    let try_out = |path: &Path| {
        sinew(&["wool-speedup", "--size", "quick", "--out", path.to_str().unwrap()])
            .output()
            .unwrap()
    };
    let message = refused(&try_out(&file), 2);
    assert!(message.contains("file") && message.contains("--out"), "{message}");
    fs::create_dir_all(out.path().join("wool-speedup")).unwrap();
    fs::write(out.path().join("wool-speedup/precious"), "mine").unwrap();
    let message = refused(&try_out(out.path()), 2);
    assert!(message.contains("wool-speedup") && message.contains("something else"), "{message}");
    assert_eq!(fs::read_to_string(out.path().join("wool-speedup/precious")).unwrap(), "mine");
}

/// Catches: a full disk that is not reported in exactly one line. The link sends the first file to
/// a full device.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_line() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().join("wool-speedup");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("meta.json"), r#"{"files": []}"#).unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.join(".README.md.partial")).unwrap();
    let output = sinew(&["wool-speedup", "--size", "quick", "--out", out.path().to_str().unwrap()])
        .output()
        .unwrap();
    let message = refused(&output, 1);
    assert!(message.contains("README.md") && message.contains("No space left"), "{message}");
}

/// The first line of progress about a block comes after the first report, so the signal needs no
/// delay.
#[cfg(unix)]
#[test]
fn an_interrupt_leaves_an_unfinished_report() {
    use std::os::unix::process::ExitStatusExt;
    // A background command of a shell ignores the signal of Ctrl-C. There is a handler for neither.
    const TERMINATE: i32 = 15;
    let out = tempfile::tempdir().unwrap();
    let words = ["wool-speedup", "--size", "full", "--out", out.path().to_str().unwrap()];
    let mut child = sinew(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut progress = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(progress.next().unwrap().unwrap().contains("results so far"));
    assert!(progress.next().unwrap().unwrap().contains("[1/"));
    let sent =
        Command::new("sh").args(["-c", &format!("kill -TERM {}", child.id())]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(TERMINATE));
    let folder = out.path().join("wool-speedup");
    assert!(fs::read_to_string(folder.join("README.md")).unwrap().contains("**Unfinished**"));
    assert_eq!(meta(&folder)["finished"], false);
}

fn oracle(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew-lab"));
    command.arg("oracle").args(words).stdin(Stdio::null()).output().unwrap()
}

/// Catches: a search that omits choices, or a choice that is not measured again beside the tuner
/// and the baseline.
#[test]
fn an_oracle_searches_and_compares_again() {
    let out = tempfile::tempdir().unwrap();
    let path = out.path().to_str().unwrap();
    let words =
        ["kmeans", "--size", "tiny", "--threads", "2", "--runs", "1", "--coarse", "--out", path];
    let printed = oracle(&[&words[..], &["--json"]].concat());
    assert_eq!(printed.status.code(), Some(0), "{}", text(&printed.stderr));
    let json: Value = serde_json::from_slice(&printed.stdout).unwrap();
    // One worker with or without stealing, coalescing and helpers; two with or without stealing,
    // coalescing and swaps.
    assert_eq!(json["search"].as_array().map(Vec::len), Some(8 + 8), "{json}");
    let again = json["again"].as_array().unwrap();
    for what in [
        "best of the search",
        "tuned",
        "tuned, accepted baseline",
        "tuned, by throughput",
        "baseline",
        "stealing",
        "helpers",
    ] {
        let row = again
            .iter()
            .find(|row| row["what"] == what)
            .unwrap_or_else(|| panic!("no {what} in {json}"));
        assert!(
            row["of_best"].as_f64() > Some(0.0) && row["median_s"].as_f64() > Some(0.0),
            "{row}"
        );
    }
    let samples = fs::read_to_string(out.path().join("kmeans/samples.csv")).unwrap();
    assert_eq!(
        samples
            .lines()
            .filter(|line| line.contains("best of the search") && line.contains("wall_s"))
            .count(),
        10
    );
    assert_eq!(meta(&out.path().join("kmeans"))["finished"], true);
    let printed = text(&oracle(&words).stdout);
    assert!(check_numbers(&printed).len() >= 2, "{printed}");
    assert!(
        printed.contains("The run that is tuned took") && printed.contains("of the best"),
        "{printed}"
    );
}

/// Catches: invalid settings that are found only after an hour.
#[test]
fn an_impossible_search_is_refused_before_anything_runs() {
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("new");
    let path = path.to_str().unwrap();
    for (words, named) in [
        (&["fib"][..], "fib has no worklist"),
        (&["kmean"], "did you mean `kmeans`?"),
        (&["kmeans", "--size", "huge"], "`huge`"),
        (&["kmeans", "--runs", "0"], "'0'"),
        (&["kmeans", "--threads", "1000000"], "1000000"),
        (&["kmeans", "--size", "tiny", "--path", "nowhere.txt"], "nowhere.txt"),
    ] {
        let message = refused(&oracle(&[words, &["--out", path]].concat()), 2);
        assert!(message.contains(named), "{message}");
        assert!(!Path::new(path).exists(), "{words:?}");
    }
}
