//! The tables of experiments, and of what they repeat.

use crate::exhibit::Exhibit;
use crate::experiment::Experiment;
use crate::{openskel, plastic, queues, thesis, wool};

/// All experiments, publication by publication.
pub fn all() -> Vec<Experiment> {
    let publications = [
        wool::experiments(),
        thesis::experiments(),
        queues::experiments(),
        openskel::experiments(),
        plastic::experiments(),
    ];
    publications.into_iter().flatten().collect()
}

/// All tables and figures of the publications, publication by publication, in their order.
pub fn exhibits() -> Vec<Exhibit> {
    let publications = [
        wool::exhibits(),
        thesis::exhibits(),
        queues::exhibits(),
        openskel::exhibits(),
        plastic::exhibits(),
    ];
    publications.into_iter().flatten().collect()
}

/// The experiment with exactly this name.
pub fn find(name: &str) -> Option<Experiment> {
    all().into_iter().find(|experiment| experiment.about.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::exhibit::{Standing, Verdict};
    use crate::results::Results;
    use crate::setting::{Scale, Setting};

    /// Catches: an experiment that repeats nothing, and a name that no experiment has.
    #[test]
    fn every_experiment_repeats_an_exhibit_and_every_exhibit_names_experiments_or_a_reason() {
        let there: BTreeSet<&str> = all().iter().map(|experiment| experiment.about.name).collect();
        let mut named = BTreeSet::new();
        for exhibit in exhibits() {
            named.extend(exhibit.experiments());
            let has_reason = exhibit.reason().is_some_and(|why| !why.is_empty());
            assert_eq!(has_reason, exhibit.experiments().is_empty(), "{}", exhibit.label);
        }
        assert_eq!(named, there);
    }

    /// Catches: two exhibits of the same name, one of which hides the other; an experiment beside
    /// the exhibit of another publication.
    #[test]
    fn labels_are_unique_within_a_publication_which_is_that_of_the_experiments() {
        let mut seen = BTreeSet::new();
        for exhibit in exhibits() {
            for name in exhibit.experiments() {
                assert_eq!(find(name).unwrap().about.publication, exhibit.publication, "{name}");
            }
            assert!(seen.insert((exhibit.publication, exhibit.label)));
        }
    }

    /// Catches: a statement that cannot be read before there is a result.
    #[test]
    fn without_results_nothing_is_judged() {
        let (results, setting) = (Results::default(), Setting::new(Scale::Default, 2));
        for exhibit in exhibits() {
            let Standing::Repeated { by, .. } = exhibit.standing else { continue };
            for repeat in by {
                let claims = repeat.claims(&results, &setting);
                assert!(!claims.is_empty(), "{}", exhibit.label);
                for claim in claims {
                    assert_eq!(claim.verdict(), Verdict::NotMeasured, "{}", claim.what);
                }
            }
        }
    }
}
