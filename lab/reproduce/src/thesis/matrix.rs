//! Chapter 4 and appendix B: every policy on the applications it was measured with there, against
//! random victims on the same processors.
//!
//! A gain is the share of the baseline's time that is saved, round by round. Beside the policies
//! the baseline runs against itself: what it seems to gain there is noise. Loops are divided
//! recursively, so that thieves choose their victims by the policy; each row says how often.

use super::loops::{Division, PAUSES, UNNAMED, divisions};
use crate::common::Conditions;
use crate::experiment::{About, Block, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::thesis::{Technique, said};
use crate::report::{Cell, Form, Part, Plot, Series, Table, cell, difference};
use crate::results::{Labels, Results, all_of};
use crate::setting::Setting;
use crate::statistics::{is_beyond, median, spread};

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
        UNNAMED,
        PAUSES,
        Caveat {
            unless: Need::Nothing,
            words: "Only its package's master steals elsewhere; a slave never does in this \
                experiment, as there. In other pools of Sinew a worker that has searched in vain \
                for 200 µs, while it sees work, takes any task, so that none is stranded while its \
                owner is busy.",
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
pub(super) struct Policy {
    pub(super) technique: Technique,
    pub(super) victims: &'static str,
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
pub(super) const APPS: [&str; 10] = [
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
pub(super) fn policies(app: &str) -> Vec<Policy> {
    let nearest = NEAREST_APPS.contains(&app).then_some(&NEAREST[..]);
    let heaviest =
        HEAVIEST_APPS.iter().find(|(name, _)| *name == app).map(|(_, policies)| *policies);
    let sorted = SORTED_APPS.contains(&app).then_some(&SORTED[..]);
    [nearest, heaviest, sorted].into_iter().flatten().flatten().copied().collect()
}

pub(super) const BASELINE: &str = "random";
/// The baseline once more.
const AGAIN: &str = "random, again";

/// A row of the matrix: an application, how its loops are divided, and its workers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) app: &'static str,
    pub(super) division: Division,
    pub(super) workers: usize,
}

impl Row {
    pub(super) fn labels(self, policy: &str) -> Labels {
        vec![
            ("app", self.app.to_owned()),
            ("loops", self.division.name.to_owned()),
            ("policy", policy.to_owned()),
            ("workers", self.workers.to_string()),
        ]
    }

    /// `heat, auto`.
    fn name(self) -> String {
        format!("{}, {}", self.app, self.division.name)
    }
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
    let verdict = Part::verdict(results.rounds(), || view.verdict());
    let mut parts = vec![Part::Table(view.table()), verdict];
    parts.extend(APPS.map(|app| Part::Plot(view.plot(app))));
    parts
}

/// Workers that are spread over the packages, and slaves that never leave theirs.
fn conditions(victims: &'static str, workers: usize) -> Conditions {
    Conditions::workers(workers).victims(victims).pinned().strict()
}

fn cases(app: &'static str, size: &str, counts: &[usize]) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for division in divisions(app) {
        let subject = division.prepare(app, size)?;
        let case = |name: &str, victims: &'static str, workers: usize| {
            let subject = subject.clone();
            let conditions = conditions(victims, workers);
            Case::new(Row { app, division, workers }.labels(name), move || {
                let measured = subject.parallel(&conditions.build()?)?;
                Ok(vec![
                    ("wall_s", measured.wall_s),
                    ("chosen_victims", measured.chosen_victims()),
                    ("steals", measured.steals()),
                    ("failed_steals", measured.failed_steals()),
                ])
            })
        };
        cases.push(case(BASELINE, BASELINE, 1));
        for &workers in counts {
            cases.extend([case(BASELINE, BASELINE, workers), case(AGAIN, BASELINE, workers)]);
            cases.extend(
                policies(app).iter().map(|policy| case(policy.victims, policy.victims, workers)),
            );
        }
    }
    Ok(cases)
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    counts: Vec<usize>,
}

impl View<'_> {
    /// All rows of an application.
    fn rows(&self, app: &'static str) -> Vec<Row> {
        let of = |division| self.counts.iter().map(move |&workers| Row { app, division, workers });
        divisions(app).into_iter().flat_map(of).collect()
    }

    /// The ratios of a metric to the baseline's, a round each.
    fn ratios(&self, row: Row, policy: &str, metric: &str) -> Vec<f64> {
        self.results.ratios(&all_of(&row.labels(policy)), &all_of(&row.labels(BASELINE)), metric)
    }

    /// The shares of the baseline's time that are saved, in per cent, a round each.
    fn gains(&self, row: Row, policy: &str) -> Vec<f64> {
        let ratios = self.ratios(row, policy, "wall_s");
        ratios.into_iter().map(|ratio| (1.0 - ratio) * 100.0).collect()
    }

    fn table(&self) -> Table {
        let title = "Time saved against random victims on the same processors";
        let mut table = Table::new("gains", title);
        for app in APPS {
            for row in self.rows(app) {
                table.row(self.row(row, AGAIN, String::new()));
                for Policy { technique, victims } in policies(app) {
                    table.row(self.row(row, victims, said(app, technique)));
                }
            }
        }
        table
    }

    fn row(&self, row: Row, policy: &str, said: String) -> [(String, Cell); 11] {
        let (of, alone) = (row.labels(policy), Row { workers: 1, ..row }.labels(BASELINE));
        let gains = self.gains(row, policy);
        let median_of = |metric| self.results.median(&all_of(&of), metric);
        [
            cell("application", row.app),
            cell("loops", row.division.name),
            cell("victims", policy),
            cell("workers", row.workers),
            cell("chosen by the rule", median_of("chosen_victims")),
            cell("steals", median_of("steals")),
            cell("speed-up", self.results.ratio(&all_of(&alone), &all_of(&of), "wall_s")),
            cell("gain, %", median(&gains)),
            cell("±", spread(&gains)),
            cell("steals / random's", median(&self.ratios(row, policy, "steals"))),
            cell("the thesis says of the gain", said),
        ]
    }

    /// The largest difference of the baseline from itself in any round.
    fn noise(&self, row: Row) -> f64 {
        self.gains(row, AGAIN).into_iter().map(f64::abs).fold(0.0, f64::max)
    }

    /// The gains beyond the baseline's variation for the same application.
    fn verdict(&self) -> String {
        let (mut beyond, mut all) = (Vec::new(), 0);
        for row in APPS.into_iter().flat_map(|app| self.rows(app)) {
            for Policy { victims, .. } in policies(row.app) {
                let gains = self.gains(row, victims);
                let Some(gain) = median(&gains) else { continue };
                all += 1;
                if is_beyond(&gains, self.noise(row)) {
                    beyond.push(format!(
                        "{} under {victims} on {} workers ({})",
                        row.name(),
                        row.workers,
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
                "Of {all} combinations {some} differ from the baseline, in three quarters of the \
                 rounds, by more than it differs from itself in its worst round: {}.",
                beyond.join("; ")
            ),
        }
    }

    /// The gains of an application over the workers.
    fn plot(&self, app: &'static str) -> Plot {
        let mut plot = Plot::new(
            &format!("gain-{app}"),
            format!("{app}: time saved against random victims"),
            Form::Lines,
        )
        .axes("workers", "gain over random victims, %")
        .over(self.counts.iter().map(usize::to_string).collect())
        .level(0.0);
        let victims = policies(app).into_iter().map(|policy| policy.victims);
        for victims in victims.chain([AGAIN]) {
            for division in divisions(app) {
                let gains = |&workers: &usize| self.gains(Row { app, division, workers }, victims);
                let rounds: Vec<Vec<f64>> = self.counts.iter().map(gains).collect();
                let name = format!("{victims}; {}", division.name);
                plot = plot.with(Series::of_rounds(name, &rounds));
            }
        }
        plot
    }
}

/// The largest difference of the baseline of a row from itself in any round, in per cent.
pub(super) fn noise(results: &Results, row: Row) -> f64 {
    View { results, counts: Vec::new() }.noise(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

    fn results(rounds: usize, policy_s: f64) -> Results {
        let wall = |policy, workers, wall| {
            let row = Row { app: "heat", division: divisions("heat")[1], workers };
            let counts = [("steals", 2.0), ("chosen_victims", 7.0)];
            (row.labels(policy), [&[("wall_s", wall)], &counts[..]].concat())
        };
        let cases = [
            wall(BASELINE, 1, 1.8),
            wall(BASELINE, 2, 1.0),
            wall(AGAIN, 2, 0.98),
            wall("nearest", 2, policy_s),
        ];
        Results::of_rounds(rounds, cases)
    }

    fn report(rounds: usize, policy_s: f64) -> Vec<Part> {
        let setting = Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) };
        experiment().report(&results(rounds, policy_s), &setting)
    }

    /// Catches: a loss that looks like a gain, or a quotation beside another policy's figure; a
    /// row that does not say how many victims its rule chose.
    #[test]
    fn gains_stand_beside_what_the_thesis_says() {
        let parts = report(3, 0.9);
        let [Part::Table(table), Part::Words(words), Part::Plot(heat)] = &parts[..] else {
            panic!("{parts:?}")
        };
        let cells = table.shown(&["heat", "simple", "nearest"]);
        assert_eq!(cells[3..9], ["2", "7", "2", "2", "10.0", "0"]);
        assert!(cells[10].contains("Sandman: gains with many threads, up to 40 %"), "{cells:?}");
        assert!(words.contains("heat, simple under nearest on 2 workers (+10.0 %)"), "{words}");
        assert_eq!((heat.x.as_str(), heat.categories.as_slice()), ("workers", &["2".into()][..]));
        assert_eq!(heat.series.len(), 2);
    }

    /// Catches: noise that is reported as a gain, and a gain from one round.
    #[test]
    fn a_gain_below_what_the_baseline_gains_over_itself_is_no_gain() {
        for (rounds, policy_s, says) in
            [(3, 0.99, "None of 1 combinations"), (1, 0.9, "No verdict")]
        {
            let parts = report(rounds, policy_s);
            let Part::Words(words) = &parts[1] else { panic!("{parts:?}") };
            assert!(words.starts_with(says), "{words}");
        }
    }

    /// Catches: slaves that leave their packages after a while, which the report denies.
    #[test]
    fn slaves_never_leave_their_packages() {
        let is_strict = |victims| format!("{:?}", conditions(victims, 2)).contains("strict: true");
        let all: Vec<Policy> = APPS.into_iter().flat_map(policies).collect();
        assert!(!all.is_empty() && all.iter().all(|policy| is_strict(policy.victims)));
        let said = |caveat: &&Caveat| caveat.words.contains("a slave never does");
        assert_eq!(ABOUT.caveats.iter().filter(said).count(), 1);
    }

    /// Catches: a policy left out of the matrix, or one too many.
    #[test]
    fn every_application_has_the_policies_it_was_measured_with() {
        let counts = APPS.map(|app| policies(app).len());
        assert_eq!(counts, [1, 1, 1, 9, 9, 1, 10, 8, 9, 8]);
    }
}
