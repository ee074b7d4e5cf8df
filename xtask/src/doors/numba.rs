//! numba's own tests of parallel functions: some with each run of the package's tests, and all by
//! `cargo xtask python --numba-tests`.
//!
//! Of all, each module runs with Sinew in the place of numba's OpenMP layer, and what fails there
//! runs with that layer. A test that fails with Sinew alone is an error; some fail with any layer.
//! The tests start interpreters of their own, so a module that every interpreter imports puts Sinew
//! there (`numba_suite`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;

/// The modules, and how to read their names: `numba.tests.` and this.
const MODULES: [&str; 8] = [
    "test_num_threads",
    "test_parallel_backend",
    "test_threadsafety",
    "npyufunc",
    "test_parfors_caching",
    "test_parfors_passes",
    "test_stencils",
    "test_parfors",
];

/// Loops with masks, by threads, and the numbers of threads.
const SELECTED: [&str; 4] = [
    "test_num_threads.TestNumThreads",
    "test_parfors.TestPrangeBasic",
    "test_parallel_backend.TestParallelBackend.test_threading_concurrent_mix_use_masks",
    "test_parallel_backend.TestParallelBackend.test_multiprocessing_fork_concurrent_mix_use",
];

/// Tests that fail with Sinew. Two want rows of a short loop on each of four threads. numba does
/// not ask that of its TBB layer, which gives rows to the threads that come, as Sinew does. One
/// wants `GNU` as the vendor of the layer, which is `Sinew`.
const KNOWN: [&str; 3] = [
    "test_get_num_threads_truth_inside_jit_omp_4_threads",
    "test_get_num_threads_truth_outside_jit_omp_4_threads",
    "test_vendors",
];

/// The counts that numba's tests reported.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    tests: usize,
    skipped: usize,
    failed: BTreeSet<String>,
}

/// Runs the selected tests with Sinew, in `folder`.
///
/// # Errors
///
/// Tests that fail, or that numba skips.
pub(super) fn selected(python: &Path, folder: &Path) -> Result<(), String> {
    for name in SELECTED {
        let mut tests = Command::new(python);
        command::without_settings(&mut tests);
        tests.args(["-m", "sinew.numba", "-m", "numba.runtests", "-v"]).current_dir(folder);
        // With this variable numba runs tests that it otherwise leaves to processes of their own.
        tests.env("NUMBA_NUM_THREADS", "4").env("SUBPROC_TEST", "1");
        let report = run(tests, &[format!("numba.tests.{name}")])?;
        println!("{name}: {} tests, {} skipped", report.tests, report.skipped);
        if !report.failed.is_empty() {
            return Err(format!("tests of numba that fail with Sinew: {:?}", report.failed));
        }
        if report.tests == report.skipped {
            return Err(format!("numba.tests.{name}: no test ran"));
        }
    }
    Ok(())
}

/// Runs all modules with Sinew, and the tests that fail with OpenMP.
///
/// # Errors
///
/// The tests that fail with Sinew alone, or a module without a report.
pub(super) fn compare(python: &Path) -> Result<(), String> {
    let suite = command::root().join("python/tests/numba_suite");
    let mut ours_alone = BTreeSet::new();
    for module in MODULES {
        let name = format!("numba.tests.{module}");
        let ours = run(in_place_of_openmp(python, Some(&suite)), &[name])?;
        let failed: Vec<_> = ours.failed.iter().map(|test| path_of(test)).collect();
        let theirs = match failed.is_empty() {
            true => Report::default(),
            false => run(in_place_of_openmp(python, None), &failed)?,
        };
        println!(
            "{module}: {} tests, {} skipped; {} failed, {} of them with OpenMP, too",
            ours.tests,
            ours.skipped,
            ours.failed.len(),
            theirs.failed.len()
        );
        let counts = |test: &&String| !KNOWN.iter().any(|known| test.starts_with(known));
        ours_alone.extend(ours.failed.difference(&theirs.failed).filter(counts).cloned());
    }
    match ours_alone.is_empty() {
        true => Ok(()),
        false => Err(format!("tests of numba that fail with Sinew alone: {ours_alone:?}")),
    }
}

/// The path of a test from its name in a report, `test (module.Class.test)` or, before Python 3.11,
/// `test (module.Class)`.
fn path_of(test: &str) -> String {
    let (name, path) = test.split_once(" (").unwrap_or((test, test));
    let path = path.trim_end_matches(')');
    match path.ends_with(&format!(".{name}")) {
        true => path.to_owned(),
        false => format!("{path}.{name}"),
    }
}

fn in_place_of_openmp(python: &Path, suite: Option<&PathBuf>) -> Command {
    let mut tests = Command::new(python);
    command::without_settings(&mut tests);
    tests.args(["-m", "numba.runtests", "-v"]);
    // As many threads as the tests of masks need, also on fewer processors.
    tests.env("NUMBA_NUM_THREADS", "4").env("SINEW_THREADS", "4");
    tests.env("NUMBA_THREADING_LAYER", "omp");
    tests.env("PYTHONPATH", suite.map(|suite| suite.as_os_str()).unwrap_or_default());
    tests
}

/// Runs the tests of these names, which are added to the command.
fn run(mut tests: Command, names: &[String]) -> Result<Report, String> {
    let output = tests.args(names).output().map_err(|error| format!("{tests:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    report(&text).ok_or_else(|| format!("{names:?} ended without a report:\n{text}"))
}

/// The report at the end of `text`; `None` without one.
fn report(text: &str) -> Option<Report> {
    let mut report = Report::default();
    let mut is_over = false;
    for line in text.lines() {
        if let Some(test) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) {
            report.failed.insert(test.to_owned());
        } else if let Some(rest) = line.strip_prefix("Ran ") {
            report.tests = rest.split(' ').next()?.parse().ok()?;
            is_over = true;
        } else {
            report.skipped += usize::from(line.contains(" ... skipped "));
        }
    }
    is_over.then_some(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a failure that is not read, and a run that was cut off and passes for a success.
    #[test]
    fn a_report_names_what_failed() {
        let text = "test_a (m.T.test_a) ... ok\ntest_b (m.T.test_b) ... FAIL\n\
                    test_c (m.T.test_c) ... skipped 'no reason'\n\
                    ====\nFAIL: test_b (m.T.test_b)\n----\nERROR: test_d (m.T.test_d)\n\
                    ----\nRan 4 tests in 1.0s\n\nFAILED (failures=1, errors=1, skipped=1)\n";
        let failed = ["test_b (m.T.test_b)", "test_d (m.T.test_d)"].map(str::to_owned);
        let expected = Report { tests: 4, skipped: 1, failed: failed.into() };
        assert_eq!(report(text), Some(expected));
        assert_eq!(report("test_a (m.T.test_a) ... ok\n"), None);
    }

    /// Catches: a test that failed and is looked for under a name that it does not have.
    #[test]
    fn a_test_of_a_report_has_a_path() {
        assert_eq!(path_of("test_b (m.T.test_b)"), "m.T.test_b");
        assert_eq!(path_of("test_b (m.T)"), "m.T.test_b");
    }
}
