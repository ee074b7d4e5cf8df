//! Work and span of a program: from recordings of its tasks, without disturbances.
//!
//! A span by the clock contains what other programs do to the machine meanwhile: a single
//! interruption is longer than the whole critical path of a small program. So each stretch of work
//! counts with its shortest time in all recordings, as in `sinew-lab sim --validate`. A program of
//! too many tasks for a recording has the span that the profile measured by the clock; of several
//! runs the one with the largest parallelism counts, because interruptions only make it smaller.

use sinew::profile::{Graph, Profile};
use sinew_apps::last_recording;
use sinew_policy::span::ratio;

use super::{Conditions, Subject};
use crate::failure::Failure;
use crate::results::Metrics;

/// The burdens of a steal, in cycles.
const BURDENS: [u64; 3] = [0, 1_000, 2_000];

/// Recordings a round.
const RECORDINGS: usize = 3;

/// The recordings of one program so far, over all rounds.
#[derive(Debug, Default)]
pub(crate) struct Characters {
    /// The shortest time of each stretch of work.
    least: Option<Graph>,
    /// The largest parallelism by the clock at each burden, of a program that is too large.
    clocked: Option<[f64; 3]>,
}

impl Characters {
    /// Runs the program some times more on one worker. Returns its work, parallelism and tasks, as
    /// far as they are known by now.
    ///
    /// # Errors
    ///
    /// An impossible pool, or a wrong result.
    pub(crate) fn add(
        &mut self,
        subject: &Subject,
        conditions: &Conditions,
    ) -> Result<Metrics, Failure> {
        let pool = conditions.build_recording()?;
        let run = || {
            let measured = subject.parallel(&pool)?;
            let profile = measured.profile.clone().expect("a pool that profiles has a profile");
            Ok::<_, Failure>((measured, profile, last_recording(&pool)))
        };
        let (measured, profile, mut graph) = run()?;
        // Pieces of loops count as tasks as well, though no call spawns them.
        let tasks = profile.tasks().spawned as f64 + measured.chunks();
        let common = [("tasks", tasks), ("cycles_a_s", profile.ticks_per_ns() * 1e9)];
        if graph.spawned() != profile.tasks().spawned {
            return Ok([self.by_clock(&profile), common.to_vec()].concat());
        }
        for _ in 1..RECORDINGS {
            self.merge(graph);
            graph = run()?.2;
        }
        self.merge(graph);
        Ok([self.by_recordings(&profile), common.to_vec()].concat())
    }

    fn merge(&mut self, next: Graph) {
        self.least = Some(match self.least.take() {
            None => next,
            Some(least) => match least.least(&next) {
                Some(shorter) => shorter,
                // The loop was cut differently.
                None if next.work() < least.work() => next,
                None => least,
            },
        });
    }

    fn by_recordings(&self, profile: &Profile) -> Metrics {
        let least = self.least.clone().unwrap_or_default();
        let ps_a_cycle = 1e3 / profile.ticks_per_ns();
        let parallelism = BURDENS.map(|cycles| {
            let span = least.span((cycles as f64 * ps_a_cycle) as u64);
            ratio(least.work(), span).unwrap_or(1.0)
        });
        metrics(least.work() as f64 / 1e12, parallelism, true)
    }

    fn by_clock(&mut self, profile: &Profile) -> Metrics {
        let before = self.clocked.unwrap_or_default();
        let largest = std::array::from_fn(|at| profile.parallelism(at).max(before[at]));
        self.clocked = Some(largest);
        metrics(profile.seconds(profile.work()), largest, false)
    }
}

fn metrics(work_s: f64, [free, cheap, dear]: [f64; 3], is_recorded: bool) -> Metrics {
    vec![
        ("work_s", work_s),
        ("parallelism_0", free),
        ("parallelism_1000", cheap),
        ("parallelism_2000", dear),
        ("recorded", f64::from(is_recorded)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(metrics: &Metrics, name: &str) -> f64 {
        metrics.iter().find(|(other, _)| *other == name).unwrap_or_else(|| panic!("no {name}")).1
    }

    /// Catches: a span of which interruptions are a part, one of another run than the program's, a
    /// recording without the tasks, and cycles taken for nanoseconds.
    #[test]
    fn a_balanced_tree_has_the_parallelism_of_its_leaves() {
        let subject = Subject::prepare("stress", "10x4", None).unwrap();
        let mut characters = Characters::default();
        let conditions = Conditions::workers(1);
        characters.add(&subject, &conditions).unwrap();
        let metrics = characters.add(&subject, &conditions).unwrap();
        // Four trees, one after the other, of 1024 equal leaves and 1023 joins each.
        assert_eq!(metric(&metrics, "tasks"), 4.0 * 1023.0);
        let [free, cheap, dear] = ["parallelism_0", "parallelism_1000", "parallelism_2000"]
            .map(|name| metric(&metrics, name));
        assert!((50.0..=1024.0).contains(&free), "{metrics:?}");
        assert!(free > cheap && cheap > dear && dear > 1.0, "{metrics:?}");
        assert_eq!(metric(&metrics, "recorded"), 1.0);
    }

    /// Catches: a disturbance of one recording that stays, and recordings of other tasks that are
    /// mixed.
    #[test]
    fn a_stretch_counts_with_its_shortest_time() {
        let mut characters = Characters::default();
        for calls in ["0: 5(900|20)3", "0: 800(10|30)3", "0: 1(2|3|4)5000"] {
            let graph: Graph = format!("sinew graph 1\n{calls}\nend 1\n").parse().unwrap();
            characters.merge(graph);
        }
        assert_eq!(characters.least.map(|least| (least.work(), least.span(0))), Some((38, 28)));
    }
}
