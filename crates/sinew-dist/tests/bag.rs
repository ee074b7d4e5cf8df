//! Bags over ranks that are threads: every unit runs once, at any number of ranks, with delayed and
//! reordered messages.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use sinew_dist::bag::{BagCounts, Out, Settings};
use sinew_dist::threads::Ranks;

const SIZES: [u32; 5] = [1, 2, 3, 4, 7];

/// The number of nodes of a tree whose shape follows from its numbers: few branches go deep.
fn branches(node: u64) -> impl Iterator<Item = u64> {
    let children = if node < 1 << 20 { 1 + node * 7 % 3 } else { 0 };
    (0..children).map(move |child| node * 3 + child + 1)
}

fn serial(root: u64) -> u64 {
    let (mut stack, mut count) = (vec![root], 0);
    while let Some(node) = stack.pop() {
        count += 1;
        stack.extend(branches(node));
    }
    count
}

/// The numbers of nodes that each rank has, and what the ranks did.
fn count(ranks: &Ranks, settings: Settings) -> (Vec<u64>, Vec<BagCounts>) {
    let results = ranks.run(|world| {
        let roots = if world.rank() == 0 { vec![1_u64] } else { vec![] };
        let bag = world.bag(roots).steal_by(settings);
        let unit = |node, out: &mut Out<'_, u64>, count: &mut u64| {
            *count += 1;
            out.extend(branches(node));
        };
        bag.run_counted(unit, |a, b| a + b)
    });
    let (counts, reports): (Vec<_>, Vec<_>) = results.unwrap().into_iter().unzip();
    (counts, reports[0].clone())
}

fn sum(reports: &[BagCounts], part: impl Fn(&BagCounts) -> u64) -> u64 {
    reports.iter().map(part).sum()
}

#[test]
fn every_unit_runs_once_and_all_messages_arrive() {
    let expected = serial(1);
    for size in SIZES {
        for seed in 0..6 {
            let settings = Settings { tries: seed as u32 % 3, base: 2 + seed as u32 % 2 };
            let ranks = Ranks::new(size).delays(seed).workers(1 + seed as usize % 2);
            let (counts, reports) = count(&ranks, settings);
            assert_eq!(counts, vec![expected; size as usize], "{size} ranks, seed {seed}");
            assert_eq!(sum(&reports, |one| one.run), expected);
            assert_eq!(sum(&reports, |one| one.sent), sum(&reports, |one| one.received));
            assert_eq!(sum(&reports, |one| one.given), sum(&reports, |one| one.taken));
            assert_eq!(sum(&reports, |one| one.units_given), sum(&reports, |one| one.units_taken));
        }
    }
}

/// Catches: questions that are never answered, so that one rank does everything.
#[test]
fn units_move_to_other_ranks() {
    let elsewhere = AtomicBool::new(false);
    let results = Ranks::new(4).run(|world| {
        let (rank, tries) = (world.rank(), AtomicU64::new(0));
        let roots = if rank == 0 { vec![0_u8, 1, 2] } else { vec![] };
        // Rank 0 keeps its units until another rank has run one.
        let unit = |unit, out: &mut Out<'_, u8>, count: &mut u64| {
            if rank > 0 {
                elsewhere.store(true, Relaxed);
            } else if !elsewhere.load(Relaxed) {
                assert!(tries.fetch_add(1, Relaxed) < 1 << 30, "nobody takes units");
                return out.push(unit);
            }
            *count += 1;
        };
        world.bag(roots).run(unit, |a, b| a + b)
    });
    assert_eq!(results.unwrap(), [3; 4]);
}

/// Catches: numbers of ranks that are not below rank 0 itself, which never arrive.
#[test]
fn rank_0_sees_the_units_of_all_ranks() {
    let is_seen = AtomicBool::new(false);
    let results = Ranks::new(7).delays(3).run(|world| {
        let roots = (world.rank() == 6).then_some(0_u32);
        // One unit after the other, so rank 6 runs all, until rank 0 has seen some.
        let unit = |step, out: &mut Out<'_, u32>, count: &mut u64| {
            *count += 1;
            assert!(step < u32::MAX, "rank 0 sees nothing");
            if !is_seen.load(Relaxed) {
                out.push(step + 1);
            }
        };
        let mut seen = vec![];
        let bag = world.bag(roots).progress(Duration::ZERO, |units| {
            is_seen.store(units > 0, Relaxed);
            seen.push(units);
        });
        let (units, counts) = bag.run_counted(unit, |a, b| a + b);
        assert_eq!(sum(&counts, |one| one.sent), sum(&counts, |one| one.received));
        (units, seen)
    });
    let results = results.unwrap();
    let (units, seen) = &results[0];
    assert!(seen.is_sorted() && seen.last().is_some_and(|last| last <= units));
    assert!(results[1..].iter().all(|(_, seen)| seen.is_empty()));
}

/// Catches: a rank that goes on asking while nobody has units.
#[test]
fn idle_ranks_send_a_bounded_number_of_questions() {
    let settings = Settings::default();
    let results = Ranks::new(7).run(|world| {
        let roots = if world.rank() == 0 { vec![0_u32] } else { vec![] };
        // One unit after the other: there is never one to give.
        let chain = world.bag(roots).steal_by(settings);
        let ran = chain.run_counted(
            |step, out, sum: &mut u64| {
                *sum += 1;
                if step < 5_000 {
                    out.push(step + 1);
                }
            },
            |a, b| a + b,
        );
        assert_eq!(ran.0, 5_001);
        ran.1
    });
    for one in &results.unwrap()[0] {
        assert!(one.random_questions <= u64::from(settings.tries), "{one:?}");
        assert!(one.lifeline_questions <= 3, "{one:?}");
    }
}

#[test]
fn bags_of_plain_data_and_of_words_follow_each_other() {
    let results = Ranks::new(3).delays(5).run(|world| {
        let own = [u64::from(world.rank()); 10];
        let plain = world.plain_bag(own).run(|unit, _, sum: &mut u64| *sum += unit, |a, b| a + b);
        let words = (0..world.rank()).map(|number| format!("{number}"));
        let join = |a: Vec<String>, mut b: Vec<String>| {
            b.extend(a);
            b.sort();
            b
        };
        let all = world.bag(words).run(|word, _, all: &mut Vec<String>| all.push(word), join);
        (plain, all.join(" "))
    });
    assert_eq!(results.unwrap(), vec![(30, "0 0 1".to_owned()); 3]);
}

#[test]
fn a_panic_in_a_unit_names_its_rank() {
    let lost = Ranks::new(3).run(|world| {
        let own = [world.rank()];
        world.bag(own).run(
            |unit, _, _: &mut u64| {
                if unit == 1 {
                    panic!("a bad unit");
                }
            },
            |a, b| a + b,
        )
    });
    let lost = lost.unwrap_err();
    assert_eq!((lost.rank, lost.why.as_str()), (1, "a bad unit"));
}
