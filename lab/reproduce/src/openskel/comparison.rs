//! Versions of applications compared with one of them. Cases differ in the application, in one more
//! label, and in the number of workers or cores.

use super::applications::names;
use crate::report::{Form, Part, Plot, Series, difference};
use crate::results::Results;
use crate::setting::Setting;
use crate::statistics::{mean, median};

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

    pub(super) fn median(&self, app: &str, version: Version<'_>, metric: &str) -> Option<f64> {
        self.ask(app, version, |results, which| results.median(which, metric))
    }

    /// Misses of the last cache per access to it: the median over the rounds.
    pub(super) fn miss_ratio(&self, app: &str, version: Version<'_>) -> Option<f64> {
        let [accesses, misses] = ["cache_accesses", "cache_misses"]
            .map(|metric| self.ask(app, version, |results, which| results.values(which, metric)));
        let ratios = accesses.into_iter().zip(misses).filter(|(accesses, _)| *accesses > 0.0);
        median(&ratios.map(|(accesses, misses)| misses / accesses).collect::<Vec<_>>())
    }

    /// Plots of the miss ratios of these versions, or that there are none.
    pub(super) fn miss_ratios(&self, versions: &[&'static str]) -> Vec<Part> {
        let plot = |app: &String| {
            let name = format!("{app}-misses");
            let plot =
                Plot::new(&name, format!("{app}: misses / accesses of the last cache"), Form::Bars);
            let versions = versions.iter().copied();
            self.plot(plot, "misses / accesses", versions, |version| self.miss_ratio(app, version))
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

    /// The speed of another version relative to `of`.
    pub(super) fn speed_up(&self, app: &str, of: Version<'_>, to: Version<'_>) -> Option<f64> {
        self.ask(app, of, |results, of| self.ask(app, to, |_, to| results.ratio(of, to, "wall_s")))
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

    /// For each of these versions the mean over the applications of the best improvement of each,
    /// without the applications that the publication leaves out of its average.
    pub(super) fn verdict(&self, versions: &[&str], left_out: &[&str]) -> String {
        let averaged = || self.applications.iter().filter(|app| !left_out.contains(&app.as_str()));
        let sentence = |version: &&str| {
            let best = |app: &String| {
                let all =
                    self.counts.iter().filter_map(|&count| self.improvement(app, (version, count)));
                all.max_by(f64::total_cmp)
            };
            let all: Vec<f64> = averaged().filter_map(best).collect();
            Some(format!("{version}: {}", difference(mean(&all)?)))
        };
        let sentences: Vec<String> = versions.iter().filter_map(sentence).collect();
        match &sentences[..] {
            [] => "Nothing has been compared yet.".to_owned(),
            some => format!(
                "Over {}, the average of each application's best number of {}{}: {}.",
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

    /// Values of all numbers for each of these versions of an application that has any.
    pub(super) fn plot(
        &self,
        plot: Plot,
        y: &str,
        versions: impl IntoIterator<Item = &'static str>,
        value: impl Fn(Version<'_>) -> Option<f64>,
    ) -> Plot {
        let counts = self.counts.iter().map(usize::to_string).collect();
        let mut plot = plot.axes(self.labels[1], y).over(counts);
        for version in versions {
            let values: Vec<_> = self.counts.iter().map(|&count| value((version, count))).collect();
            if values.iter().any(Option::is_some) {
                plot = plot.with(Series::new(version, values));
            }
        }
        plot
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
            let mut add =
                |what: &str, y: &str, form, value: &dyn Fn(Version<'_>) -> Option<f64>| {
                    let plot = Plot::new(&format!("{app}-{what}"), format!("{app}: {y}"), form);
                    plots.push(Part::Plot(self.plot(plot, y, versions.iter().copied(), value)));
                };
            add("speedup", "speed-up over serial", Form::Lines, &|version| {
                self.speed_up(app, (serial, 1), version)
            });
            for &(what, y, metric) in metrics {
                add(what, y, Form::Bars, &|version| self.median(app, version, metric));
            }
        }
        plots
    }
}
