//! Costs of scheduling operations.
//!
//! Each operation has a distribution. Operations that cross the machine are multiplied by a factor
//! for the distance. A stolen task also pays for the data that its thief's caches lack. Every cost
//! can be zero, which shows a rule without its costs.
//!
//! Not modelled: contention of thieves that claim the same cache line at once. They are served in
//! order of arrival.

use std::fmt;
use std::str::FromStr;

use crate::queue::Time;
use crate::random::{Duration, DurationError, is_within};

/// Durations of the scheduler's operations.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// Pushing a task onto the worker's own stack, where thieves see it at once.
    pub spawn: Duration,
    /// Popping the task, or finding that it has finished.
    pub join: Duration,
    /// Reaching a victim, whether or not it has a task.
    pub attempt: Duration,
    /// Extra time of an attempt at a victim that is not among the last 16 different ones that the
    /// thief tried, or whose oldest task is another one now: its lines or its page have to be
    /// fetched.
    pub miss: Duration,
    /// Moving the task, when an attempt succeeds.
    pub steal: Duration,
    /// Reading the load of one worker, when the policy asks for it.
    pub sample: Duration,
    /// Publishing some private tasks, for stacks with a private part.
    pub publish: Duration,
    /// A thief's exposure of private tasks whose owner does not publish: a fence on every core that
    /// runs the program.
    pub exposure: Duration,
    /// From the wake-up of a parked worker to the beginning of its search.
    pub wake: Duration,
    /// Factors for attempt, steal and sample at distance 1, 2 and so on. The last one holds for
    /// larger distances; an empty list means 1.
    pub factors: Vec<f64>,
    /// Extra time of a stolen task at distance 1, 2 and so on, until its data are cached. The last
    /// one holds for larger distances.
    pub refill: Vec<Duration>,
    /// Factors for work while 2, 3 and so on workers on one memory are busy: that of their node, or
    /// the only one of a machine without nodes. Beyond the list the factor grows by the last
    /// difference, as with a saturated memory. An empty list means 1. The factor depends on the
    /// program as well as on the machine.
    pub contention: Vec<f64>,
    /// Factors for work on data that another package has: the nearest other one, the next level and
    /// so on. The last one holds for larger distances; an empty list means 1. The factor depends on
    /// the program, too.
    pub far: Vec<f64>,
}

/// Declares the fields that can be set by their names.
macro_rules! set_by_name {
    ($of:ty: $value:ty; $($name:ident),+) => {
        impl $of {
            /// The names that [`set`](Self::set) knows.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),+];

            /// Sets the field of this name. Returns whether the name is known.
            pub fn set(&mut self, name: &str, value: $value) -> bool {
                let place = match name {
                    $(stringify!($name) => &mut self.$name,)+
                    _ => return false,
                };
                *place = value;
                true
            }
        }
    };
}
pub(crate) use set_by_name;

set_by_name!(Costs: Duration; spawn, join, attempt, miss, steal, sample, publish, exposure, wake);

impl Costs {
    /// All operations are free.
    pub const ZERO: Self = Self {
        spawn: Duration::ZERO,
        join: Duration::ZERO,
        attempt: Duration::ZERO,
        miss: Duration::ZERO,
        steal: Duration::ZERO,
        sample: Duration::ZERO,
        publish: Duration::ZERO,
        exposure: Duration::ZERO,
        wake: Duration::ZERO,
        factors: Vec::new(),
        refill: Vec::new(),
        contention: Vec::new(),
        far: Vec::new(),
    };

    /// Costs measured by `sinew-lab sim --calibrate` and the benchmarks on two cores of a
    /// present-day server (AMD Zen 5, virtual) that share a last-level cache.
    ///
    /// | cost | from |
    /// |---|---|
    /// | spawn, join | calibrated: 1.2 ns for both |
    /// | attempt, sample, publish | a line from one core to the other, one way: 28 ns; so a miss costs nothing more |
    /// | steal | from the push of a task to its beginning on a searching worker, 266 ns, less the line |
    /// | wake | the same on a sleeping worker, 60 us, which is much on a virtual machine |
    /// | exposure, factors, refill | estimates, as two cores show one distance only: each level of the machine adds once the cost within a cache |
    pub fn usual() -> Self {
        Self {
            spawn: Duration::Fixed(600),
            join: Duration::Fixed(600),
            attempt: Duration::ns(30),
            miss: Duration::ZERO,
            steal: Duration::ns(240),
            sample: Duration::ns(30),
            publish: Duration::ns(30),
            exposure: Duration::ns(7_000),
            wake: Duration::ns(60_000),
            factors: vec![1.0, 2.0, 3.0, 5.0],
            refill: vec![
                Duration::ns(0),
                Duration::ns(200),
                Duration::ns(1_000),
                Duration::ns(3_000),
            ],
            contention: Vec::new(),
            far: Vec::new(),
        }
    }

    /// Whether all costs are zero.
    pub fn are_zero(&self) -> bool {
        self.contention.is_empty()
            && self.far.is_empty()
            && self.single().iter().chain(&self.refill).all(|cost| cost.is_zero())
    }

    /// All named costs, in the order of [`NAMES`](Self::NAMES).
    pub fn single(&self) -> [Duration; Self::NAMES.len()] {
        [
            self.spawn,
            self.join,
            self.attempt,
            self.miss,
            self.steal,
            self.sample,
            self.publish,
            self.exposure,
            self.wake,
        ]
    }

    /// The lists that [`set_list`](Self::set_list) knows.
    pub const LISTS: [&'static str; 4] = ["factors", "refill", "contention", "far"];

    /// Sets one of [`LISTS`](Self::LISTS); each word is an entry, and no words empty the list.
    ///
    /// # Errors
    ///
    /// Names the word that is not a valid entry, or the unknown list.
    ///
    /// ```
    /// use sinew_sim::Costs;
    ///
    /// let mut costs = Costs::ZERO;
    /// costs.set_list("contention", &["1.2", "1.5"])?;
    /// assert_eq!(costs.contention, [1.2, 1.5]);
    /// assert!(costs.set_list("contention", &["0.5"]).is_err());
    /// # Ok::<(), String>(())
    /// ```
    pub fn set_list(&mut self, name: &str, words: &[&str]) -> Result<(), String> {
        let duration = |word: &&str| word.parse().map_err(|error: DurationError| error.to_string());
        match name {
            "factors" => self.factors = numbers(name, words, "0", is_factor)?,
            "refill" => self.refill = words.iter().map(duration).collect::<Result<_, _>>()?,
            "contention" => self.contention = numbers(name, words, "1", is_slow_down)?,
            "far" => self.far = numbers(name, words, "1", is_slow_down)?,
            _ => {
                return Err(format!(
                    "unknown list `{name}`; expected one of: {}",
                    Self::LISTS.join(", ")
                ));
            }
        }
        Ok(())
    }

    /// The factor for this distance.
    #[inline]
    pub(crate) fn factor(&self, distance: u8) -> f64 {
        at(&self.factors, distance).copied().unwrap_or(1.0)
    }

    #[inline]
    pub(crate) fn refill(&self, distance: u8) -> Duration {
        at(&self.refill, distance).copied().unwrap_or(Duration::ZERO)
    }

    /// The factor for work on data so many levels beyond the nearest other package.
    pub(crate) fn far(&self, beyond: u8) -> f64 {
        at(&self.far, beyond.saturating_add(1)).copied().unwrap_or(1.0)
    }

    /// The factor for work while `busy` workers on a memory work.
    pub(crate) fn contention(&self, busy: u32) -> f64 {
        let (others, known) = (busy.saturating_sub(1) as usize, self.contention.len());
        let at = |others: usize| if others == 0 { 1.0 } else { self.contention[others - 1] };
        match others.checked_sub(known) {
            None | Some(0) => at(others),
            Some(_) if known == 0 => 1.0,
            Some(beyond) => at(known) + beyond as f64 * (at(known) - at(known - 1)).max(0.0),
        }
    }

    /// Whether costs depend on the distance of two workers.
    pub(crate) fn know_distance(&self) -> bool {
        !self.factors.is_empty() || !self.refill.is_empty()
    }
}

/// The first line of a costs file.
const HEAD: &str = "sinew costs 1";

/// A text that does not parse as [`Costs`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CostsError {
    /// The first line is missing or wrong.
    NoCosts,
    /// A line that is neither a cost nor a list.
    Line {
        /// Line number, from 1.
        line: usize,
        /// Description of the error.
        what: String,
    },
}

impl fmt::Display for CostsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCosts => {
                write!(
                    f,
                    "no costs: the first line must be `{HEAD}` (see sinew-lab sim --calibrate)"
                )
            }
            Self::Line { line, what } => write!(f, "line {line} of the costs: {what}"),
        }
    }
}

impl std::error::Error for CostsError {}

impl fmt::Display for Costs {
    /// One cost per line, in nanoseconds, in the form that [`str::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}")?;
        for (name, cost) in Self::NAMES.iter().zip(self.single()) {
            writeln!(f, "{name} {cost}")?;
        }
        writeln!(f, "factors {}", words(&self.factors))?;
        writeln!(f, "refill {}", words(&self.refill))?;
        writeln!(f, "contention {}", words(&self.contention))?;
        writeln!(f, "far {}", words(&self.far))
    }
}

impl FromStr for Costs {
    type Err = CostsError;

    /// Reads the output of [`Display`](fmt::Display). Omitted costs are those of
    /// [`usual`](Self::usual); `#` begins a comment.
    ///
    /// # Errors
    ///
    /// Names the line and the error.
    fn from_str(text: &str) -> Result<Self, CostsError> {
        let mut lines = text.lines().enumerate();
        if lines.next().map(|(_, head)| head.trim()) != Some(HEAD) {
            return Err(CostsError::NoCosts);
        }
        let mut costs = Self::usual();
        for (at, line) in lines {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or("").split_whitespace().collect();
            costs.read(&words).map_err(|what| CostsError::Line { line: at + 1, what })?;
        }
        Ok(costs)
    }
}

impl Costs {
    fn read(&mut self, words: &[&str]) -> Result<(), String> {
        match words {
            [] => {}
            [name, list @ ..] if Self::LISTS.contains(name) => self.set_list(name, list)?,
            [name, cost] => {
                let cost = cost.parse().map_err(|error: DurationError| error.to_string())?;
                if !self.set(name, cost) {
                    return Err(format!(
                        "unknown cost `{name}`; expected one of: {}",
                        Self::NAMES.join(", ")
                    ));
                }
            }
            _ => return Err(format!("`{}` is not a name and a cost", words.join(" "))),
        }
        Ok(())
    }
}

/// Parses a list of numbers of at least `least`, each accepted by `is_valid`.
fn numbers(
    name: &str,
    words: &[&str],
    least: &str,
    may_be: impl Fn(&f64) -> bool,
) -> Result<Vec<f64>, String> {
    let number = |word: &&str| {
        let number = word.parse().ok().filter(&may_be);
        number.ok_or_else(|| format!("{name} are numbers from {least} to 1000000, not `{word}`"))
    };
    words.iter().map(number).collect()
}

/// Whether `factor` is valid as a distance factor.
fn is_factor(factor: &f64) -> bool {
    is_within(&(0.0..=1e6), *factor)
}

/// Whether `factor` is valid as a factor for work.
pub(crate) fn is_slow_down(factor: &f64) -> bool {
    (1.0..=1e6).contains(factor)
}

fn words<T: ToString>(list: &[T]) -> String {
    list.iter().map(T::to_string).collect::<Vec<_>>().join(" ")
}

/// The entry for a distance from 1 on.
fn at<T>(list: &[T], distance: u8) -> Option<&T> {
    let place = usize::from(distance.max(1)) - 1;
    list.get(place.min(list.len().saturating_sub(1)))
}

/// `time` multiplied by `factor`; exact if the factor is 1.
#[inline]
pub(crate) fn times(time: Time, factor: f64) -> Time {
    if factor == 1.0 { time } else { (time as f64 * factor) as Time }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a distance that takes the factor of the distance before or after it.
    #[test]
    fn the_last_factor_holds_for_whatever_is_farther() {
        let costs = Costs { factors: vec![1.0, 2.0], ..Costs::ZERO };
        assert_eq!([1, 2, 3, 200].map(|distance| costs.factor(distance)), [1.0, 2.0, 2.0, 2.0]);
        assert_eq!(Costs::ZERO.factor(3), 1.0);
        assert!(Costs::ZERO.are_zero() && !Costs::usual().are_zero());
    }

    /// Catches: contention that does not grow with the number of workers, or that slows down a lone
    /// worker.
    #[test]
    fn contention_grows_on_beyond_what_is_known() {
        let costs = |contention| Costs { contention, ..Costs::ZERO };
        let at = |costs: &Costs| [0, 1, 2, 3, 5].map(|busy| costs.contention(busy));
        assert_eq!(at(&costs(vec![])), [1.0; 5]);
        assert_eq!(at(&costs(vec![1.5])), [1.0, 1.0, 1.5, 2.0, 3.0]);
        assert_eq!(at(&costs(vec![1.0, 1.25])), [1.0, 1.0, 1.0, 1.25, 1.75]);
        assert_eq!(at(&costs(vec![1.5, 1.25])), [1.0, 1.0, 1.5, 1.25, 1.25]);
    }

    /// Catches: a cost that is not written, or that is read into another cost.
    #[test]
    fn costs_that_are_written_are_read() {
        let mut costs = Costs {
            factors: vec![0.5, 3.0],
            refill: vec![Duration::ns(7)],
            contention: vec![1.25],
            far: vec![1.5],
            ..Costs::usual()
        };
        for (at, name) in Costs::NAMES.iter().enumerate() {
            assert!(costs.set(name, Duration::Exponential(1_000 * at as u64)));
        }
        assert_eq!(costs.to_string().parse(), Ok(costs));
        assert_eq!(
            "sinew costs 1\nsteal 9 # ns".parse(),
            Ok(Costs { steal: Duration::ns(9), ..Costs::usual() })
        );
    }

    /// Catches: invalid costs that are accepted.
    #[test]
    fn what_are_no_costs_is_refused_by_its_line() {
        for (line, says) in [
            ("steal -3", "`-3`"),
            ("steal -0", "`-0`"),
            ("coffee 3", "`coffee`"),
            ("factors 1 -0", "not `-0`"),
            ("factors 1 -7", "factors are numbers from 0 to 1000000, not `-7`"),
            ("contention 0.5", "not `0.5`"),
            ("refill 1 -4", "`-4`"),
            ("steal", "`steal`"),
        ] {
            let error =
                format!("sinew costs 1\n{line}").parse::<Costs>().expect_err(line).to_string();
            assert!(error.starts_with("line 2 of the costs: ") && error.contains(says), "{error}");
        }
        assert_eq!("steal 3".parse::<Costs>(), Err(CostsError::NoCosts));
        let error = Costs::usual().set_list("steal", &["3"]).expect_err("no list");
        assert!(error.contains("`steal`"), "{error}");
    }
}
