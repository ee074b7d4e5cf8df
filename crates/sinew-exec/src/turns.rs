//! Which processor a command's teams have, on a machine with more programs than processors. Pure,
//! but for the clock.
//!
//! There everybody has one thread on all processors, as the system is fair among threads. It is not
//! among teams: threads that wake one another are kept on one processor, and which one is found
//! busy there hardly ever decides anything. Three teams were seen to share a processor for a second
//! beside a fourth program that had the other one for itself. So processes of several threads are
//! on one processor at a time, as many programs on each as on any other but one; where the numbers
//! do not come out even, they change places from turn to turn, so that each is as often among
//! fewer. All go by the same clock and by the order of the table, so nobody has to agree with
//! anybody.
//!
//! # Invariants
//!
//! - T1: in each turn the numbers of programs on two processors differ by one at most.
//! - T2: where the numbers do not come out even, each program has each place once in as many turns
//!   as there are programs.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sinew_topology::CpuSet;

use crate::share_source::Crowd;

/// Long beside what moving costs: filling a cache again, and some system calls a thread. Short
/// beside what a program's user notices.
const TURN: Duration = Duration::from_millis(40);

/// The number of the turn, the same for everybody on this machine, and what is left of it.
pub(crate) fn now() -> (usize, Duration) {
    let now = clock_gettime(ClockId::Monotonic);
    let now = Duration::try_from(now).unwrap_or_default().as_nanos();
    let (number, gone) = (now / TURN.as_nanos(), now % TURN.as_nanos());
    let left = u64::try_from(TURN.as_nanos() - gone).unwrap_or_default();
    (usize::try_from(number).unwrap_or_default(), Duration::from_nanos(left))
}

/// The processor of `cpus` that a program of this crowd has in this turn; none where there are
/// enough for all.
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
    //! What they would miss: nothing within the rules of two numbers.
    use super::*;

    /// Catches: two programs on one processor beside an empty one, and one that is always among
    /// more.
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
    fn nobody_takes_turns_where_there_are_enough_processors() {
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

    /// Catches: a clock that is another one in each process.
    #[test]
    fn a_turn_ends_and_the_next_begins() {
        let (before, left) = now();
        assert!(left <= TURN);
        while now().0 == before {
            std::thread::yield_now();
        }
    }
}
