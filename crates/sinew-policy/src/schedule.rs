//! The schedules of loops: one table of their names, numbers and codes.
//!
//! To add one: a variant of [`Schedule`], a line at the end of `TABLE`, and the way in which it
//! hands out iterations in [`Mechanism::of`]. Loops, the simulator, command lines, messages and
//! tests follow these. A new rule for the sizes of chunks is a variant of [`ChunkRule`], with its
//! arithmetic in [`next_chunk`](crate::chunk::next_chunk).

use std::fmt;
use std::mem::discriminant;
use std::str::FromStr;

/// How a loop hands out its iterations.
///
/// As text: its name, and a colon and a number if it has one, such as `static` and `dynamic:64`.
/// Without the number it is 1. [`usage`](Self::usage) lists all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Schedule {
    /// One equal share per worker, fixed by the worker's number, so that the next loop over the
    /// same data finds it in the same caches. If a worker does not claim its share, the others take
    /// it.
    Static,
    /// `chunk` iterations at a time, first come, first served.
    Dynamic {
        /// Iterations per chunk, at least 1.
        chunk: usize,
    },
    /// Guided self-scheduling, as in OpenMP: each chunk is a fraction of the remainder for each
    /// worker. Large ones first, small ones to balance the end.
    Guided {
        /// Iterations of the smallest chunk, at least 1.
        min: usize,
    },
    /// Batches of equal chunks, one per worker; each batch is half of the remainder.
    Factoring {
        /// Iterations of the smallest chunk, at least 1.
        min: usize,
    },
    /// One range per worker; an idle worker takes the back half of another's. A loop of at most two
    /// iterations a worker runs as `Simple` with a grain of 1. Suits most loops.
    #[default]
    Stealing,
    /// Each worker begins with the part that it ran last time, from a memory that the caller holds;
    /// an idle worker steals. For loops that run repeatedly over the same data and are not quite
    /// even. Without a memory, or with one for another length, every worker begins with an equal
    /// share.
    Affinity,
    /// Shares proportional to each worker's speed, from a memory that the caller holds; an idle
    /// worker steals. For cores of different speed. Without a memory, or with an empty one, every
    /// worker begins with an equal share. A loop that is switched to it while it runs uses the
    /// speeds so far.
    Weighted,
    /// Recursive halves, down to between half a grain and a grain, offered to thieves as the arms
    /// of a `join`.
    Simple {
        /// Iterations of the largest piece, at least 1.
        grain: usize,
    },
    /// Recursive halves, down to a few pieces per worker. A stolen piece is cut further, since its
    /// thief was idle.
    Adaptive {
        /// A piece of this many iterations is not cut; at least 1.
        grain: usize,
    },
    /// The best schedule found for this call site: the first runs of a millisecond or more try
    /// several, see [`auto`](crate::auto). For loops that run repeatedly.
    Auto,
    /// Chunks that begin with `first` iterations and shrink in proportion to the remainder, down to
    /// single ones. Twice as many workers do not change the sizes, unlike with `Guided`.
    Tapered {
        /// Iterations of the first chunk, at least 1; all of them in a shorter loop.
        first: usize,
    },
}

/// A schedule: its name, the word for the number that may follow it, and itself with a number.
type Line = (&'static str, Option<&'static str>, fn(usize) -> Schedule);

/// All schedules. Programs exchange the places in this table as [codes](Schedule::code), so a new
/// schedule is a line at the end.
static TABLE: &[Line] = &[
    ("static", None, |_| Schedule::Static),
    ("dynamic", Some("CHUNK"), |chunk| Schedule::Dynamic { chunk }),
    ("guided", Some("MIN"), |min| Schedule::Guided { min }),
    ("factoring", Some("MIN"), |min| Schedule::Factoring { min }),
    ("stealing", None, |_| Schedule::Stealing),
    ("affinity", None, |_| Schedule::Affinity),
    ("weighted", None, |_| Schedule::Weighted),
    ("simple", Some("GRAIN"), |grain| Schedule::Simple { grain }),
    ("adaptive", Some("GRAIN"), |grain| Schedule::Adaptive { grain }),
    ("auto", None, |_| Schedule::Auto),
    ("tapered", Some("FIRST"), |first| Schedule::Tapered { first }),
];

/// The way in which a schedule hands out iterations, with its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// One share per worker, fixed by the worker's number.
    Shares,
    /// Chunks from one counter that all workers share.
    Counter(ChunkRule),
    /// One range per worker, halved by thieves. The caller begins with the whole loop.
    Ranges,
    /// One range per worker, halved by thieves. The ranges at the beginning follow from earlier
    /// runs.
    Partition(Feedback),
    /// Halves that are the arms of joins.
    Joins {
        /// When a range is cut.
        rule: SplitRule,
        /// A range of this many iterations is not cut.
        grain: usize,
    },
    /// That of the schedule that a [tuner](crate::auto) chooses.
    Tuned,
}

/// The sizes of chunks from one counter. A number of 0 counts as 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkRule {
    /// All chunks have this size.
    Fixed(usize),
    /// A fixed fraction of what remains for each worker, and at least this.
    Guided(usize),
    /// Half of what remains in one batch of equal chunks of at least this.
    Factoring(usize),
    /// This at first, and then in proportion to what remains.
    Tapered(usize),
}

/// The contents of a memory of earlier runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// The worker that ran each part.
    Owners,
    /// The speed of each worker.
    Speeds,
}

/// When a range is cut into halves; [`Splitter`](crate::split::Splitter) has the depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitRule {
    /// While it is longer than the grain.
    Simple,
    /// Into a few pieces per worker, and further if it was stolen.
    Adaptive,
}

impl Mechanism {
    /// The mechanism of a schedule.
    #[inline]
    pub const fn of(schedule: Schedule) -> Self {
        match schedule {
            Schedule::Static => Self::Shares,
            Schedule::Dynamic { chunk } => Self::Counter(ChunkRule::Fixed(chunk)),
            Schedule::Guided { min } => Self::Counter(ChunkRule::Guided(min)),
            Schedule::Factoring { min } => Self::Counter(ChunkRule::Factoring(min)),
            Schedule::Tapered { first } => Self::Counter(ChunkRule::Tapered(first)),
            Schedule::Stealing => Self::Ranges,
            Schedule::Affinity => Self::Partition(Feedback::Owners),
            Schedule::Weighted => Self::Partition(Feedback::Speeds),
            Schedule::Simple { grain } => Self::Joins { rule: SplitRule::Simple, grain },
            Schedule::Adaptive { grain } => Self::Joins { rule: SplitRule::Adaptive, grain },
            Schedule::Auto => Self::Tuned,
        }
    }

    /// Its chunk, least or first chunk, or its grain, if it has one.
    #[inline]
    pub const fn number(self) -> Option<usize> {
        match self {
            Self::Counter(
                ChunkRule::Fixed(number)
                | ChunkRule::Guided(number)
                | ChunkRule::Factoring(number)
                | ChunkRule::Tapered(number),
            )
            | Self::Joins { grain: number, .. } => Some(number),
            Self::Shares | Self::Ranges | Self::Partition(_) | Self::Tuned => None,
        }
    }
}

impl Schedule {
    /// Every schedule; those that have a number have this one.
    pub fn every(number: usize) -> impl ExactSizeIterator<Item = Self> {
        TABLE.iter().map(move |(_, _, with)| with(number))
    }

    /// The names to choose from, in words: `static, dynamic:CHUNK, … or auto`.
    pub fn usage() -> String {
        let forms: Vec<String> = TABLE
            .iter()
            .map(|(name, number, _)| match number {
                Some(number) => format!("{name}:{number}"),
                None => (*name).to_owned(),
            })
            .collect();
        crate::named::in_words(&forms)
    }

    /// Its chunk, least or first chunk, or its grain, if it has one.
    #[inline]
    pub const fn number(self) -> Option<usize> {
        Mechanism::of(self).number()
    }

    /// The same schedule with another number, if it has one.
    pub fn with_number(self, number: usize) -> Self {
        let (_, _, with) = TABLE[self.place()];
        with(number)
    }

    /// Its place in the table.
    fn place(self) -> usize {
        let is_same = |schedule: Self| discriminant(&schedule) == discriminant(&self);
        Self::every(1).position(is_same).expect("every schedule is in the table")
    }

    /// Whether the number in it makes sense.
    ///
    /// # Errors
    ///
    /// [`ScheduleError`] if a chunk is 0; use at least 1.
    pub fn check(self) -> Result<Self, ScheduleError> {
        if self.number() == Some(0) { Err(ScheduleError::Zero(self)) } else { Ok(self) }
    }

    /// Its place in the table plus 1, and its number or 0: the form in which programs exchange
    /// schedules.
    pub fn code(self) -> (u8, usize) {
        (self.place() as u8 + 1, self.number().unwrap_or(0))
    }

    /// The schedule of a [`code`](Self::code); `None` if there is none.
    pub fn from_code(code: u8, number: usize) -> Option<Self> {
        let (_, _, with) = TABLE.get(usize::from(code).checked_sub(1)?)?;
        with(number).check().ok()
    }

    /// The bit of a [word](Self::to_word) that a schedule leaves free.
    pub const FREE_BIT: u64 = 1 << 63;

    /// The [`code`](Self::code) in one word, never 0. A number that is too large for it becomes the
    /// largest that fits.
    pub fn to_word(self) -> u64 {
        let (code, number) = self.code();
        u64::from(code) | (number as u64).min((Self::FREE_BIT - 1) >> u8::BITS) << u8::BITS
    }

    /// The schedule of a [word](Self::to_word). Ignores the free bit.
    pub fn from_word(word: u64) -> Option<Self> {
        let number = (word & !Self::FREE_BIT) >> u8::BITS;
        Self::from_code(word as u8, usize::try_from(number).ok()?)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TABLE[self.place()].0)?;
        self.number().map_or(Ok(()), |number| write!(f, ":{number}"))
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower = text.trim().to_ascii_lowercase();
        let (name, number) = match lower.split_once(':') {
            None => (lower.as_str(), None),
            Some((name, number)) => (name, Some(number)),
        };
        let (_, takes, with) = TABLE
            .iter()
            .find(|(known, ..)| *known == name)
            .ok_or_else(|| ScheduleError::UnknownName(text.to_owned()))?;
        match (takes, number.map(|digits| digits.trim().parse())) {
            (_, None) => Ok(with(1)),
            (None, Some(_)) => Err(ScheduleError::TakesNoNumber(text.to_owned())),
            (Some(_), Some(Ok(number))) => with(number).check(),
            (Some(_), Some(Err(_))) => Err(ScheduleError::NotANumber(text.to_owned())),
        }
    }
}

/// A schedule that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleError {
    /// No schedule has this name.
    UnknownName(String),
    /// The text after the colon is not a whole number.
    NotANumber(String),
    /// This schedule has no number.
    TakesNoNumber(String),
    /// A chunk of no iterations would never end.
    Zero(Schedule),
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownName(text) => {
                write!(f, "`{text}` is not a schedule: write {}", Schedule::usage())
            }
            Self::NotANumber(text) => {
                write!(
                    f,
                    "the number in schedule `{text}` is not a whole number: write for example \
                     dynamic:64"
                )
            }
            Self::TakesNoNumber(text) => {
                write!(f, "schedule `{text}` takes no number: leave out the colon and what follows")
            }
            Self::Zero(schedule) => {
                write!(f, "schedule `{schedule}` has chunks of 0 iterations: use at least 1")
            }
        }
    }
}

impl std::error::Error for ScheduleError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Catches: a number that the table names and the mechanism lacks, or the reverse.
    #[test]
    fn a_schedule_has_a_number_if_its_line_names_one() {
        for (name, number, with) in TABLE {
            let schedule = with(7);
            assert_eq!(schedule.number(), number.map(|_| 7), "{name}");
            assert_eq!(schedule.with_number(9), with(9), "{name}");
        }
    }

    /// Catches: a line out of place, which would change what other programs read.
    #[test]
    fn codes_are_the_places_in_the_table() {
        let codes = Schedule::every(7).map(Schedule::code);
        assert!(codes.enumerate().all(|(place, (code, _))| usize::from(code) == place + 1));
        assert_eq!(Schedule::Static.code(), (1, 0));
        assert_eq!(Schedule::Guided { min: 9 }.code(), (3, 9));
        assert_eq!(Schedule::Auto.code(), (10, 0));
        assert_eq!(Schedule::Tapered { first: 9 }.code(), (11, 9));
    }

    #[test]
    fn the_usage_names_every_schedule() {
        let usage = Schedule::usage();
        assert!(
            usage.starts_with("static, dynamic:CHUNK, ") && usage.ends_with(" or tapered:FIRST")
        );
        assert!(Schedule::every(1).all(|schedule| {
            let text = schedule.to_string();
            usage.contains(text.split(':').next().expect("a name"))
        }));
    }

    proptest! {
        /// Catches: a schedule that a program prints and does not understand, or takes for
        /// another one in words that programs exchange.
        #[test]
        fn schedules_are_read_as_they_are_written(number in 1..usize::MAX) {
            for schedule in Schedule::every(number) {
                prop_assert_eq!(schedule.to_string().parse(), Ok(schedule));
                let (code, inner) = schedule.code();
                prop_assert_eq!(Schedule::from_code(code, inner), Some(schedule));
            }
            prop_assert!(Schedule::from_code(0, number).is_none());
            prop_assert!(Schedule::from_code(2, 0).is_none());
            prop_assert!(Schedule::from_code(Schedule::every(1).len() as u8 + 1, 1).is_none());
        }
    }

    /// Catches: an error that does not name the value, and a number that is dropped silently.
    #[test]
    fn a_wrong_schedule_is_named() {
        let error = |text: &str| text.parse::<Schedule>().unwrap_err().to_string();
        assert!(error("dynamic:0").contains("`dynamic:0` has chunks of 0"));
        assert!(error("gided").contains("`gided` is not a schedule"));
        assert!(error("tapered:x").contains("`tapered:x`"));
        assert!(error("static:4").contains("`static:4` takes no number"));
        assert!(error("").contains("`` is not a schedule"));
        assert_eq!("Tapered:9".parse(), Ok(Schedule::Tapered { first: 9 }));
        assert_eq!("guided".parse(), Ok(Schedule::Guided { min: 1 }));
        assert!(Schedule::Factoring { min: 0 }.check().is_err());
    }
}
