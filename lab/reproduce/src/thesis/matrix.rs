//! Chapter 4 and appendix B: every policy on the applications it was measured with there, against
//! random victims on the same processors.
//!
//! A gain is the share of the baseline's time that is saved, round by round. Beside the policies
//! the baseline runs against itself: what it seems to gain there is noise.

use crate::common::{Conditions, Subject};
use crate::experiment::{About, Block, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::thesis::{Technique, said};
use crate::report::{Cell, Form, Part, Plot, Series, Table, cell, difference};
use crate::results::{Labels, Results};
use crate::setting::Setting;
use crate::statistics::{median, spread};

const ABOUT: About = About {
    name: "tbb-matrix",
    title: "stealing from the nearest and from the most loaded worker, on every application of \
        the thesis",
    publication: super::PUBLICATION,
    place: "chapter 4 and appendix B",
    caveats: &[
        Caveat {
            unless: Need::Packages(2),
            words: "The thesis' machines have two or four packages. In one package every victim is \
                as near as any other and nothing needs a master, so that stealing from the nearest \
                worker is stealing from any, and the local lists are the global ones.",
        },
        Caveat {
            unless: Need::Workers(8),
            words: "The quoted gains appear with many threads. Between two workers there is one \
                victim to choose: a policy can only lose what choosing costs.",
        },
        Caveat {
            unless: Need::Nothing,
            words: "The baseline there is TBB's random stealing; here it is Sinew's, whose workers \
                steal from the bottom of a stack of joins and rest when there is nothing to \
                steal.",
        },
    ],
    repeat: [1, 5, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks, report)
}

/// A policy that an application is run under.
#[derive(Debug, Clone, Copy)]
struct Policy {
    technique: Technique,
    victims: &'static str,
}

const fn policy(technique: Technique, victims: &'static str) -> Policy {
    Policy { technique, victims }
}

const NEAREST: [Policy; 1] = [policy(Technique::Nearest, "nearest")];
const HEAVIEST: [Policy; 2] = [
    policy(Technique::MaxAlways, "most-loaded:1"),
    policy(Technique::MaxEveryFive, "most-loaded:5"),
];
const SORTED: [Policy; 8] = [
    policy(Technique::SortedGlobal, "sorted:5,machine,stay"),
    policy(Technique::SortedGlobal, "sorted:5,machine,restart"),
    policy(Technique::SortedGlobal, "sorted:10,machine,stay"),
    policy(Technique::SortedGlobal, "sorted:10,machine,restart"),
    policy(Technique::SortedLocal, "sorted:5,package,stay"),
    policy(Technique::SortedLocal, "sorted:5,package,restart"),
    policy(Technique::SortedLocal, "sorted:10,package,stay"),
    policy(Technique::SortedLocal, "sorted:10,package,restart"),
];

/// The applications and policies that were measured.
const NEAREST_APPS: [&str; 6] =
    ["heat", "gauss", "floyd-warshall", "quicksort", "matmul", "numbercount"];
const HEAVIEST_APPS: [(&str, &[Policy]); 2] =
    [("streamcluster", &HEAVIEST), ("blackscholes", HEAVIEST.split_at(1).1)];
const SORTED_APPS: [&str; 6] =
    ["streamcluster", "quicksort", "matmul", "strassen", "blackscholes", "swaptions"];

/// All applications, in the order of the report.
const APPS: [&str; 10] = [
    "heat",
    "gauss",
    "floyd-warshall",
    "quicksort",
    "matmul",
    "numbercount",
    "streamcluster",
    "strassen",
    "blackscholes",
    "swaptions",
];

/// The policies that an application is run under, in the order of the report.
fn policies(app: &str) -> Vec<Policy> {
    let nearest = NEAREST_APPS.contains(&app).then_some(&NEAREST[..]);
    let heaviest =
        HEAVIEST_APPS.iter().find(|(name, _)| *name == app).map(|(_, policies)| *policies);
    let sorted = SORTED_APPS.contains(&app).then_some(&SORTED[..]);
    [nearest, heaviest, sorted].into_iter().flatten().flatten().copied().collect()
}

const BASELINE: &str = "random";
/// The baseline once more.
const AGAIN: &str = "random, again";

fn labels(app: &str, policy: &str, workers: usize) -> Labels {
    vec![("app", app.to_owned()), ("policy", policy.to_owned()), ("workers", workers.to_string())]
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let counts = setting.parallel_counts();
    let size = setting.scale.pick("tiny", "small", "full");
    let block = |app: &'static str| {
        let counts = counts.clone();
        Block::new(app, move || cases(app, size, &counts))
    };
    APPS.into_iter().map(block).collect()
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let view = View { results, counts: setting.parallel_counts() };
    let (heaviest, most) = (HEAVIEST_APPS.map(|app| app.0), setting.most_workers());
    let plots = [
        view.plot("nearest", "nearest victims first", &NEAREST_APPS, &NEAREST, most),
        view.plot("most-loaded", "the most loaded victim", &heaviest, &HEAVIEST, most),
        view.plot("sorted", "victims sorted by load", &SORTED_APPS, &SORTED, most),
    ];
    let mut parts = vec![Part::Table(view.table()), Part::words(view.verdict())];
    parts.extend(plots.map(Part::Plot));
    parts
}

fn cases(app: &str, size: &str, counts: &[usize]) -> Result<Vec<Case>, Failure> {
    let subject = Subject::prepare(app, size)?;
    let case = |name: &str, victims: &'static str, workers: usize| {
        let subject = subject.clone();
        let conditions = Conditions::workers(workers).victims(victims).pinned();
        Case::new(labels(app, name, workers), move || {
            let measured = subject.parallel(&conditions.build()?)?;
            Ok(vec![
                ("wall_s", measured.wall_s),
                ("steals", measured.steals()),
                ("failed_steals", measured.failed_steals()),
            ])
        })
    };
    let mut cases = vec![case(BASELINE, BASELINE, 1)];
    for &workers in counts {
        cases.extend([case(BASELINE, BASELINE, workers), case(AGAIN, BASELINE, workers)]);
        cases.extend(
            policies(app).iter().map(|policy| case(policy.victims, policy.victims, workers)),
        );
    }
    Ok(cases)
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    counts: Vec<usize>,
}

impl View<'_> {
    /// The shares of the baseline's time that are saved, in per cent, a round each.
    fn gains(&self, app: &str, policy: &str, workers: usize) -> Vec<f64> {
        let workers = workers.to_string();
        let of = [("app", app), ("policy", policy), ("workers", workers.as_str())];
        let to = [("app", app), ("policy", BASELINE), ("workers", workers.as_str())];
        self.results
            .ratios(&of, &to, "wall_s")
            .into_iter()
            .map(|ratio| (1.0 - ratio) * 100.0)
            .collect()
    }

    fn table(&self) -> Table {
        let title = "Time saved against random victims on the same processors";
        let mut table = Table::new("gains", title);
        for app in APPS {
            for &workers in &self.counts {
                table.row(self.row(app, AGAIN, workers, String::new()));
                for Policy { technique, victims } in policies(app) {
                    table.row(self.row(app, victims, workers, said(app, technique)));
                }
            }
        }
        table
    }

    fn row(&self, app: &str, policy: &str, workers: usize, said: String) -> [(String, Cell); 8] {
        let count = workers.to_string();
        let of = [("app", app), ("policy", policy), ("workers", count.as_str())];
        let baseline = [("app", app), ("policy", BASELINE), ("workers", count.as_str())];
        let alone = [("app", app), ("policy", BASELINE), ("workers", "1")];
        let gains = self.gains(app, policy, workers);
        [
            cell("application", app),
            cell("victims", policy),
            cell("workers", workers),
            cell("speed-up", self.results.ratio(&alone, &of, "wall_s")),
            cell("gain, %", median(&gains)),
            cell("±", spread(&gains)),
            cell("steals / random's", self.results.ratio(&of, &baseline, "steals")),
            cell("the thesis says of the gain", said),
        ]
    }

    /// The gains that exceed the baseline's variation for the same application.
    fn verdict(&self) -> String {
        let (mut beyond, mut all) = (Vec::new(), 0);
        for (app, workers) in
            APPS.iter().flat_map(|app| self.counts.iter().map(move |&workers| (app, workers)))
        {
            let noise =
                self.gains(app, AGAIN, workers).into_iter().map(f64::abs).fold(0.0, f64::max);
            for Policy { victims, .. } in policies(app) {
                let Some(gain) = median(&self.gains(app, victims, workers)) else { continue };
                all += 1;
                if gain.abs() > noise {
                    beyond.push(format!(
                        "{app} under {victims} on {workers} workers ({})",
                        difference(gain)
                    ));
                }
            }
        }
        match beyond.len() {
            _ if all == 0 => "Nothing has been measured on several workers yet.".to_owned(),
            0 => format!(
                "None of {all} combinations differs from the baseline by more than the baseline \
                 from itself."
            ),
            some => format!(
                "Of {all} combinations {some} differ from the baseline by more than it differs \
                 from itself in its worst round: {}.",
                beyond.join("; ")
            ),
        }
    }

    fn plot(
        &self,
        name: &str,
        what: &str,
        apps: &[&str],
        policies: &[Policy],
        workers: usize,
    ) -> Plot {
        let title = format!("Time saved on {workers} workers: {what}");
        let categories = apps.iter().map(|&app| app.to_owned()).collect();
        let mut plot = Plot::new(name, title, Form::Bars)
            .axes("application", "gain over random victims, %")
            .over(categories)
            .level(0.0);
        let victims = policies.iter().map(|policy| policy.victims).chain([AGAIN]);
        for victims in victims {
            let values =
                apps.iter().map(|app| median(&self.gains(app, victims, workers))).collect();
            plot = plot.with(Series::new(victims, values));
        }
        plot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

    fn report(policy_s: f64) -> Vec<Part> {
        let wall = |policy, workers, wall| {
            (labels("heat", policy, workers), vec![("wall_s", wall), ("steals", 2.0)])
        };
        let results = Results::of([
            wall(BASELINE, 1, 1.8),
            wall(BASELINE, 2, 1.0),
            wall(AGAIN, 2, 0.98),
            wall("nearest", 2, policy_s),
        ]);
        experiment()
            .report(&results, &Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) })
    }

    /// Catches: a loss that looks like a gain, or a quotation beside another policy's figure.
    #[test]
    fn gains_stand_beside_what_the_thesis_says() {
        let parts = report(0.9);
        let [Part::Table(table), Part::Words(words), Part::Plot(nearest)] = &parts[..] else {
            panic!("{parts:?}")
        };
        let cells = table.shown(&["heat", "nearest"]);
        assert_eq!(cells[2..5], ["2", "2", "10.0"]);
        assert!(cells[7].contains("Sandman: gains with many threads, up to 40 %"), "{cells:?}");
        assert!(words.contains("heat under nearest on 2 workers (+10.0 %)"), "{words}");
        assert_eq!(nearest.series.len(), 2);
    }

    /// Catches: noise that is reported as a gain.
    #[test]
    fn a_gain_below_what_the_baseline_gains_over_itself_is_no_gain() {
        let parts = report(0.99);
        assert!(
            matches!(&parts[1], Part::Words(words) if words.starts_with("None of 1 combinations")),
            "{parts:?}"
        );
    }

    /// Catches: a policy left out of the matrix, or one too many.
    #[test]
    fn every_application_has_the_policies_it_was_measured_with() {
        let counts = APPS.map(|app| policies(app).len());
        assert_eq!(counts, [1, 1, 1, 9, 9, 1, 10, 8, 9, 8]);
    }
}
