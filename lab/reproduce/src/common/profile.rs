//! A run whose time is accounted for, and what its profile says, as metrics.
//!
//! Times are of all workers together, in seconds, less what the clock itself is known to cost.

use sinew::profile::Profile;

use super::{Conditions, Subject};
use crate::failure::Failure;
use crate::results::Metrics;

/// Runs the parallel version once in a pool that profiles.
///
/// # Errors
///
/// An impossible pool, or a wrong result.
pub(crate) fn profiled(subject: &Subject, conditions: &Conditions) -> Result<Metrics, Failure> {
    let measured = subject.parallel(&conditions.build_profiled()?)?;
    let profile = measured.profile.as_ref().expect("a pool that profiles has a profile");
    let profile = profile.clone().net();
    // Pieces of loops count as tasks as well, though no call spawns them.
    let tasks = profile.tasks().spawned as f64 + measured.chunks();
    let run = vec![
        ("wall_s", measured.wall_s),
        ("chosen_victims", measured.chosen_victims()),
        ("cycles_a_s", profile.ticks_per_ns() * 1e9),
        ("tasks", tasks),
    ];
    Ok([run, breakdown(&profile), functions(&profile)].concat())
}

/// The breakdown of Faxén and Ardelius.
fn breakdown(profile: &Profile) -> Metrics {
    let parts = profile.breakdown();
    let seconds = |ticks| profile.seconds(ticks);
    let steals = profile.functions().attempts.successful;
    vec![
        ("application_s", seconds(parts.application.outside)),
        ("application_in_join_s", seconds(parts.application.inside)),
        ("steals_s", seconds(parts.steals.outside)),
        ("steals_in_join_s", seconds(parts.steals.inside)),
        ("search_s", seconds(parts.search.outside)),
        ("search_in_join_s", seconds(parts.search.inside)),
        ("a_steal_s", seconds(parts.steals.total()) / steals as f64),
    ]
}

/// The breakdown of the thesis on TBB.
fn functions(profile: &Profile) -> Metrics {
    let functions = profile.functions();
    let seconds = |ticks| profile.seconds(ticks);
    vec![
        ("user_s", seconds(functions.application)),
        ("library_s", seconds(functions.wait_for_all.time)),
        ("spawn_s", seconds(functions.spawn.time)),
        ("get_s", seconds(functions.get.time)),
        ("acquire_queue_s", seconds(functions.acquire_queue.time)),
        ("lock_s", seconds(functions.lock.time)),
        ("stealing_s", seconds(functions.steal.time)),
        ("steal_wait_s", seconds(functions.steal_wait.time)),
        ("lib_wait_s", seconds(functions.lib_wait.time)),
        ("claims", functions.attempts.successful as f64),
        ("failed_claims", functions.attempts.failed as f64),
        ("mailed", functions.mailed as f64),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(metrics: &Metrics, name: &str) -> f64 {
        metrics.iter().find(|(other, _)| *other == name).unwrap_or_else(|| panic!("no {name}")).1
    }

    /// Catches: ticks taken for seconds, a function that is counted twice, or a profile of
    /// something else than the run.
    #[test]
    fn a_profile_accounts_for_the_time_of_all_workers() {
        let subject = Subject::prepare("nqueens", "8", None).unwrap();
        let metrics = profiled(&subject, &Conditions::workers(2)).unwrap();
        let all = |names: &[&str]| names.iter().map(|name| metric(&metrics, name)).sum::<f64>();
        let functions =
            all(&["spawn_s", "get_s", "lock_s", "stealing_s", "steal_wait_s", "lib_wait_s"]);
        assert!((functions - metric(&metrics, "library_s")).abs() < 1e-6, "{metrics:?}");
        let application = all(&["application_s", "application_in_join_s"]);
        assert!(
            application > 0.0 && application <= 2.0 * metric(&metrics, "wall_s") + 1e-3,
            "{metrics:?}"
        );
        assert!(metric(&metrics, "tasks") > 100.0, "{metrics:?}");
    }
}
