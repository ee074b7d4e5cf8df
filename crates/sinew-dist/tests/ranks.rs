//! Every skeleton over ranks that are threads, with messages that are delayed and reordered.

mod checks;

use proptest::prelude::*;
use sinew_dist::threads::Ranks;

#[test]
fn all_skeletons_agree_with_serial_programs_at_any_number_of_ranks() {
    for size in [1, 2, 3, 4, 7] {
        for (name, check) in checks::CHECKS {
            println!("{name} over {size} ranks");
            let ranks = Ranks::new(size).delays(u64::from(size)).workers(1 + size as usize % 2);
            ranks.run(check).unwrap();
        }
    }
}

/// Catches: halos with more than the layers that are needed.
#[test]
fn a_halo_travels_without_a_byte_more_than_its_elements() {
    let bytes = Ranks::new(3).run(|world| {
        let mut grid = world.grid([100, 30]).init(|_| 1.0_f64);
        let before = world.traffic();
        grid.star_sweeps::<2, _>(10, |t| t[[-2, 0]] + t[[2, 0]]);
        let after = world.traffic();
        (after.sent - before.sent, after.bytes - before.bytes)
    });
    // Two layers of 240 bytes to each neighbour, and none to itself.
    assert_eq!(bytes.unwrap(), [(10, 4_800), (20, 9_600), (10, 4_800)]);
}

fn cases() -> ProptestConfig {
    let deep = std::env::var_os("SINEW_DEEP").is_some();
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if deep { 2_000 } else { 40 })
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn elements_arrive_wherever_weights_send_them(
        length in 0..9_000_usize,
        weights in prop::collection::vec(0..5_u32, 1..8),
        seed: u64,
    ) {
        prop_assume!(weights.iter().any(|weight| *weight > 0));
        let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
        let results = Ranks::new(weights.len() as u32).delays(seed).run(|world| {
            let array = world.block(length).init(|i| i as u64 + 1).redistribute(&weights);
            (array.reduce(0, |a, b| a + b), array.scan(u64::max).gather())
        });
        for (sum, array) in results.unwrap() {
            prop_assert_eq!(sum, (length * (length + 1) / 2) as u64);
            prop_assert!(array.into_iter().eq(1..=length as u64));
        }
    }
}
