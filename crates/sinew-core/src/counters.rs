//! What workers count: statistics of steals, waits and loops, one set a seat, summed when read.
//!
//! Only cold paths count: a join that nobody steals leaves no trace. Each seat's counters lie on lines of their own and have one
//! writer, so counting costs an addition in the owner's cache.

use std::ops::AddAssign;

use sinew_sync::counter::Counter;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// One seat's counters.
        #[derive(Debug, Default)]
        pub(crate) struct SeatCounters {
            $(pub(crate) $name: Counter,)*
        }

        /// A reading of the counters: of one worker, or summed over a pool.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counters {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl SeatCounters {
            pub(crate) fn read(&self) -> Counters {
                Counters { $($name: self.$name.get(),)* }
            }
        }

        impl AddAssign for Counters {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }

        impl Counters {
            /// What was counted since `earlier`, a reading of the same pool.
            pub fn since(self, earlier: Self) -> Self {
                Self { $($name: self.$name.wrapping_sub(earlier.$name),)* }
            }

            /// Names and values, in the order of the documentation.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }
    };
}

counters! {
    /// Tasks stolen by a worker that had none.
    stolen,
    /// Tasks stolen, while blocked in a join, from the thief of the joined task.
    leapfrogged,
    /// Other tasks stolen while blocked: deeper ones than the joined task.
    stolen_waiting,
    /// Tasks stolen from another package, on the victim policy's advice: all but the leapfrogged ones.
    left_package,
    /// Times this worker became the master of its package.
    masterships,
    /// Attempts to steal that found nothing, or came too late.
    failed_steals,
    /// Claims given back because they rested on an old view of the victim: two-field stacks only.
    backed_out,
    /// Joins that found their task stolen and not finished yet.
    blocked_joins,
    /// Tasks run from a second queue: scope tasks and detached ones.
    queued_tasks,
    /// Calls by threads from outside that took the guest seat.
    visits,
    /// Tasks taken that came from outside the pool.
    injected,
    /// Requests for tasks that were answered by publishing some.
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
