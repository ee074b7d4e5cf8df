//! Properties of the tuner for any input: T1 to T4.

use proptest::prelude::*;

use super::*;

/// An event of a tuner.
#[derive(Debug, Clone)]
enum Event {
    Epoch(Counts),
    Cores(usize),
}

/// Small numbers, for ratios near the thresholds, and any numbers, for overflows.
fn counter() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..50_u64, 1 => any::<u64>()]
}

fn event() -> impl Strategy<Value = Event> {
    let counts = [counter(), counter(), counter(), counter()];
    let epoch = counts.prop_map(|[commits, aborts, stalls, elapsed_ns]| {
        Event::Epoch(Counts { commits, aborts, stalls, elapsed_ns })
    });
    prop_oneof![9 => epoch, 1 => (0..20_usize).prop_map(Event::Cores)]
}

fn knobs() -> impl Strategy<Value = Knobs> {
    let baseline = prop_oneof![Just(Baseline::Previous), Just(Baseline::Accepted)];
    (0.001..3.0_f64, 0.001..3.0_f64, 1..=20_000_u32, baseline).prop_map(
        |(alpha, beta, longest_lifespan, baseline)| Knobs {
            alpha,
            beta,
            longest_lifespan,
            baseline,
            ..Knobs::default()
        },
    )
}

/// Whether state `after` may follow state `before`.
fn may_follow(before: State, after: State) -> bool {
    use State::{Coalescing, Helpers, Start, Stealing, SwapRetry, Threads};
    let next: &[State] = match before {
        Start => &[Stealing],
        Stealing => &[Threads],
        Threads => &[Helpers, Coalescing],
        Helpers => &[Coalescing],
        Coalescing => &[SwapRetry],
        SwapRetry => &[],
    };
    before == after || next.contains(&after)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Catches: no thread, a lifespan that is too long, an optimisation that is undone, a state
    /// that returns, or a panic, after any events.
    #[test]
    fn settings_make_sense_after_any_events(
        mut cores in 0..20_usize,
        knobs in knobs(),
        events in proptest::collection::vec(event(), 0..120),
    ) {
        let mut tuner = Tuner::new(cores, knobs).unwrap();
        for event in events {
            let (state, before) = (tuner.state(), tuner.settings());
            match event {
                Event::Epoch(counts) => {
                    let step = tuner.epoch(&counts);
                    prop_assert_eq!(step, Step { state, settings: before, counts });
                    prop_assert!(tuner.settings().threads <= before.threads, "T2");
                }
                Event::Cores(now) => {
                    tuner.set_cores(now);
                    cores = now;
                    prop_assert_eq!(tuner.state(), state);
                }
            }
            let after = tuner.settings();
            prop_assert!(may_follow(state, tuner.state()), "T1: {} to {}", state, tuner.state());
            prop_assert!((1..=cores.max(1)).contains(&after.threads), "T2: {}", after);
            prop_assert!(after.lifespan <= knobs.longest_lifespan, "T3: {}", after);
            prop_assert!(tuner.state() >= State::Helpers || after.lifespan == 0, "T3: {}", after);
            prop_assert!(
                after.stealing >= before.stealing && after.coalescing >= before.coalescing,
                "T4"
            );
            let retries = after.swap_after.unwrap_or(1);
            prop_assert!((1..=1_024).contains(&retries), "T4: {}", after);
            prop_assert!(tuner.is_settled() || after.swap_after.is_none(), "T4: {}", after);
        }
    }

    /// Catches: a hidden clock, or a state outside of the tuner.
    #[test]
    fn the_same_epochs_lead_to_the_same_settings(
        events in proptest::collection::vec(event(), 0..60),
    ) {
        let run = || {
            let mut tuner = Tuner::new(8, Knobs::default()).unwrap();
            for event in &events {
                match event {
                    Event::Epoch(counts) => {
                        tuner.epoch(counts);
                    }
                    Event::Cores(cores) => tuner.set_cores(*cores),
                }
            }
            tuner
        };
        prop_assert_eq!(run(), run());
    }

    /// Catches: a state that is never left though its epochs agree: 2 epochs for each halving and
    /// lifespan, and 4 for the rest.
    #[test]
    fn epochs_that_agree_settle_soon(
        cores in 1..1_000_usize,
        knobs in knobs(),
        aborts in 0..2_000_u64,
        stalls in counter(),
    ) {
        let mut tuner = Tuner::new(cores, knobs).unwrap();
        // A single thread has no conflicts.
        let epochs = (0..60).take_while(|_| {
            let aborts = if tuner.settings().threads > 1 { aborts } else { 0 };
            tuner.epoch(&Counts { commits: 1_000, aborts, stalls, elapsed_ns: 1_000 });
            !tuner.is_settled()
        });
        let halvings = cores.ilog2() as usize;
        prop_assert!(epochs.count() <= 3 + 2 * (halvings + 1) + 2 * 6);
    }
}
