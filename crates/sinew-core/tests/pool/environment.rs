//! The environment variables, in child processes that start with them.

use std::process::Output;

use sinew_core::{PoolBuilder, global_pool};

use crate::support::{assert_one_line, assert_passed, child, errors, is_child};

fn started_with(name: &str, variables: &[(&str, &str)]) -> Output {
    let output =
        child(&format!("environment::{name}")).envs(variables.iter().copied()).output().unwrap();
    assert_passed(&output);
    output
}

/// Catches: a variable that the global pool does not read, or that beats the builder.
#[test]
fn the_number_of_workers_comes_from_the_environment_unless_the_builder_names_one() {
    if is_child() {
        assert_eq!(global_pool().max_threads(), 3);
        assert_eq!(sinew_core::run(|w| w.max_threads()), 3);
        assert_eq!(PoolBuilder::from_env().threads(2).build().unwrap().max_threads(), 2);
        return;
    }
    let name = "the_number_of_workers_comes_from_the_environment_unless_the_builder_names_one";
    let output = started_with(
        name,
        &[("SINEW_THREADS", "3"), ("SINEW_FENCES", "full"), ("SINEW_WAIT", "block")],
    );
    assert_eq!(errors(&output), "");
}

/// Catches: a global pool of one in which something waits for a second worker.
#[test]
fn a_global_pool_of_one_does_everything() {
    if is_child() {
        assert_eq!(global_pool().max_threads(), 1);
        assert_eq!(sinew_core::join(|| 1, || 2), (1, 2));
        assert_eq!(
            sinew_core::scope(|s| {
                s.spawn(|_| ());
                3
            }),
            3
        );
        let (done, result) = std::sync::mpsc::channel();
        sinew_core::spawn(move |_| done.send(4).unwrap());
        assert_eq!(result.recv(), Ok(4));
        return;
    }
    started_with("a_global_pool_of_one_does_everything", &[("SINEW_THREADS", "1")]);
}

/// Catches: a value that stops the program, or is passed over in silence.
#[test]
fn a_bad_value_is_one_warning_and_the_default() {
    if is_child() {
        assert!(global_pool().max_threads() > 0);
        assert_eq!(sinew_core::join(|| 1, || 2), (1, 2));
        return;
    }
    // The last one parses, and names a processor that is not there.
    for (variable, value) in
        [("SINEW_THREADS", "0"), ("SINEW_WAIT", "forever"), ("SINEW_MAPPING", "123456")]
    {
        let output =
            started_with("a_bad_value_is_one_warning_and_the_default", &[(variable, value)]);
        assert_one_line(&output, &format!("{variable}={value} is ignored"));
    }
}
