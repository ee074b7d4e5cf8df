//! How the loops of the thesis' applications are divided: recursively, as TBB's partitioners do, so
//! that a thief takes every piece from a victim that its rule chose.
//!
//! Equal shares and our own stealing of ranges, which the applications have otherwise, ask the rule
//! for hardly any victim.

use sinew::Schedule;

use crate::common::Subject;
use crate::experiment::{Caveat, Need};
use crate::failure::Failure;

/// A way to divide the loops of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Division {
    /// The name of TBB's partitioner, or a word for an application without loops.
    pub(super) name: &'static str,
    schedule: Option<Schedule>,
}

pub(super) const UNNAMED: Caveat = Caveat {
    unless: Need::Nothing,
    words: "The thesis does not say which of TBB's partitioners each program has, nor with which \
        grain. Each loop runs under both here: auto cuts it into four pieces a worker and stolen \
        pieces further, simple down to a grain, which is one item, or 64 where an item takes well \
        below a microsecond.",
};

pub(super) const PAUSES: Caveat = Caveat {
    unless: Need::Nothing,
    words: "Idle workers park here after a while, and a thief pauses for 8 µs after eight steals \
        in a row whose tasks took less than a quarter of a microsecond; TBB's pause and yield \
        between attempts.",
};

/// Applications whose items take well below a microsecond.
const FINE: [&str; 2] = ["blackscholes", "fluidanimate"];

/// The ways to divide the loops of an application: a single one if it has no loops.
pub(super) fn divisions(app: &str) -> Vec<Division> {
    if !sinew_apps::find(app).is_some_and(|app| app.loops) {
        return vec![Division { name: "none", schedule: None }];
    }
    let grain = if FINE.contains(&app) { 64 } else { 1 };
    vec![
        Division { name: "auto", schedule: Some(Schedule::Adaptive { grain: 1 }) },
        Division { name: "simple", schedule: Some(Schedule::Simple { grain }) },
    ]
}

impl Division {
    /// An application whose loops are divided this way.
    ///
    /// # Errors
    ///
    /// As [`Subject::prepare`].
    pub(super) fn prepare(self, app: &str, size: &str) -> Result<Subject, Failure> {
        Subject::prepare(app, size, self.schedule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::Conditions;

    /// Catches: a loop whose pieces are not offered to thieves as tasks.
    #[test]
    fn every_piece_of_a_loop_is_a_task() {
        for app in ["heat", "gauss", "matmul", "streamcluster", "blackscholes"] {
            for division in divisions(app) {
                let subject = division.prepare(app, "tiny").unwrap();
                let pool = Conditions::workers(2).build_profiled().unwrap();
                let measured = subject.parallel(&pool).unwrap();
                let spawned = measured.profile.as_ref().unwrap().tasks().spawned;
                assert!(spawned >= 7, "{app}, {}: {spawned}", division.name);
            }
        }
    }

    /// Catches: a program of joins that is run twice, under names that mean nothing for it.
    #[test]
    fn only_loops_are_divided() {
        let names = |app| divisions(app).iter().map(|division| division.name).collect::<Vec<_>>();
        assert_eq!(names("quicksort"), ["none"]);
        assert_eq!(names("heat"), ["auto", "simple"]);
    }
}
