//! The constants of the models of machines, and their sources.
//!
//! | model | law | constants |
//! |---|---|---|
//! | memories of [`domains`](crate::domains) | their tasks share a domain's memory | [`READERS`], [`FAR`] |
//! | `contention` | workers share the memory of their node, or the only one | [`contention`] of [`BUS_READERS`]; [`CROWDING`] |
//! | `far` | work on data that another package touched last | [`FAR`] |
//! | [`Costs::miss`] | thieves keep the lines of some victims in their caches | [`TRIED`], [`tilepro64`] |

use crate::costs::Costs;
use crate::random::Duration;

/// Number of tasks near their data that the memory of a domain serves at full speed. M. Wittmann
/// and G. Hager (2009) chose the number of threads a socket so that it saturates the local memory
/// bus: two on both of their machines, Dunnington and Opteron.
pub const READERS: f64 = 2.0;

/// How many times as long a task takes alone if its data lie in another domain. Fitted to Table 1
/// there: of 598.2 million updates a second, where all blocks are near, 412.7 are left to plain
/// tasks over blocks that lie in turn, of which hardly any is near.
pub const FAR: f64 = 598.2 / 412.7;

/// Million lattice site updates a second of one worker of that machine near its data: the fastest
/// entry of Table 1 is that of four memories.
pub const MLUPS: f64 = 598.2 / 4.0 / READERS;

/// Number of workers that the memory of Dunnington serves at full speed: [`READERS`] for each of
/// its four sockets.
pub const BUS_READERS: usize = 8;

/// How many times as long `heat` takes beside one copy of itself on two cores of a present-day
/// server (AMD Zen 5, virtual); `sinew-lab sim --validate` measures it as `crowding`. Each further
/// worker on the memory adds as much.
pub const CROWDING: f64 = 1.18;

/// `contention` of a memory that serves so many workers at full speed: n of them take
/// n/`readers` times as long.
pub fn contention(readers: usize) -> Vec<f64> {
    let readers = readers.max(1);
    (2..=readers + 1).map(|busy| (busy as f64 / readers as f64).max(1.0)).collect()
}

/// Number of victims whose lines and pages a thief keeps in its caches. K.-F. Faxén and J. Ardelius
/// (2011): a core of the TILEPro64 has 16 entries for pages of data, and each worker's stack is on
/// pages of its own.
pub const TRIED: usize = 16;

/// Picoseconds of a cycle of the TILEPro64, at 700 MHz.
const CYCLE: f64 = 1e6 / 700.0;

/// Cycles of a leaf of `stress` in Table 1 there, which takes about as long as finding and stealing
/// a task (section 4).
const STEAL_CYCLES: f64 = 587.0;

/// Costs on the TILEPro64. Times of tasks in Table 1 include spawns and joins. A look at a worker
/// takes half as long as a steal (section 2.1). An attempt begins with such a look, half of which
/// is a miss. For on a present-day server a failed attempt at victims in the cache takes about as
/// long as a line from core to core (31.6 and 28 ns, `bench victims` and `bench measure`).
pub fn tilepro64() -> Costs {
    let cycles = |cycles: f64| Duration::Fixed((cycles * CYCLE) as u64);
    let look = STEAL_CYCLES / 2.0;
    Costs {
        attempt: cycles(look / 2.0),
        miss: cycles(look / 2.0),
        steal: cycles(STEAL_CYCLES - look),
        sample: cycles(look),
        ..Costs::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a memory that is saturated one worker early or late.
    #[test]
    fn a_memory_slows_down_those_who_are_more_than_it_serves() {
        for readers in [1, 2, 8] {
            let costs = Costs { contention: contention(readers), ..Costs::ZERO };
            let slower = |busy: usize| costs.contention(busy as u32);
            assert_eq!((slower(1), slower(readers)), (1.0, 1.0), "{readers}");
            assert_eq!(slower(readers + 1), (readers + 1) as f64 / readers as f64);
            assert!((slower(3 * readers) - 3.0).abs() < 1e-9, "{readers}");
        }
    }
}
