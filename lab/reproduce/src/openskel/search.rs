//! The search for the best fixed settings, and the second measurement of what it picks.
//!
//! All choices of a space are run in turn, round after round. The best of many medians is as much
//! luck as merit. So the best choice is measured again, in turn with the others of the comparison,
//! and only these runs are compared. A choice that plays several parts there, such as the oracle
//! and the best single optimisation, is one case: equal settings have equal figures.
//!
//! Only a search of the whole space has the static oracle as its result. The result of a coarse one
//! is named the best of the search.
//!
//! Source: Góes, "Automatic Skeleton-Driven Performance Optimizations for Transactional Memory"
//! (2012), section 6.3. Differences: the second measurement.

use std::cell::{OnceCell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;

use sinew::worklist::{Baseline, Knobs, Method};
use sinew_policy::worklist::{Choice, Mapping, Pages, Space};
use sinew_topology::Machine;

use super::bench::{Bench, Way};
use crate::experiment::{Block, Case};
use crate::failure::Failure;
use crate::results::Labels;
use crate::statistics::median;
use crate::worklists::Worklists;

/// The space of a search, and its thoroughness.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    pub(crate) app: &'static str,
    pub(crate) size: String,
    pub(crate) path: Option<PathBuf>,
    pub(crate) space: Space,
    /// The number of choices of the whole space.
    pub(crate) whole: usize,
    /// Rounds of the search.
    pub(crate) runs: usize,
    /// Rounds of the second measurement.
    pub(crate) again: usize,
    pub(crate) worklists: Worklists,
}

/// The labels' values for the two stages.
pub(crate) const SEARCH: &str = "search";
pub(crate) const AGAIN: &str = "again";

/// The names of the choices that are measured again, as in tables: the pick of a whole search and
/// of a coarse one, each from all choices and from those with the baseline's mapping and pages.
pub(crate) const ORACLE: Picks = ["oracle", "oracle, patterns only"];
pub(crate) const FOUND: Picks = ["best of the search", "best of the search, patterns only"];
pub(crate) const TUNED: &str = "tuned";
pub(crate) const ACCEPTED: &str = "tuned, accepted baseline";
pub(crate) const THROUGHPUT: &str = "tuned, by throughput";

/// The tuners that are compared: the published one first.
pub(crate) const TUNERS: [&str; 3] = [TUNED, ACCEPTED, THROUGHPUT];
pub(crate) const BASELINE: &str = "baseline";

/// The names of a search's picks.
pub(crate) type Picks = [&'static str; 2];

/// Between the parts that one case plays.
pub(crate) const AND: &str = " = ";

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

/// A search of the whole space, or of its coarse part, on `cores` cores, and the number of choices
/// of the whole space.
pub(crate) fn space(cores: usize, is_coarse: bool, longest_lifespan: u32) -> (Space, usize) {
    let whole = Space::full(cores, Machine::host().nodes().len(), longest_lifespan);
    let choices = whole.choices().count();
    (if is_coarse { coarse(whole) } else { whole }, choices)
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

impl Found {
    /// The choices that are measured again, each once, with the parts that it plays.
    fn cast(&self, [pick, patterns]: Picks) -> Vec<(Choice, Vec<&'static str>)> {
        let single = |at: usize| (SINGLES[at].0, self.best(|choice| has_only(choice, at)));
        let parts = [
            (pick, self.best(|_| true)),
            (patterns, self.best(is_plain)),
            (BASELINE, self.best(|choice| has_only(choice, SINGLES.len()))),
        ];
        let mut cast: Vec<(Choice, Vec<&'static str>)> = Vec::new();
        for (part, choice) in parts.into_iter().chain((0..SINGLES.len()).map(single)) {
            let Some(choice) = choice else { continue };
            match cast.iter_mut().find(|(other, _)| *other == choice) {
                Some((_, parts)) => parts.push(part),
                None => cast.push((choice, vec![part])),
            }
        }
        cast
    }
}

impl Search {
    /// Whether the whole space is searched.
    pub(crate) fn is_exhaustive(&self) -> bool {
        self.space.choices().count() == self.whole
    }

    /// The names of its picks.
    pub(crate) fn picks(&self) -> Picks {
        if self.is_exhaustive() { ORACLE } else { FOUND }
    }

    /// The number of choices that were tried, and what that makes of the best.
    pub(crate) fn words(&self) -> String {
        let (tried, whole, cores) = (self.space.choices().count(), self.whole, self.space.cores);
        if self.is_exhaustive() {
            format!("The search was exhaustive: all {tried} choices on {cores} cores.")
        } else {
            format!(
                "The search was coarse: {tried} of {whole} choices on {cores} cores. So its best \
                 is not the static oracle of the publication, whose search was exhaustive."
            )
        }
    }

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
        let prepared = Bench::listed(self.app, &self.size, self.path.clone(), self.worklists)?;
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
        let bench = bench.get().ok_or_else(nothing)?;
        let case = |what: &str, settings: String, way: Way| {
            let bench = bench.clone();
            Case::new(labels(self.app, AGAIN, what, &settings), move || bench.run(&way))
        };
        let tuned = |what| {
            let knobs = knobs_of(what, self.worklists.knobs);
            case(what, "auto".to_owned(), Way::Tuned { knobs, cores: self.space.cores })
        };
        let cast = found.cast(self.picks());
        if cast.is_empty() {
            return Err(nothing());
        }
        let fixed = cast
            .into_iter()
            .map(|(choice, parts)| case(&parts.join(AND), choice.to_string(), self.way(choice)));
        Ok(fixed.chain(TUNERS.map(tuned)).collect())
    }
}

/// The command-line name of one of the [`TUNERS`].
fn knobs_of(what: &str, usual: Knobs) -> Knobs {
    match what {
        ACCEPTED => Knobs { baseline: Baseline::Accepted, ..usual },
        THROUGHPUT => Knobs { method: Method::Throughput, ..usual },
        _ => usual,
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

    /// Catches: a choice that is measured twice because it plays two parts, which then has two
    /// figures, and a part that nobody plays.
    #[test]
    fn a_choice_with_several_parts_is_measured_once() {
        let found = Found::default();
        let baseline = plain(Settings::baseline(1));
        let stealing = plain(Settings::baseline(1).stealing(true));
        let slow = plain(Settings::baseline(2).stealing(true).coalescing(true));
        for (choice, wall_s) in [(baseline, 2.0), (stealing, 1.0), (slow, 3.0)] {
            found.add(choice, wall_s);
        }
        assert_eq!(
            found.cast(ORACLE),
            [(stealing, vec![ORACLE[0], ORACLE[1], "stealing"]), (baseline, vec![BASELINE]),]
        );
        assert!(Found::default().cast(ORACLE).is_empty());
    }

    /// Catches: a coarse search that passes for an exhaustive one.
    #[test]
    fn only_a_search_of_all_choices_finds_the_oracle() {
        let search = |is_coarse| {
            let (space, whole) = space(4, is_coarse, 10_000);
            Search {
                app: "kmeans",
                size: "tiny".to_owned(),
                path: None,
                space,
                whole,
                runs: 1,
                again: 1,
                worklists: Worklists::default(),
            }
        };
        assert_eq!((search(false).picks(), search(true).picks()), (ORACLE, FOUND));
        assert!(search(false).words().contains("exhaustive: all"));
        let words = search(true).words();
        assert!(words.contains("coarse") && words.contains("is not the static oracle"), "{words}");
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
