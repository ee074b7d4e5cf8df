//! Books by a clock of the tests' own.

use std::cell::Cell;

use proptest::prelude::*;
use sinew_policy::span;

use super::activity::{Activity, KINDS, Kind};
use super::books::Books;
use super::fork::{Fork, Pieces};
use super::paths::{BURDENS, Paths};
use super::report::WorkerProfile;
use super::scope::ScopePaths;
use super::sheet::{Clock, Sheet};

const BURDEN: Paths = Paths([0, 10, 1_000]);

/// A clock that shows what it is set to.
#[derive(Debug, Default)]
struct Hand(Cell<u64>);

impl Clock for Hand {
    fn now(&self) -> u64 {
        self.0.get()
    }
}

type TestBooks = Books<Hand>;

fn books() -> TestBooks {
    Books::new(Hand::default(), 0, BURDEN)
}

fn pass(books: &TestBooks, time: u64) {
    let hand = &books.sheet.clock.0;
    hand.set(hand.get() + time);
}

/// What a join does between its arms, and how long that takes: none of it is work.
const SCHEDULER: u64 = 7;

#[derive(Debug, Clone)]
enum Tree {
    Leaf(u64),
    Join { before: u64, first: Box<Tree>, second: Box<Tree>, stolen: bool },
}

impl Tree {
    fn balanced(height: u32, leaf: u64) -> Self {
        if height == 0 {
            return Self::Leaf(leaf);
        }
        let half = || Box::new(Self::balanced(height - 1, leaf));
        Self::Join { before: 0, first: half(), second: half(), stolen: false }
    }

    fn work(&self) -> u64 {
        match self {
            Self::Leaf(work) => *work,
            Self::Join { before, first, second, .. } => before + first.work() + second.work(),
        }
    }

    fn span(&self, burden: u64) -> u64 {
        match self {
            Self::Leaf(work) => *work,
            Self::Join { before, first, second, .. } => {
                before + span::join(first.span(burden), second.span(burden), burden)
            }
        }
    }

    fn joins(&self) -> u64 {
        match self {
            Self::Leaf(_) => 0,
            Self::Join { first, second, .. } => 1 + first.joins() + second.joins(),
        }
    }

    /// Runs the tree as a worker with these books would; a stolen arm is run by another one, on
    /// books of its own.
    fn run(&self, books: &TestBooks, thief: Option<&TestBooks>) {
        match self {
            Self::Leaf(work) => pass(books, *work),
            Self::Join { before, first, second, stolen } => {
                pass(books, *before);
                books.turn(Activity::Spawn);
                pass(books, SCHEDULER);
                let mut fork = Fork::new(Some(books));
                fork.first(|| first.run(books, thief));
                pass(books, SCHEDULER);
                match thief {
                    Some(thief) if *stolen => {
                        let frame = std::ptr::from_ref(self).cast();
                        let interrupted = thief.interrupt();
                        // The thief has nobody to steal from it.
                        second.run(thief, None);
                        books.report(frame, thief.resume(&interrupted, Activity::Search));
                        fork.stolen(frame);
                    }
                    _ => fork.second(|| second.run(books, thief)),
                }
                fork.joined();
            }
        }
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    (0..2_000_u64).prop_map(Tree::Leaf).prop_recursive(6, 48, 2, |inner| {
        (0..2_000_u64, inner.clone(), inner, any::<bool>()).prop_map(
            |(before, first, second, stolen)| Tree::Join {
                before,
                first: Box::new(first),
                second: Box::new(second),
                stolen,
            },
        )
    })
}

/// Profiles one call that runs `tree`. Answers work, spans, and tasks by how they ran.
fn profiled(tree: &Tree) -> (u64, [u64; BURDENS], [u64; 3]) {
    let (books, thief) = (books(), books());
    let (before, idle) = (books.read(), thief.read());
    books.turn(Activity::Application);
    tree.run(&books, Some(&thief));
    books.end_call();
    books.turn(Activity::Away);
    let mut sum = WorkerProfile::between(&before, &books.read());
    sum += &WorkerProfile::between(&idle, &thief.read());
    (sum.work, sum.spans.0, [sum.tasks().spawned, sum.tasks().inlined, books.read().counts.calls])
}

/// Would miss: a span that is not the height of the tree at each burden, and scheduler's time that
/// is taken for work.
#[test]
fn a_balanced_tree_of_known_leaves_has_the_known_span() {
    let (work, spans, [spawned, inlined, calls]) = profiled(&Tree::balanced(5, 100));
    assert_eq!(work, 3_200);
    // At burden 10 each of five levels adds it; at 1000 each join of less is rather run in place.
    assert_eq!(spans, [100, 150, 200.max(spans[2]).min(3_200)]);
    assert_eq!(spans[2], Tree::balanced(5, 100).span(1_000));
    assert_eq!((spawned, inlined, calls), (31, 31, 1));
}

proptest! {
    /// Would miss: a way that depends on who ran what, that is carried over from one arm to the
    /// other, or that is lost with a thief.
    #[test]
    fn work_and_span_are_those_of_the_tree_whoever_runs_it(tree in trees()) {
        let (work, spans, [spawned, ..]) = profiled(&tree);
        prop_assert_eq!(work, tree.work());
        prop_assert_eq!(spans, BURDEN.0.map(|burden| tree.span(burden)));
        prop_assert_eq!(spawned, tree.joins());
    }

    /// Would miss: a tick that is counted twice or nowhere, an open interval that a reading
    /// forgets, an attempt that is counted as what it looked like when it began.
    #[test]
    fn the_times_of_all_activities_sum_up_to_the_time_that_passed(steps in proptest::collection::vec((0..12_usize, 0..1_000_u64, 0..6_u8), 0..60)) {
        let books = books();
        let (before, mut sums) = (books.read(), [0; KINDS]);
        let mut waits = Vec::new();
        for (activity, time, step) in steps {
            let before = books.activity();
            match step {
                0 => { waits.push(before); books.block(); }
                1 => if let Some(before) = waits.pop() { books.unblock(before) },
                2 | 3 => {
                    books.turn(Activity::Claim);
                    pass(&books, time);
                    let was = if step == 2 { Activity::Claim } else { Activity::FailedClaim };
                    sums[Kind::new(was, !waits.is_empty()).number()] += time;
                    books.attempted(step == 2, before);
                    continue;
                }
                _ => books.turn(Activity::ALL[activity]),
            }
            pass(&books, time);
            sums[books.sheet.present().number()] += time;
        }
        let profile = WorkerProfile::between(&before, &books.read());
        prop_assert_eq!(profile.times, sums);
        let breakdown = profile.breakdown();
        prop_assert_eq!(breakdown.total() + breakdown.away, profile.elapsed());
        let library = profile.functions();
        let parts = [library.spawn, library.get, library.lock, library.steal, library.steal_wait, library.lib_wait];
        prop_assert_eq!(parts.iter().map(|part| part.time).sum::<u64>(), library.wait_for_all.time);
        prop_assert_eq!(library.wait_for_all.time + library.parked.time + library.application + breakdown.away, profile.elapsed());
    }

    /// Would miss: pieces of a loop that are laid end to end, and what a piece leaves behind for
    /// the next.
    #[test]
    fn the_pieces_of_a_loop_lie_side_by_side(pieces in proptest::collection::vec(1..1_000_u64, 1..30), before in 0..1_000_u64) {
        let books = books();
        books.turn(Activity::Application);
        pass(&books, before);
        let mut running = Pieces::new(Some(&books), true);
        for &piece in &pieces {
            pass(&books, piece);
            running.ended();
        }
        pass(&books, 3);
        drop(running);
        let (longest, total) = (*pieces.iter().max().unwrap(), pieces.iter().sum());
        let span = |burden| before + span::tree(longest, total, pieces.len() as u64, burden) + 3;
        prop_assert_eq!(books.path_now().0, BURDEN.0.map(span));
    }

    /// Would miss: tasks of a scope that are laid end to end, that begin before they are spawned,
    /// or that cost more than running them in place.
    #[test]
    fn a_scope_ends_with_its_last_task_and_no_later_than_in_one_piece(tasks in proptest::collection::vec((0..500_u64, 0..500_u64), 1..20)) {
        let (paths, mut body) = (ScopePaths::default(), 0);
        for &(before, length) in &tasks {
            body += before;
            let start = Paths([body; BURDENS]).plus(BURDEN);
            paths.note(start, start.plus(Paths([length; BURDENS])));
        }
        let end = |burden: u64| {
            let ends = tasks.iter().scan(0, |at, &(before, length)| { *at += before; Some(*at + burden + length) });
            let total: u64 = tasks.iter().map(|&(_, length)| length).sum();
            body.max(ends.max().unwrap().min(body + total))
        };
        prop_assert_eq!(paths.end(Paths([body; BURDENS])).0, BURDEN.0.map(end));
    }
}

/// Would miss: a clock whose own cost is taken for work, or that is subtracted from more than there
/// was.
#[test]
fn work_is_without_the_cost_of_the_clock() {
    let sheet = Sheet::new(Hand::default(), 5);
    let turn = |activity, time| {
        sheet.turn(Kind::new(activity, false));
        sheet.clock.0.set(sheet.clock.0.get() + time);
    };
    for time in [100, 3, 50] {
        turn(Activity::Application, time);
        turn(Activity::Spawn, 20);
    }
    let times = sheet.read();
    assert_eq!(times.work, 95 + 45);
    assert_eq!(times.times[Kind::new(Activity::Application, false).number()], 153);
}

/// Would miss: a clock that goes back and makes a time of half an eternity.
#[test]
fn a_clock_that_goes_back_stands_still() {
    let sheet = Sheet::new(Hand(Cell::new(100)), 0);
    sheet.clock.0.set(90);
    sheet.turn(Kind::new(Activity::Search, false));
    sheet.clock.0.set(110);
    let times = sheet.read();
    assert_eq!(times.times.iter().sum::<u64>(), 10);
}
