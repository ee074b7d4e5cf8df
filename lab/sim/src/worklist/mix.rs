//! The units of a worklist.

use std::fmt;
use std::str::FromStr;

use crate::queue::Time;
use crate::random::{Duration, is_within, mix, unit};
use crate::setup::SetupError;

/// Greatest number of variables.
const MOST_VARIABLES: u32 = 1 << 26;
/// Greatest number of accesses per unit.
const MOST_ACCESSES: u32 = 10_000;

/// The units: their number, durations and variables.
///
/// As text: `units=10000,reads=20,writes=2,variables=4096`, in any order. Omitted values are those
/// of [`Mix::new`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// Initial number of units.
    pub units: u64,
    /// Duration of a unit.
    pub unit: Duration,
    /// Number of variables that a unit reads.
    pub reads: u32,
    /// Number of variables that it writes, spread among the reads.
    pub writes: u32,
    /// Number of variables.
    pub variables: u32,
    /// Skew `s` of the accesses: the first fraction `x` of the variables gets x^(1/s) of all
    /// accesses. 1 is uniform; greater values prefer the first variables.
    pub skew: f64,
    /// Mean number of units that a unit adds, below 1.
    pub adds: f64,
    /// The fraction of a unit's time that it waits for memory, which a helper saves if it runs far
    /// enough ahead.
    pub memory: f64,
    /// Number of words that a unit reads, which a helper can prefetch.
    pub words: u32,
    /// A helper that prefetches more words than this evicts what its worker needs, and costs the
    /// time that it would have saved.
    pub cache: u32,
    /// Number of cache lines that go from a worker to its helper and back for each unit: at least
    /// the one that names the next unit. Lines that one writes and the other reads are others.
    pub lines: u32,
    /// Seed of all units.
    pub seed: u64,
}

/// A unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    pub(super) id: u64,
    pub(super) bits: u64,
}

/// One access of a unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    pub(super) variable: u32,
    pub(super) writes: bool,
}

impl Mix {
    /// `units` units of this duration that read ten and write two of 65,536 variables.
    pub fn new(units: u64, unit: Duration) -> Self {
        Self {
            units,
            unit,
            reads: 10,
            writes: 2,
            variables: 1 << 16,
            skew: 1.0,
            adds: 0.0,
            memory: 0.0,
            words: 100,
            cache: 1_000,
            lines: 1,
            seed: 0,
        }
    }

    /// # Errors
    ///
    /// A number out of range.
    pub(super) fn check(&self) -> Result<(), SetupError> {
        let wrong = |why: String| Err(SetupError::new(why));
        if self.variables == 0 || self.variables > MOST_VARIABLES {
            return wrong(format!(
                "a worklist has 1 to {MOST_VARIABLES} variables, not {}",
                self.variables
            ));
        }
        if let Some(many) = [self.reads, self.writes].into_iter().find(|many| *many > MOST_ACCESSES)
        {
            return wrong(format!(
                "a unit reads and writes at most {MOST_ACCESSES} variables each, not {many}"
            ));
        }
        for (name, value, range) in [
            ("skew", self.skew, 1.0..=100.0),
            ("adds", self.adds, 0.0..=0.99),
            ("memory", self.memory, 0.0..=0.99),
        ] {
            if !is_within(&range, value) {
                return wrong(format!(
                    "{name} is {value}: use a number from {} to {}",
                    range.start(),
                    range.end()
                ));
            }
        }
        Ok(())
    }

    pub(super) fn first(&self, id: u64) -> Unit {
        Unit { id, bits: mix(mix(self.seed) ^ id) }
    }

    /// Duration of a unit without a helper.
    pub(super) fn work(&self, unit: &Unit) -> Time {
        self.unit.draw(unit.bits)
    }

    /// The fraction of the duration that remains with a helper of this lifespan.
    pub(super) fn helped(&self, lifespan: u32) -> f64 {
        let brought = lifespan.min(self.words);
        let saved = self.memory * f64::from(brought) / f64::from(self.words.max(1));
        if brought > self.cache { 1.0 + saved } else { 1.0 - saved }
    }

    /// The accesses of a unit in order: writes spread evenly among reads.
    pub(super) fn accesses(&self, unit: &Unit) -> impl Iterator<Item = Access> {
        let (all, writes, bits) =
            (u64::from(self.reads + self.writes), u64::from(self.writes), unit.bits);
        let (variables, skew) = (f64::from(self.variables), self.skew);
        (0..all).map(move |at| {
            let drawn = unit_below_one(mix(bits ^ (at + 1)));
            let place = if skew == 1.0 { drawn } else { libm::pow(drawn, skew) };
            let is_write = (at + 1) * writes / all > at * writes / all;
            Access { variable: (place * variables) as u32, writes: is_write }
        })
    }

    /// The random state of each unit that this one adds: none, one or two.
    pub(super) fn added(&self, of: &Unit) -> impl Iterator<Item = u64> {
        let (bits, adds) = (of.bits, self.adds / 2.0);
        (0..2).map(move |at| mix(!bits ^ at)).filter(move |bits| unit_below_one(mix(*bits)) < adds)
    }
}

/// A number in [0, 1).
fn unit_below_one(bits: u64) -> f64 {
    1.0 - unit(bits)
}

/// A text that does not parse as [`Mix`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixError(String);

impl fmt::Display for MixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` does not describe units: write \
             units=10000,reads=10,writes=2,variables=65536,skew=1,adds=0,memory=0,words=100,\
             cache=1000,lines=1, or some of these",
            self.0
        )
    }
}

impl std::error::Error for MixError {}

impl FromStr for Mix {
    type Err = MixError;

    /// Reads the text form of [`Mix`]; units take 10 µs.
    ///
    /// # Errors
    ///
    /// Names the part that is not a known name with a number.
    fn from_str(text: &str) -> Result<Self, MixError> {
        let mut read = Self::new(10_000, Duration::ns(10_000));
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            set(&mut read, part).ok_or_else(|| MixError(part.to_owned()))?;
        }
        Ok(read)
    }
}

fn set(mix: &mut Mix, part: &str) -> Option<()> {
    let (name, value) = part.split_once('=')?;
    let value = value.trim();
    match name.trim() {
        "units" => mix.units = value.parse().ok()?,
        "reads" => mix.reads = value.parse().ok()?,
        "writes" => mix.writes = value.parse().ok()?,
        "variables" => mix.variables = value.parse().ok()?,
        "skew" => mix.skew = value.parse().ok()?,
        "adds" => mix.adds = value.parse().ok()?,
        "memory" => mix.memory = value.parse().ok()?,
        "words" => mix.words = value.parse().ok()?,
        "cache" => mix.cache = value.parse().ok()?,
        "lines" => mix.lines = value.parse().ok()?,
        _ => return None,
    }
    Some(())
}
