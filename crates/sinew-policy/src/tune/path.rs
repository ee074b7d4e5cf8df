//! The record of a tuner: states, settings and counts over the epochs of a run, as in figure 6.7 of
//! Góes, "Automatic Skeleton-Driven Performance Optimizations for Transactional Memory".
//!
//! Consecutive epochs with the same state and settings are one row, so the path of a long run stays
//! short. A full path counts further epochs and does not keep them.
//!
//! As text it is one line of names, then one line per row, with commas between the values, for a
//! table or a plot:
//!
//! ```
//! use sinew_policy::tune::{Counts, Knobs, Path, Tuner};
//!
//! let mut tuner = Tuner::new(2, Knobs::default())?;
//! let mut path = Path::new(100);
//! path.push(&tuner.epoch(&Counts { commits: 500, aborts: 9, stalls: 70, elapsed_ns: 80_000 }));
//! assert_eq!(
//!     path.to_string(),
//!     "epoch,epochs,elapsed_ns,state,threads,stealing,lifespan,coalescing,swap_after,\
//!      commits,aborts,stalls\n\
//!      0,1,80000,start,2,0,0,0,,500,9,70\n"
//! );
//! # Ok::<(), sinew_policy::tune::KnobError>(())
//! ```
//!
//! # Invariants
//!
//! - R1: the rows' epochs are adjacent from 0 on; together with those left out they are all pushed
//!   epochs.
//!
//! # Tests
//!
//! A property test for R1 and for the sums; the text; the cost of settling.

use std::fmt;

use super::{Counts, State, Step};
use crate::worklist::Settings;

/// Consecutive epochs with one state and the same settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The number of its first epoch; the first of the run is 0.
    pub epoch: u64,
    /// How many epochs it represents.
    pub epochs: u64,
    /// The setting that was tuned.
    pub state: State,
    /// The settings in force.
    pub settings: Settings,
    /// The sum of the counts of these epochs.
    pub counts: Counts,
}

/// The cost until all settings but swap-retry were decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settling {
    /// In epochs.
    pub epochs: u64,
    /// In commits, aborts, stalls and time.
    pub counts: Counts,
}

/// The path of a tuner; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    rows: Vec<Row>,
    limit: usize,
    left_out: u64,
}

/// The names of the columns of a path as text.
const COLUMNS: &str = "epoch,epochs,elapsed_ns,state,threads,stealing,lifespan,coalescing,\
                       swap_after,commits,aborts,stalls";

impl Path {
    /// An empty path that keeps at most `limit` rows; 0 keeps none.
    pub fn new(limit: usize) -> Self {
        Self { rows: Vec::new(), limit, left_out: 0 }
    }

    /// Adds an epoch.
    ///
    /// # Cost
    ///
    /// Amortised constant; allocates at most `limit` rows in all.
    pub fn push(&mut self, step: &Step) {
        let full = self.rows.len() >= self.limit;
        match self.rows.last_mut() {
            Some(row) if row.is_like(step) && self.left_out == 0 => {
                row.epochs += 1;
                row.counts = row.counts.plus(&step.counts);
            }
            _ if full => self.left_out += 1,
            last => {
                let epoch = last.map_or(0, |row| row.epoch + row.epochs);
                let Step { state, settings, counts } = *step;
                self.rows.push(Row { epoch, epochs: 1, state, settings, counts });
            }
        }
    }

    /// The rows, oldest first.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The number of epochs after the path was full.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The cost until the tuner settled; `None` if it did not within this path.
    pub fn settling(&self) -> Option<Settling> {
        let end = self.rows.iter().position(|row| row.state == State::SwapRetry)?;
        let counts =
            self.rows[..end].iter().fold(Counts::default(), |sum, row| sum.plus(&row.counts));
        Some(Settling { epochs: self.rows[end].epoch, counts })
    }
}

impl Row {
    fn is_like(&self, step: &Step) -> bool {
        self.state == step.state && self.settings == step.settings
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epoch, epochs, state, settings, counts } = self;
        let (stealing, coalescing) = (u8::from(settings.stealing), u8::from(settings.coalescing));
        let swap_after = settings.swap_after.map(|retries| retries.to_string()).unwrap_or_default();
        write!(
            f,
            "{epoch},{epochs},{},{state},{},{stealing},",
            counts.elapsed_ns, settings.threads
        )?;
        write!(f, "{},{coalescing},{swap_after},", settings.lifespan)?;
        write!(f, "{},{},{}", counts.commits, counts.aborts, counts.stalls)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{COLUMNS}")?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::{Knobs, Tuner};
    use proptest::prelude::*;

    fn counts(aborts: u64) -> Counts {
        Counts { commits: 10, aborts, stalls: aborts, elapsed_ns: 100 + aborts }
    }

    proptest! {
        /// Catches: an epoch that is lost or kept twice, rows that overlap, a row too many, and
        /// wrong sums (R1).
        #[test]
        fn every_epoch_is_in_one_row_or_left_out(
            aborts in proptest::collection::vec(prop_oneof![Just(0_u64), 0..200_u64], 0..60),
            limit in 0..12_usize,
        ) {
            let mut tuner = Tuner::new(2, Knobs::default()).unwrap();
            let mut path = Path::new(limit);
            aborts.iter().for_each(|&aborts| path.push(&tuner.epoch(&counts(aborts))));
            let mut next = 0;
            for row in path.rows() {
                prop_assert!(row.epoch == next && row.epochs > 0);
                next += row.epochs;
            }
            prop_assert_eq!(next + path.left_out(), aborts.len() as u64);
            prop_assert!(path.rows().len() <= limit);
            let kept: u64 = aborts[..next as usize].iter().sum();
            prop_assert_eq!(path.rows().iter().map(|row| row.counts.aborts).sum::<u64>(), kept);
            prop_assert_eq!(path.to_string().lines().count(), path.rows().len() + 1);
        }
    }

    /// Catches: settings after the epoch instead of those in it, and equal epochs in rows of their
    /// own.
    #[test]
    fn a_row_shows_what_was_in_force() {
        let mut tuner = Tuner::new(2, Knobs::default()).unwrap();
        let mut path = Path::new(100);
        for aborts in [0, 10, 0, 0, 0, 10, 10, 0] {
            path.push(&tuner.epoch(&counts(aborts)));
        }
        let text = path.to_string();
        assert_eq!(
            text.lines().skip(1).collect::<Vec<_>>(),
            [
                "0,1,100,start,2,0,0,0,,10,0,0",
                "1,1,110,stealing,2,0,0,0,,10,10,10",
                "2,2,200,threads,2,1,0,0,,20,0,0",
                "4,1,100,coalescing,2,1,0,0,,10,0,0",
                "5,1,110,swap-retry,2,1,0,0,,10,10,10",
                "6,2,210,swap-retry,2,1,0,0,32,20,10,10",
            ]
        );
        assert_eq!(
            path.settling().map(|settling| (settling.epochs, settling.counts.elapsed_ns)),
            Some((5, 510))
        );
    }

    /// Catches: a settling time for a run that ended before.
    #[test]
    fn a_run_that_did_not_settle_says_so() {
        let mut tuner = Tuner::new(2, Knobs::default()).unwrap();
        let mut path = Path::new(100);
        path.push(&tuner.epoch(&counts(0)));
        assert_eq!(path.settling(), None);
        assert_eq!(Path::new(0).settling(), None);
    }
}
