//! The table of experiments.

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

/// The experiment with exactly this name.
pub fn find(name: &str) -> Option<Experiment> {
    all().into_iter().find(|experiment| experiment.about.name == name)
}
