//! Jobs that grow and shrink, on ranks that are threads, with delayed and reordered messages; and
//! panics that are caught.

mod checks;
mod phases;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use sinew_dist::bag::Out;
use sinew_dist::link::Link;
use sinew_dist::threads::{Faults, Lost, Ranks, links};
use sinew_dist::{GrowError, Shrunk, World};

const STEPS: [i32; 6] = [1, 2, -2, 1, 2, -4];

/// Catches: a rank that takes part with another number of calls or ranks than others; messages of
/// a call that are lost while a rank rests; elements that stay on one; a rank that is left waiting.
#[test]
fn all_skeletons_are_right_whenever_ranks_come_and_go() {
    for start in [1, 2, 3] {
        let last = Ranks::new(start).delays(u64::from(start)).run(|world| {
            phases::run(world, &STEPS, |world| {
                checks::CHECKS.iter().for_each(|(_, check)| check(world));
                // All ranks that there have been.
                if world.size() >= start + 3 {
                    phases::no_message_is_lost(world);
                }
            })
        });
        let last = last.unwrap();
        assert_eq!(last.len(), start as usize + 4, "{last:?}");
        assert_eq!(last[0], 7);
    }
}

/// Catches: messages of rank 0 that overtake the last one of a call, and are lost.
#[test]
fn ranks_come_and_go_at_once_with_any_delays() {
    for seed in 0..60 {
        let steps = [2_i32, -1, 1, -2, 2, -1, -1, 1];
        let sums = Ranks::new(2).delays(seed).run(|world| {
            let mut at = 0;
            loop {
                at = world.broadcast(&at);
                assert_eq!(world.all_reduce(1, |a, b| a + b), world.size());
                let Some(step) = steps.get(at) else { return at };
                at += 1;
                match step {
                    1.. => world.grow(*step as u32).unwrap(),
                    _ if world.shrink(step.unsigned_abs()) == Shrunk::Over => return at,
                    _ => {}
                }
            }
        });
        assert_eq!(sums.unwrap().len(), 4, "seed {seed}");
    }
}

#[test]
fn a_rank_that_rests_learns_that_the_job_is_over() {
    for seed in 0..40 {
        let ends = Ranks::new(3).delays(seed).run(|world| world.shrink(2));
        assert_eq!(ends.unwrap(), [Shrunk::Stayed, Shrunk::Over, Shrunk::Over]);
    }
}

/// Catches: units that are lost, or run twice, when a bag is stopped, and its job grows or shrinks.
#[test]
fn a_bag_may_grow_and_shrink_at_any_time() {
    for seed in 0..40 {
        let run = AtomicU64::new(0);
        let sums = Ranks::new(1 + seed as u32 % 3).delays(seed).run(|world| {
            let (mut step, mut sum) = (0, 0);
            let mut units = if world.rank() == 0 { vec![17_u32] } else { vec![] };
            loop {
                (step, sum) = world.broadcast(&(step, sum));
                let unit = |unit, out: &mut Out<'_, u32>, sum: &mut u64| {
                    run.fetch_add(1, Relaxed);
                    *sum += 1;
                    out.extend(1..unit);
                };
                let part = world.plain_bag(units).run_until(
                    || run.load(Relaxed) >= 2_000 * (1 + step as u64),
                    unit,
                    |a, b| a + b,
                );
                sum += part.result;
                let Some(rest) = part.rest else { return sum };
                units = rest;
                step += 1;
                if step % 2 == 1 {
                    world.grow(2).unwrap();
                } else {
                    units = world.plain_bag(units).spread(world.size() - 1);
                    match world.shrink(1) {
                        Shrunk::Stayed | Shrunk::Returned => {}
                        Shrunk::Over => return 1 << 16,
                    }
                }
            }
        });
        let sums = sums.unwrap();
        assert!(sums.len() > 3 && sums.iter().all(|sum| *sum == 1 << 16), "seed {seed}: {sums:?}");
        assert_eq!(run.into_inner(), 1 << 16, "seed {seed}");
    }
}

fn why<R: std::fmt::Debug>(result: Result<R, Lost>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn a_failure_ends_ranks_that_rest() {
    let job = Ranks::new(3).run(|world| {
        let end = world.shrink(1);
        assert!(end != Shrunk::Stayed || world.rank() == 0, "no more ink");
        end
    });
    assert!(why(job).contains("rank 1: no more ink"));
}

#[test]
fn wrong_numbers_and_forgotten_elements_are_named() {
    let job = Ranks::new(2).run(|world| world.grow(1 + world.rank()));
    assert!(why(job).contains("`grow` by 1 on one rank and by 2 on another"));
    let job = Ranks::new(2).run(|world| world.shrink(2) == Shrunk::Stayed);
    assert!(why(job).contains("2 of 2 ranks cannot rest: one must stay"));
    let job = Ranks::new(2).run(|world| {
        let array = world.block(100).init(|i| i as u64);
        if world.shrink(1) == Shrunk::Stayed {
            array.reduce(0, |a, b| a + b);
        }
    });
    assert!(why(job).contains("use `Dist::spread` before `World::shrink`"));
    let job = Ranks::new(2).run(|world| {
        let mut grid = world.grid([10]).init(|_| 0_u64);
        if world.shrink(1) == Shrunk::Stayed {
            grid.sweeps::<1, _>(1, |x| x[[1]]);
        }
    });
    assert!(why(job).contains("use `Grid::spread` before `World::shrink`"));
}

#[test]
fn a_network_that_cannot_start_ranks_says_so() {
    let link = links(1, &Faults::default()).remove(0);
    assert!(!link.joined());
    let world = World::over(Box::new(link));
    let error = world.grow(1).unwrap_err();
    assert_eq!(error, GrowError::Network("these threads cannot start others".to_owned()));
    assert_eq!((world.size(), world.all_reduce(1, |a, b| a + b)), (1, 1));
}

type Program = fn(&World);

/// Catches: a rank that catches a panic and goes on, while others wait for its messages, or take
/// the messages of its next call for those of this one.
#[test]
fn a_caught_panic_that_left_a_call_ends_the_job() {
    fn fail(rank: u32) {
        assert!(rank != 1, "no more paper");
    }
    fn add(rank: u32) -> impl Fn(u64, u64) -> u64 + Sync {
        move |a, b| {
            fail(rank);
            a + b
        }
    }
    let programs: [(&str, Program); 5] = [
        ("all_reduce", |world| world.all_reduce((), |(), ()| fail(world.rank()))),
        ("reduce", |world| {
            world.block(20_000).init(|i| i as u64).reduce(0, add(world.rank()));
        }),
        ("scan", |world| {
            drop(world.block(20_000).init(|i| i as u64).scan(add(world.rank())));
        }),
        ("sweeps", |world| {
            let rank = world.rank();
            let mut grid = world.grid([40]).init(|[i]| i as u64);
            grid.sweeps::<1, _>(3, |x| {
                fail(rank);
                x[[1]]
            });
        }),
        ("bag", |world| {
            let rank = world.rank();
            world.bag([rank]).run(|_, _, (): &mut ()| fail(rank), |(), ()| ());
        }),
    ];
    for (name, program) in programs {
        for goes_on in [false, true] {
            // Of four ranks rank 1 has one below, whose value it reduces.
            let job = Ranks::new(4).run(|world| {
                let caught = catch_unwind(AssertUnwindSafe(|| program(world)));
                if caught.is_ok() || goes_on {
                    world.barrier();
                }
            });
            let line = format!("rank 1: rank 1 has caught a panic that left `{name}`, its call 0");
            assert_eq!(why(job), line);
        }
    }
}

#[test]
fn a_caught_panic_outside_of_calls_is_harmless() {
    let job = Ranks::new(2).run(|world| {
        let rank = world.rank();
        let numbers = world.block(100).init(|i| i as u64);
        let map = || drop(numbers.map(|x| if rank == 1 { panic!("{x}") } else { *x }));
        let caught = catch_unwind(AssertUnwindSafe(map)).is_err();
        assert_eq!(caught, rank == 1);
        numbers.reduce(0, |a, b| a + b)
    });
    assert_eq!(job.unwrap(), [4950; 2]);
}
