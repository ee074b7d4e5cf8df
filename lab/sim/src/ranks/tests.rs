//! Bags over shapes, networks, slow ranks and ranks that stop.

use sinew_policy::lifelines::Settings;

use super::{Network, RanksReport, RanksSetup, Shape, Slow, Stop, run_ranks};
use crate::NS;

fn setups(ranks: u32, seed: u64) -> impl Iterator<Item = RanksSetup> {
    let networks = [
        Network::default(),
        Network {
            ranks_per_machine: 4,
            latency_ns: 100_000,
            byte_ps: 10_000,
            ..Default::default()
        },
    ];
    let slow = [None, Some(Slow { every: 3, percent: 250 })];
    let all = Shape::ALL.into_iter().flat_map(move |shape| {
        networks.into_iter().flat_map(move |network| slow.map(|slow| (shape, network, slow)))
    });
    all.map(move |(shape, network, slow)| RanksSetup {
        shape,
        network,
        slow,
        seed,
        ..RanksSetup::new(ranks, 50_000)
    })
}

/// Catches: R1: batches that are run late twice or never, units that are lost in a message.
#[test]
fn every_node_runs_before_the_end() {
    for ranks in [1, 2, 3, 7, 100] {
        for setup in (0..2).flat_map(|seed| setups(ranks, seed)) {
            let report = run_ranks(setup);
            assert_eq!(report.nodes, 50_000, "{setup:?}");
            assert!(report.efficiency(&setup) <= 1.0, "{setup:?} {report:?}");
            if setup.slow.is_none() {
                assert_eq!(report.work, 50_000 * 1_000 * NS);
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let setup = RanksSetup { seed: 5, ..RanksSetup::new(100, 300_000) };
    assert_eq!(run_ranks(setup), run_ranks(setup));
    assert_ne!(run_ranks(setup), run_ranks(RanksSetup { seed: 6, ..setup }));
}

/// Catches: a simulation in which one wave would be as good as two.
#[test]
fn one_wave_ends_some_bags_too_early() {
    let early = |seed| {
        let few = Settings { tries: 0, base: 2 };
        let network = Network { latency_ns: 500, byte_ps: 0, ..Network::default() };
        let short = RanksSetup { batch_ns: 10_000, network, ..RanksSetup::new(3, 5_000) };
        let setup = RanksSetup { equal_waves: 1, settings: few, seed, ..short };
        run_ranks(setup).nodes < 5_000
    };
    assert!((0..1_000).any(early));
}

/// Catches: idle ranks that go on asking.
#[test]
fn idle_ranks_are_silent() {
    // No unit is ever divided, so nobody gets anything.
    let whole = RanksSetup { grain: 1 << 20, ..RanksSetup::new(1_024, 1 << 20) };
    let report = run_ranks(whole);
    assert_eq!(report.gifts, 0);
    assert_eq!(report.questions, 1_024 * (2 + 10));
    assert!(report.efficiency(&whole) < 0.001);
}

/// Catches: R3: an event for every batch.
#[test]
fn a_rank_alone_has_one_event() {
    let report = run_ranks(RanksSetup::new(1, 10_000_000));
    assert!(report.events <= 2, "{report:?}");
}

/// Catches: links that carry all messages at once, and a machine whose ranks are as far as others.
#[test]
fn latency_and_bytes_cost_time_between_machines() {
    let time = |network| run_ranks(RanksSetup { network, ..RanksSetup::new(64, 640_000) }).time;
    let free = Network { latency_ns: 0, near_ns: 0, byte_ps: 0, ..Network::default() };
    let far = Network { latency_ns: 100_000, ..free };
    let narrow = Network { byte_ps: 1_000_000, ..free };
    assert!(time(far) > time(free) + 4 * 100_000 * NS);
    assert!(time(narrow) > time(free) + 4 * 32 * 1_000_000);
    assert_eq!(time(Network { ranks_per_machine: 64, ..far }), time(free));
}

/// Catches: a slow rank that keeps an equal part of the work.
#[test]
fn the_others_take_the_work_of_slow_ranks() {
    let slow = Slow { every: 4, percent: 400 };
    let setup = RanksSetup { slow: Some(slow), ..RanksSetup::new(16, 16_000_000) };
    assert!((setup.speed() - 13.0).abs() < 1e-9);
    assert!(run_ranks(setup).efficiency(&setup) > 0.9);
}

/// Catches: a rank that takes messages or works while it stands, and units that are lost with it.
#[test]
fn a_rank_that_stands_for_a_time_costs_that_time_at_most() {
    let plain = RanksSetup::new(16, 1_600_000);
    let moving = run_ranks(plain);
    for (rank, at_ns) in [(0, 0), (3, 0), (3, 50_000_000), (15, 99_000_000)] {
        let stop = Stop { rank, at_ns, for_ns: Some(80_000_000) };
        let report = run_ranks(RanksSetup { stop: Some(stop), ..plain });
        assert_eq!((report.nodes, report.lost), (1_600_000, None));
        assert!(report.time <= moving.time + 120_000_000 * NS, "{rank} {at_ns} {report:?}");
        assert_ne!(report.time, moving.time);
    }
}

/// Catches: a job that waits for a lost rank for ever, or reports an end.
#[test]
fn a_rank_that_stops_for_ever_ends_the_job_by_its_silence() {
    let stop = Stop { rank: 2, at_ns: 5_000_000, for_ns: None };
    let report = run_ranks(RanksSetup { stop: Some(stop), ..RanksSetup::new(8, 800_000) });
    assert_eq!((report.lost, report.time), (Some(2), (5_000_000 + Stop::SILENCE_NS) * NS));
    assert!(report.nodes < 800_000);
}

/// Stealing from random ranks until the last unit, as in the published analyses.
fn random_stealing(ranks: u32, nodes: u64, latency_ns: u64, seed: u64) -> RanksReport {
    let network = Network { latency_ns, byte_ps: 0, ..Network::default() };
    let settings = Settings { tries: u32::MAX, base: 2 };
    run_ranks(RanksSetup {
        shape: Shape::Flat,
        grain: 1,
        node_ns: 1,
        batch_ns: 1,
        network,
        settings,
        ends_with_last_unit: true,
        seed,
        ..RanksSetup::new(ranks, nodes)
    })
}

/// Gast, Khatiri, Trystram and Wagner, "A New Analysis of Work Stealing with Latency", 2018: W unit
/// tasks take W/p plus a constant times λ·log₂(W/λ). Here the constant is 2.3 to 3.3; the
/// bound's is 16.12.
///
/// Catches: messages that cost no time, or twice their latency, and answers that come late.
#[test]
fn the_loss_of_random_stealing_grows_with_the_latency_and_the_logarithm_of_the_work() {
    for (ranks, each) in [(16, 20_000_u64), (64, 10_000)] {
        for latency in [10, 100] {
            let nodes = each * u64::from(ranks);
            let runs = 4;
            let losses = (0..runs).map(|seed| {
                let time = random_stealing(ranks, nodes, latency, seed).time / NS;
                time as f64 - each as f64
            });
            let loss = losses.sum::<f64>() / f64::from(runs as u32);
            let scale = latency as f64 * (nodes as f64 / latency as f64).log2();
            let constant = loss / scale;
            assert!((2.0..4.0).contains(&constant), "{ranks} {each} {latency}: {constant}");
        }
    }
}

/// Catches: a name that sets another value, and numbers that no run survives.
#[test]
fn a_bag_reads_from_text() {
    let text = "each=1000, shape=critical,tries=1,base=4,machine=8,latency=5000,slow=16x200,\
                stop=3@10+5";
    let setup: RanksSetup = text.parse().expect("a bag");
    let setup = setup.scaled(64).expect("64 ranks");
    assert_eq!((setup.ranks, setup.nodes, setup.shape), (64, 64_000, Shape::Critical));
    assert_eq!(setup.settings, Settings { tries: 1, base: 4 });
    assert_eq!((setup.network.ranks_per_machine, setup.network.latency_ns), (8, 5_000));
    assert_eq!(setup.slow, Some(Slow { every: 16, percent: 200 }));
    let stop = Stop { rank: 3, at_ns: 10_000_000, for_ns: Some(5_000_000) };
    assert_eq!(setup.stop, Some(stop));
    assert_eq!((setup.scaled(3), setup.scaled(0), setup.scaled(1 << 21)), (None, None, None));
    for wrong in ["each=0", "base=1", "grain", "shape=round", "slow=0x9", "stop=1", "all=3"] {
        assert!(wrong.parse::<RanksSetup>().is_err(), "{wrong}");
    }
}
