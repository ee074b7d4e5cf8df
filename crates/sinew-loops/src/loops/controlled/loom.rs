//! Every interleaving of two participants and a thread that changes their loop (loom), and planted
//! bugs that the models catch.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p sinew-loops --release loom_`

use sinew_policy::chunk::Schedule;
use sinew_sync::lock::Mutex;
use sinew_sync::plant::Bug;

use super::super::ending::Ending;
use super::claims::{Claims, Shared};
use super::plan::{LoopSettings, Plan};
use crate::Control;
use crate::participants::Participants;
use crate::planted::Planted;
use sinew_core::CancelRegistration;
use sinew_core::Limit;
use std::ops::Range;
use std::sync::Arc;

const WORKERS: usize = 2;

/// A loop without a pool. In the runtime the caller's frame owns the control, and the pool the
/// limit; here both are leaked.
fn shared(n: usize, schedule: Schedule) -> (Arc<Shared<'static>>, Control) {
    let control = Control::new();
    let own = LoopSettings { threads: WORKERS, schedule };
    let plan = Mutex::new(Plan::new(n, WORKERS, own, 0, None));
    let held: &'static Control = Box::leak(Box::new(control.clone()));
    let limit = Box::leak(Box::new(Limit::unlimited()));
    (
        Arc::new(Shared {
            control: held,
            limit,
            own,
            open: false,
            auto: schedule,
            workers: WORKERS,
            participants: Participants::with_ranks(WORKERS),
            plan,
            ending: Ending::default(),
            cancel_registration: CancelRegistration::default(),
        }),
        control,
    )
}

/// Runs one participant until it leaves. Returns its ranges.
fn participate(shared: &Shared<'_>, worker: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    if let Some(registration) = shared.register()
        && let Some(mut claims) = Claims::enter(shared, &|| (), worker, registration)
    {
        while let Some((range, _)) = claims.next(1) {
            ranges.push(range);
        }
    }
    ranges
}

fn assert_exactly_once(n: usize, mut ranges: Vec<Range<usize>>) {
    ranges.sort_unstable_by_key(|range| range.start);
    let ran: Vec<usize> = ranges.into_iter().flatten().collect();
    assert!(ran.iter().copied().eq(0..n), "{ran:?} are not each of {n} once");
}

fn changed_meanwhile(n: usize, schedule: Schedule, change: fn(&Control)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let (shared, control) = shared(n, schedule);
        let other = {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || participate(&shared, 1))
        };
        let changer = loom::thread::spawn(move || change(&control));
        let mut ranges = participate(&shared, 0);
        ranges.extend(other.join().unwrap());
        changer.join().unwrap();
        // The caller runs iterations that the last participant has left (K1).
        while !shared.is_over() {
            ranges.extend(participate(&shared, 0));
        }
        assert_exactly_once(n, ranges);
    });
}

/// Catches: an iteration that is both in the old source and in the new, or in neither; one that
/// a thief holds while the source is closed.
#[test]
fn loom_a_source_is_replaced_while_participants_claim() {
    changed_meanwhile(3, Schedule::Stealing, |control| {
        control.set_schedule(Schedule::Dynamic { chunk: 1 })
    });
}

/// Catches: the same for chunks of which a participant has claimed more than it has run.
#[test]
fn loom_claims_are_returned_when_their_source_is_replaced() {
    changed_meanwhile(4, Schedule::Dynamic { chunk: 2 }, |control| {
        control.set_schedule(Schedule::Dynamic { chunk: 1 })
    });
}

/// Catches: the same for shares, of which a participant leaves a part.
#[test]
fn loom_a_surplus_participant_leaves_its_share_to_the_other() {
    changed_meanwhile(3, Schedule::Static, |control| control.set_threads(1));
}

/// Catches: a model in which no thread claims while the source is closed.
#[test]
#[should_panic(expected = "once")]
fn loom_a_source_that_stays_open_is_caught() {
    let _planted = Planted::new(Bug::OpenSource);
    changed_meanwhile(3, Schedule::Stealing, |control| {
        control.set_schedule(Schedule::Dynamic { chunk: 1 })
    });
}

/// Catches: a model in which no participant returns a claim. A participant that keeps it looks up
/// positions that the next source does not have.
#[test]
#[should_panic(expected = "a position in the set")]
fn loom_a_claim_returned_and_kept_is_caught() {
    let _planted = Planted::new(Bug::KeptChunk);
    changed_meanwhile(4, Schedule::Dynamic { chunk: 2 }, |control| {
        control.set_schedule(Schedule::Dynamic { chunk: 1 });
    });
}
