//! The lines of the guest's report.
//!
//! First the names of all checks that will be run, then one line a check, then the end. So a check
//! that is missing for any reason differs from one that was never meant to run.

use std::fmt;
use std::str::FromStr;

/// A line of the report. Written with [`fmt::Display`], read with [`str::parse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The names of the checks, in the order in which they will be run.
    Plan(Vec<String>),
    /// The outcome of one of them.
    Check {
        /// Its name: its group, a slash, what it checks.
        name: String,
        /// The outcome.
        outcome: Outcome,
    },
    /// All checks have run.
    End,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was as it should be.
    Passed,
    /// It could not be looked at on this machine, and why.
    Skipped(String),
    /// The difference from the expectation.
    Failed(String),
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Plan(names) => write!(f, "PLAN {}", names.join(" ")),
            Line::Check { name, outcome } => write!(f, "CHECK {name} {outcome}"),
            Line::End => f.write_str("END"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Passed => f.write_str("ok"),
            Outcome::Skipped(why) => write!(f, "skipped: {}", one_line(why)),
            Outcome::Failed(why) => write!(f, "FAILED: {}", one_line(why)),
        }
    }
}

/// A line break would be taken for the end of the line.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" / ")
}

impl FromStr for Line {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let line = text.trim();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let parsed = match word {
            "PLAN" => Some(Line::Plan(rest.split_whitespace().map(str::to_owned).collect())),
            "CHECK" => rest.split_once(' ').and_then(|(name, outcome)| {
                Some(Line::Check { name: name.to_owned(), outcome: Outcome::parse(outcome)? })
            }),
            "END" => Some(Line::End),
            _ => None,
        };
        parsed.ok_or_else(|| format!("`{line}` is not a line that the guest should write"))
    }
}

impl Outcome {
    fn parse(text: &str) -> Option<Self> {
        if text == "ok" {
            return Some(Outcome::Passed);
        }
        let (word, why) = text.split_once(": ")?;
        match word {
            "skipped" => Some(Outcome::Skipped(why.to_owned())),
            "FAILED" => Some(Outcome::Failed(why.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a serial line that changes characters.

    use super::*;

    #[test]
    fn every_line_is_read_back_as_it_was_meant() {
        let check = |outcome| Line::Check { name: "tree/nodes".into(), outcome };
        for line in [
            Line::Plan(vec!["tree/nodes".into(), "pin/compact".into()]),
            check(Outcome::Passed),
            check(Outcome::Skipped("one node".into())),
            check(Outcome::Failed("CPU 3: on node 1".into())),
            Line::End,
        ] {
            // With a terminal's line end.
            assert_eq!(format!("{line}\r\n").parse(), Ok(line));
        }
    }

    #[test]
    fn a_reason_of_several_lines_becomes_one() {
        let line = Line::Check {
            name: "a".into(),
            outcome: Outcome::Failed("left: 1\n\n  right: 2\n".into()),
        };
        assert_eq!(line.to_string(), "CHECK a FAILED: left: 1 / right: 2");
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        for text in ["", "hello", "CHECK a", "CHECK a fine", "CHECK a skipped", "PLANS a"] {
            let error = text.parse::<Line>().expect_err(text);
            assert!(error.starts_with(&format!("`{text}` is not a line")), "{error}");
        }
    }
}
