//! Figures 6.5 and 7.6: the tuner against the best fixed settings and the best single optimisation,
//! over the best baseline; and the sets of optimisations that tuned runs ended with.
//!
//! The search is exhaustive, and so its best the static oracle, at the full size only.

use super::applications::{applications, names};
use super::oracle::{Compared, compared, played, roles, sets};
use super::search::{ACCEPTED, BASELINE, Picks, SINGLES, Search, THROUGHPUT, TUNED, TUNERS, space};
use super::{ONE_NODE, OTHER_MACHINE, THREADS_ARE_FEW};
use crate::experiment::{About, Block, Experiment};
use crate::paper::openskel::COMBINED_WORDS;
use crate::report::{Form, Part, Plot, Series, Table, cell, difference};
use crate::results::Results;
use crate::setting::{Scale, Setting};
use crate::statistics::{is_beyond, mean, median};

const ABOUT: About = About {
    name: "openskel-combined",
    title: "the tuner of the worklist against the best fixed settings and the best single \
        optimisation",
    publication: super::PUBLICATION,
    place: "Figures 6.5 and 7.6",
    caveats: &[THREADS_ARE_FEW, ONE_NODE, OTHER_MACHINE],
    repeat: super::REPEAT,
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks, report)
}

/// The best of the optimisations alone.
const BEST_SINGLE: &str = "best single";

/// The search of each application.
fn searches(setting: &Setting) -> impl Iterator<Item = Search> {
    let longest = setting.worklists.knobs.longest_lifespan;
    let (space, whole) = space(setting.most_workers(), setting.scale != Scale::Full, longest);
    applications(setting.scale).into_iter().map(move |application| Search {
        app: application.name,
        size: application.size.to_owned(),
        path: None,
        space: space.clone(),
        whole,
        // The search has to find what is good; only what is measured again is compared.
        runs: setting.repeat.div_ceil(3),
        again: setting.repeat,
        worklists: setting.worklists,
    })
}

fn blocks(setting: &Setting) -> Vec<Block> {
    searches(setting).flat_map(Search::blocks).collect()
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let Some(search) = searches(setting).next() else { return Vec::new() };
    let view = View { results, applications: names(setting.scale), picks: search.picks() };
    vec![
        Part::Table(view.improvements()),
        Part::Table(view.details()),
        Part::Table(view.sets()),
        Part::Words(search.words()),
        Part::verdict(results.rounds(), || view.verdict()),
        Part::words(COMBINED_WORDS),
        Part::Plot(view.plot()),
    ]
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    applications: Vec<String>,
    picks: Picks,
}

impl View<'_> {
    /// The columns: over the best baseline, in per cent.
    fn shown(&self) -> [&'static str; 6] {
        let [pick, patterns] = self.picks;
        [BEST_SINGLE, patterns, pick, TUNED, ACCEPTED, THROUGHPUT]
    }

    /// Something that was measured again.
    fn role(&self, app: &str, what: &'static str) -> Option<Compared> {
        if what == BEST_SINGLE { self.best_single(app) } else { self.measured(app, what) }
    }

    fn measured(&self, app: &str, what: &'static str) -> Option<Compared> {
        compared(self.results, app, what)
    }

    fn best_single(&self, app: &str) -> Option<Compared> {
        let all = SINGLES.iter().filter_map(|(name, _)| self.measured(app, name));
        all.min_by(|one, other| one.median_s.total_cmp(&other.median_s))
    }

    fn improvement(&self, app: &str, what: &'static str) -> Option<f64> {
        self.role(app, what)?.over_baseline_percent
    }

    fn average(&self, what: &'static str) -> Option<f64> {
        let all = self.applications.iter().filter_map(|app| self.improvement(app, what));
        mean(&all.collect::<Vec<_>>())
    }

    fn improvements(&self) -> Table {
        let mut table = Table::new("combined", "Improvement over the best baseline");
        let [pick, only] = self.picks;
        let mut row =
            |app: &str, [single, best]: [Option<String>; 2], percent: [Option<f64>; 6]| {
                let [of_single, patterns, of_pick, tuned, accepted, throughput] = percent;
                table.row([
                    cell("application", app),
                    cell("best single", single),
                    cell("%", of_single),
                    cell(format!("{only}, %"), patterns),
                    cell(pick, best),
                    cell("%", of_pick),
                    cell("tuned, %", tuned),
                    cell("tuned, accepted, %", accepted),
                    cell("tuned, throughput, %", throughput),
                ]);
            };
        for app in &self.applications {
            let single = self.role(app, BEST_SINGLE);
            let single = single.map(|role| format!("{}: {}", role.what, role.settings));
            let best = self.role(app, pick).map(|role| role.settings);
            row(app, [single, best], self.shown().map(|what| self.improvement(app, what)));
        }
        let none = || Some(String::new());
        row("average", [none(), none()], self.shown().map(|what| self.average(what)));
        table
    }

    fn details(&self) -> Table {
        let mut table = Table::new("again", "What was measured again, in turn");
        for app in &self.applications {
            for row in roles().filter_map(|what| self.measured(app, what)) {
                table.row([
                    cell("application", app),
                    cell("what", row.what),
                    cell("settings", row.settings),
                    cell("seconds", row.median_s),
                    cell("ended with", row.ended_with),
                    cell("of the best fixed", row.of_best),
                    cell("±", row.of_best_spread),
                    cell("aborts / attempts", row.abort_ratio),
                ]);
            }
        }
        table
    }

    /// Whether tuners come to the optimisations of the best fixed settings.
    fn sets(&self) -> Table {
        let mut table = Table::new("sets", "The sets of optimisations that tuned runs ended with");
        for app in &self.applications {
            for what in TUNERS {
                let Some(([same, runs], [wanted, usual])) = sets(self.results, app, what) else {
                    continue;
                };
                table.row([
                    cell("application", app),
                    cell("what", what),
                    cell(self.picks[0], wanted.to_string()),
                    cell("most runs ended with", usual.to_string()),
                    cell("runs that ended with the same", same),
                    cell("of runs", runs),
                ]);
            }
        }
        table
    }

    /// The tuner compared with the best fixed settings and with the best single optimisation.
    fn verdict(&self) -> String {
        let sentence = |what: &'static str| {
            let all: Vec<Compared> =
                self.applications.iter().filter_map(|app| self.measured(app, what)).collect();
            let ratios: Vec<f64> = all.iter().filter_map(|row| row.of_best).collect();
            let slower = (mean(&ratios)? - 1.0) * 100.0;
            let beyond = all.iter().filter(|row| row.of_best_beyond_noise).count();
            let behind = self.applications.iter().filter(|app| self.is_behind_a_single(app, what));
            let behind: Vec<&str> = behind.map(String::as_str).collect();
            let singles = match &behind[..] {
                [] => "it is nowhere slower than the best single optimisation beyond the noise"
                    .to_owned(),
                some => format!("the best single optimisation is faster for {}", some.join(", ")),
            };
            Some(format!(
                "{what}: {} of the time with the best fixed settings on average, beyond the noise \
                 for {beyond} of {} applications; {singles}.",
                difference(slower),
                all.len()
            ))
        };
        let sentences: Vec<String> = TUNERS.into_iter().filter_map(sentence).collect();
        if sentences.is_empty() {
            "Nothing has been compared yet.".to_owned()
        } else {
            sentences.join(" ")
        }
    }

    fn is_behind_a_single(&self, app: &str, what: &'static str) -> bool {
        let slower = || {
            let single = self.best_single(app)?.what;
            let [ours, single] = [what, single].map(|part| played(self.results, app, part));
            let ratios = self.results.ratios(&ours?, &single?, "wall_s");
            Some(ratios.iter().map(|ratio| ratio - 1.0).collect::<Vec<f64>>())
        };
        slower().is_some_and(|slower| is_beyond(&slower, 0.0) && median(&slower) > Some(0.0))
    }

    fn plot(&self) -> Plot {
        let mut plot = Plot::new("combined", "Improvement over the best baseline", Form::Bars)
            .axes("application", "performance improvement, %")
            .over(self.applications.clone());
        for what in self.shown() {
            let roles = || self.applications.iter().map(|app| self.role(app, what));
            let values = roles().map(|role| role?.over_baseline_percent).collect();
            let spreads = roles().map(|role| role?.over_baseline_spread_percent).collect();
            plot = plot.with(Series::new(what, values).spreads(spreads));
        }
        // The label of the comparison's base where no optimisation improves on it.
        let zero =
            self.applications.iter().map(|app| self.measured(app, BASELINE).map(|_| 0.0)).collect();
        if plot.is_empty() { plot.with(Series::new(BASELINE, zero)) } else { plot }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openskel::ended;
    use crate::openskel::search::{AGAIN, AND, FOUND, labels};
    use crate::results::Sample;
    use sinew_policy::worklist::Settings;

    /// The same times in every round, except those of the tuner.
    fn results(tuned_s: [f64; 3]) -> Results {
        let again = |what: &str, settings, wall_s| {
            let fixed: &str = settings;
            let ended = fixed.split(", scatter").next().and_then(|text| text.parse().ok());
            let ended = ended.unwrap_or(Settings::baseline(2).stealing(true));
            let metrics = [vec![("wall_s", wall_s)], ended::metrics(ended)].concat();
            (labels("kmeans", AGAIN, what, settings), metrics)
        };
        let mut results = Results::of_rounds(
            3,
            [
                again(BASELINE, "2 threads, scatter, first touch", 2.0),
                again(&FOUND.join(AND), "2 threads, stealing, swap 2, scatter, first touch", 1.0),
                again("stealing", "2 threads, stealing, scatter, first touch", 1.25),
                again("coalescing", "2 threads, coalescing, scatter, first touch", 1.5),
            ],
        );
        for (round, tuned_s) in tuned_s.into_iter().enumerate() {
            let (labels, metrics) = again(TUNED, "auto", tuned_s);
            results.push(Sample { round, labels, metrics });
        }
        results
    }

    fn parts(tuned_s: f64) -> Vec<Part> {
        experiment().report(&results([tuned_s; 3]), &Setting::new(Scale::Quick, 2))
    }

    fn words(tuned_s: [f64; 3]) -> String {
        match &experiment().report(&results(tuned_s), &Setting::new(Scale::Quick, 2))[4] {
            Part::Words(words) => words.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Catches: an improvement over something else than the baseline, a best single that is not
    /// the best, an average that is none.
    #[test]
    fn improvements_are_over_the_best_baseline() {
        let all = parts(1.6);
        let Part::Table(table) = &all[0] else { panic!("{all:?}") };
        let row = table.shown(&["kmeans"]);
        assert!(row[1].starts_with("stealing: 2 threads, stealing"), "{row:?}");
        assert_eq!(
            (row[2].as_str(), row[3].as_str(), row[5].as_str(), row[6].as_str()),
            ("60.0", "100", "100", "25")
        );
        assert_eq!(table.shown(&["average"])[6], "25");
    }

    /// Catches: a case with two parts that has two figures, and sets that are those of others.
    #[test]
    fn equal_settings_have_equal_figures_and_the_sets_of_tuned_runs_are_compared() {
        let all = parts(1.6);
        let [_, Part::Table(details), Part::Table(sets), Part::Words(search), ..] = &all[..] else {
            panic!("{all:?}")
        };
        let [one, other] = FOUND.map(|part| details.shown(&["kmeans", part])[2..].to_vec());
        assert_eq!(one, other);
        assert_eq!(details.shown(&["kmeans", TUNED])[4], "2 threads, stealing (3 of 3)");
        assert_eq!(sets.shown(&["kmeans", TUNED])[2..], ["WS+SR", "WS", "0", "3"]);
        assert!(search.contains("coarse"), "{search}");
    }

    /// Catches: a tuner that is worse than a single optimisation, without a remark.
    #[test]
    fn a_tuner_that_is_beaten_is_named() {
        let slow = words([1.6; 3]);
        assert!(slow.contains("+60.0 %") && slow.contains("faster for kmeans"), "{slow}");
        let good = words([1.02; 3]);
        assert!(good.contains("+2.0 %") && good.contains("nowhere slower"), "{good}");
    }

    /// Catches: a tuner that is beaten in the median of rounds that do not agree.
    #[test]
    fn a_tuner_that_is_beaten_in_some_rounds_only_is_not_named() {
        let words = words([1.3, 0.9, 1.3]);
        assert!(words.contains("nowhere slower"), "{words}");
        assert!(words.contains("beyond the noise for 0 of 1 applications"), "{words}");
    }
}
