//! The report of a guest, and its meaning.
//!
//! A guest that was killed, that panicked, or that lost a line has not passed: every check of its
//! plan must have ended, once, and the end must have been told.

use numa_protocol::{Line, Outcome};

/// All that one machine has reported.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    plan: Vec<String>,
    outcomes: Vec<(String, Outcome)>,
    ended: bool,
    complaints: Vec<String>,
}

impl Transcript {
    pub(super) fn add(&mut self, line: Line) {
        match line {
            Line::Plan(names) => self.plan.extend(names),
            Line::Check { name, outcome } => self.outcomes.push((name, outcome)),
            Line::End => self.ended = true,
        }
    }

    /// Notes what went wrong outside of the checks.
    pub(super) fn complain(&mut self, what: String) {
        self.complaints.push(what);
    }

    fn count(&self, counts: impl Fn(&Outcome) -> bool) -> usize {
        self.outcomes.iter().filter(|(_, outcome)| counts(outcome)).count()
    }

    pub(super) fn passed(&self) -> usize {
        self.count(|outcome| *outcome == Outcome::Passed)
    }

    pub(super) fn skipped(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Skipped(_)))
    }

    /// Everything that is not as it should be, one line each; nothing if all checks passed or were
    /// skipped.
    pub(super) fn problems(&self) -> Vec<String> {
        let failed =
            self.outcomes.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Failed(_)));
        // Why has been told when it did.
        let failed = failed.map(|(name, _)| format!("{name} failed"));
        let mut problems: Vec<String> = self.complaints.iter().cloned().chain(failed).collect();
        if self.plan.is_empty() {
            problems.push("there was nothing to check".into());
        }
        problems.extend(self.plan.iter().filter_map(|name| self.miscounted(name)));
        let planned = |name: &String| self.plan.contains(name);
        let unplanned = self.outcomes.iter().map(|(name, _)| name).filter(|name| !planned(name));
        problems.extend(unplanned.map(|name| format!("{name} was not planned")));
        if !self.ended {
            problems.push("the guest ended before its checks did".into());
        }
        problems
    }

    fn miscounted(&self, name: &str) -> Option<String> {
        match self.outcomes.iter().filter(|(other, _)| other == name).count() {
            1 => None,
            0 => Some(format!("{name} did not answer")),
            times => Some(format!("{name} answered {times} times")),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a guest that passes checks without looking.

    use super::*;

    fn transcript(text: &str) -> Transcript {
        let mut transcript = Transcript::default();
        text.lines().for_each(|line| transcript.add(line.parse().expect("a line")));
        transcript
    }

    #[test]
    fn all_planned_checks_and_the_end_make_a_pass() {
        let heard = transcript("PLAN a/x a/y\nCHECK a/x ok\nCHECK a/y skipped: no y here\nEND");
        assert_eq!((heard.passed(), heard.skipped()), (1, 1));
        assert_eq!(heard.problems(), Vec::<String>::new());
    }

    #[test]
    fn whatever_is_missing_or_wrong_is_a_problem_of_its_own() {
        for (text, problem) in [
            ("PLAN a\nCHECK a FAILED: it broke\nEND", "a failed"),
            ("PLAN a b\nCHECK a ok\nEND", "b did not answer"),
            ("PLAN a\nCHECK a ok\nCHECK a ok\nEND", "a answered 2 times"),
            ("PLAN a\nCHECK a ok\nCHECK b ok\nEND", "b was not planned"),
            ("PLAN a\nCHECK a ok", "the guest ended before its checks did"),
            ("PLAN\nEND", "there was nothing to check"),
        ] {
            assert_eq!(transcript(text).problems(), [problem], "{text}");
        }
        let mut heard = transcript("PLAN a\nCHECK a ok\nEND");
        heard.complain("killed after 1 s".into());
        assert_eq!(heard.problems(), ["killed after 1 s"]);
    }
}
