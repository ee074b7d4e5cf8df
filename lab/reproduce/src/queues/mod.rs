//! Wittmann and Hager, "A Proof of Concept for Optimizing Task Parallelism by Locality Queues":
//! Table 1, and Figures 1 and 2.
//!
//! | file | contents |
//! |---|---|
//! | `bench` | the solver in a pool, ready to be swept over and timed |
//! | `table1` | Table 1: orders, placements, and with or without queues |
//! | `routes` | which worker runs which block, counted |
//! | `simulated` | Table 1 on a simulated machine with four memories |
//! | `figures` | Figures 1 and 2: loops on more and more workers |
//! | `exhibits` | all tables and figures, and what they are held against |
//!
//! If there are several NUMA nodes, they are the domains. Otherwise the pool is divided into as
//! many parts as the publication's machine had. Queues, orders and bounds then work as there, on
//! memory that is equally near to all workers.

mod bench;
mod exhibits;
mod figures;
mod routes;
mod simulated;
mod table1;

pub(crate) use bench::{pinned, pinned_pool};
pub(crate) use exhibits::exhibits;

use crate::experiment::{Caveat, Experiment, Need};
use crate::paper::queues::FIGURE_WORDS;

const PUBLICATION: &str = "Markus Wittmann and Georg Hager, \"A Proof of Concept for Optimizing \
    Task Parallelism by Locality Queues\"";

/// All experiments of the publication, in its order.
pub(crate) fn experiments() -> Vec<Experiment> {
    vec![table1::experiment(), simulated::experiment(), figures::experiment()]
}

/// The publication's text about its pictures.
const FIGURES_IN_WORDS: Caveat = Caveat { unless: Need::Nothing, words: FIGURE_WORDS };

const ONE_MEMORY: Caveat = Caveat {
    unless: Need::Nodes(2),
    words: "All memory is equally near to all workers here: where a block lies, and who works on \
        it, changes nothing about its bandwidth. The publication's factors of up to 4 come from \
        memory behind other sockets, which one NUMA node does not have.",
};

const OTHER_MEMORY: Caveat = Caveat {
    unless: Need::Nothing,
    words: "The publication's machine is of 2007, with four memory controllers: its updates a \
        second are for comparison among themselves.",
};
