//! Figures 4.2 and 4.3, Tables 4.2 and 4.3: worklists against transactions by hand, on more and more workers.
//!
//! By hand means the original program's structure. The worklist is run as the baseline, with one list for all, and with stealing, which is how it is run unless
//! something else is said.

use sinew_policy::worklist::Settings;

use super::applications::{Application, blocks, names};
use super::bench::{Bench, Way};
use super::{OTHER_MACHINE, SHUFFLED, THREADS_ARE_FEW, usual_repeat};
use crate::experiment::{About, Block, Case, Caveat, Experiment, Labels, Need};
use crate::failure::Failure;
use crate::paper::openskel::{TABLE_4_2, TABLE_4_3, VERSIONS_WORDS};
use crate::report::{Cell, Form, Part, Plot, Series, Table};
use crate::results::Results;
use crate::setting::{Scale, Setting};
use crate::statistics::{deviation, mean};

/// The experiment.
#[derive(Debug)]
pub(crate) struct Versions;

static ABOUT: About = About {
    name: "openskel-versions",
    title: "applications as worklists against transactions by hand: times, aborts, numbers of transactions, deviations",
    source: "Luís Fabrício Wanderley Góes, \"Automatic Skeleton-Driven Performance Optimizations for Transactional Memory\", Figures 4.2 and 4.3, \
             Tables 4.2 and 4.3",
    caveats: &[
        THREADS_ARE_FEW,
        Caveat {
            unless: Need::Nothing,
            words: "Threads of both versions are pinned in the same way here. There the original's were left to the system, which is one reason for its larger \
deviations.",
        },
        Caveat {
            unless: Need::Nothing,
            words: "Cache misses, a column of Table 4.2, need the processor's counters, which are not read.",
        },
        SHUFFLED,
        OTHER_MACHINE,
    ],
};

const SERIAL: &str = "serial";
const BY_HAND: &str = "by hand";
const BASELINE: &str = "baseline";
const STEALING: &str = "stealing";
const PARALLEL: [&str; 3] = [BY_HAND, BASELINE, STEALING];

fn labels(app: &str, version: &str, workers: usize) -> Labels {
    vec![("application", app.to_owned()), ("version", version.to_owned()), ("workers", workers.to_string())]
}

impl Experiment for Versions {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn usual_repeat(&self, scale: Scale) -> usize {
        usual_repeat(scale)
    }

    fn blocks(&self, setting: &Setting) -> Result<Vec<Block>, Failure> {
        let counts = setting.threads.clone();
        Ok(blocks(setting.scale, move |application| cases(application, &counts)))
    }

    fn report(&self, results: &Results, setting: &Setting) -> Vec<Part> {
        let view = View { results, applications: names(setting.scale), counts: &setting.threads };
        let parts = [
            Part::Table(view.times()),
            Part::words(view.verdict()),
            Part::words(VERSIONS_WORDS),
            Part::Table(view.characters()),
            Part::Table(view.deviations()),
        ];
        let each = view.applications.iter().flat_map(|app| {
            [
                view.plot(app, "speedup", "speed-up over serial", |app, version, workers| {
                    view.speed_up(app, version, workers)
                }),
                view.plot(app, "aborts", "aborts / attempts", |app, version, workers| {
                    view.median(app, version, workers, "abort_ratio")
                }),
                view.plot(app, "transactions", "attempts", |app, version, workers| {
                    view.median(app, version, workers, "transactions")
                }),
            ]
        });
        parts.into_iter().chain(each.filter(|plot| !plot.is_empty()).map(Part::Plot)).collect()
    }
}

fn cases(Application { name, size }: Application, counts: &[usize]) -> Result<Vec<Case>, Failure> {
    let (listed, by_hand) = (Bench::listed(name, size, None)?, Bench::by_hand(name, size)?);
    let serial = listed.clone();
    let mut cases = vec![Case::new(labels(name, SERIAL, 1), move || serial.serial())];
    for &workers in counts {
        let settings = |settings| (listed.clone(), Way::settings(settings, workers));
        let baseline = Settings::baseline(workers);
        let ways =
            [(by_hand.clone(), Way::ByHand(workers)), settings(baseline), settings(baseline.stealing(true))];
        cases.extend(PARALLEL.into_iter().zip(ways).map(|(version, (bench, way))| {
            Case::new(labels(name, version, workers), move || bench.run(&way))
        }));
    }
    Ok(cases)
}

/// What the report reads.
struct View<'a> {
    results: &'a Results,
    applications: Vec<String>,
    counts: &'a [usize],
}

impl View<'_> {
    fn median(&self, app: &str, version: &str, workers: usize, metric: &str) -> Option<f64> {
        let workers = workers.to_string();
        self.results.median(&[("application", app), ("version", version), ("workers", &workers)], metric)
    }

    fn speed_up(&self, app: &str, version: &str, workers: usize) -> Option<f64> {
        let workers = workers.to_string();
        let which = [("application", app), ("version", version), ("workers", workers.as_str())];
        self.results.ratio(&[("application", app), ("version", SERIAL)], &which, "wall_s")
    }

    /// How much faster than by hand, in per cent.
    fn improvement(&self, app: &str, version: &str, workers: usize) -> Option<f64> {
        let workers = workers.to_string();
        let which = |version| [("application", app), ("version", version), ("workers", workers.as_str())];
        Some((self.results.ratio(&which(BY_HAND), &which(version), "wall_s")? - 1.0) * 100.0)
    }

    fn times(&self) -> Table {
        let titles = [
            "application",
            "version",
            "workers",
            "seconds",
            "±",
            "speed-up over serial",
            "over by hand, %",
            "aborts / attempts",
            "transactions",
        ];
        let mut table = Table::new("versions", "Times, aborts and numbers of transactions", &titles);
        for app in &self.applications {
            for version in PARALLEL {
                for &workers in self.counts {
                    table.row(self.row(app, version, workers));
                }
            }
        }
        table
    }

    fn row(&self, app: &str, version: &str, workers: usize) -> Vec<Cell> {
        let count = workers.to_string();
        let which = [("application", app), ("version", version), ("workers", count.as_str())];
        let improvement = self.improvement(app, version, workers).filter(|_| version != BY_HAND);
        vec![
            app.into(),
            version.into(),
            workers.into(),
            self.results.median(&which, "wall_s").into(),
            self.results.spread(&which, "wall_s").into(),
            self.speed_up(app, version, workers).into(),
            improvement.into(),
            self.results.median(&which, "abort_ratio").into(),
            self.results.median(&which, "transactions").into(),
        ]
    }

    /// Table 4.2.
    fn characters(&self) -> Table {
        let titles = [
            "application",
            "by hand fastest on",
            "aborts / attempts",
            "microseconds an attempt",
            "paper: scales to",
            "paper: aborts",
            "paper: cache misses",
            "paper: length",
        ];
        let mut table = Table::new("characters", "What applications are like, by hand (Table 4.2)", &titles);
        for app in &self.applications {
            let fastest = self.fastest(app);
            let at = |metric| self.median(app, BY_HAND, fastest?, metric);
            let worked = fastest.zip(at("wall_s")).map(|(workers, wall_s)| workers as f64 * wall_s);
            let each = worked.zip(at("transactions")).map(|(worked, attempts)| worked / attempts * 1e6);
            let paper = TABLE_4_2.iter().find(|row| row.app == app);
            table.row(vec![
                app.as_str().into(),
                fastest.into(),
                at("abort_ratio").into(),
                each.into(),
                paper.map(|row| row.scales_to).into(),
                paper.map(|row| row.aborts).into(),
                paper.map(|row| row.misses).into(),
                paper.map(|row| row.length).into(),
            ]);
        }
        table
    }

    fn fastest(&self, app: &str) -> Option<usize> {
        let times = self
            .counts
            .iter()
            .filter_map(|&count| Some((count, self.median(app, BY_HAND, count, "wall_s")?)));
        times.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(count, _)| count)
    }

    /// Table 4.3.
    fn deviations(&self) -> Table {
        let titles = [
            "application",
            "baseline",
            "by hand",
            "paper: UMA16 baseline",
            "original",
            "paper: NUMA32 baseline",
            "original there",
        ];
        let title =
            "Standard deviations of the time in per cent, averaged over all numbers of workers (Table 4.3)";
        let mut table = Table::new("deviations", title, &titles);
        for app in &self.applications {
            let paper = TABLE_4_3.iter().find(|row| row.app == app);
            table.row(vec![
                app.as_str().into(),
                self.deviation(app, BASELINE).into(),
                self.deviation(app, BY_HAND).into(),
                paper.map(|row| row.baseline_uma16).into(),
                paper.map(|row| row.original_uma16).into(),
                paper.map(|row| row.baseline_numa32).into(),
                paper.map(|row| row.original_numa32).into(),
            ]);
        }
        table
    }

    fn deviation(&self, app: &str, version: &str) -> Option<f64> {
        let of = |&workers: &usize| {
            let workers = workers.to_string();
            let which = [("application", app), ("version", version), ("workers", workers.as_str())];
            Some(deviation(&self.results.values(&which, "wall_s"))? * 100.0)
        };
        mean(&self.counts.iter().filter_map(of).collect::<Vec<_>>())
    }

    /// The average over the applications of the best improvement of each.
    fn verdict(&self) -> String {
        let sentence = |version: &str| {
            let best = |app: &String| {
                let all = self.counts.iter().filter_map(|&workers| self.improvement(app, version, workers));
                all.max_by(f64::total_cmp)
            };
            let all: Vec<f64> = self.applications.iter().filter_map(best).collect();
            Some(format!("{version}: {:+.1} %", mean(&all)?))
        };
        let sentences: Vec<String> = [BASELINE, STEALING].into_iter().filter_map(sentence).collect();
        match &sentences[..] {
            [] => "Nothing has been compared yet.".to_owned(),
            some => format!(
                "Over by hand, the average of each application's best number of workers: {}.",
                some.join("; ")
            ),
        }
    }

    fn plot(&self, app: &str, what: &str, y: &str, value: impl Fn(&str, &str, usize) -> Option<f64>) -> Plot {
        let counts = self.counts.iter().map(usize::to_string).collect();
        let form = if what == "speedup" { Form::Lines } else { Form::Bars };
        let mut plot =
            Plot::new(&format!("{app}-{what}"), format!("{app}: {y}"), form).axes("workers", y).over(counts);
        for version in PARALLEL {
            let values = self.counts.iter().map(|&workers| value(app, version, workers)).collect();
            plot = plot.with(Series::new(version, values));
        }
        plot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Sample;

    fn results() -> Results {
        let mut results = Results::default();
        for (round, noise) in [(0, 1.0), (1, 1.1)] {
            let mut push = |version, workers, wall_s, aborts| {
                let metrics =
                    vec![("wall_s", wall_s * noise), ("abort_ratio", aborts), ("transactions", 1e6)];
                results.push(Sample { round, labels: labels("kmeans", version, workers), metrics });
            };
            push(SERIAL, 1, 2.0, 0.0);
            push(BY_HAND, 1, 3.0, 0.0);
            push(BY_HAND, 2, 1.5, 0.5);
            push(BASELINE, 1, 2.5, 0.0);
            push(BASELINE, 2, 1.6, 0.25);
        }
        results
    }

    /// Would miss: an improvement turned round, an average over all numbers of workers instead of the best, a deviation that is not in per cent.
    #[test]
    fn the_worklist_is_held_against_transactions_by_hand() {
        let setting = Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) };
        let parts = Versions.report(&results(), &setting);
        let [Part::Table(times), Part::Words(words), _, Part::Table(characters), Part::Table(deviations), ..] =
            &parts[..]
        else {
            panic!("{parts:?}")
        };
        let row = times.shown(&["kmeans", BASELINE, "1"]);
        assert_eq!((row[5].as_str(), row[6].as_str()), ("0.80", "20.0"));
        assert!(words.contains("baseline: +20.0 %"), "{words}");
        assert_eq!(characters.shown(&["kmeans"])[1..5], ["2", "0.50", "3.15", "8"]);
        let row = deviations.shown(&["kmeans"]);
        assert_eq!((row[1].as_str(), row[3].as_str()), ("6.73", "1.80"));
    }
}
