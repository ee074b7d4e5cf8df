//! The policies by energy on synthetic speeds and watts.

use super::*;

/// Catches: an exponent that weighs time as energy, or the reverse; cores that are given although
/// they are not worth their power; and idle watts that are charged to the cores.
#[test]
fn cores_that_are_not_worth_their_power_stay_idle() {
    let layout = Layout::flat(8);
    let rates = [10.0, 19.0, 26.0, 31.0, 34.0, 36.0, 37.0, 37.5];
    let points = (1..).zip(rates).map(|(cores, rate)| Speed { cores, rate });
    let curve = Curve::from_points(points);
    let programs = [Program { curve, ..Program::new(8, layout.cores()) }];
    let by = |policy, idle_w| {
        let power = Power { idle_w, core_w: 10.0 };
        threads(&decide(policy, &layout, &programs, &Effects::none(), Some(power)))[0]
    };
    let mixed = |percent| Policy::Energy { percent };
    // Of 1 to 8 cores with 10 W and 10 W each, three have the least watts for their speed, which is
    // 2.6 of one core's.
    assert_eq!([by(Policy::ENERGY, 10.0), by(Policy::ENERGY_DELAY, 10.0)], [3, 5]);
    assert_eq!([by(mixed(30), 10.0), by(mixed(0), 10.0)], [6, 8]);
    assert_eq!([by(Policy::ENERGY, 0.0), by(Policy::ENERGY, 1e6)], [1, 8]);
    assert_eq!(by(Policy::Efficiency, 10.0), 8);
    let unknown = decide(Policy::ENERGY, &layout, &programs, &Effects::none(), None);
    assert_eq!(threads(&unknown), [8]);
}

/// Catches: a program that stays where it was measured, so that neither its speed nor the machine's
/// power on fewer cores is ever known; and one that is tried below its minimum, or for nothing.
#[test]
fn under_energy_a_program_is_measured_on_half_of_its_cores() {
    let layout = Layout::flat(8);
    let power = Power { idle_w: 0.0, core_w: 5.0 };
    let by = |policy, cores, min, power| {
        let curve = Curve::from_points([Speed { cores, rate: 10.0 }]);
        let mut programs = vec![Program { curve, min, ..Program::new(8, layout.cores()) }; 2];
        programs.truncate(if min == 1 { 1 } else { 2 });
        let first = decide(policy, &layout, &programs, &Effects::none(), power);
        threads(&first)
    };
    assert_eq!(by(Policy::ENERGY, 8, 1, Some(power)), [4]);
    assert_eq!(by(Policy::ENERGY, 5, 1, Some(power)), [2]);
    assert_eq!(by(Policy::ENERGY, 20, 3, Some(power)), [4, 4]);
    assert_eq!(by(Policy::ENERGY, 4, 3, Some(power)), [3, 3]);
    assert_eq!(by(Policy::ENERGY, 8, 1, None), [8]);
    assert_eq!(by(Policy::Efficiency, 8, 1, Some(power)), [8]);
}

/// Catches: a minimum that gives way to the power, and a program that loses its cores to one whose
/// speed they add less to.
#[test]
fn the_least_energy_of_two_programs_goes_by_both_speeds() {
    let layout = Layout::flat(8);
    let program = |top: f32, min| {
        let speed = |cores, rate| Speed { cores, rate };
        let curve =
            Curve::from_points([speed(1, 10.0), speed(2, 10.0 + top), speed(8, 10.0 + top)]);
        Program { curve, min, ..Program::new(8, layout.cores()) }
    };
    let power = Power { idle_w: 1.0, core_w: 10.0 };
    let by = |programs: &[Program]| {
        threads(&decide(Policy::ENERGY, &layout, programs, &Effects::none(), Some(power)))
    };
    assert_eq!(by(&[program(9.9, 1), program(1.0, 1)]), [2, 1]);
    assert_eq!(by(&[program(1.0, 4), program(9.9, 1)]), [4, 2]);
}
