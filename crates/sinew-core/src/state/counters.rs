//! The workers' counters of steals, waits and loops: one set for each slot, summed when they are
//! read.
//!
//! Only cold paths count: a join that is not stolen is not counted. Each slot's counters are on
//! cache lines of their own and have one writer, so counting costs an addition in the owner's
//! cache.
//!
//! To add one:
//!
//! - a line of `counters!` below; [`Counters::iter`] and `sinew-lab run --json` follow it;
//! - an addition at the cold path that it counts. `Worker::steal_from` in `search` sees each
//!   attempt to steal from a victim, those of leapfrogging included;
//! - if no run of `shuttle_the_schedules_reach_every_mechanism` raises it, its name in the list of
//!   that test (`shuttle/mod.rs`). Only `cargo xtask shuttle` runs the test.

use std::array;
use std::ops::AddAssign;

use sinew_sync::counter::Counter;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// One slot's counters.
        #[derive(Debug, Default)]
        pub(crate) struct WorkerCounters {
            $(pub(crate) $name: Counter,)*
            pub(crate) by_distance: ByDistance,
        }

        /// A reading of the counters: of one worker, or summed over a pool.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
            /// Attempts to steal by the distance of the victim, as a level of the machine; see
            /// [`Counters::by_distance`].
            pub attempts_at: [u64; Counters::DISTANCES],
            /// Those of them that got a task.
            pub steals_at: [u64; Counters::DISTANCES],
        }

        impl WorkerCounters {
            pub(crate) fn read(&self) -> Counters {
                let ByDistance { attempts, steals } = &self.by_distance;
                Counters {
                    $($name: self.$name.get(),)*
                    attempts_at: array::from_fn(|distance| attempts[distance].get()),
                    steals_at: array::from_fn(|distance| steals[distance].get()),
                }
            }
        }

        impl AddAssign for Counters {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
                let add = u64::wrapping_add;
                self.attempts_at = by_distance(self.attempts_at, other.attempts_at, add);
                self.steals_at = by_distance(self.steals_at, other.steals_at, add);
            }
        }

        impl Counters {
            /// The difference to `earlier`, an earlier reading of the same pool.
            pub fn since(self, earlier: Self) -> Self {
                let subtract = u64::wrapping_sub;
                Self {
                    $($name: self.$name.wrapping_sub(earlier.$name),)*
                    attempts_at: by_distance(self.attempts_at, earlier.attempts_at, subtract),
                    steals_at: by_distance(self.steals_at, earlier.steals_at, subtract),
                }
            }

            /// Names and values of those that are one number, in the order of the documentation.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }
    };
}

counters! {
    /// Tasks stolen by idle workers.
    stolen,
    /// Tasks stolen, while blocked in a join, from the thief of the joined task.
    leapfrogged,
    /// Other tasks stolen while blocked: deeper ones than the joined task.
    stolen_waiting,
    /// Tasks stolen from another package, on the victim policy's advice: all but the leapfrogged
    /// ones.
    left_package,
    /// Times this worker became the master of its package.
    masterships,
    /// Victims that the victim policy chose. The others are thieves of awaited tasks, and owners
    /// whose tasks were exposed.
    chosen_victims,
    /// Attempts to steal that found nothing, or came too late.
    failed_steals,
    /// Pauses of thieves after several steals that cost more than they saved.
    rests,
    /// Claims given back because they rested on an old view of the victim: two-field stacks only.
    backed_out,
    /// Joins that found their task stolen and not finished yet.
    blocked_joins,
    /// Tasks run from a second queue: scope tasks and detached ones.
    queued_tasks,
    /// Calls by threads from outside that took the external slot.
    visits,
    /// Tasks taken that came from outside the pool.
    injected,
    /// Steal requests to which the owner responded by publishing tasks.
    published,
    /// Exposures: times this worker made another's private tasks public.
    exposures,
    /// Exposures that the victim cancelled by taking its tasks back.
    cancelled_exposures,
    /// Joins run inline because the task stack was full.
    overflows,
    /// Chunks of loops.
    chunks,
    /// Times this worker parked.
    parks,
    /// Times this worker woke another.
    wakes,
    /// Nanoseconds spent searching for work.
    searching_ns,
    /// Nanoseconds spent parked without work.
    parked_ns,
    /// Nanoseconds spent blocked in joins, without a task to run meanwhile.
    blocked_ns,
}

/// Attempts to steal by the distance of the victim.
#[derive(Debug, Default)]
pub(crate) struct ByDistance {
    attempts: [Counter; Counters::DISTANCES],
    steals: [Counter; Counters::DISTANCES],
}

impl ByDistance {
    /// One attempt.
    #[inline]
    pub(crate) fn attempted(&self, distance: u8, succeeded: bool) {
        let at = usize::from(distance).min(Counters::DISTANCES - 1);
        self.attempts[at].add(1);
        if succeeded {
            self.steals[at].add(1);
        }
    }
}

type Distances = [u64; Counters::DISTANCES];

fn by_distance(a: Distances, b: Distances, combine: impl Fn(u64, u64) -> u64) -> Distances {
    array::from_fn(|distance| combine(a[distance], b[distance]))
}

/// The attempts at victims of one distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StealsAt {
    /// How far: 0 is the same processing unit, 1 the nearest kind of neighbour that the machine
    /// has, and so on, as `sinew topo` shows them. In a pool without a mapping all others are at 1.
    pub distance: usize,
    /// All attempts.
    pub attempts: u64,
    /// Those that got a task.
    pub steals: u64,
}

impl Counters {
    /// How many distances are distinguished; the last one includes all larger ones.
    pub const DISTANCES: usize = 8;

    /// Attempts to steal, of searching and of waiting workers, for each distance at which there
    /// were any.
    pub fn by_distance(&self) -> impl Iterator<Item = StealsAt> {
        let counted = self.attempts_at.into_iter().zip(self.steals_at).enumerate();
        let at = |(distance, (attempts, steals))| StealsAt { distance, attempts, steals };
        counted.map(at).filter(|at| at.attempts > 0)
    }

    /// Tasks that did not run on the worker that made them: stolen by searching workers and by
    /// waiting ones.
    pub fn steals(&self) -> u64 {
        self.stolen + self.leapfrogged + self.stolen_waiting
    }
}
