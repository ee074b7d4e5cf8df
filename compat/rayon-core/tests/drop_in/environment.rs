//! The environment variables, in child processes that start with them.

use crate::support::{alone, assert_one_line, assert_passed, child, errors, fib, is_child, pool};

/// Runs the test `name` with each list of `variables`; the child gets the number it must find from
/// one more.
fn threads_are(name: &str, expected: &str, variables: &[&[(&str, &str)]]) {
    if is_child() {
        let found = (rayon_core::current_num_threads(), pool(0).current_num_threads());
        let wanted = match std::env::var("EXPECTED").unwrap().as_str() {
            "default" => sinew_core::Pool::new().unwrap().max_threads(),
            number => number.parse().unwrap(),
        };
        assert_eq!(found, (wanted, wanted));
        assert_eq!(pool(2).current_num_threads(), 2);
        assert_eq!(fib(10), 55);
        return;
    }
    for variables in variables {
        let variables = Vec::from_iter(variables.iter().copied().chain([("EXPECTED", expected)]));
        let output = alone(&format!("environment::{name}"), &variables, || ()).unwrap();
        assert_eq!(errors(&output), "");
    }
}

/// Catches: a variable that is not read, or beats the builder, or gives way to a lesser one.
#[test]
fn the_number_of_threads_comes_from_the_first_variable_that_says_one() {
    threads_are(
        "the_number_of_threads_comes_from_the_first_variable_that_says_one",
        "3",
        &[
            &[("RAYON_NUM_THREADS", "3")],
            &[("RAYON_NUM_THREADS", "3"), ("RAYON_RS_NUM_CPUS", "5"), ("SINEW_THREADS", "7")],
            &[("RAYON_RS_NUM_CPUS", "3")],
            &[("RAYON_RS_NUM_CPUS", "3"), ("SINEW_THREADS", "7")],
            &[("RAYON_NUM_THREADS", "many"), ("RAYON_RS_NUM_CPUS", "3")],
            &[("SINEW_THREADS", "3")],
            &[("RAYON_NUM_THREADS", "-1"), ("RAYON_RS_NUM_CPUS", "many"), ("SINEW_THREADS", "3")],
        ],
    );
}

/// Catches: a number of 0 that is refused, or not taken for a word of its own, so that a lesser
/// variable counts.
#[test]
fn zero_and_no_number_stand_for_the_machines() {
    threads_are(
        "zero_and_no_number_stand_for_the_machines",
        "default",
        &[
            &[],
            &[("RAYON_NUM_THREADS", "0")],
            &[("RAYON_NUM_THREADS", "0"), ("RAYON_RS_NUM_CPUS", "1000")],
            &[("RAYON_NUM_THREADS", "0"), ("SINEW_THREADS", "77")],
            &[("RAYON_NUM_THREADS", "many"), ("RAYON_RS_NUM_CPUS", "0"), ("SINEW_THREADS", "77")],
            &[("RAYON_NUM_THREADS", "many")],
            &[("RAYON_NUM_THREADS", "")],
            &[("RAYON_RS_NUM_CPUS", "0")],
            &[("RAYON_RS_NUM_CPUS", "-1")],
        ],
    );
}

/// Catches: a value that stops the program, or is passed over in silence.
#[test]
fn a_bad_value_is_one_warning_and_the_default() {
    let name = "environment::a_bad_value_is_one_warning_and_the_default";
    if is_child() {
        assert!(rayon_core::current_num_threads() > 0);
        assert_eq!(fib(10), 55);
        return;
    }
    // The last one parses, and names a processor that is not there.
    for (variable, value) in [
        ("SINEW_THREADS", "0"),
        ("SINEW_WAIT", "forever"),
        ("SINEW_VICTIMS", "weakest"),
        ("SINEW_FENCES", "half"),
        ("SINEW_SPIN_US", "-1"),
        ("SINEW_STACK", "three-field"),
        ("SINEW_COORDINATE", "2"),
        ("SINEW_PROFILE", "perhaps"),
        ("SINEW_MAPPING", "123456"),
    ] {
        let output = child(name).env(variable, value).output().unwrap();
        assert_passed(&output);
        assert_one_line(&output, &format!("{variable}={value} is ignored"));
    }
}

/// Catches: a value that is taken for a bad one, or with which a pool does not work.
#[test]
fn every_good_value_is_taken_in_silence() {
    let name = "environment::every_good_value_is_taken_in_silence";
    if is_child() {
        assert_eq!(rayon_core::current_num_threads(), 2);
        assert_eq!(fib(12), 144);
        assert_eq!(rayon_core::broadcast(|part| part.index()), [0, 1]);
        return;
    }
    for (variable, values) in [
        ("SINEW_WAIT", &["any", "leapfrog", "descendants", "transitive", "block"][..]),
        ("SINEW_FENCES", &["auto", "full"]),
        ("SINEW_SPIN_US", &["0", "100"]),
        ("SINEW_MAPPING", &["none", "compact", "scatter"]),
        ("SINEW_VICTIMS", &["random", "nearest", "most-loaded:3"]),
        ("SINEW_STACK", &["split", "two-field"]),
        ("SINEW_COORDINATE", &["0"]),
        #[cfg(feature = "profile")]
        ("SINEW_PROFILE", &["0", "1"]),
    ] {
        for value in values {
            let output =
                alone(name, &[(variable, value), ("RAYON_NUM_THREADS", "2")], || ()).unwrap();
            assert_eq!(errors(&output), "", "{variable}={value}");
        }
    }
}
