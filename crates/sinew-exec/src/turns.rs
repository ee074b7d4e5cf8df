//! The processor of a command's teams, on a machine with more programs than processors. Pure, but
//! for the clock.
//!
//! On such a machine each program has one thread on all processors, because the system is fair
//! among threads. It is not fair among teams: it keeps threads that wake one another on one
//! processor, and chooses that processor without regard to the load. Three teams were seen to share
//! a processor for a second beside a fourth program that had the other one to itself.
//!
//! So a process of several threads runs on one processor at a time. The numbers of programs on any
//! two processors differ by one at most. If they differ, programs change places from turn to turn,
//! so that each is equally often among fewer. All programs use the same clock and the order of the
//! table, so they need not communicate.
//!
//! # Invariants
//!
//! - T1: in each turn the numbers of programs on two processors differ by one at most.
//! - T2: if the numbers differ, each program has each place once in as many turns as there are
//!   programs.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sinew_topology::CpuSet;

use crate::share_source::Crowd;

/// Long beside the cost of a move: refilling a cache, and some system calls a thread. Short beside
/// what a program's user notices.
const TURN: Duration = Duration::from_millis(40);

/// The number of the present turn, the same for all programs of this machine, and the time until
/// its end.
pub(crate) fn now() -> (usize, Duration) {
    let now = clock_gettime(ClockId::Monotonic);
    let now = Duration::try_from(now).unwrap_or_default().as_nanos();
    let (number, gone) = (now / TURN.as_nanos(), now % TURN.as_nanos());
    let left = u64::try_from(TURN.as_nanos() - gone).unwrap_or_default();
    (usize::try_from(number).unwrap_or_default(), Duration::from_nanos(left))
}

/// The processor of `cpus` for a program of this crowd in this turn; `None` if there are enough for
/// all.
pub(crate) fn processor(cpus: &CpuSet, crowd: Crowd, turn: usize) -> Option<usize> {
    let processors = cpus.len();
    if processors == 0 || crowd.count <= processors || crowd.index >= crowd.count {
        return None;
    }
    let comes_out_even = crowd.count.is_multiple_of(processors);
    let moved = if comes_out_even { 0 } else { turn % crowd.count };
    cpus.iter().nth((crowd.index + moved) % crowd.count % processors)
}

#[cfg(test)]
mod tests {
    //! Blind to: nothing that two numbers decide.
    use super::*;

    /// Catches: two programs on one processor beside an empty one, and a program that is always
    /// among more.
    #[test]
    fn processors_are_shared_evenly_in_each_turn_and_by_all_programs_over_all_turns() {
        for processors in 1..9 {
            let cpus: CpuSet = (0..processors).map(|cpu| 3 * cpu + 1).collect();
            for count in processors + 1..4 * processors + 3 {
                let mut parts = vec![0.0; count];
                for turn in 1000..1000 + count {
                    let at: Vec<usize> = (0..count)
                        .map(|index| {
                            processor(&cpus, Crowd { index, count }, turn).expect("a processor")
                        })
                        .collect();
                    let counts: Vec<usize> = cpus
                        .iter()
                        .map(|cpu| at.iter().filter(|other| **other == cpu).count())
                        .collect();
                    assert!(
                        counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1,
                        "{counts:?}"
                    );
                    for (part, cpu) in parts.iter_mut().zip(&at) {
                        *part += 1.0 / at.iter().filter(|other| *other == cpu).count() as f64;
                    }
                }
                let fair = processors as f64;
                let is_fair =
                    |part: &f64| count.is_multiple_of(processors) || (part - fair).abs() < 1e-9;
                assert!(parts.iter().all(is_fair), "{processors} {count} {parts:?}");
            }
        }
    }

    /// Catches: a command that is pinned though it has processors of its own.
    #[test]
    fn no_program_takes_turns_where_there_are_enough_processors() {
        let cpus: CpuSet = (0..4).collect();
        for count in 0..=4 {
            assert_eq!(processor(&cpus, Crowd { index: 0, count }, 7), None);
        }
        assert_eq!(
            processor(&cpus, Crowd { index: 9, count: 9 }, 7),
            None,
            "no place of this crowd's"
        );
        assert_eq!(processor(&CpuSet::default(), Crowd { index: 0, count: 9 }, 7), None);
    }

    /// Catches: turns that never end. Blind to: clocks that differ between processes.
    #[test]
    fn a_turn_ends_and_the_next_begins() {
        let (before, left) = now();
        assert!(left <= TURN);
        while now().0 == before {
            std::thread::yield_now();
        }
    }
}
