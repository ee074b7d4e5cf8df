//! Versions of applications compared with one of them. Cases differ in the application, in one more
//! label, and in the number of workers or cores.

use super::applications::names;
use crate::report::{Form, Part, Plot, Series, difference};
use crate::results::Results;
use crate::setting::Setting;
use crate::statistics::{is_beyond, mean, median};

/// The data that a report reads.
pub(super) struct Comparison<'a> {
    pub(super) results: &'a Results,
    pub(super) applications: Vec<String>,
    pub(super) counts: &'a [usize],
    /// The names of the labels beside `application`: of the versions, and of the number.
    pub(super) labels: [&'static str; 2],
    /// The version that the others are compared with.
    pub(super) base: &'static str,
}

/// An improvement: the median over the rounds, and whether it lies beyond the noise.
struct Gain {
    percent: f64,
    is_beyond: bool,
}

/// Where there are no counters.
pub(super) const NO_COUNTERS: &str = "Cache misses: not available. They need a processor with \
    counters, which virtual machines often hide, and a kernel that gives them to this process \
    (/proc/sys/kernel/perf_event_paranoid at 2 or below).";

/// A version with this number of workers.
pub(super) type Version<'v> = (&'v str, usize);

impl<'a> Comparison<'a> {
    /// All applications of this setting.
    pub(super) fn new(
        results: &'a Results,
        setting: &'a Setting,
        labels: [&'static str; 2],
        base: &'static str,
    ) -> Self {
        let applications = names(setting.scale);
        Self { results, applications, counts: &setting.threads, labels, base }
    }

    /// Asks about one case.
    pub(super) fn ask<R>(
        &self,
        app: &str,
        (version, count): Version<'_>,
        question: impl FnOnce(&Results, &[(&str, &str)]) -> R,
    ) -> R {
        let ([name, number], count) = (self.labels, count.to_string());
        question(self.results, &[("application", app), (name, version), (number, &count)])
    }

    /// A metric in each round.
    pub(super) fn values(&self, app: &str, version: Version<'_>, metric: &str) -> Vec<f64> {
        self.ask(app, version, |results, which| results.values(which, metric))
    }

    pub(super) fn median(&self, app: &str, version: Version<'_>, metric: &str) -> Option<f64> {
        median(&self.values(app, version, metric))
    }

    /// Misses of the last cache per access to it in each round.
    pub(super) fn round_misses(&self, app: &str, version: Version<'_>) -> Vec<f64> {
        let [accesses, misses] =
            ["cache_accesses", "cache_misses"].map(|metric| self.values(app, version, metric));
        let ratios = accesses.into_iter().zip(misses).filter(|(accesses, _)| *accesses > 0.0);
        ratios.map(|(accesses, misses)| misses / accesses).collect()
    }

    /// The median of that.
    pub(super) fn miss_ratio(&self, app: &str, version: Version<'_>) -> Option<f64> {
        median(&self.round_misses(app, version))
    }

    /// Plots of the miss ratios of these versions, or that there are none.
    pub(super) fn miss_ratios(&self, versions: &[&'static str]) -> Vec<Part> {
        let plot = |app: &String| {
            let name = format!("{app}-misses");
            let plot = Plot::new(&name, format!("{app}: last level cache miss ratio"), Form::Bars);
            let versions = versions.iter().copied();
            self.plot(plot, "last level cache miss ratio", versions, |version| {
                self.round_misses(app, version)
            })
        };
        let plots = self.applications.iter().map(plot).filter(|plot| !plot.is_empty());
        let plots: Vec<Part> = plots.map(Part::Plot).collect();
        if plots.is_empty() && !self.results.samples().is_empty() {
            return vec![Part::words(NO_COUNTERS)];
        }
        plots
    }

    pub(super) fn spread(&self, app: &str, version: Version<'_>, metric: &str) -> Option<f64> {
        self.ask(app, version, |results, which| results.spread(which, metric))
    }

    /// The speed of another version relative to `of` in each round.
    pub(super) fn speed_ups(&self, app: &str, of: Version<'_>, to: Version<'_>) -> Vec<f64> {
        self.ask(app, of, |results, of| self.ask(app, to, |_, to| results.ratios(of, to, "wall_s")))
    }

    /// The median of these.
    pub(super) fn speed_up(&self, app: &str, of: Version<'_>, to: Version<'_>) -> Option<f64> {
        median(&self.speed_ups(app, of, to))
    }

    /// The gain over `of`, in per cent.
    pub(super) fn improvement_over(
        &self,
        app: &str,
        of: Version<'_>,
        to: Version<'_>,
    ) -> Option<f64> {
        Some((self.speed_up(app, of, to)? - 1.0) * 100.0)
    }

    /// The same over the base on as many.
    pub(super) fn improvement(&self, app: &str, (version, count): Version<'_>) -> Option<f64> {
        self.improvement_over(app, (self.base, count), (version, count))
    }

    /// The number on which a version is fastest.
    pub(super) fn fastest(&self, app: &str, version: &str) -> Option<usize> {
        let times = |&count: &usize| Some((count, self.median(app, (version, count), "wall_s")?));
        let times = self.counts.iter().filter_map(times);
        times.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(count, _)| count)
    }

    /// The best improvement of a version over the base on as many.
    fn best(&self, app: &str, version: &str) -> Option<Gain> {
        let gain = |&count: &usize| {
            let percent = self.improvement(app, (version, count))?;
            let rounds = self.speed_ups(app, (self.base, count), (version, count));
            let differences: Vec<f64> = rounds.iter().map(|speed_up| speed_up - 1.0).collect();
            Some(Gain { percent, is_beyond: is_beyond(&differences, 0.0) })
        };
        let gains = self.counts.iter().filter_map(gain);
        gains.max_by(|one, other| one.percent.total_cmp(&other.percent))
    }

    /// For each of these versions the mean over the applications of the best improvement of each,
    /// without the applications that the publication leaves out of its average, and the
    /// improvements beyond the noise.
    pub(super) fn verdict(&self, versions: &[&str], left_out: &[&str]) -> String {
        let averaged = || self.applications.iter().filter(|app| !left_out.contains(&app.as_str()));
        let sentence = |version: &&str| {
            let all: Vec<(&String, Gain)> =
                averaged().filter_map(|app| Some((app, self.best(app, version)?))).collect();
            let mean = mean(&all.iter().map(|(_, gain)| gain.percent).collect::<Vec<_>>())?;
            let beyond = all.iter().filter(|(_, gain)| gain.is_beyond);
            let beyond: Vec<String> =
                beyond.map(|(app, gain)| format!("{app} ({})", difference(gain.percent))).collect();
            Some(match &beyond[..] {
                [] => format!("{version}: nothing beyond the noise"),
                some => format!(
                    "{version}: {}, beyond the noise for {}",
                    difference(mean),
                    some.join(", ")
                ),
            })
        };
        let sentences: Vec<String> = versions.iter().filter_map(sentence).collect();
        match &sentences[..] {
            [] => "Nothing has been compared yet.".to_owned(),
            some => format!(
                "Over {}, the average of each application's best number of {}{}: {}. Within the \
                 noise is a difference that fewer than three quarters of the rounds have on the \
                 same side.",
                self.base,
                self.labels[1],
                match left_out {
                    [] => String::new(),
                    apps => format!(" (without {}, as in the publication)", apps.join(", ")),
                },
                some.join("; ")
            ),
        }
    }

    /// Medians and spreads of all numbers for each of these versions of an application that has any
    /// rounds.
    pub(super) fn plot(
        &self,
        plot: Plot,
        y: &str,
        versions: impl IntoIterator<Item = &'static str>,
        rounds: impl Fn(Version<'_>) -> Vec<f64>,
    ) -> Plot {
        let counts = self.counts.iter().map(usize::to_string).collect();
        versions.into_iter().fold(plot.axes(self.labels[1], y).over(counts), |plot, version| {
            let rounds: Vec<_> =
                self.counts.iter().map(|&count| rounds((version, count))).collect();
            plot.with(Series::of_rounds(version, &rounds))
        })
    }

    /// Plots of each application: its speed-up over the serial version, and these metrics.
    pub(super) fn plots(
        &self,
        serial: &str,
        versions: &[&'static str],
        metrics: &[(&str, &str, &str)],
    ) -> Vec<Part> {
        let mut plots = Vec::new();
        for app in &self.applications {
            let mut add = |what: &str, y: &str, form, rounds: &dyn Fn(Version<'_>) -> Vec<f64>| {
                let plot = Plot::new(&format!("{app}-{what}"), format!("{app}: {y}"), form);
                plots.push(Part::Plot(self.plot(plot, y, versions.iter().copied(), rounds)));
            };
            add("speedup", "speed-up over serial", Form::Lines, &|version| {
                self.speed_ups(app, (serial, 1), version)
            });
            for &(what, y, metric) in metrics {
                add(what, y, Form::Bars, &|version| self.values(app, version, metric));
            }
        }
        plots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Sample;
    use crate::setting::Scale;

    /// kmeans at 2 s in the base, and at these times in the version.
    fn results(times: &[f64]) -> Results {
        let mut results = Results::default();
        for (round, &wall_s) in times.iter().enumerate() {
            for (version, wall_s) in [("base", 2.0), ("fast", wall_s)] {
                let labels = [("application", "kmeans"), ("version", version), ("workers", "1")];
                let labels = labels.map(|(name, value)| (name, value.to_owned())).to_vec();
                results.push(Sample { round, labels, metrics: vec![("wall_s", wall_s)] });
            }
        }
        results
    }

    fn setting() -> Setting {
        Setting { threads: vec![1], ..Setting::new(Scale::Quick, 1) }
    }

    /// Catches: a verdict of rounds that do not agree, and a gain beyond the noise without its
    /// application.
    #[test]
    fn a_verdict_names_the_applications_beyond_the_noise_and_no_others() {
        let setting = setting();
        let verdict = |times: &[f64]| {
            let results = results(times);
            Comparison::new(&results, &setting, ["version", "workers"], "base")
                .verdict(&["fast"], &[])
        };
        let found = verdict(&[1.0, 1.25, 1.0]);
        assert!(
            found.contains("fast: +100.0 %, beyond the noise for kmeans (+100.0 %)"),
            "{found}"
        );
        for times in [&[1.0, 1.0, 2.5][..], &[1.0, 1.0]] {
            let none = verdict(times);
            assert!(none.contains("fast: nothing beyond the noise"), "{none}");
        }
    }

    /// Catches: a plot without error bars.
    #[test]
    fn plots_have_the_spread_of_their_rounds() {
        let (results, setting) = (results(&[1.0, 2.0, 3.0]), setting());
        let comparison = Comparison::new(&results, &setting, ["version", "workers"], "base");
        let plots = comparison.plots("base", &["fast"], &[("time", "seconds", "wall_s")]);
        let series = plots.iter().filter_map(|part| match part {
            Part::Plot(plot) => plot.series.first(),
            other => panic!("{other:?}"),
        });
        let spreads: Vec<Option<f64>> = series.map(|series| series.spreads[0]).collect();
        assert!(spreads[..].iter().all(|spread| *spread > Some(0.0)), "{spreads:?}");
        assert_eq!(spreads.len(), 2);
    }
}
