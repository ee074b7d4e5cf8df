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
//! table, so they need not communicate. They move one after the other: a processor gets a program
//! before it loses one.
//!
//! # Invariants
//!
//! - T1: in each turn the numbers of programs on two processors differ by one at most.
//! - T2: if the numbers differ, each program has each place once in as many turns as there are
//!   programs.
//! - T3: between two turns, no processor is without a program if each moves at its time.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sinew_topology::CpuSet;

use crate::share_source::Crowd;

/// Long beside the cost of a move: refilling a cache, and some system calls a thread. Short beside
/// what a program's user notices.
const TURN: Duration = Duration::from_millis(40);

/// The time between two programs' moves: long beside the time in which an agent gets a processor.
const HANDOVER: Duration = Duration::from_millis(2);

/// The number of the present turn for a program of this crowd, and the time until its end.
pub(crate) fn now(crowd: Crowd) -> (usize, Duration) {
    let now = clock_gettime(ClockId::Monotonic);
    at(Duration::try_from(now).unwrap_or_default(), crowd)
}

fn at(now: Duration, crowd: Crowd) -> (usize, Duration) {
    let number = usize::try_from(now.as_nanos() / TURN.as_nanos()).unwrap_or_default();
    let begin = |number: usize| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        (TURN * number).saturating_add(delay(crowd, number as usize))
    };
    match begin(number).checked_sub(now).filter(|left| !left.is_zero()) {
        Some(left) => (number.saturating_sub(1), left),
        None => (number, begin(number + 1).saturating_sub(now)),
    }
}

/// How long after the others' first move a program moves to its place of this turn: the longer, the
/// higher its place was. The program at place 0, whose processor is among those with the most
/// programs, moves to the second processor; the next one there moves to the third, and so on.
fn delay(crowd: Crowd, turn: usize) -> Duration {
    let (Some(before), Ok(count)) = (turn.checked_sub(1), u32::try_from(crowd.count)) else {
        return Duration::ZERO;
    };
    let place = (crowd.index + before % crowd.count.max(1)) % crowd.count.max(1);
    step(count) * u32::try_from(place).unwrap_or(u32::MAX)
}

/// The time between two programs' moves, so that all have moved in the middle of the turn.
fn step(count: u32) -> Duration {
    HANDOVER.min(TURN / 2 / count.max(1))
}

/// The processor time that the calling thread has used.
pub(crate) fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
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
        let crowd = Crowd { index: 1, count: 3 };
        let (before, left) = now(crowd);
        assert!(left <= 2 * TURN);
        while now(crowd).0 == before {
            std::thread::yield_now();
        }
    }

    /// Catches: programs that leave a processor before others have come, which is idle meanwhile;
    /// all move at once, or in another order.
    #[test]
    fn no_processor_is_without_a_program_between_two_turns() {
        for processors in 1..9 {
            let cpus: CpuSet = (0..processors).collect();
            for count in processors + 1..4 * processors + 3 {
                let turns = (1000 * count) as u32;
                for time in (0..(count as u32 + 1) * 80).map(|half| TURN * turns + TURN / 80 * half)
                {
                    let mut counts = vec![0; processors];
                    for index in 0..count {
                        let crowd = Crowd { index, count };
                        // Agents are late, but less so than the time between two moves.
                        let part = (7 * index + 3) % count;
                        let late = step(count as u32) * part as u32 / count as u32;
                        let (turn, left) = at(time - late, crowd);
                        assert_eq!(at(time - late + left, crowd).0, turn + 1);
                        counts[processor(&cpus, crowd, turn).expect("a processor")] += 1;
                    }
                    assert!(counts.iter().all(|&there| there > 0), "{count} {time:?} {counts:?}");
                }
            }
        }
    }
}
