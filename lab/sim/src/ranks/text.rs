//! A bag as a line of text.

use std::fmt;
use std::str::FromStr;

use super::{RanksSetup, Shape, Slow, Stop};

/// The most ranks of a run.
const MOST_RANKS: u32 = 1 << 20;

/// A text that is not a bag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RanksTextError(String);

impl fmt::Display for RanksTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is none of each, grain, node, batch, latency, near, machine, byte, unit, tries, \
             base with a number, shape=wide (or critical, flat), slow=EVERYxPERCENT and \
             stop=RANK@MS or stop=RANK@MS+MS",
            self.0
        )
    }
}

impl std::error::Error for RanksTextError {}

impl FromStr for RanksSetup {
    type Err = RanksTextError;

    /// Reads a bag for one rank, such as `each=200000,shape=critical,tries=1`: nodes a rank, grain
    /// in nodes, node, batch, latency and near in nanoseconds, ranks a machine, picoseconds a byte,
    /// bytes a unit, and the policy's settings. Omitted values are those of [`RanksSetup::new`],
    /// with batches of 0.1 ms.
    ///
    /// # Errors
    ///
    /// Names the part that is no known name with a value.
    fn from_str(text: &str) -> Result<Self, RanksTextError> {
        let mut setup = Self { batch_ns: 100_000, ..Self::new(1, 200_000) };
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            set(&mut setup, part).ok_or_else(|| RanksTextError(part.to_owned()))?;
        }
        Ok(setup)
    }
}

impl RanksSetup {
    /// The same bag for each of `ranks` ranks: so many times the nodes of one. None above 2²⁰
    /// ranks, or if the rank that stops is none of them.
    pub fn scaled(self, ranks: u32) -> Option<Self> {
        let nodes = self.nodes / u64::from(self.ranks) * u64::from(ranks);
        let can_stop = self.stop.is_none_or(|stop| stop.rank < ranks);
        let is_possible = (1..=MOST_RANKS).contains(&ranks) && can_stop;
        is_possible.then_some(Self { ranks, nodes, ..self })
    }
}

fn set(setup: &mut RanksSetup, part: &str) -> Option<()> {
    let (name, value) = part.split_once('=')?;
    let value = value.trim();
    match name.trim() {
        "each" => setup.nodes = number(value, 1, 100_000_000)?,
        "grain" => setup.grain = number(value, 1, 1_000_000_000)?,
        "node" => setup.node_ns = number(value, 1, 1_000_000)?,
        "batch" => setup.batch_ns = number(value, 1, 1_000_000_000)?,
        "latency" => setup.network.latency_ns = number(value, 0, 1_000_000_000)?,
        "near" => setup.network.near_ns = number(value, 0, 1_000_000_000)?,
        "machine" => setup.network.ranks_per_machine = number(value, 1, 1 << 20)? as u32,
        "byte" => setup.network.byte_ps = number(value, 0, 1_000_000)?,
        "unit" => setup.network.unit_bytes = number(value, 0, 1_000_000)?,
        "tries" => setup.settings.tries = number(value, 0, 1_000_000)? as u32,
        "base" => setup.settings.base = number(value, 2, 1 << 20)? as u32,
        "shape" => setup.shape = Shape::ALL.into_iter().find(|shape| shape.name() == value)?,
        "slow" => setup.slow = Some(slow(value)?),
        "stop" => setup.stop = Some(stop(value)?),
        _ => return None,
    }
    Some(())
}

fn number(text: &str, least: u64, most: u64) -> Option<u64> {
    text.parse().ok().filter(|number| (least..=most).contains(number))
}

fn slow(text: &str) -> Option<Slow> {
    let (every, percent) = text.split_once('x')?;
    Some(Slow { every: number(every, 1, 1 << 20)? as u32, percent: number(percent, 1, 10_000)? })
}

fn stop(text: &str) -> Option<Stop> {
    let milliseconds = |text| Some(number(text, 0, 10_000_000)? * 1_000_000);
    let (rank, times) = text.split_once('@')?;
    let (at, time) = times.split_once('+').map_or((times, None), |(at, time)| (at, Some(time)));
    let for_ns = match time {
        Some(time) => Some(milliseconds(time)?),
        None => None,
    };
    Some(Stop { rank: number(rank, 0, 1 << 20)? as u32, at_ns: milliseconds(at)?, for_ns })
}
