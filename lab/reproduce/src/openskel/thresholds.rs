//! Figure 6.6: how much the tuner's two thresholds matter.
//!
//! The speed-up of a pair is over the pair that was found best there, in the same round, averaged
//! over the applications. Beside it are the ratios that the tuner compares with its thresholds, in
//! the baseline on all cores: a threshold that they do not reach changes nothing. They are measured
//! under each contention manager, which says what a threshold means under another one.

use sinew::stm::ContentionManager;
use sinew::worklist::Knobs;
use sinew_policy::worklist::Settings;

use super::applications::{Application, blocks, names};
use super::bench::{Bench, Way};
use super::{OTHER_MACHINE, THREADS_ARE_FEW};
use crate::experiment::{About, Case, Experiment};
use crate::failure::Failure;
use crate::paper::openskel::THRESHOLDS_WORDS;
use crate::report::{Form, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Results, all_of};
use crate::setting::{Scale, Setting};
use crate::statistics::{is_beyond, mean, median};
use crate::worklists::Worklists;

const ABOUT: About = About {
    name: "openskel-thresholds",
    title: "effect of the two thresholds of the worklist's tuner",
    publication: super::PUBLICATION,
    place: "Figure 6.6",
    caveats: &[THREADS_ARE_FEW, OTHER_MACHINE],
    repeat: super::REPEAT,
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks(cases), report)
}

/// The pair that others are compared with, in tenths.
pub(super) const BEST: (u32, u32) = (1, 1);

/// The values of both thresholds, in tenths.
pub(super) fn tenths(scale: Scale) -> Vec<u32> {
    scale.pick(vec![1, 9], vec![1, 3, 5, 7, 9], (1..=9).collect())
}

pub(super) fn show(tenths: u32) -> String {
    format!("0.{tenths}")
}

pub(super) fn labels(app: &str, manager: ContentionManager, (alpha, beta): (u32, u32)) -> Labels {
    vec![
        ("application", app.to_owned()),
        ("manager", manager.to_string()),
        ("alpha", show(alpha)),
        ("beta", show(beta)),
    ]
}

/// The value of both thresholds for the baseline, which has none.
const NO_TUNER: &str = "none";

fn baseline_labels(app: &str, manager: ContentionManager) -> Labels {
    let none = || NO_TUNER.to_owned();
    vec![
        ("application", app.to_owned()),
        ("manager", manager.to_string()),
        ("alpha", none()),
        ("beta", none()),
    ]
}

/// The managers under which the baseline runs.
const MANAGERS: [ContentionManager; 3] =
    [ContentionManager::Suicide, ContentionManager::Backoff, ContentionManager::Age];

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let manager = setting.worklists.contention;
    let (applications, tenths) = (names(setting.scale), tenths(setting.scale));
    let view = View { results, applications, tenths, manager };
    vec![
        Part::Table(view.table()),
        Part::verdict(results.rounds(), || view.verdict()),
        Part::words(THRESHOLDS_WORDS),
        Part::Table(view.ratios()),
        Part::verdict(results.rounds(), || view.reach(setting)),
        Part::Plot(view.plot()),
    ]
}

/// The tuner's thresholds for this pair.
pub(super) fn knobs(setting: &Setting, (alpha, beta): (u32, u32)) -> Knobs {
    let threshold = |tenths: u32| f64::from(tenths) / 10.0;
    let usual = setting.worklists.knobs;
    Knobs { alpha: threshold(alpha), beta: threshold(beta), ..usual }
}

fn cases(Application { name, size }: Application, setting: &Setting) -> Result<Vec<Case>, Failure> {
    let (bench, cores) =
        (Bench::listed(name, size, None, setting.worklists)?, setting.most_workers());
    let tenths = tenths(setting.scale);
    let pairs = tenths.iter().flat_map(|&alpha| tenths.iter().map(move |&beta| (alpha, beta)));
    let case = |(alpha, beta)| {
        let knobs = knobs(setting, (alpha, beta));
        let (bench, way) = (bench.clone(), Way::Tuned { knobs, cores });
        let labels = labels(name, setting.worklists.contention, (alpha, beta));
        Case::new(labels, move || bench.run(&way))
    };
    let baseline = |contention| {
        let bench = Bench::listed(name, size, None, Worklists { contention, ..setting.worklists })?;
        let way = Way::settings(Settings::baseline(cores), cores);
        Ok(Case::new(baseline_labels(name, contention), move || bench.run(&way)))
    };
    pairs.map(|pair| Ok(case(pair))).chain(MANAGERS.map(baseline)).collect()
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    applications: Vec<String>,
    tenths: Vec<u32>,
    /// The manager of the tuned runs.
    manager: ContentionManager,
}

impl View<'_> {
    /// Averaged over the applications, in each round that all of them have.
    fn speed_ups(&self, pair: (u32, u32)) -> Vec<f64> {
        let of = |app: &String| {
            let which = |(alpha, beta)| (app.clone(), show(alpha), show(beta));
            let (best, this) = (which(BEST), which(pair));
            let best = [("application", best.0.as_str()), ("alpha", &best.1), ("beta", &best.2)];
            let this = [("application", this.0.as_str()), ("alpha", &this.1), ("beta", &this.2)];
            self.results.ratios(&best, &this, "wall_s")
        };
        let of_each: Vec<Vec<f64>> =
            self.applications.iter().map(of).filter(|ratios| !ratios.is_empty()).collect();
        let rounds = of_each.iter().map(Vec::len).min().unwrap_or(0);
        let in_round =
            |round: usize| of_each.iter().map(|ratios| ratios[round]).collect::<Vec<_>>();
        (0..rounds).filter_map(|round| mean(&in_round(round))).collect()
    }

    fn speed_up(&self, pair: (u32, u32)) -> Option<f64> {
        median(&self.speed_ups(pair))
    }

    fn table(&self) -> Table {
        let title = "Speed-up over alpha = beta = 0.1, averaged over the applications";
        let mut table = Table::new("thresholds", title);
        for &alpha in &self.tenths {
            let speed_up =
                |&beta: &u32| cell(format!("beta {}", show(beta)), self.speed_up((alpha, beta)));
            let cells = self.tenths.iter().map(speed_up);
            table.row([cell("alpha", show(alpha))].into_iter().chain(cells));
        }
        table
    }

    /// A count of the baseline on all cores per commit: the median over the rounds.
    fn per_commit(
        &self,
        app: &str,
        manager: ContentionManager,
        count: impl Fn(f64, f64, f64) -> f64,
    ) -> Option<f64> {
        let labels = baseline_labels(app, manager);
        let which = all_of(&labels);
        let [attempts, aborted, stalls] = ["transactions", "abort_ratio", "stalls"]
            .map(|metric| self.results.values(&which, metric));
        let of_round = |((attempts, aborted), stalls): ((f64, f64), f64)| {
            let aborts = attempts * aborted;
            count(aborts, stalls, attempts - aborts)
        };
        let rounds = attempts.into_iter().zip(aborted).zip(stalls).map(of_round);
        median(&rounds.collect::<Vec<_>>())
    }

    fn aborts(&self, app: &str, manager: ContentionManager) -> Option<f64> {
        self.per_commit(app, manager, |aborts, _, commits| aborts / commits)
    }

    fn ratios(&self) -> Table {
        let title = "What the tuner compares with its thresholds: the baseline on all cores";
        let mut table = Table::new("ratios", title);
        for app in &self.applications {
            for manager in MANAGERS {
                let stalls = self.per_commit(app, manager, |_, stalls, commits| stalls / commits);
                table.row([
                    cell("application", app),
                    cell("manager", manager.to_string()),
                    cell("stalls a commit (alpha)", stalls),
                    cell("aborts a commit (beta)", self.aborts(app, manager)),
                    cell("as beta 0.1 under suicide", self.calibrated(app, manager)),
                ]);
            }
        }
        table
    }

    /// The beta that is as far from a manager's aborts as 0.1 is from those of suicide.
    fn calibrated(&self, app: &str, manager: ContentionManager) -> Option<f64> {
        let suicides = self.aborts(app, ContentionManager::Suicide)?;
        (suicides > 0.0).then_some(0.1 * self.aborts(app, manager)? / suicides)
    }

    /// Where beta can have an effect.
    fn reach(&self, setting: &Setting) -> String {
        let measured: Vec<(&str, f64)> = self
            .applications
            .iter()
            .filter_map(|app| Some((app.as_str(), self.aborts(app, self.manager)?)))
            .collect();
        let Some(least) = self.tenths.first().map(|&tenths| f64::from(tenths) / 10.0) else {
            return String::new();
        };
        let reach = measured.iter().filter(|(_, aborts)| *aborts >= least);
        let reach: Vec<&str> = reach.map(|(app, _)| *app).collect();
        let workers = setting.most_workers();
        let conclusion = match &reach[..] {
            [] => format!(
                "no application reaches beta = {least}, so no beta of the grid makes the tuner \
                 halve its workers there"
            ),
            some => format!(
                "these reach beta = {least}: {}. For the others no beta of the grid makes the \
                 tuner halve its workers there",
                some.join(", ")
            ),
        };
        format!(
            "With {workers} workers and manager {}, {conclusion}.",
            setting.worklists.contention
        )
    }

    fn verdict(&self) -> String {
        let pairs = self
            .tenths
            .iter()
            .flat_map(|&alpha| self.tenths.iter().map(move |&beta| (alpha, beta)));
        let mut all: Vec<((u32, u32), f64)> =
            pairs.filter_map(|pair| Some((pair, self.speed_up(pair)?))).collect();
        all.sort_by(|one, other| one.1.total_cmp(&other.1));
        let (Some(worst), Some(best)) = (all.first(), all.last()) else {
            return "Nothing has been measured yet.".to_owned();
        };
        let said = |&((alpha, beta), speed_up): &((u32, u32), f64)| {
            let rounds = self.speed_ups((alpha, beta));
            let differences: Vec<f64> = rounds.iter().map(|speed_up| speed_up - 1.0).collect();
            let judged = match is_beyond(&differences, 0.0) {
                true => "beyond the noise",
                false => "within the noise",
            };
            format!("({}, {}) with {speed_up:.3}, which is {judged}", show(alpha), show(beta))
        };
        format!("The best pair here is {}; the worst is {}.", said(best), said(worst))
    }

    fn plot(&self) -> Plot {
        let alphas = self.tenths.iter().map(|&alpha| show(alpha)).collect();
        let mut plot = Plot::new("thresholds", "Speed-up over alpha = beta = 0.1", Form::Lines)
            .axes("alpha", "average normalised speed-up")
            .over(alphas)
            .level(1.0);
        for &beta in &self.tenths {
            let rounds = self.tenths.iter().map(|&alpha| self.speed_ups((alpha, beta)));
            let name = format!("beta {}", show(beta));
            plot = plot.with(Series::of_rounds(name, &rounds.collect::<Vec<_>>()));
        }
        plot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Sample;

    const SUICIDE: ContentionManager = ContentionManager::Suicide;

    /// Catches: aborts per attempt instead of per commit, and an application that beta is said to
    /// concern though it is below.
    #[test]
    fn the_ratios_that_thresholds_meet_are_said() {
        let ratios = |app, manager, aborted| {
            let metrics = vec![
                ("wall_s", 1.0),
                ("transactions", 200.0),
                ("abort_ratio", aborted),
                ("stalls", 50.0),
            ];
            (baseline_labels(app, manager), metrics)
        };
        let backoff = ContentionManager::Backoff;
        let results = Results::of_rounds(
            3,
            [
                ratios("kmeans", SUICIDE, 0.5),
                ratios("kmeans", backoff, 0.2),
                ratios("yada", SUICIDE, 0.0),
            ],
        );
        let parts = experiment().report(&results, &Setting::new(Scale::Quick, 2));
        let [.., Part::Table(table), Part::Words(words)] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!(table.shown(&["kmeans", "suicide"])[2..], ["0.50", "1", "0.10"]);
        assert_eq!(table.shown(&["kmeans", "backoff"])[3..], ["0.25", "0.0250"]);
        assert_eq!(table.shown(&["yada", "suicide"])[2..], ["0.25", "0", "-"]);
        assert!(
            words.contains("2 workers and manager suicide, these reach beta = 0.1: kmeans. For"),
            "{words}"
        );
    }

    /// Catches: the two thresholds exchanged, a ratio turned round, an application that is left
    /// out of the average.
    #[test]
    fn pairs_are_averaged_over_the_applications() {
        let wall = |app, pair, wall_s| (labels(app, SUICIDE, pair), vec![("wall_s", wall_s)]);
        let results = Results::of_rounds(
            3,
            [
                wall("kmeans", (1, 1), 1.0),
                wall("kmeans", (1, 9), 2.0),
                wall("kmeans", (9, 1), 1.0),
                wall("yada", (1, 1), 3.0),
                wall("yada", (1, 9), 3.0),
                wall("yada", (9, 1), 2.0),
            ],
        );
        let parts = experiment().report(&results, &Setting::new(Scale::Quick, 2));
        let [Part::Table(table), Part::Words(words), ..] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!(table.shown(&["0.1"]), ["0.1", "1", "0.75"]);
        assert_eq!(table.shown(&["0.9"]), ["0.9", "1.25", "-"]);
        assert!(
            words.contains("(0.9, 0.1) with 1.250, which is beyond the noise")
                && words.contains("(0.1, 0.9) with 0.750, which is beyond the noise"),
            "{words}"
        );
    }

    /// Catches: a best pair that is the best in some rounds only, and a plot without error bars.
    #[test]
    fn a_pair_that_is_not_always_better_is_within_the_noise() {
        let mut results = Results::default();
        for (round, wall_s) in [0.8, 1.1, 0.9].into_iter().enumerate() {
            for (pair, wall_s) in [((1, 1), 1.0), ((9, 1), wall_s)] {
                let metrics = vec![("wall_s", wall_s)];
                results.push(Sample { round, labels: labels("kmeans", SUICIDE, pair), metrics });
            }
        }
        let parts = experiment().report(&results, &Setting::new(Scale::Quick, 2));
        let [_, Part::Words(words), .., Part::Plot(plot)] = &parts[..] else { panic!("{parts:?}") };
        assert!(words.contains("(0.9, 0.1) with 1.111, which is within the noise"), "{words}");
        assert!(plot.series[0].spreads[1].is_some_and(|spread| spread > 0.0), "{plot:?}");
    }
}
