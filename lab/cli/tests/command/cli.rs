//! `sinew-lab run`, `demo` and `list`, started like a user does: output and exit status.
//!
//! Blind to: drawing on a terminal; none is attached here.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The names of all applications.
fn apps() -> Vec<&'static str> {
    sinew_apps::all().iter().map(|app| app.name).collect()
}

fn sinew(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew-lab"));
    command.args(words).stdin(Stdio::null());
    for name in [
        "SINEW_THREADS",
        "SINEW_MAPPING",
        "SINEW_WAIT",
        "SINEW_VICTIMS",
        "SINEW_STACK",
        "SINEW_FENCES",
        "SINEW_SPIN_US",
        "SINEW_PROFILE",
    ] {
        command.env_remove(name);
    }
    command
}

/// A folder of real text that exists wherever the tests run.
fn sources() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/src")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn good(words: &[&str]) -> String {
    let output = sinew(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Asserts exit status 2, no output and one line on standard error, which is returned.
fn refused(output: &Output) -> String {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.starts_with("sinew-lab: "), "{message}");
    message
}

fn bad(words: &[&str]) -> String {
    refused(&sinew(words).output().unwrap())
}

#[test]
fn the_demo_shows_every_application_and_says_that_all_answers_are_right() {
    let output = sinew(&["demo", "--size", "tiny", "--path", sources()]).output().unwrap();
    let (table, progress) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{progress}");
    assert!(table.starts_with("machine: "), "{table}");
    let count = apps().len();
    assert!(table.ends_with(&format!("All {count} answers are right.\n")), "{table}");
    for (at, name) in apps().into_iter().enumerate() {
        assert!(
            table.lines().any(|line| line.split_whitespace().next() == Some(name)),
            "{name}: {table}"
        );
        assert!(progress.contains(&format!("[{}/{count}] {name} ", at + 1)), "{name}: {progress}");
    }
    assert!(!progress.contains('\x1b'), "plain lines where there is no terminal: {progress:?}");
    for part in [
        "A loop that is changed while it runs:",
        "  worker 0   ",
        "    1 1 thread\n",
        "answers are right",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(!table.contains('\x1b'), "a plain timeline where there is no terminal: {table:?}");
}

#[test]
fn every_application_runs_under_every_wait_policy() {
    for wait in ["leapfrog", "any", "descendants", "transitive", "block"] {
        for name in apps() {
            let words = ["run", name, "--size", "tiny", "--threads", "3", "--wait", wait];
            // Other applications that read a file have formats of their own.
            let path = if name == "wordcount" { &["--path", sources()][..] } else { &[] };
            let report = good(&[&words[..], path].concat());
            assert!(report.contains("workers: 3") && report.contains("(right)"), "{report}");
        }
    }
}

#[test]
fn uts_runs_under_every_victim_policy() {
    for victims in sinew::Victims::all() {
        let victims = victims.to_string();
        let report =
            good(&["run", "uts", "--size", "tiny", "--threads", "3", "--victims", &victims]);
        assert!(report.contains("(right)"), "{victims}: {report}");
    }
}

/// Catches: a pool that cannot be built with these options.
#[test]
fn fib_runs_under_every_mapping_and_on_every_stack() {
    for mapping in ["none", "compact", "scatter"] {
        for stack in ["split", "two-field"] {
            let words = ["run", "fib", "--size", "tiny", "--threads", "2", "--mapping", mapping];
            let report = good(&[&words[..], &["--stack", stack]].concat());
            assert!(report.contains("(right)"), "{mapping}, {stack}: {report}");
        }
    }
}

/// Catches: a rule for packages on a pool without packages that is silently ignored; an unnecessary
/// warning.
#[test]
fn a_rule_for_packages_without_a_mapping_is_noted() {
    let run = |victims: &str, mapping: &str| {
        let words = ["run", "fib", "--size", "tiny", "--victims", victims, "--mapping", mapping];
        let output = sinew(&words).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let notes = text(&output.stderr);
        notes
            .lines()
            .filter(|line| line.starts_with("sinew-lab: "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for victims in ["nearest", "sorted:5,strict,stay", "cats:200", "piece-per-package", "distance"]
    {
        let notes = run(victims, "none");
        assert!(
            notes.len() == 1 && notes[0].contains("--mapping") && notes[0].contains(victims),
            "{notes:?}"
        );
        assert_eq!(run(victims, "compact"), [""; 0]);
    }
    assert_eq!([run("random", "none"), run("sorted:5,machine,stay", "none")].concat(), [""; 0]);
}

#[test]
fn loops_run_under_every_schedule() {
    let schedules = sinew::Schedule::every(4).map(|schedule| schedule.to_string());
    for schedule in schedules.chain(["dynamic,4".to_owned()]) {
        let report =
            good(&["run", "heat", "--size", "tiny", "--threads", "2", "--schedule", &schedule]);
        assert!(report.contains("(right)"), "{schedule}: {report}");
    }
}

#[test]
fn json_holds_what_was_measured() {
    let words = ["run", "nqueens", "--size", "8", "--threads", "2", "--repeat", "3", "--json"];
    let report: Value = serde_json::from_str(&good(&words)).unwrap();
    assert_eq!(report["application"], "nqueens");
    assert_eq!(report["size"], "8");
    assert_eq!(report["workers"], 2);
    assert_eq!(report["answer"], "92 solutions");
    assert_eq!(report["right"], true);
    for times in ["serial_s", "parallel_s"] {
        let times = report[times].as_array().unwrap();
        assert!(times.len() == 3 && times.iter().all(|time| time.as_f64().unwrap() > 0.0));
    }
    let levels = report["steals_by_distance"].as_array().unwrap();
    assert!(levels.iter().all(|at| at["steals"].as_u64() <= at["attempts"].as_u64()), "{report}");
    assert!(report["counters"]["stolen"].is_u64() && report["shares"]["working"].is_f64());
}

#[test]
fn word_count_counts_the_folder_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "to be or not to be").unwrap();
    let report = good(&["run", "wordcount", "--path", folder.path().to_str().unwrap()]);
    assert!(report.contains("6 words, 4 different, `be` 2 times (right)"), "{report}");
}

#[test]
fn an_option_that_changes_nothing_is_mentioned() {
    let output = sinew(&["run", "fib", "--size", "10", "--schedule", "static"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("fib has no loops"));
}

#[test]
fn the_list_names_every_application_and_its_sizes() {
    let list = good(&["list"]);
    let names = list.lines().skip(2).filter(|line| !line.starts_with(' '));
    let names: Vec<&str> = names.filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, apps(), "{list}");
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
    // No word is lost where lines break.
    let words = list.split_whitespace().collect::<Vec<_>>().join(" ");
    for app in sinew_apps::all() {
        let entry = format!("{} {} size: {}", app.name, app.about, app.sizes);
        assert!(words.contains(&entry), "{entry}: {list}");
    }
}

#[test]
fn the_list_as_json_has_an_object_for_each_application() {
    let list: Value = serde_json::from_str(&good(&["list", "--json"])).unwrap();
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), apps().len());
    for (entry, app) in list.iter().zip(sinew_apps::all()) {
        assert_eq!(entry["application"], app.name);
        assert_eq!(entry["description"], app.about);
        assert_eq!(entry["own_sizes"], app.sizes);
        assert_eq!(entry["has_worklist"], app.has_worklist);
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    for words in [&["--help"][..], &["run", "--help"], &["help", "sim"], &["--version"]] {
        assert!(good(words).contains("sinew-lab"), "{words:?}");
    }
}

/// Catches: rare options before those that most people want.
#[test]
fn the_help_of_run_begins_with_the_usual_options() {
    let help = good(&["run", "--help"]);
    let at = |part: &str| help.find(part).unwrap_or_else(|| panic!("{part} is not in {help}"));
    let usual = ["--size <", "--threads <", "--repeat <", "--path <", "--json", "--help"];
    let rare = ["\nScheduling:", "--schedule <", "\nProfiles:", "--trace <", "\nWorklists:"];
    let order = ["\nOptions:"].into_iter().chain(usual).chain(rare).chain(["\nExamples:"]);
    assert!(order.map(at).is_sorted(), "{help}");
}

/// Catches: an example of the help that does not run.
#[test]
fn the_examples_of_the_help_run() {
    let help = good(&["run", "--help"]);
    let examples: Vec<&str> =
        help.lines().filter_map(|line| line.strip_prefix("  sinew-lab run ")).collect();
    assert!(!examples.is_empty(), "{help}");
    for example in examples {
        let words: Vec<&str> = example.split(' ').collect();
        good(&[&["run"], &words[..]].concat());
    }
}

#[test]
fn an_unknown_application_is_answered_with_what_comes_close() {
    let message = bad(&["run", "fibb"]);
    assert!(message.contains("`fibb`") && message.contains("did you mean `fib`?"), "{message}");
    assert!(apps().iter().all(|name| message.contains(name)), "{message}");
}

#[test]
fn an_impossible_size_is_refused_with_the_possible_ones() {
    for (name, size) in [
        ("fib", "0"),
        ("fib", "1000"),
        ("nqueens", "99"),
        ("uts", "T7"),
        ("quicksort", "-5"),
        ("heat", "2"),
        ("wordcount", "much"),
    ] {
        let message = bad(&["run", name, "--size", size]);
        assert!(message.contains(name) && message.contains(&format!("`{size}`")), "{message}");
        assert!(message.contains("choose"), "{message}");
    }
}

#[test]
fn impossible_numbers_of_threads_and_runs_are_refused() {
    for threads in ["0", "-1", "two", "1.5", "", "99999999999999999999", "1000000"] {
        let message = bad(&["run", "fib", "--size", "tiny", "--threads", threads]);
        assert!(
            message.contains(threads)
                && (message.contains("threads") || message.contains("workers")),
            "{message}"
        );
    }
    assert!(bad(&["run", "fib", "--repeat", "0"]).contains("--repeat"));
    assert!(bad(&["demo", "--threads", "0"]).contains("--threads"));
}

#[test]
fn a_policy_that_does_not_parse_is_refused() {
    for schedule in ["gided", "dynamic:x", "dynamic:0", "static:4", ""] {
        let message = bad(&["run", "heat", "--size", "tiny", "--schedule", schedule]);
        assert!(message.contains("--schedule"), "{message}");
    }
    let message = bad(&["run", "fib", "--wait", "sleep"]);
    assert!(message.contains("sleep") && message.contains("leapfrog"), "{message}");
    let message = bad(&["run", "fib", "--mapping", "everywhere"]);
    assert!(
        message.contains("everywhere") && message.contains("scatter, compact, none"),
        "{message}"
    );
    let message = bad(&["run", "fib", "--mapping", "123456"]);
    assert!(message.contains("123456"), "{message}");
    let message = bad(&["run", "fib", "--stack", "three-field"]);
    assert!(message.contains("three-field") && message.contains("two-field"), "{message}");
    let message = bad(&["run", "fib", "--victims", "weakest"]);
    assert!(message.contains("weakest") && message.contains("most-loaded"), "{message}");
}

#[test]
fn a_misspelt_command_or_option_is_refused_in_one_line() {
    for words in [
        &["rnu"][..],
        &[],
        &["run"],
        &["run", "fib", "--thread", "2"],
        &["demo", "--size", "huge"],
        &["list", "x"],
    ] {
        bad(words);
    }
    assert!(bad(&[]).contains("a command is needed"));
}

#[test]
fn a_folder_that_is_missing_unreadable_or_without_sources_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file.txt");
    fs::write(&file, "text").unwrap();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for path in [&folder.path().join("missing"), &file, &empty] {
        let path = path.to_str().unwrap();
        for words in [["run", "wordcount", "--path", path], ["demo", "--size=tiny", "--path", path]]
        {
            let message = bad(&words);
            assert!(message.contains(path) && message.contains("--path"), "{message}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_folder_without_permission_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(folder.path()).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    assert!(
        bad(&["run", "wordcount", "--path", folder.path().to_str().unwrap()]).contains("ermission")
    );
}

#[test]
fn without_downloaded_sources_a_folder_has_to_be_given() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = sinew(&["run", "wordcount", "--size", "tiny"]);
    let message = refused(&command.env("CARGO_HOME", folder.path()).output().unwrap());
    assert!(message.contains("--path"), "{message}");
}

#[test]
fn word_count_reads_the_sources_that_cargo_has_downloaded() {
    let home = tempfile::tempdir().unwrap();
    let package = home.path().join("registry/src/index/package-1.0.0");
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("lib.rs"), "fn main() {}").unwrap();
    let output = sinew(&["run", "wordcount"]).env("CARGO_HOME", home.path()).output().unwrap();
    assert!(text(&output.stdout).contains("2 words"), "{}", text(&output.stderr));
}

/// Reads this many lines, possibly none, and closes the pipe.
fn with_impatient_reader(words: &[&str], lines: usize) -> Output {
    let mut child = sinew(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..lines {
        reader.read_line(&mut String::new()).unwrap();
    }
    drop(reader);
    child.wait_with_output().unwrap()
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    for words in [&["list"][..], &["reproduce", "--list"], &["--help"]] {
        for lines in [0, 1] {
            let output = with_impatient_reader(words, lines);
            assert_eq!(output.status.code(), Some(0), "{words:?}");
            assert_eq!(text(&output.stderr), "", "{words:?}");
        }
    }
}

#[test]
fn the_demo_finishes_its_checks_for_a_reader_that_leaves_early() {
    let output = with_impatient_reader(&["demo", "--size", "tiny", "--path", sources()], 1);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let last = format!("[{0}/{0}]", apps().len());
    assert!(text(&output.stderr).contains(&last), "{}", text(&output.stderr));
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sinew(&["list"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).starts_with("sinew-lab: cannot write"),
        "{}",
        text(&output.stderr)
    );
}

/// Catches: an interrupted demo without output, or with the line about all applications.
///
/// The first line of progress comes after the first result, so the signal needs no delay.
#[cfg(unix)]
#[test]
fn an_interrupted_demo_prints_what_it_has() {
    let mut command = sinew(&["demo", "--size", "small", "--path", sources()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut progress = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(progress.next().unwrap().unwrap().starts_with("[1/"));
    let sent =
        Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let printed = text(&output.stdout);
    let rows = apps()
        .into_iter()
        .take_while(|name| printed.lines().any(|line| line.split(' ').next() == Some(name)));
    let rows = rows.count();
    assert!((1..apps().len()).contains(&rows), "{printed}");
    let last = format!(
        "Interrupted after {rows} of {} applications: their answers are right.\n",
        apps().len()
    );
    assert!(printed.ends_with(&last), "{printed}");
    assert!(!printed.contains("All "), "{printed}");
}

#[test]
fn the_environment_describes_the_pool_and_the_command_line_beats_it() {
    let workers = |words: &[&str]| {
        let output = sinew(words).env("SINEW_THREADS", "3").output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["workers"].clone()
    };
    assert_eq!(workers(&["run", "fib", "--size", "tiny", "--json"]), 3);
    assert_eq!(workers(&["run", "fib", "--size", "tiny", "--json", "--threads", "2"]), 2);
}

/// Catches: a profile that is not printed, lacks tasks, or does not add up; a profile without the
/// option.
#[test]
fn a_profile_is_printed_where_it_is_asked_for() {
    let words = ["run", "fib", "--size", "15", "--threads", "2", "--repeat", "2"];
    let printed = good(&[&words[..], &["--profile"]].concat());
    for part in [
        " spawned, ",
        "parallelism",
        "bounds",
        "application",
        "steal_wait",
        "lib_wait",
        "attempts to steal",
    ] {
        assert!(printed.contains(part), "{part} is not in {printed}");
    }
    assert!(!good(&words).contains("parallelism"));
    let json = |output: &str| serde_json::from_str::<Value>(output).unwrap();
    assert!(json(&good(&[&words[..], &["--json"]].concat())).get("profile").is_none());
    let profile = json(&good(&[&words[..], &["--profile", "--json"]].concat()))["profile"].clone();
    let total = &profile["total"];
    let count = |name: &str| total[name].as_u64().unwrap();
    assert!(count("spawned") > 0);
    assert_eq!(count("spawned"), count("inlined") + count("stolen"));
    let sum = |parts: &[&str]| -> f64 {
        let part = |name: &&str| total["breakdown"][*name].clone();
        parts
            .iter()
            .map(part)
            .map(|part| part["outside_s"].as_f64().unwrap() + part["inside_s"].as_f64().unwrap())
            .sum()
    };
    let (elapsed, away) =
        (total["elapsed_s"].as_f64().unwrap(), total["breakdown"]["away_s"].as_f64().unwrap());
    assert!((sum(&["application", "steals", "search"]) + away - elapsed).abs() < 1e-6, "{total}");
    assert_eq!(profile["workers"].as_array().unwrap().len(), 2);
}

/// Catches: an environment variable that the command does not pass on.
#[test]
fn the_environment_can_ask_for_a_profile() {
    let output = sinew(&["run", "fib", "--size", "10"]).env("SINEW_PROFILE", "1").output().unwrap();
    assert!(text(&output.stdout).contains("parallelism"), "{}", text(&output.stdout));
}

/// Catches: counters of a worklist that are not printed, settings that do not reach it, and a
/// hand-written version that runs the worklist.
#[test]
fn a_worklist_says_what_it_did() {
    let words = ["run", "kmeans", "--size", "tiny", "--threads", "2", "--repeat", "2"];
    let settings = "2 threads, stealing, coalescing, swap 2";
    let printed = good(&[&words[..], &["--tune", settings]].concat());
    for part in
        [" commits, ", " aborts, ", " stalls, ", " steals, ", " swaps, ", " words ahead", settings]
    {
        assert!(printed.contains(part), "{part} is not in {printed}");
    }
    let json =
        |more: &[&str]| serde_json::from_str::<Value>(&good(&[&words[..], more].concat())).unwrap();
    let tuned = json(&["--json", "--tune", "auto"]);
    let counters = &tuned["worklist"]["counters"];
    assert!(counters["commits"].as_u64() >= Some(2 * 200), "{tuned}");
    let by_hand = json(&["--json", "--by-hand"]);
    assert!(
        by_hand["worklist"].is_null()
            && by_hand["transactions_committed"].as_u64() >= Some(2 * 200)
    );
    assert!(json(&["--json"])["worklist"]["settings"] == "2 threads, stealing");
}

/// Catches: a path that is empty, or has only fixed settings.
#[test]
fn the_tuners_path_is_written_as_csv() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("path.csv");
    let words = ["run", "kmeans", "--size", "tiny", "--tuner-path", file.to_str().unwrap()];
    assert!(bad(&words).contains("--tune auto"));
    assert!(!file.exists());
    good(&[&words[..], &["--tune", "published"]].concat());
    let path = fs::read_to_string(&file).unwrap();
    assert!(
        path.starts_with("epoch,epochs,elapsed_ns,state,") && path.lines().count() > 2,
        "{path}"
    );
}

/// Catches: impossible settings that are found only during a run, and options that are silently
/// ignored.
#[test]
fn impossible_settings_of_worklists_are_refused() {
    let message = bad(&["run", "kmeans", "--tune", "2 threads, steeling"]);
    assert!(message.contains("`steeling`") && message.contains("coalescing"), "{message}");
    let message = bad(&["run", "kmeans", "--threads", "2", "--tune", "9 threads"]);
    assert!(message.contains("9 threads") && message.contains("at most 2"), "{message}");
    assert!(bad(&["run", "kmeans", "--by-hand", "--tune", "auto"]).contains("--tune"));
    let message = bad(&["run", "kmeans", "--pages", "node 1"]);
    assert!(message.contains("`node 1`") && message.contains("bind-local"), "{message}");
    assert!(
        good(&["run", "kmeans", "--size", "tiny", "--pages", "bind-local"]).contains("(right)")
    );
    assert!(bad(&["run", "fib", "--tuner-path", "x"]).contains("no worklist"));
    let output = sinew(&["run", "fib", "--size", "tiny", "--by-hand"]).output().unwrap();
    assert!(text(&output.stderr).contains("--by-hand changes nothing"), "{}", text(&output.stderr));
}
