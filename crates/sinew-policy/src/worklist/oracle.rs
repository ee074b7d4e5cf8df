//! The static oracle: all settings that an exhaustive search must try.
//!
//! A tuner is compared with the best fixed setting, found by an exhaustive search: threads ×
//! (stealing, coalescing, retries, lifespan) × mapping × pages. Many of these combinations run
//! exactly alike. The search tries one of each kind:
//!
//! | condition | what does not matter |
//! |---|---|
//! | a worker on every core | lifespan: 0, since helpers run on idle cores only |
//! | a worker on every core, or one worker, without helpers or on one of two cores | mapping: scatter, since the same cores are used |
//! | one worker | retries: no swaps, since nothing conflicts |
//! | one node | pages: first touch, since they are all on that node |
//!
//! With helpers on more than two cores the mapping matters even for one worker: it decides which
//! helpers share a cache with the worker that they help. The worklist itself does not choose: any
//! worker of the pool may help any other.
//!
//! Stealing and coalescing matter even for one worker: a private list needs no lock, and a
//! transaction of two units begins and commits once.
//!
//! Source: Góes (see the [module](super)), section 6.3, for the search, and section 7.2.1 for the
//! mapping that does not matter on all cores.
//!
//! # Invariants
//!
//! - O1: of each combination of the lists, either it or the one that runs exactly like it is
//!   returned once, and nothing else.
//!
//! # Tests
//!
//! Property tests for O1, and that the full space contains all results of the tuner; the numbers on
//! a small machine, counted by hand.

use std::collections::HashSet;
use std::fmt;

use super::helpers::lifespans;
use super::swap::{FEWEST, MOST};
use super::{Mapping, Pages, Settings};

/// A fixed value of every setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Choice {
    /// How units are run.
    pub settings: Settings,
    /// The mapping of threads to cores.
    pub mapping: Mapping,
    /// The placement of pages.
    pub pages: Pages,
}

/// The values of a search. Shorten the lists for a coarser search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// The cores for the runs. The mapping does not matter with a worker on each only if these are
    /// all.
    pub cores: usize,
    /// The NUMA nodes of these cores.
    pub nodes: usize,
    /// Numbers of workers; each is clamped to between 1 and the cores.
    pub threads: Vec<usize>,
    /// Retries before a swap, `None` for no swaps.
    pub retries: Vec<Option<u32>>,
    /// Lifespans of helper threads in words, 0 for none.
    pub lifespans: Vec<u32>,
    /// Mappings of threads to cores.
    pub mappings: Vec<Mapping>,
    /// Placements of pages.
    pub pages: Vec<Pages>,
}

impl Space {
    /// All values: each number of workers, each possible number of retries, each lifespan up to
    /// `longest_lifespan`, every mapping and placement. 0 cores count as 1.
    ///
    /// ```
    /// use sinew_policy::worklist::Space;
    ///
    /// let space = Space::full(2, 1, 10_000);
    /// assert_eq!((space.combinations(), space.choices().count()), (3_456, 72));
    /// ```
    pub fn full(cores: usize, nodes: usize, longest_lifespan: u32) -> Self {
        let retries = std::iter::successors(Some(FEWEST), |retries| Some(2 * retries));
        let retries = retries.take_while(|&retries| retries <= MOST).map(Some);
        Self {
            cores: cores.max(1),
            nodes,
            threads: (1..=cores.max(1)).collect(),
            retries: std::iter::once(None).chain(retries).collect(),
            lifespans: std::iter::once(0).chain(lifespans(longest_lifespan)).collect(),
            mappings: vec![Mapping::Scatter, Mapping::Compact],
            pages: vec![Pages::FirstTouch, Pages::Cyclic, Pages::BindLocal],
        }
    }

    /// The number of combinations of the lists, including those that run alike.
    pub fn combinations(&self) -> usize {
        let on_or_off = 2 * 2;
        self.threads.len()
            * self.retries.len()
            * self.lifespans.len()
            * self.mappings.len()
            * self.pages.len()
            * on_or_off
    }

    /// The combinations to try: each that runs differently, once, in no particular order.
    ///
    /// # Cost
    ///
    /// Linear in the combinations, with memory for those that it returned.
    pub fn choices(&self) -> impl Iterator<Item = Choice> {
        let mut answered = HashSet::new();
        self.all().map(|choice| self.plain(choice)).filter(move |&choice| answered.insert(choice))
    }

    /// The combination that runs exactly like `choice`, with defaults for all that does not matter.
    pub fn plain(&self, choice: Choice) -> Choice {
        let Choice { mut settings, mut mapping, mut pages } = choice;
        settings.threads = settings.threads.clamp(1, self.cores.max(1));
        let everywhere = settings.threads == self.cores.max(1);
        let alone = settings.threads == 1;
        if everywhere {
            settings.lifespan = 0;
        }
        // With two cores the helper is on the one without the worker.
        let helpers_share = settings.lifespan > 0 && self.cores > 2;
        if everywhere || (alone && !helpers_share) {
            mapping = Mapping::Scatter;
        }
        if alone {
            settings.swap_after = None;
        }
        if self.nodes <= 1 {
            pages = Pages::FirstTouch;
        }
        Choice { settings, mapping, pages }
    }

    fn all(&self) -> impl Iterator<Item = Choice> {
        self.all_settings().flat_map(move |settings| {
            self.mappings.iter().flat_map(move |&mapping| {
                self.pages.iter().map(move |&pages| Choice { settings, mapping, pages })
            })
        })
    }

    fn all_settings(&self) -> impl Iterator<Item = Settings> {
        let baselines = self.threads.iter().map(|&threads| Settings::baseline(threads));
        baselines
            .flat_map(|settings| [false, true].map(|stealing| settings.stealing(stealing)))
            .flat_map(|settings| [false, true].map(|coalescing| settings.coalescing(coalescing)))
            .flat_map(|settings| {
                self.retries.iter().map(move |&retries| settings.swap_after(retries))
            })
            .flat_map(|settings| {
                self.lifespans.iter().map(move |&lifespan| settings.lifespan(lifespan))
            })
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}", self.settings, self.mapping, self.pages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::{Counts, Knobs, Tuner};
    use proptest::prelude::*;
    use proptest::sample::subsequence;

    fn space() -> impl Strategy<Value = Space> {
        let full = Space::full(4, 2, 100);
        let lists = (
            subsequence(full.threads.clone(), 1..=4),
            subsequence(full.retries.clone(), 1..=3),
            subsequence(full.lifespans.clone(), 1..=3),
            subsequence(full.mappings.clone(), 1..=2),
            subsequence(full.pages, 1..=3),
        );
        (1..6_usize, 1..3_usize, lists).prop_map(|(cores, nodes, lists)| {
            let (threads, retries, lifespans, mappings, pages) = lists;
            Space { cores, nodes, threads, retries, lifespans, mappings, pages }
        })
    }

    proptest! {
        // A case enumerates thousands of choices.
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Catches: a combination that is left out, one that is tried twice, and one outside of the
        /// lists (O1).
        #[test]
        fn each_combination_or_its_like_is_tried_once(space in space()) {
            let tried: Vec<Choice> = space.choices().collect();
            let distinct: HashSet<Choice> = tried.iter().copied().collect();
            prop_assert_eq!(tried.len(), distinct.len());
            let wanted: HashSet<Choice> = space.all().map(|choice| space.plain(choice)).collect();
            prop_assert_eq!(&distinct, &wanted);
            prop_assert_eq!(space.all().count(), space.combinations());
            prop_assert!(tried.iter().all(|&choice| space.plain(choice) == choice));
        }

        /// Catches: settings that the tuner finds outside of the oracle's search.
        #[test]
        fn every_result_of_the_tuner_is_tried(
            cores in 1..7_usize,
            epochs in proptest::collection::vec((0..40_u64, 0..40_u64, 1..9_u64), 0..60),
        ) {
            let knobs = Knobs::default();
            let mut tuner = Tuner::new(cores, knobs).unwrap();
            let space = Space::full(cores, 2, knobs.longest_lifespan);
            let choices: HashSet<Choice> = space.choices().collect();
            for (aborts, stalls, elapsed_ns) in epochs {
                tuner.epoch(&Counts { commits: 20, aborts, stalls, elapsed_ns });
                let choice = Choice {
                    settings: tuner.settings(),
                    mapping: Mapping::Compact,
                    pages: Pages::Cyclic,
                };
                prop_assert!(choices.contains(&space.plain(choice)), "{}", choice);
            }
        }
    }

    /// Catches: a pruned combination that matters. Two workers on two cores leave 4 × 12 (no idle
    /// core, mapping and pages do not matter), one worker 4 × 6 without mapping or retries; on two
    /// nodes each three times, for the pages.
    #[test]
    fn the_choices_on_two_cores_are_those_that_differ() {
        let count = |nodes, threads: usize| {
            let space = Space { threads: vec![threads], ..Space::full(2, nodes, 10_000) };
            space.choices().count()
        };
        assert_eq!((count(1, 2), count(1, 1)), (4 * 12, 4 * 6));
        assert_eq!((count(2, 2), count(2, 1)), (3 * 4 * 12, 3 * 4 * 6));
        let three = Space { threads: vec![2], ..Space::full(3, 2, 10_000) };
        assert_eq!(three.choices().count(), three.combinations(), "everything matters there");
    }

    /// Catches: a helper that is tried only far from its worker, although a near one would share
    /// its cache.
    #[test]
    fn one_worker_with_a_helper_is_tried_in_both_mappings() {
        let mappings = |cores, lifespan| {
            let space =
                Space { threads: vec![1], lifespans: vec![lifespan], ..Space::full(cores, 1, 1) };
            space.choices().map(|choice| choice.mapping).collect::<HashSet<_>>().len()
        };
        assert_eq!([mappings(4, 100), mappings(4, 0), mappings(2, 100)], [2, 1, 1]);
    }

    /// Catches: two choices with the same text.
    #[test]
    fn a_choice_is_printed_in_full() {
        let space = Space::full(3, 2, 1);
        let printed: HashSet<String> = space.choices().map(|choice| choice.to_string()).collect();
        assert_eq!(printed.len(), space.choices().count());
        assert!(
            printed.contains(
                "2 threads, stealing, helpers 1, coalescing, swap 64, compact, bind local"
            )
        );
    }
}
