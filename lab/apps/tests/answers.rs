//! Every application, prepared like by a user, has the right result serially and in pools of
//! several sizes.
//!
//! Blind to: a wrong result that only a larger problem shows; the command's demo runs those.

use std::fs;
use std::path::{Path, PathBuf};

use sinew::worklist::Tuning;
use sinew::{Pool, Schedule};
use sinew_apps::{App, Error, Options, Problem, Record, Recorded, Size, all, find};

/// This crate's own sources: there on every machine that runs the tests.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn prepare(app: &App, size: &str, schedule: Option<Schedule>) -> Box<dyn Problem> {
    // Others that read anything read a file in a format of their own.
    let path = (app.name == "wordcount").then(sources);
    let options = Options { size: size.parse().unwrap(), schedule, path, ..Options::default() };
    app.prepare(&options).unwrap_or_else(|error| panic!("{}: {error}", app.name))
}

fn pool(threads: usize) -> Pool {
    Pool::builder().threads(threads).build().unwrap()
}

/// Runs one problem and checks its results as the command does.
fn solve(app: &App, problem: &dyn Problem, pool: &Pool) {
    let (serial, parallel) = (problem.serial(), problem.parallel(pool));
    problem.check(&serial.answer).unwrap_or_else(|wrong| panic!("{}, serial: {wrong}", app.name));
    problem
        .check(&parallel.answer)
        .unwrap_or_else(|wrong| panic!("{}, parallel: {wrong}", app.name));
    problem
        .agree(&serial.answer, &parallel.answer)
        .unwrap_or_else(|wrong| panic!("{}: {wrong}", app.name));
}

#[test]
fn every_application_is_right_in_pools_of_one_to_five() {
    for threads in [1, 2, 5] {
        let pool = pool(threads);
        for app in all() {
            solve(app, &*prepare(app, "tiny", None), &pool);
        }
    }
}

#[test]
fn every_schedule_leads_to_the_same_answer() {
    let pool = pool(3);
    for schedule in Schedule::every(3) {
        for app in all().iter().filter(|app| app.loops) {
            solve(app, &*prepare(app, "tiny", Some(schedule)), &pool);
        }
    }
}

#[test]
fn the_same_problem_can_be_run_again() {
    let pool = pool(2);
    for app in all() {
        let problem = prepare(app, "tiny", None);
        let first = problem.parallel(&pool);
        problem.agree(&first.answer, &problem.parallel(&pool).answer).unwrap();
    }
}

/// Deeper than one layer, so that the search starts anew several times.
#[test]
fn a_tree_of_1572_levels_is_counted_on_default_stacks() {
    let uts = find("uts").unwrap();
    let pool = pool(2);
    let problem = prepare(uts, "T3", None);
    let run = problem.parallel(&pool);
    problem.check(&run.answer).unwrap();
    assert_eq!(run.answer.to_string(), "4112897 nodes, 1572 levels deep, 3599034 leaves");
}

#[test]
fn twelve_queens_have_14200_solutions() {
    let problem = prepare(find("nqueens").unwrap(), "12", None);
    assert_eq!(problem.parallel(&pool(2)).answer.to_string(), "14200 solutions");
}

#[test]
fn the_published_parameters_are_the_default() {
    let published = [
        ("fib", "43"),
        ("nqueens", "13"),
        ("uts", "T3"),
        ("stress", "height 10, 65536 times, leaves of 256"),
        ("ssf", "12 (233 bytes), 16384 times"),
        ("multisort", "4194304, 16 times"),
        ("heat", "2048 x 2048, 100 steps"),
        ("gauss", "1024 unknowns"),
        ("floyd-warshall", "4096 vertices"),
        ("matmul", "1500 x 1500"),
        ("strassen", "256 x 256"),
        ("cholesky", "2000 rows, 4 times"),
        ("blackscholes", "65536 options, 100 times"),
        ("swaptions", "64 swaptions, 20000 trials each"),
        ("streamcluster", "16384 points, 128 dimensions"),
        ("fluidanimate", "500000 particles, 5 frames"),
        ("collatz", "10000 tasks of 1000000 repeats"),
        ("kmeans", "16384 points, 24 dimensions, 15 clusters, threshold 0.05"),
        ("labyrinth", "48 x 48 x 3 cells, 64 paths"),
        ("yada", "random: 10000 points, 19982 triangles, 10 degrees"),
    ];
    for (name, size) in published {
        let app = find(name).unwrap();
        assert_eq!(app.prepare(&Options::default()).unwrap().size(), size);
        assert_eq!(prepare(app, "full", None).size(), size);
    }
}

#[test]
fn every_application_names_its_sizes_when_asked_for_an_impossible_one() {
    for app in all() {
        for size in ["0", "-3", "enormous", "999999999999999999999999"] {
            let path = (app.name == "wordcount").then(sources);
            let options = Options { size: size.parse().unwrap(), path, ..Options::default() };
            let error =
                app.prepare(&options).err().unwrap_or_else(|| panic!("{} took {size}", app.name));
            let message = error.to_string();
            assert!(message.contains(size) && message.contains(app.sizes), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}

#[test]
fn word_count_reads_the_folder_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "to be or not to be").unwrap();
    let options = Options { path: Some(folder.path().to_owned()), ..Options::default() };
    let problem = find("wordcount").unwrap().prepare(&options).unwrap();
    assert_eq!(problem.size(), "1 files, 0.0 MB");
    assert_eq!(problem.parallel(&pool(2)).answer.to_string(), "6 words, 4 different, `be` 2 times");
}

#[test]
fn word_count_refuses_a_folder_without_sources() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        Options { size: Size::Tiny, path: Some(folder.path().to_owned()), ..Options::default() };
    let error = find("wordcount").unwrap().prepare(&options).err().unwrap();
    assert!(matches!(error, Error::NoText { .. }));
}

#[test]
fn names_and_the_sizes_of_the_demo_are_valid() {
    for app in all() {
        assert!(std::ptr::eq(find(app.name).unwrap(), app));
        prepare(app, app.demo, None);
    }
    assert!(find("no such application").is_none());
}

/// Catches: an application whose worklist is not recorded or whose version by hand is not run,
/// and one that has either and does not say so.
#[test]
fn applications_with_worklists_record_them_and_run_by_hand_without() {
    let pool = pool(2);
    for app in all() {
        let (record, tuning) = (Record::default(), Some(Tuning::Auto));
        let run = |by_hand| {
            let path = (app.name == "wordcount").then(sources);
            let record = record.clone();
            let options =
                Options { size: Size::Tiny, path, by_hand, tuning, record, ..Options::default() };
            app.prepare(&options).unwrap().parallel(&pool).transactions
        };
        run(true);
        assert_eq!(record.take(), Recorded::default(), "{} by hand", app.name);
        run(false);
        let recorded = record.take();
        assert_eq!(recorded.runs > 0, app.has_worklist, "{}", app.name);
        assert_eq!(recorded.path.is_some(), app.has_worklist, "{}", app.name);
    }
}
