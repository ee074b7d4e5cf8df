//! Section 4.1: do the optimisations do the same where transactions lock when they commit?
//!
//! The baseline and each optimisation alone on all cores, as in `single`, once with locks at the
//! first write, once with locks at the commit. The comparison uses the improvement over the
//! baseline under the same locks, because transactions that lock late are slower here in any case.

use sinew::stm::Locking;

use super::applications::{Application, blocks, names};
use super::bench::{Bench, Way};
use super::single::{BASELINE, OPTIMISATIONS, settings};
use super::{OTHER_MACHINE, THREADS_ARE_FEW};
use crate::experiment::{About, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::openskel::LOCKING_WORDS;
use crate::report::{Form, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Results};
use crate::setting::Setting;
use crate::statistics::{is_beyond, median};

const ABOUT: About = About {
    name: "openskel-locking",
    title: "each optimisation of the worklist with locks at the first write and at the commit",
    publication: super::PUBLICATION,
    place: "section 4.1",
    caveats: &[
        THREADS_ARE_FEW,
        Caveat {
            unless: Need::Nothing,
            words: "Locks at the commit are there to compare: their accesses look through what \
                was written before, so times under both are no race.",
        },
        OTHER_MACHINE,
    ],
    repeat: super::REPEAT,
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks(cases), report)
}

pub(super) const EARLY: &str = "first write";
pub(super) const LATE: &str = "commit";
const LOCKS: [(&str, Locking); 2] = [(EARLY, Locking::Encounter), (LATE, Locking::Commit)];

/// Improvements and losses below this, in per cent, are none.
const NOTHING: f64 = 5.0;

pub(super) fn labels(app: &str, optimisation: &str, locks: &str) -> Labels {
    vec![
        ("application", app.to_owned()),
        ("optimisation", optimisation.to_owned()),
        ("locks", locks.to_owned()),
    ]
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let view = View { results, applications: names(setting.scale) };
    let mut parts = vec![
        Part::Table(view.table()),
        Part::verdict(results.rounds(), || view.verdict()),
        Part::words(LOCKING_WORDS),
    ];
    parts.extend(view.applications.iter().map(|app| Part::Plot(view.plot(app))));
    parts
}

fn cases(Application { name, size }: Application, setting: &Setting) -> Result<Vec<Case>, Failure> {
    let (bench, cores) =
        (Bench::listed(name, size, None, setting.worklists)?, setting.most_workers());
    let mut cases = Vec::new();
    for optimisation in [BASELINE].into_iter().chain(OPTIMISATIONS) {
        let Some(settings) = settings(optimisation, cores) else { continue };
        for (locks, locking) in LOCKS {
            let (bench, way) = (bench.clone(), Way::settings(settings, cores));
            cases.push(Case::new(labels(name, optimisation, locks), move || {
                bench.run_locking(&way, locking)
            }));
        }
    }
    Ok(cases)
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    applications: Vec<String>,
}

impl View<'_> {
    fn median(&self, app: &str, optimisation: &str, locks: &str, metric: &str) -> Option<f64> {
        let which = [("application", app), ("optimisation", optimisation), ("locks", locks)];
        self.results.median(&which, metric)
    }

    /// Over the baseline under the same locks in each round, in per cent.
    fn improvements(&self, app: &str, optimisation: &str, locks: &str) -> Vec<f64> {
        let which =
            |optimisation| [("application", app), ("optimisation", optimisation), ("locks", locks)];
        let ratios = self.results.ratios(&which(BASELINE), &which(optimisation), "wall_s");
        ratios.into_iter().map(|ratio| (ratio - 1.0) * 100.0).collect()
    }

    fn improvement(&self, app: &str, optimisation: &str, locks: &str) -> Option<f64> {
        median(&self.improvements(app, optimisation, locks))
    }

    fn table(&self) -> Table {
        let mut table = Table::new("locking", "Locks at the first write, and locks at the commit");
        for app in &self.applications {
            for optimisation in [BASELINE].into_iter().chain(OPTIMISATIONS) {
                let median = |locks, metric| self.median(app, optimisation, locks, metric);
                let improvement = |locks| {
                    let improvement = self.improvement(app, optimisation, locks);
                    improvement.filter(|_| optimisation != BASELINE)
                };
                table.row([
                    cell("application", app),
                    cell("optimisation", optimisation),
                    cell("first write: seconds", median(EARLY, "wall_s")),
                    cell("its aborts / attempts", median(EARLY, "abort_ratio")),
                    cell("over its baseline, %", improvement(EARLY)),
                    cell("commit: seconds", median(LATE, "wall_s")),
                    cell("commit's aborts / attempts", median(LATE, "abort_ratio")),
                    cell("over commit's baseline, %", improvement(LATE)),
                ]);
            }
        }
        table
    }

    fn plot(&self, app: &str) -> Plot {
        let names = OPTIMISATIONS.map(str::to_owned).to_vec();
        let title = format!("{app}: over the baseline under the same locks");
        let mut plot = Plot::new(&format!("{app}-locking"), title, Form::Bars);
        plot = plot.axes("optimisation", "improvement, %").over(names);
        for (locks, _) in LOCKS {
            let rounds =
                OPTIMISATIONS.map(|optimisation| self.improvements(app, optimisation, locks));
            plot = plot.with(Series::of_rounds(locks, &rounds));
        }
        plot
    }

    /// Optimisations that help under one kind of locks and harm under the other.
    fn verdict(&self) -> String {
        let all = self
            .applications
            .iter()
            .flat_map(|app| OPTIMISATIONS.map(|optimisation| (app, optimisation)));
        let both = all.filter_map(|(app, optimisation)| {
            let rounds = LOCKS.map(|(locks, _)| self.improvements(app, optimisation, locks));
            let [early, late] = [median(&rounds[0])?, median(&rounds[1])?];
            let are_apart =
                early * late < 0.0 && rounds.iter().all(|rounds| is_beyond(rounds, NOTHING));
            Some((app, optimisation, are_apart))
        });
        let (apart, alike): (Vec<_>, Vec<_>) = both.partition(|(_, _, are_apart)| *are_apart);
        match (&apart[..], alike.len()) {
            ([], 0) => "Nothing has been compared yet.".to_owned(),
            ([], alike) => format!(
                "In all {alike} pairs of an application and an optimisation, none helps by more \
                 than {NOTHING} % under one kind of locks and harms by as much under the other, \
                 each in three quarters of the rounds."
            ),
            (some, alike) => {
                let names: Vec<String> =
                    some.iter().map(|(app, what, ..)| format!("{what} of {app}")).collect();
                format!(
                    "Alike in {alike} pairs; one helps where the other harms, by more than \
                     {NOTHING} % in three quarters of the rounds: {}.",
                    names.join(", ")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Sample;
    use crate::setting::Scale;

    fn parts(late_stealing_s: [f64; 3]) -> Vec<Part> {
        let wall = |optimisation, locks, wall_s| {
            (labels("kmeans", optimisation, locks), vec![("wall_s", wall_s)])
        };
        let mut results = Results::of_rounds(
            3,
            [wall(BASELINE, EARLY, 2.0), wall("stealing", EARLY, 1.0), wall(BASELINE, LATE, 6.0)],
        );
        for (round, wall_s) in late_stealing_s.into_iter().enumerate() {
            let (labels, metrics) = wall("stealing", LATE, wall_s);
            results.push(Sample { round, labels, metrics });
        }
        experiment().report(&results, &Setting::new(Scale::Quick, 2))
    }

    fn words(late_stealing_s: [f64; 3]) -> String {
        match &parts(late_stealing_s)[1] {
            Part::Words(words) => words.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Catches: an improvement over the baseline under other locks, and a contradiction that is
    /// not named.
    #[test]
    fn improvements_are_compared_under_the_same_locks() {
        let all = parts([5.0; 3]);
        let [Part::Table(table), Part::Words(words), _, Part::Plot(_)] = &all[..] else {
            panic!("{all:?}")
        };
        let row = table.shown(&["kmeans", "stealing"]);
        assert_eq!((row[4].as_str(), row[7].as_str()), ("100", "20.0"));
        assert!(words.contains("In all 1 pairs"), "{words}");
        let words = self::words([12.0; 3]);
        assert!(words.contains("stealing of kmeans"), "{words}");
    }

    /// Catches: a contradiction found in the medians of rounds that do not agree.
    #[test]
    fn rounds_that_do_not_agree_are_no_contradiction() {
        let words = words([12.0, 5.0, 12.0]);
        assert!(words.contains("In all 1 pairs"), "{words}");
    }
}
