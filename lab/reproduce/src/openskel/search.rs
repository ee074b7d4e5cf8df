//! The static oracle's search, and the second measurement of what it picks.
//!
//! All choices of a space are run in turn, round after round. The best of many medians is as much
//! luck as merit. So the best choice is measured again, in turn with the others of the comparison,
//! and only these runs are compared.
//!
//! Source: Góes, "Automatic Skeleton-Driven Performance Optimizations for Transactional Memory"
//! (2012), section 6.3. Differences: the second measurement.

use std::cell::{OnceCell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;

use sinew::worklist::{Baseline, Knobs, Method};
use sinew_policy::worklist::{Choice, Mapping, Pages, Space};

use super::bench::{Bench, Way};
use crate::experiment::{Block, Case};
use crate::failure::Failure;
use crate::results::Labels;
use crate::statistics::median;

/// The space of a search, and its thoroughness.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    pub(crate) app: &'static str,
    pub(crate) size: String,
    pub(crate) path: Option<PathBuf>,
    pub(crate) space: Space,
    /// Rounds of the search.
    pub(crate) runs: usize,
    /// Rounds of the second measurement.
    pub(crate) again: usize,
}

/// The labels' values for the two stages.
pub(crate) const SEARCH: &str = "search";
pub(crate) const AGAIN: &str = "again";

/// The names of the choices that are measured again, as in tables.
pub(crate) const ORACLE: &str = "oracle";
pub(crate) const PATTERNS: &str = "oracle, patterns only";
pub(crate) const TUNED: &str = "tuned";
pub(crate) const ACCEPTED: &str = "tuned, accepted baseline";
pub(crate) const THROUGHPUT: &str = "tuned, by throughput";

/// The tuners that are compared: the published one first.
pub(crate) const TUNERS: [&str; 3] = [TUNED, ACCEPTED, THROUGHPUT];
pub(crate) const BASELINE: &str = "baseline";

/// Whether a choice uses an optimisation.
type Uses = fn(&Choice) -> bool;

/// Optimisations that can be used alone, as they are called in tables.
pub(crate) const SINGLES: [(&str, Uses); 7] = [
    ("stealing", |choice| choice.settings.stealing),
    ("coalescing", |choice| choice.settings.coalescing),
    ("swap retry", |choice| choice.settings.swap_after.is_some()),
    ("helpers", |choice| choice.settings.lifespan > 0),
    ("compact", |choice| choice.mapping == Mapping::Compact),
    ("cyclic", |choice| choice.pages == Pages::Cyclic),
    ("bind local", |choice| choice.pages == Pages::BindLocal),
];

/// The part of a space that a coarse search tries: numbers of workers that double, one number of
/// retries, one lifespan.
pub(crate) fn coarse(space: Space) -> Space {
    let cores = space.cores;
    let threads =
        (0..).map(|power| 1_usize << power).take_while(|&threads| threads < cores).chain([cores]);
    Space {
        threads: threads.collect(),
        retries: vec![None, Some(2)],
        lifespans: vec![0, 1_000],
        ..space
    }
}

/// A choice and how long it took.
type Timed = (Choice, Vec<f64>);

/// The results of one application's search so far.
#[derive(Debug, Default)]
struct Found(RefCell<Vec<Timed>>);

impl Found {
    fn add(&self, choice: Choice, wall_s: f64) {
        let mut all = self.0.borrow_mut();
        match all.iter_mut().find(|(other, _)| *other == choice) {
            Some((_, times)) => times.push(wall_s),
            None => all.push((choice, vec![wall_s])),
        }
    }

    /// The fastest of those that fit.
    fn best(&self, fits: impl Fn(&Choice) -> bool) -> Option<Choice> {
        let all = self.0.borrow();
        let medians = all.iter().filter(|(choice, _)| fits(choice));
        let medians = medians.filter_map(|(choice, times)| Some((*choice, median(times)?)));
        medians.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(choice, _)| choice)
    }
}

fn is_plain(choice: &Choice) -> bool {
    choice.mapping == Mapping::Scatter && choice.pages == Pages::FirstTouch
}

/// Whether a choice has no optimisation but these: the number of workers is none.
fn has_only(choice: &Choice, wanted: usize) -> bool {
    let used = SINGLES.iter().map(|(_, uses)| uses(choice));
    used.enumerate().all(|(at, used)| used == (at == wanted))
}

pub(crate) fn labels(app: &str, stage: &str, what: &str, settings: &str) -> Labels {
    let label = |name, value: &str| (name, value.to_owned());
    vec![
        label("application", app),
        label("stage", stage),
        label("what", what),
        label("settings", settings),
    ]
}

impl Search {
    /// The search, and then the second measurement.
    pub(crate) fn blocks(self) -> [Block; 2] {
        let (found, bench) = (Rc::<Found>::default(), Rc::<OnceCell<Bench>>::default());
        let (search, names) = (Rc::new(self), [SEARCH, AGAIN]);
        let [searching, again] = names.map(|stage| format!("{} {stage}", search.app));
        let cases = {
            let (search, found, bench) = (Rc::clone(&search), Rc::clone(&found), Rc::clone(&bench));
            move || search.first(&found, &bench)
        };
        let rounds = (search.runs, search.again);
        [
            Block::new(searching, cases).rounds(rounds.0),
            Block::new(again, move || search.second(&found, &bench)).rounds(rounds.1),
        ]
    }

    fn first(&self, found: &Rc<Found>, bench: &OnceCell<Bench>) -> Result<Vec<Case>, Failure> {
        let prepared = Bench::listed(self.app, &self.size, self.path.clone())?;
        let bench = bench.get_or_init(|| prepared);
        let case = |choice: Choice| {
            let (bench, found, way) = (bench.clone(), Rc::clone(found), self.way(choice));
            let text = choice.to_string();
            Case::new(labels(self.app, SEARCH, &text, &text), move || {
                let metrics = bench.run(&way)?;
                metrics
                    .iter()
                    .filter(|(name, _)| *name == "wall_s")
                    .for_each(|&(_, wall_s)| found.add(choice, wall_s));
                Ok(metrics)
            })
        };
        Ok(self.space.choices().map(case).collect())
    }

    fn way(&self, choice: Choice) -> Way {
        Way::Fixed { choice, cores: self.space.cores }
    }

    fn second(&self, found: &Found, bench: &OnceCell<Bench>) -> Result<Vec<Case>, Failure> {
        let nothing = || {
            Failure::Impossible("nothing could be run, so there is nothing to compare".to_owned())
        };
        let (bench, best) =
            (bench.get().ok_or_else(nothing)?, found.best(|_| true).ok_or_else(nothing)?);
        let case = |what: &str, settings: String, way: Way| {
            let bench = bench.clone();
            Case::new(labels(self.app, AGAIN, what, &settings), move || bench.run(&way))
        };
        let fixed = |what: &str, choice: Choice| case(what, choice.to_string(), self.way(choice));
        let tuned = |what| {
            let way = Way::Tuned { knobs: knobs_of(what), cores: self.space.cores };
            case(what, "auto".to_owned(), way)
        };
        let mut cases = vec![fixed(ORACLE, best)];
        cases.extend(TUNERS.map(tuned));
        let patterns = found.best(is_plain).filter(|&choice| choice != best);
        cases.extend(patterns.map(|choice| fixed(PATTERNS, choice)));
        let baseline = found.best(|choice| has_only(choice, SINGLES.len()));
        cases.extend(baseline.map(|choice| fixed(BASELINE, choice)));
        let single = |at: usize| {
            found.best(|choice| has_only(choice, at)).map(|choice| (SINGLES[at].0, choice))
        };
        cases.extend(
            (0..SINGLES.len()).filter_map(single).map(|(name, choice)| fixed(name, choice)),
        );
        Ok(cases)
    }
}

/// The command-line name of one of the [`TUNERS`].
fn knobs_of(what: &str) -> Knobs {
    match what {
        ACCEPTED => Knobs { baseline: Baseline::Accepted, ..Knobs::default() },
        THROUGHPUT => Knobs { method: Method::Throughput, ..Knobs::default() },
        _ => Knobs::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openskel::bench::plain;
    use sinew_policy::worklist::Settings;

    /// Catches: the fastest run instead of the fastest median, and a pick of what does not fit.
    #[test]
    fn the_pick_has_the_lowest_median_of_those_that_fit() {
        let found = Found::default();
        let (calm, lucky) =
            (plain(Settings::baseline(1)), plain(Settings::baseline(2).stealing(true)));
        [2.0, 2.1, 2.2].into_iter().for_each(|wall_s| found.add(calm, wall_s));
        [1.0, 9.0, 9.0].into_iter().for_each(|wall_s| found.add(lucky, wall_s));
        assert_eq!(found.best(|_| true), Some(calm));
        assert_eq!(found.best(|choice| has_only(choice, 0)), Some(lucky));
        assert_eq!(found.best(|choice| has_only(choice, 1)), None);
    }

    /// Catches: a combination that passes for a single optimisation, and one that no name is
    /// for.
    #[test]
    fn a_single_optimisation_is_alone() {
        let space = Space::full(4, 2, 10);
        for choice in space.choices() {
            let alone = (0..SINGLES.len()).filter(|&at| has_only(&choice, at)).count();
            let used = SINGLES.iter().filter(|(_, uses)| uses(&choice)).count();
            assert_eq!(alone, usize::from(used == 1), "{choice}");
            assert_eq!(has_only(&choice, SINGLES.len()), used == 0, "{choice}");
        }
    }

    /// Catches: a coarse search that is none, or leaves the number of cores out.
    #[test]
    fn a_coarse_search_keeps_the_ends() {
        let space = coarse(Space::full(6, 1, 10_000));
        assert_eq!(space.threads, [1, 2, 4, 6]);
        assert!(space.choices().count() * 8 < Space::full(6, 1, 10_000).choices().count());
    }
}
