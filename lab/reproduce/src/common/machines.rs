//! Versions of applications on simulated machines with more and more cores: the cases and the
//! questions of their reports.

use crate::experiment::Case;
use crate::failure::Failure;
use crate::report::{Form, Plot, Series};
use crate::results::{Labels, Metrics, Results, all_of};
use crate::statistics::median;

/// The names of the labels: of the application, the machine, the version and the number.
pub(crate) type Names = [&'static str; 4];

/// One case: application, machine, version and number of cores.
pub(crate) type Point<'p> = (&'p str, &'p str, &'p str, usize);

/// The labels of a case.
pub(crate) fn labels(names: Names, (app, machine, version, number): Point<'_>) -> Labels {
    let values = [app, machine, version, &number.to_string()].map(str::to_owned);
    names.into_iter().zip(values).collect()
}

/// A case that is simulated with another seed in each round.
pub(crate) fn case(
    names: Names,
    point: Point<'_>,
    mut seed: u64,
    run: impl Fn(u64) -> Result<Metrics, Failure> + 'static,
) -> Case {
    Case::new(labels(names, point), move || {
        seed = seed.wrapping_add(1);
        run(seed)
    })
}

/// The results of such cases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machines<'a> {
    pub(crate) results: &'a Results,
    pub(crate) names: Names,
}

impl Machines<'_> {
    /// The median of a metric of a case.
    pub(crate) fn median(&self, point: Point<'_>, metric: &str) -> Option<f64> {
        self.results.median(&all_of(&labels(self.names, point)), metric)
    }

    /// The median, over the rounds, of a case's time over that of another one.
    pub(crate) fn time_over(&self, of: Point<'_>, to: Point<'_>) -> Option<f64> {
        let [of, to] = [of, to].map(|point| labels(self.names, point));
        median(&self.results.ratios(&all_of(&of), &all_of(&to), "time_s"))
    }

    /// The number of cores, among these, on which a version is fastest.
    pub(crate) fn fastest(
        &self,
        (app, machine, version): (&str, &str, &str),
        counts: &[usize],
    ) -> Option<usize> {
        let time = |&on: &usize| Some((on, self.median((app, machine, version, on), "time_s")?));
        let times = counts.iter().filter_map(time);
        times.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(on, _)| on)
    }

    /// A metric of an application on a machine over the numbers, a line for each version.
    pub(crate) fn plot(
        &self,
        (app, machine): (&str, &str),
        counts: &[usize],
        versions: &[&str],
        (metric, what): (&str, &str),
    ) -> Plot {
        let name = format!("{}-{app}-{machine}", metric.replace('_', "-"));
        let plot = Plot::new(&name, format!("{app} on {machine}, simulated: {what}"), Form::Lines)
            .axes(self.names[3], what)
            .over(counts.iter().map(usize::to_string).collect());
        versions.iter().fold(plot, |plot, version| {
            let of = |&on: &usize| self.median((app, machine, version, on), metric);
            plot.with(Series::new(*version, counts.iter().map(of).collect()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Names = ["app", "machine", "version", "cores"];

    /// Catches: a case of another machine or version, and a ratio turned round.
    #[test]
    fn each_case_is_asked_for_by_all_of_its_labels() {
        let time = |machine, version, on, time| {
            (labels(NAMES, ("fib", machine, version, on)), vec![("time_s", time)])
        };
        let results = Results::of([
            time("a", "slow", 2, 8.0),
            time("a", "fast", 2, 2.0),
            time("a", "fast", 4, 3.0),
            time("b", "fast", 4, 1.0),
        ]);
        let machines = Machines { results: &results, names: NAMES };
        let (fast, slow) = (("fib", "a", "fast", 2), ("fib", "a", "slow", 2));
        assert_eq!(machines.time_over(fast, slow), Some(0.25));
        assert_eq!(machines.fastest(("fib", "a", "fast"), &[2, 4]), Some(2));
        assert_eq!(machines.fastest(("fib", "b", "slow"), &[2, 4]), None);
        let versions = ["slow", "fast", "none"];
        let plot = machines.plot(("fib", "a"), &[2, 4], &versions, ("time_s", "seconds"));
        let values: Vec<_> = plot.series.iter().map(|series| series.values.clone()).collect();
        assert_eq!(values, [[Some(8.0), None], [Some(2.0), Some(3.0)]]);
    }

    /// Catches: rounds that are the same run.
    #[test]
    fn each_round_has_a_seed_of_its_own() {
        let mut case =
            case(NAMES, ("fib", "a", "fast", 2), 7, |seed| Ok(vec![("time_s", seed as f64)]));
        let seeds = [(); 2].map(|()| (case.run)().unwrap()[0].1);
        assert_eq!(seeds, [8.0, 9.0]);
    }
}
