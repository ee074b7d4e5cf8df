//! The best fixed settings of one application: what `sinew-lab oracle` runs.

use std::path::PathBuf;

use serde::Serialize;
use sinew_apps::App;

use super::bench::Bench;
use super::ended;
use super::search::{AGAIN, AND, BASELINE, FOUND, ORACLE, SEARCH, SINGLES, Search, TUNERS, space};
use super::{OTHER_MACHINE, THREADS_ARE_FEW, conditions};
use crate::experiment::{About, Experiment};
use crate::failure::Failure;
use crate::report::{Form, Part, Plot, Series, Table, cell};
use crate::results::{Results, Sample};
use crate::setting::Setting;
use crate::statistics::{is_beyond, mean, median, spread};
use crate::worklists::Worklists;

/// Rows of the table of the best.
const BEST: usize = 10;

/// The thoroughness of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Whether fewer choices are tried: [few numbers](Effort::QUICK) of threads, retries and words.
    pub is_coarse: bool,
    /// Number of runs of each choice.
    pub runs: usize,
    /// Number of further runs of the compared choices.
    pub again: usize,
}

impl Effort {
    /// Shows that everything works.
    pub const QUICK: Self = Self { is_coarse: true, runs: 1, again: 3 };

    /// All choices, with this number of runs each.
    pub fn full(runs: usize) -> Self {
        Self { is_coarse: false, runs, again: runs.max(10) }
    }
}

/// A search for the best fixed settings of one application's worklist, and the tuner beside them.
#[derive(Debug)]
pub struct Oracle(Search);

impl Oracle {
    /// A search on `cores` cores.
    ///
    /// # Errors
    ///
    /// If the application has no worklist: one line with the way out.
    pub fn new(
        app: &App,
        size: &str,
        path: Option<PathBuf>,
        cores: usize,
        effort: Effort,
        worklists: Worklists,
    ) -> Result<Self, Failure> {
        let Effort { is_coarse, runs, again } = effort;
        if !app.has_worklist {
            let all = sinew_apps::all().iter().filter(|app| app.has_worklist);
            let names: Vec<&str> = all.map(|app| app.name).collect();
            let (name, names) = (app.name, names.join(", "));
            return Err(Failure::Impossible(format!(
                "{name} has no worklist to tune: choose one of {names}"
            )));
        }
        let (space, whole) = space(cores, is_coarse, worklists.knobs.longest_lifespan);
        Ok(Self(Search {
            app: app.name,
            size: size.to_owned(),
            path,
            space,
            whole,
            runs,
            again,
            worklists,
        }))
    }

    /// The application.
    pub fn app(&self) -> &'static str {
        self.0.app
    }

    /// The search as an experiment of the application's name.
    pub fn experiment(&self) -> Experiment {
        let about = About {
            name: self.0.app,
            title: "the best fixed settings of its worklist, and the tuner beside them",
            publication: super::PUBLICATION,
            place: "section 6.3 (the static oracle)",
            caveats: &[THREADS_ARE_FEW, OTHER_MACHINE],
            repeat: [self.0.runs; 3],
        };
        let (blocks, reported, size) = (self.0.clone(), self.0.clone(), self.0.size.clone());
        let report = move |results: &Results, _: &Setting| report(&reported, results);
        Experiment::new(about, move |_| blocks.clone().blocks().into(), report)
            .sized(move |_| size.clone())
            .under(conditions)
    }

    /// Makes the input, and forgets it: so that an impossible size is said before anything is run.
    ///
    /// # Errors
    ///
    /// If there is no such size or file, or not enough memory.
    pub fn check(&self) -> Result<(), Failure> {
        Bench::listed(self.0.app, &self.0.size, self.0.path.clone(), self.0.worklists).map(drop)
    }

    /// The machine-readable results.
    pub fn summary(&self, results: &Results) -> Summary {
        let app = self.0.app;
        let chosen = ranked(results, app).into_iter();
        let chosen = chosen.map(|Ranked { settings, median_s, spread_s, runs }| Chosen {
            settings,
            median_s,
            spread_s,
            runs,
        });
        Summary {
            application: app,
            size: self.0.size.clone(),
            cores: self.0.space.cores,
            exhaustive: self.0.is_exhaustive(),
            choices: self.0.whole,
            search: chosen.collect(),
            again: roles().filter_map(|what| compared(results, app, what)).collect(),
        }
    }
}

/// The results of a search.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// The application.
    pub application: &'static str,
    /// Its size, as requested.
    pub size: String,
    /// The cores that runs could use.
    pub cores: usize,
    /// Whether all fixed settings were tried, so that the best of them are the static oracle.
    pub exhaustive: bool,
    /// The number of all fixed settings.
    pub choices: usize,
    /// The fixed settings that were tried, the best first.
    pub search: Vec<Chosen>,
    /// The pick, the tuner and others, measured again in turn.
    pub again: Vec<Compared>,
}

/// Settings, and how long they took in the search.
#[derive(Debug, Serialize)]
pub struct Chosen {
    /// As text.
    pub settings: String,
    /// The median, in seconds.
    pub median_s: f64,
    /// Half the distance of the quartiles, in seconds.
    pub spread_s: Option<f64>,
    /// Number of these runs.
    pub runs: usize,
}

impl Summary {
    /// The time of `what`, divided by that of the best fixed settings.
    pub fn of_best(&self, what: &str) -> Option<f64> {
        self.again.iter().find(|row| row.what == what)?.of_best
    }

    /// The lowest ratio of those that use a single optimisation.
    pub fn best_single(&self) -> Option<f64> {
        let singles = SINGLES.iter().filter_map(|(name, _)| self.of_best(name));
        singles.min_by(f64::total_cmp)
    }
}

/// The results of several applications beside their best fixed settings: a row each, and the means.
pub fn averages(summaries: &[Summary]) -> Table {
    let mut table =
        Table::new("averages", "Time of the best fixed settings', measured again in turn");
    let titles = [TUNERS[0], TUNERS[1], TUNERS[2], "best single", BASELINE];
    let values = |summary: &Summary| {
        let [published, accepted, throughput] = TUNERS.map(|what| summary.of_best(what));
        [published, accepted, throughput, summary.best_single(), summary.of_best(BASELINE)]
    };
    let rows: Vec<_> = summaries.iter().map(values).collect();
    let mean_of = |at: usize| {
        let known: Vec<f64> = rows.iter().filter_map(|row| row[at]).collect();
        mean(&known)
    };
    let means = std::array::from_fn(mean_of);
    let names = summaries.iter().map(|summary| summary.application);
    for (name, values) in names.zip(rows.iter().copied()).chain([("mean", means)]) {
        let cells = titles.into_iter().zip(values).map(|(title, value)| cell(title, value));
        table.row([cell("application", name)].into_iter().chain(cells));
    }
    table
}

/// Something that was measured again, beside the best fixed settings.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// The name of the choice.
    pub what: &'static str,
    /// Its settings as text; `auto` for the tuner.
    pub settings: String,
    /// The median, in seconds.
    pub median_s: f64,
    /// The settings that most of its runs ended with, and how many did: what a tuner came to.
    pub ended_with: Option<String>,
    /// The median over the rounds of its time divided by that of the best fixed settings.
    pub of_best: Option<f64>,
    /// Half the distance of the quartiles of that.
    pub of_best_spread: Option<f64>,
    /// Whether three rounds at least, and three quarters of all, say the same: longer than
    /// with the best fixed settings, or shorter.
    pub of_best_beyond_noise: bool,
    /// Gain over the baseline in per cent: the median over the rounds.
    pub over_baseline_percent: Option<f64>,
    /// Half the distance of the quartiles of that.
    pub over_baseline_spread_percent: Option<f64>,
    /// Attempts given up, as a part of all.
    pub abort_ratio: Option<f64>,
    /// The part of the run until the tuner had settled, in per cent.
    pub settling_percent: Option<f64>,
    /// The tuner's part of the processor time, in per cent.
    pub tuning_percent: Option<f64>,
}

struct Ranked {
    settings: String,
    median_s: f64,
    spread_s: Option<f64>,
    runs: usize,
}

/// All settings of an application's search, the fastest first.
fn ranked(results: &Results, app: &str) -> Vec<Ranked> {
    let mut names: Vec<&str> = Vec::new();
    for sample in results.samples() {
        if let [(_, of), (_, stage), (_, what), ..] = &sample.labels[..]
            && (of.as_str(), stage.as_str()) == (app, SEARCH)
            && !names.contains(&what.as_str())
        {
            names.push(what);
        }
    }
    let ranked = |name: &str| {
        let times =
            results.values(&[("application", app), ("stage", SEARCH), ("what", name)], "wall_s");
        let (median_s, spread_s) = (median(&times)?, spread(&times));
        Some(Ranked { settings: name.to_owned(), median_s, spread_s, runs: times.len() })
    };
    let mut all: Vec<Ranked> = names.into_iter().filter_map(ranked).collect();
    all.sort_by(|one, other| one.median_s.total_cmp(&other.median_s));
    all
}

/// The choices that are measured again, in the order of the tables.
pub(crate) fn roles() -> impl Iterator<Item = &'static str> {
    let singles = SINGLES.iter().map(|(name, _)| *name);
    ORACLE.into_iter().chain(FOUND).chain(TUNERS).chain([BASELINE]).chain(singles)
}

/// The labels of the case that was measured again and plays this part.
pub(super) fn played<'a>(
    results: &'a Results,
    app: &'a str,
    part: &str,
) -> Option<[(&'a str, &'a str); 3]> {
    let label = |sample: &'a Sample, wanted: &str| {
        sample.labels.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.as_str())
    };
    let again = results.samples().iter().filter(|sample| {
        label(sample, "application") == Some(app) && label(sample, "stage") == Some(AGAIN)
    });
    let mut parts = again.filter_map(|sample| label(sample, "what"));
    let what = parts.find(|parts| parts.split(AND).any(|other| other == part))?;
    Some([("application", app), ("stage", AGAIN), ("what", what)])
}

/// The labels of a search's pick.
pub(super) fn picked<'a>(results: &'a Results, app: &'a str) -> Option<[(&'a str, &'a str); 3]> {
    [ORACLE, FOUND].into_iter().find_map(|[pick, _]| played(results, app, pick))
}

/// How many of the runs that are `what` ended with the set of optimisations of the pick, of how
/// many; and both sets, the one that most of these runs ended with last.
pub(super) fn sets(
    results: &Results,
    app: &str,
    what: &str,
) -> Option<([usize; 2], [ended::Set; 2])> {
    let (pick, this) = (picked(results, app)?, played(results, app, what)?);
    let (wanted, usual) = (ended::set(results, &pick)?, ended::set(results, &this)?);
    let (same, runs) = ended::runs_with(results, &this, wanted);
    Some(([same, runs], [wanted, usual]))
}

pub(crate) fn compared(results: &Results, app: &str, what: &'static str) -> Option<Compared> {
    let this = played(results, app, what)?;
    let ratios = |of: Option<[(&str, &str); 3]>, to: Option<[(&str, &str); 3]>| {
        of.zip(to).map_or_else(Vec::new, |(of, to)| results.ratios(&of, &to, "wall_s"))
    };
    let median_s = results.median(&this, "wall_s")?;
    let of_best = ratios(Some(this), picked(results, app));
    let differences: Vec<f64> = of_best.iter().map(|ratio| ratio - 1.0).collect();
    let baseline = ratios(played(results, app, BASELINE), Some(this));
    let sample = results.samples().iter().find(|sample| sample.is(&this));
    let settings =
        sample.and_then(|sample| sample.labels.iter().find(|(name, _)| *name == "settings"));
    Some(Compared {
        what,
        settings: settings.map(|(_, value)| value.clone()).unwrap_or_default(),
        median_s,
        ended_with: ended::usual(results, &this).filter(|_| TUNERS.contains(&what)),
        of_best: median(&of_best),
        of_best_spread: spread(&of_best),
        of_best_beyond_noise: is_beyond(&differences, 0.0),
        over_baseline_percent: median(&baseline).map(|ratio| (ratio - 1.0) * 100.0),
        over_baseline_spread_percent: spread(&baseline).map(|spread| spread * 100.0),
        abort_ratio: results.median(&this, "abort_ratio"),
        settling_percent: results.median(&this, "settling_share").map(|share| share * 100.0),
        tuning_percent: results.median(&this, "tuning_share").map(|share| share * 100.0),
    })
}

fn report(search: &Search, results: &Results) -> Vec<Part> {
    let app = search.app;
    let intro = format!(
        "{} Each was run {} times; the compared choices were then run {} times more, in turn.",
        search.words(),
        search.runs,
        search.again,
    );
    vec![
        Part::Words(intro),
        Part::Table(best(results, app)),
        Part::Table(again(results, app)),
        Part::verdict(results.rounds(), || verdict(results, app)),
        Part::Plot(plot(results, app)),
    ]
}

fn best(results: &Results, app: &str) -> Table {
    let mut table = Table::new("search", "The best fixed settings, as the search saw them");
    let ranked = ranked(results, app);
    let first = ranked.first().map(|first| first.median_s);
    for Ranked { settings, median_s, spread_s, .. } in ranked.into_iter().take(BEST) {
        table.row([
            cell("settings", settings),
            cell("seconds", median_s),
            cell("±", spread_s),
            cell("of the best", first.map(|best| median_s / best)),
        ]);
    }
    table
}

fn again(results: &Results, app: &str) -> Table {
    let mut table = Table::new("again", "Measured again, in turn");
    for row in roles().filter_map(|what| compared(results, app, what)) {
        table.row([
            cell("what", row.what),
            cell("settings", row.settings),
            cell("seconds", row.median_s),
            cell("ended with", row.ended_with),
            cell("of the best fixed", row.of_best),
            cell("±", row.of_best_spread),
            cell("over the baseline, %", row.over_baseline_percent),
            cell("aborts / attempts", row.abort_ratio),
            cell("settled after, % of the run", row.settling_percent),
            cell("tuner, % of processor time", row.tuning_percent),
        ]);
    }
    table
}

fn verdict(results: &Results, app: &str) -> String {
    let sentence = |what| {
        let Compared { of_best, of_best_spread, of_best_beyond_noise, .. } =
            compared(results, app, what)?;
        let spread = of_best_spread.map_or_else(String::new, |spread| format!(" ± {spread:.3}"));
        let sets =
            sets(results, app, what).map_or_else(String::new, |([same, runs], [wanted, _])| {
                format!("; {same} of {runs} runs ended with their optimisations ({wanted})")
            });
        Some(format!(
            "The run that is {what} took {:.3}{spread} times as long as the best fixed settings, \
             {} the noise{sets}.",
            of_best?,
            if of_best_beyond_noise { "beyond" } else { "within" }
        ))
    };
    let sentences: Vec<String> = TUNERS.into_iter().filter_map(sentence).collect();
    if sentences.is_empty() {
        "Nothing has been compared yet.".to_owned()
    } else {
        sentences.join(" ")
    }
}

fn plot(results: &Results, app: &str) -> Plot {
    let rows: Vec<Compared> = roles().filter_map(|what| compared(results, app, what)).collect();
    let names = rows.iter().map(|row| row.what.to_owned()).collect();
    let values = rows.iter().map(|row| row.of_best).collect();
    let spreads = rows.iter().map(|row| row.of_best_spread).collect();
    Plot::new("again", format!("{app}: time of the best fixed settings'"), Form::Bars)
        .axes("what", "time / the best fixed settings'")
        .over(names)
        .level(1.0)
        .with(Series::new("time", values).spreads(spreads))
}

#[cfg(test)]
mod tests {
    use super::super::search::TUNED;
    use super::*;
    use crate::openskel::search::labels;
    use crate::setting::Scale;
    use sinew_policy::worklist::Settings;

    fn oracle_of(app: &App) -> Result<Oracle, Failure> {
        Oracle::new(app, "tiny", None, 2, Effort::QUICK, Worklists::default())
    }

    fn oracle() -> Oracle {
        oracle_of(sinew_apps::find("kmeans").unwrap()).unwrap()
    }

    /// The tuned run takes so many times as long as the best fixed settings in each round.
    fn results(tuned: &[f64]) -> Results {
        let mut results = Results::default();
        let mut push = |round, stage, what: &str, settings: &str, wall_s| {
            let labels = labels("kmeans", stage, what, settings);
            let mut metrics = vec![("wall_s", wall_s), ("abort_ratio", 0.25)];
            // The tuner comes to the settings of the pick in the first round only.
            let is_stealing = !(what == TUNED && round > 0);
            metrics.extend(ended::metrics(Settings::baseline(2).stealing(is_stealing)));
            results.push(Sample { round, labels, metrics });
        };
        for (round, tuned) in tuned.iter().enumerate() {
            let slower = [1.0, 10.0, 3.0][round];
            push(round, SEARCH, "1 thread", "1 thread", 3.0 * slower);
            push(round, SEARCH, "2 threads", "2 threads", 2.0 * slower);
            push(round, AGAIN, &[FOUND[0], "stealing"].join(AND), "2 threads", 2.0 * slower);
            push(round, AGAIN, TUNED, "auto", 2.0 * tuned * slower);
            push(round, AGAIN, BASELINE, "2 threads", 4.0 * slower);
        }
        results
    }

    /// Catches: a ratio that a machine which slows down spoils, a list that does not begin with
    /// the best, times of the search that are compared.
    #[test]
    fn the_tuner_is_compared_with_the_best_fixed_settings_round_by_round() {
        let results = results(&[1.05; 3]);
        let summary = oracle().summary(&results);
        assert_eq!(summary.search[0].settings, "2 threads");
        assert_eq!(summary.search.len(), 2);
        let tuned = summary.again.iter().find(|row| row.what == TUNED).unwrap();
        assert!(
            (tuned.of_best.unwrap() - 1.05).abs() < 1e-12 && tuned.of_best_spread.unwrap() < 1e-12
        );
        assert!((tuned.over_baseline_percent.unwrap() - 100.0 * (4.0 / 2.1 - 1.0)).abs() < 1e-9);
        assert_eq!(tuned.settings, "auto");
        assert_eq!(tuned.ended_with.as_deref(), Some("2 threads (2 of 3)"));
        let [pick, single] =
            [FOUND[0], "stealing"].map(|what| summary.again.iter().find(|row| row.what == what));
        assert_eq!(pick.unwrap().median_s, single.unwrap().median_s);
        assert!(!summary.exhaustive && summary.choices > 2);
        let words = words(&results);
        assert!(words.contains("tuned took 1.050 ± 0.000"), "{words}");
        assert!(words.contains("1 of 3 runs ended with their optimisations (WS)"), "{words}");
    }

    fn words(results: &Results) -> String {
        let parts = oracle().experiment().report(results, &Setting::new(Scale::Quick, 2));
        match &parts[4] {
            Part::Words(words) => words.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Catches: a verdict from two rounds, and one of rounds that do not agree.
    #[test]
    fn the_tuner_is_judged_from_three_rounds_that_agree() {
        assert!(words(&results(&[1.05; 2])).starts_with("No verdict"));
        assert!(words(&results(&[1.05; 3])).contains("settings, beyond the noise"));
        assert!(words(&results(&[1.05, 0.98, 1.2])).contains("settings, within the noise"));
    }

    /// Catches: a mean over something else than the applications, and a gap that counts as a
    /// value.
    #[test]
    fn applications_are_averaged() {
        let results = results(&[1.05; 2]);
        let summary = oracle().summary(&results);
        assert_eq!(summary.best_single(), Some(1.0));
        let table = averages(&[oracle().summary(&results), summary]);
        let text = table.markdown();
        let last = text.lines().rfind(|line| line.contains("mean")).unwrap();
        assert!(last.contains("1.05") && text.matches("kmeans").count() == 2, "{text}");
    }

    /// Catches: an application that has nothing to tune, found out in the middle.
    #[test]
    fn an_application_without_a_worklist_is_refused() {
        let fib = sinew_apps::find("fib").unwrap();
        let message = oracle_of(fib).unwrap_err().to_string();
        assert!(message.contains("fib has no worklist") && message.contains("kmeans"), "{message}");
    }
}
