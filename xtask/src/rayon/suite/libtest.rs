//! The output of `cargo test`, as numbers and names.
//!
//! The lines of all test programs of a run stand in one text, those of cargo among them. Numbers
//! come from the lines that open and close a program's report; a program that died has opened one
//! and not closed it, and is then missed.

/// The results of one run's tests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// Tests that were announced.
    pub(super) found: usize,
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) ignored: usize,
    pub(super) ignored_names: Vec<String>,
    pub(super) failures: Vec<String>,
    /// Tests that ran for over a minute and have no result.
    pub(super) hanging: Vec<String>,
    /// Test programs that ended otherwise than by reporting.
    pub(super) crashes: Vec<String>,
    /// The last test with a result.
    pub(super) last: Option<String>,
    /// The output of the failed tests.
    pub(super) details: String,
}

impl Report {
    /// Both together, as far as a summary needs it.
    pub(super) fn and(mut self, other: &Report) -> Report {
        self.found += other.found;
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.ignored_names.extend(other.ignored_names.iter().cloned());
        self
    }
}

/// Reads the output of `cargo test`.
pub(super) fn read(text: &str) -> Report {
    let mut report = Report::default();
    // Within a list of failures: what they printed, then, under the same title, their names.
    let mut failing = false;
    for line in text.lines() {
        if let Some(count) = announced(line) {
            report.found += count;
        } else if let Some(totals) = line.strip_prefix("test result: ") {
            failing = false;
            read_totals(totals, &mut report);
        } else if line == "failures:" {
            failing = true;
        } else if failing {
            read_failure(line, &mut report);
        } else {
            read_line(line, &mut report);
        }
    }
    report
}

/// The number in `running 3 tests`.
fn announced(line: &str) -> Option<usize> {
    let rest = line.strip_prefix("running ")?;
    let count = rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test"))?;
    count.parse().ok()
}

/// `FAILED. 3 passed; 1 failed; 0 ignored; …`
fn read_totals(totals: &str, report: &mut Report) {
    let (_, numbers) = totals.split_once(". ").unwrap_or_default();
    for part in numbers.split("; ") {
        let (count, what) = part.split_once(' ').unwrap_or_default();
        let count: usize = count.parse().unwrap_or(0);
        match what {
            "passed" => report.passed += count,
            "failed" => report.failed += count,
            "ignored" => report.ignored += count,
            _ => {}
        }
    }
}

/// A line between `failures:` and the totals.
fn read_failure(line: &str, report: &mut Report) {
    let printed = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" ----"));
    if let Some(title) = printed {
        let name = title.strip_suffix(" stdout").unwrap_or(title);
        report.failures.push(name.to_owned());
    }
    // The names by themselves are indented and repeat what was just read.
    let repeated = line
        .strip_prefix("    ")
        .is_some_and(|name| report.failures.iter().any(|known| known == name));
    if !repeated {
        report.details.push_str(line);
        report.details.push('\n');
    }
}

/// A line outside of the list of failures.
fn read_line(line: &str, report: &mut Report) {
    let line = line.trim();
    if let Some(why) = line.strip_prefix("process didn't exit successfully: ") {
        // The status of a program that reported its failures itself.
        if !why.ends_with("(exit status: 101)") {
            report.crashes.push(format!("died: {why}"));
        }
        return;
    }
    let Some(test) = line.strip_prefix("test ") else { return };
    if let Some((name, "")) = test.split_once(" has been running for over 60 seconds") {
        report.hanging.push(name.to_owned());
    } else if let Some((name, result)) = test.rsplit_once(" ... ") {
        let name = name.strip_suffix(" - should panic").unwrap_or(name);
        report.hanging.retain(|hanging| hanging != name);
        report.last = Some(name.to_owned());
        if result.starts_with("ignored") {
            report.ignored_names.push(name.to_owned());
        }
    }
}

/// The last `lines` lines of `text`.
pub(super) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    //! Blind to: a test that prints such lines itself.
    use super::*;

    const MIXED: &str = "\
     Running unittests src/lib.rs (target/debug/deps/a-1)

running 4 tests
test one ... ok
test two - should panic ... ok
test three ... FAILED
test four ... ignored, for a reason

failures:

---- three stdout ----

thread 'three' panicked at src/lib.rs:1:2:
left is not right


failures:
    three

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

error: test failed, to rerun pass `--lib`

Caused by:
  process didn't exit successfully: `a-1` (exit status: 101)

running 1 test
test five ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn numbers_and_names_of_several_programs_add_up() {
        let report = read(MIXED);
        assert_eq!((report.found, report.passed, report.failed, report.ignored), (5, 3, 1, 1));
        assert_eq!(report.failures, ["three"]);
        assert_eq!(report.ignored_names, ["four"]);
        assert_eq!(report.last.as_deref(), Some("five"));
        assert_eq!(report.crashes, [""; 0]);
        assert!(report.details.contains("left is not right"), "{}", report.details);
    }

    #[test]
    fn a_program_that_died_leaves_tests_without_an_end() {
        let report = read(
            "running 3 tests\ntest one ... ok\nerror: test failed\n\nCaused by:\n  \
             process didn't exit successfully: `a-1` (signal: 6, SIGABRT: process abort signal)\n",
        );
        assert_eq!((report.found, report.passed), (3, 0));
        assert_eq!(report.crashes, ["died: `a-1` (signal: 6, SIGABRT: process abort signal)"]);
        assert_eq!(report.last.as_deref(), Some("one"));
    }

    #[test]
    fn a_slow_test_hangs_until_it_has_a_result() {
        let slow = "running 2 tests\ntest a::b has been running for over 60 seconds\n";
        assert_eq!(read(slow).hanging, ["a::b"]);
        assert_eq!(read(&format!("{slow}test a::b - should panic ... ok\n")).hanging, [""; 0]);
    }

    #[test]
    fn examples_are_named_by_file_and_line() {
        let report =
            read("running 1 test\ntest src/lib.rs - join (line 43) - compile fail ... ignored\n");
        assert_eq!(report.ignored_names, ["src/lib.rs - join (line 43) - compile fail"]);
    }

    #[test]
    fn reports_add_up() {
        let sum = Report::default().and(&read(MIXED)).and(&read(MIXED));
        assert_eq!((sum.found, sum.passed, sum.failed, sum.ignored), (10, 6, 2, 2));
    }

    #[test]
    fn the_tail_of_a_short_text_is_all_of_it() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a\n", 5), "a");
    }
}
