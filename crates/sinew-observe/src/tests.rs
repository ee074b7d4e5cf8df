//! Profile state by a clock of the tests' own.

use std::sync::Arc;

use proptest::prelude::*;
use sinew_policy::span;
use sinew_sync::atomic::{AtomicU64, Ordering};

use super::activity::{Activity, KINDS, Kind};
use super::counts::Count;
use super::paths::{BURDENS, Paths};
use super::profile::WorkerProfile;
use super::scopes::ScopePaths;
use super::state::{Report, Shared, WorkerState};
use super::times::{Clock, TimeCounters};

const BURDEN: Paths = Paths([0, 10, 1_000]);

/// A clock that shows what it is set to.
#[derive(Debug, Default)]
struct Hand(AtomicU64);

impl Clock for Hand {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

type TestState = WorkerState<Hand>;

fn state() -> TestState {
    WorkerState::new(Arc::new(Shared::new(Hand::default(), 0, false)), BURDEN, false)
}

fn pass(state: &TestState, time: u64) {
    let hand = &state.shared.times.clock.0;
    hand.fetch_add(time, Ordering::Relaxed);
}

/// The time of a join between its arms. None of it is work.
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

    /// Runs the tree as the worker with this state would. Another worker, with a state of its own,
    /// runs a stolen arm.
    fn run(&self, state: &TestState, thief: Option<&TestState>) {
        match self {
            Self::Leaf(work) => pass(state, *work),
            Self::Join { before, first, second, stolen } => {
                pass(state, *before);
                state.switch(Activity::Spawn);
                pass(state, SCHEDULER);
                state.fork();
                first.run(state, thief);
                state.first_arm_ended();
                pass(state, SCHEDULER);
                match thief {
                    Some(thief) if *stolen => {
                        let frame = std::ptr::from_ref(self).addr();
                        thief.begin_task();
                        // No other worker steals from the thief.
                        second.run(thief, None);
                        let path = thief.end_task(Some(Activity::Search));
                        state.shared.report(Report { frame, path, strand: None });
                        state.join_ended(Some(frame));
                    }
                    _ => {
                        state.second_arm_begins();
                        second.run(state, thief);
                        state.join_ended(None);
                    }
                }
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

/// Profiles one call that runs `tree`. Returns work, spans, and tasks by how they ran.
fn profiled(tree: &Tree) -> (u64, [u64; BURDENS], [u64; 3]) {
    let (state, thief) = (state(), state());
    let (before, idle) = (state.shared.read(), thief.shared.read());
    state.switch(Activity::Application);
    tree.run(&state, Some(&thief));
    state.end_call();
    state.switch(Activity::Away);
    let now = state.shared.read();
    let mut sum = WorkerProfile::between(&before, &now);
    sum += &WorkerProfile::between(&idle, &thief.shared.read());
    (sum.work, sum.spans.0, [sum.tasks().spawned, sum.tasks().inlined, now.counts.of(Count::Calls)])
}

/// Catches: a span that is not the height of the tree at each burden, and scheduler's time that
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
    /// Catches: a path that depends on which worker ran which arm, that leaks from one arm into the
    /// other, or that is lost with a thief.
    #[test]
    fn work_and_span_are_those_of_the_tree_whoever_runs_it(tree in trees()) {
        let (work, spans, [spawned, ..]) = profiled(&tree);
        prop_assert_eq!(work, tree.work());
        prop_assert_eq!(spans, BURDEN.0.map(|burden| tree.span(burden)));
        prop_assert_eq!(spawned, tree.joins());
    }

    /// Catches: a tick that is counted twice or nowhere; an open interval that a reading forgets;
    /// an attempt whose time counts as that of another activity. A choice of a victim that is no
    /// part of its steal, or that is one without a steal. An activity that does not come back when
    /// the one inside of it ends.
    #[test]
    fn the_times_of_all_activities_sum_up_to_the_time_that_passed(
        steps in proptest::collection::vec((0..13_usize, 0..1_000_u64, 0..11_u8), 0..60),
    ) {
        let state = state();
        let (before, mut sums) = (state.shared.read(), [0; KINDS]);
        let (mut around, mut waits) = (Vec::new(), 0);
        for (activity, time, step) in steps {
            let present = state.activity();
            match step {
                0 => { around.push((true, present)); waits += 1; state.begin_wait(); }
                1 => { around.push((false, present)); state.begin(Activity::ALL[activity]); }
                2 => if let Some((is_wait, before)) = around.pop() {
                    if is_wait { waits -= 1; state.end_wait() } else { state.end() }
                    prop_assert_eq!(state.activity(), before);
                },
                3..=6 => {
                    let (chooses, succeeds) = (step > 4, step % 2 == 1);
                    if chooses {
                        state.begin_choice();
                        pass(&state, 2 * time);
                        state.chosen(true);
                        let was = if succeeds { Activity::Choice } else { present };
                        sums[Kind::new(was, waits > 0).number()] += 2 * time;
                    }
                    state.begin(Activity::Claim);
                    pass(&state, time);
                    let was = if succeeds { Activity::Claim } else { Activity::FailedClaim };
                    sums[Kind::new(was, waits > 0).number()] += time;
                    state.attempted(succeeds);
                    let next = if succeeds { Activity::Steal } else { present };
                    prop_assert_eq!(state.activity(), next);
                    continue;
                }
                7 => {
                    state.begin_choice();
                    pass(&state, time);
                    state.chosen(false);
                    sums[state.shared.times.present().number()] += time;
                    continue;
                }
                _ => state.switch(Activity::ALL[activity]),
            }
            pass(&state, time);
            sums[state.shared.times.present().number()] += time;
        }
        let profile = WorkerProfile::between(&before, &state.shared.read());
        prop_assert_eq!(profile.times, sums);
        let breakdown = profile.breakdown();
        prop_assert_eq!(breakdown.total() + breakdown.away, profile.elapsed());
        let library = profile.functions();
        let parts = [
            library.spawn,
            library.get,
            library.lock,
            library.steal,
            library.steal_wait,
            library.lib_wait,
        ];
        let in_parts: u64 = parts.iter().map(|part| part.time).sum();
        prop_assert_eq!(in_parts, library.wait_for_all.time);
        let scheduler = library.wait_for_all.time + library.parked.time;
        prop_assert_eq!(scheduler + library.application + breakdown.away, profile.elapsed());
    }

    /// Catches: pieces of a loop that are laid end to end, and the path of one piece that leaks
    /// into the next.
    #[test]
    fn the_pieces_of_a_loop_lie_side_by_side(
        pieces in proptest::collection::vec(1..1_000_u64, 1..30),
        before in 0..1_000_u64,
    ) {
        let state = state();
        state.switch(Activity::Application);
        pass(&state, before);
        state.begin_loop(true);
        for &piece in &pieces {
            pass(&state, piece);
            state.piece_ended();
        }
        pass(&state, 3);
        state.loop_ended();
        let (longest, total) = (*pieces.iter().max().unwrap(), pieces.iter().sum());
        let span =
            |burden| before + span::tree(longest, total, pieces.len() as u64, burden) + 3;
        prop_assert_eq!(state.path_now().0, BURDEN.0.map(span));
    }

    /// Catches: tasks of a scope that are laid end to end, that begin before they are spawned,
    /// or that cost more than running them in place.
    #[test]
    fn a_scope_ends_with_its_last_task_and_no_later_than_in_one_piece(
        tasks in proptest::collection::vec((0..500_u64, 0..500_u64), 1..20),
    ) {
        let (paths, mut body) = (ScopePaths::default(), 0);
        for &(before, length) in &tasks {
            body += before;
            let start = Paths([body; BURDENS]).plus(BURDEN);
            paths.task_ended(start, start.plus(Paths([length; BURDENS])));
        }
        let end = |burden: u64| {
            let ends = tasks.iter().scan(0, |at, &(before, length)| {
                *at += before;
                Some(*at + burden + length)
            });
            let total: u64 = tasks.iter().map(|&(_, length)| length).sum();
            body.max(ends.max().unwrap().min(body + total))
        };
        prop_assert_eq!(paths.end(Paths([body; BURDENS])).0, BURDEN.0.map(end));
    }
}

/// Catches: a clock whose own cost is taken for work, or that is subtracted from more than there
/// was.
#[test]
fn work_is_without_the_cost_of_the_clock() {
    let times = TimeCounters::new(Hand::default(), 5);
    let switch = |activity, time| {
        times.switch(Kind::new(activity, false));
        times.clock.0.fetch_add(time, Ordering::Relaxed);
    };
    for time in [100, 3, 50] {
        switch(Activity::Application, time);
        switch(Activity::Spawn, 20);
    }
    let read = times.read();
    assert_eq!(read.work, 95 + 45);
    assert_eq!(read.times[Kind::new(Activity::Application, false).number()], 153);
}

/// Catches: a clock that goes back and makes a time of half an eternity.
#[test]
fn a_clock_that_goes_back_stands_still() {
    let times = TimeCounters::new(Hand(AtomicU64::new(100)), 0);
    times.clock.0.store(90, Ordering::Relaxed);
    times.switch(Kind::new(Activity::Search, false));
    times.clock.0.store(110, Ordering::Relaxed);
    let read = times.read();
    assert_eq!(read.times.iter().sum::<u64>(), 10);
}
