//! The constants of the models of machines, and their sources.
//!
//! | model | law | constants |
//! |---|---|---|
//! | memories of [`domains`](crate::domains) | their tasks share a domain's memory | [`READERS`], [`FAR`] |
//! | `contention` | workers share the memory of their node, or the only one | [`contention`] of [`BUS_READERS`]; [`CROWDING`] |
//! | `far` | work on data that another package touched last | [`FAR`] |
//! | [`Mix::memory`](crate::worklist::Mix::memory), [`Mix::lines`](crate::worklist::Mix::lines) | a helper hides misses, and exchanges lines with its worker | [`NEAR`], [`FAR_AWAY`] |
//! | [`Costs::miss`] | thieves keep the lines of some victims in their caches | [`TRIED`], [`tilepro64`] |

use sinew_topology::{Level, Machine, PuId};

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

/// The help of a helper thread to its worker.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Help {
    /// Time of a cache line from the worker to the helper and back.
    pub line: Duration,
    /// The fraction of the worker's misses of the shared cache that the helper hides.
    pub hidden: f64,
}

/// A helper on a core with which its worker shares a cache. The example `helpers` measured it
/// (`docs/results/helpers.txt`) on two cores that share their last cache at times. A unit takes
/// 3,014 ns on an array beyond that cache and 485 ns on one of 16 MB within it. With a helper the
/// former takes 1,976 ns. A line takes 48 ns there and back. Hence the helper hides 1,038 + 48 of
/// 2,529 ns of misses.
pub const NEAR: Help = Help { line: Duration::ns(48), hidden: 0.43 };

/// A helper on a core with which its worker shares no cache. Measured in the same file while a line
/// took 360 ns there and back: units take that much longer with a helper, from 2,942 ns to 3,324,
/// and from 423 to 803. So it hides nothing.
pub const FAR_AWAY: Help = Help { line: Duration::ns(360), hidden: 0.0 };

/// The help of a helper on one PU to a worker on another. A helper on the worker's own core is as
/// near as one that shares a cache: that the two share the core's units is not in the model.
pub fn help(machine: &Machine, worker: PuId, helper: PuId) -> Help {
    let shares = |level| {
        let [of_worker, of_helper] = [worker, helper].map(|pu| machine.ancestor(pu, level));
        of_worker.is_some() && of_worker == of_helper
    };
    if [Level::Core, Level::L2, Level::L3].into_iter().any(shares) { NEAR } else { FAR_AWAY }
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

    /// Catches: a helper that is near only on its worker's own core, or on the whole machine.
    #[test]
    fn a_helper_is_near_where_a_cache_is_shared() {
        let near = |machine: &str, helper: usize| {
            let machine: Machine = machine.parse().unwrap();
            let [worker, helper] = [0, helper].map(|cpu| machine.find_cpu(cpu).unwrap());
            help(&machine, worker, helper) == NEAR
        };
        // UMA16 has a cache for two cores, NUMA16 for one, NUMA32 for eight; one has two threads.
        assert_eq!([1, 2].map(|cpu| near("uma16", cpu)), [true, false]);
        assert_eq!([7, 8].map(|cpu| near("numa32", cpu)), [true, false]);
        assert_eq!([near("numa16", 1), near("core:2 pu:2", 1)], [false, true]);
        assert!(!near("core:2 pu:2", 2));
    }
}
