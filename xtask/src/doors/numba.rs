//! numba's own tests of parallel functions: `cargo xtask python --numba-tests`.
//!
//! Each module runs with Sinew in the place of numba's OpenMP layer, and with that layer. A test
//! that fails with Sinew alone is an error; some fail with any layer. The tests start interpreters
//! of their own, so a module that every interpreter imports puts Sinew there (`numba_suite`).

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

/// The counts that numba's tests reported.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    tests: usize,
    skipped: usize,
    failed: BTreeSet<String>,
}

/// Runs all modules with both layers.
///
/// # Errors
///
/// The tests that fail with Sinew alone, or a module without a report.
pub(super) fn compare(python: &Path) -> Result<(), String> {
    let suite = command::root().join("python/tests/numba_suite");
    let mut ours_alone = BTreeSet::new();
    for module in MODULES {
        let ours = run(python, module, Some(&suite))?;
        let theirs = run(python, module, None)?;
        let counts =
            |report: &Report| format!("{} failed, {} skipped", report.failed.len(), report.skipped);
        println!(
            "{module}: {} tests; Sinew {}; OpenMP {}",
            ours.tests,
            counts(&ours),
            counts(&theirs)
        );
        ours_alone.extend(ours.failed.difference(&theirs.failed).cloned());
    }
    match ours_alone.is_empty() {
        true => Ok(()),
        false => Err(format!("tests of numba that fail with Sinew alone: {ours_alone:?}")),
    }
}

fn run(python: &Path, module: &str, suite: Option<&PathBuf>) -> Result<Report, String> {
    let mut tests = Command::new(python);
    command::without_settings(&mut tests);
    tests.args(["-m", "numba.runtests", "-v"]).arg(format!("numba.tests.{module}"));
    // As many threads as the tests of masks need, also on fewer processors.
    tests.env("NUMBA_NUM_THREADS", "4").env("SINEW_THREADS", "4");
    tests.env("NUMBA_THREADING_LAYER", "omp");
    tests.env("PYTHONPATH", suite.map(|suite| suite.as_os_str()).unwrap_or_default());
    let output = tests.output().map_err(|error| format!("{}: {error}", python.display()))?;
    let text = String::from_utf8_lossy(&output.stderr);
    report(&text).ok_or_else(|| format!("numba.tests.{module} ended without a report:\n{text}"))
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
}
