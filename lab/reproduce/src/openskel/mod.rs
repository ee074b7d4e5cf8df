//! Góes, "Automatic Skeleton-Driven Performance Optimizations for Transactional Memory": the
//! worklist of OpenSkel, its optimisations and its tuner.
//!
//! | file | contents |
//! |---|---|
//! | `applications` | what is run, and how large |
//! | `bench` | an application, prepared once and run in many ways |
//! | `comparison` | versions of applications compared with one of them |
//! | `versions` | Figures 4.2 and 4.3, Tables 4.2 and 4.3: the worklist against transactions by hand |
//! | `simulated` | Figures of chapters 4 to 7 on the publication's machines, simulated |
//! | `helped` | Figure 5.6 there, simulated: helper threads or more workers |
//! | `single` | Figures 5.3 to 5.8: each optimisation alone |
//! | `locking` | section 4.1: the same with locks that are taken at the commit |
//! | `search`, `oracle` | the best fixed settings, also by themselves |
//! | `ended` | the optimisations that runs ended with |
//! | `combined` | Figures 6.5 and 7.6: the tuner against the best fixed settings and the best single optimisation |
//! | `thresholds` | Figure 6.6: how much the tuner's thresholds matter |
//! | `path` | Figure 6.7: the tuner's steps |
//! | `footprint` | Figure 7.1: pages that are touched, over time |
//! | `places` | Figures 7.4 and 7.5: thread mappings and page placements |
//! | `exhibits` | all tables and figures, and what they are held against |
//!
//! Averages are those of its equation 4.4: the mean over the applications of the best improvement
//! of each.

mod applications;
mod bench;
mod combined;
mod comparison;
mod ended;
mod exhibits;
mod footprint;
mod helped;
mod locking;
mod oracle;
mod path;
mod places;
mod search;
mod simulated;
mod single;
mod thresholds;
mod versions;

pub use applications::search_size;
pub(crate) use exhibits::exhibits;
pub use oracle::{Chosen, Compared, Effort, Oracle, Summary, averages};

use sinew::stm::ContentionManager;

use crate::experiment::{Caveat, Experiment, Need};
use crate::setting::Setting;
use crate::worklists::Worklists;

const PUBLICATION: &str = "Luís Fabrício Wanderley Góes, \"Automatic Skeleton-Driven Performance \
    Optimizations for Transactional Memory\"";

/// The publication's number of runs; one where it only has to be shown that it works.
const REPEAT: [usize; 3] = [1, 10, 10];

/// All experiments of the publication, in its order.
pub(crate) fn experiments() -> Vec<Experiment> {
    let all = [
        versions::experiment(),
        simulated::experiment(),
        helped::experiment(),
        single::experiment(),
        locking::experiment(),
        combined::experiment(),
        thresholds::experiment(),
        path::experiment(),
        footprint::experiment(),
        places::experiment(),
    ];
    all.into_iter().map(|experiment| experiment.under(conditions)).collect()
}

/// The first words of each report.
fn conditions(setting: &Setting) -> String {
    let usual = if setting.worklists == Worklists::default() {
        ", as in the publication"
    } else {
        "; the publication has suicide, shuffled units, alpha = beta = 0.1 and no figure for \
         lifespans"
    };
    format!(
        "Conditions: {}{usual}. `sinew-lab run`, and other transactions of Sinew, have the manager \
         {} unless another one is asked for: their times and aborts are not comparable with these.",
        setting.worklists,
        ContentionManager::default()
    )
}

const THREADS_ARE_FEW: Caveat = Caveat {
    unless: Need::Workers(16),
    words: "The publication had 16 and 32 cores. Few workers hardly wait for a list or abort each \
        other, so stealing, coalescing and swapping have little to mend; and where all workers \
        have a core there is none left for helpers.",
};

const OTHER_MACHINE: Caveat = Caveat {
    unless: Need::Nothing,
    words: "The publication's transactions were those of TinySTM in C, with encounter-time locking \
        and suicide, on processors of 2007 to 2010; the applications here are other programs with \
        the same inputs' shapes. A unit that was aborted 64 times, and a transaction by hand that \
        was aborted 10 times, runs alone here. The cross-check with TL2, which the publication \
        does not show, is not repeated.",
};

const ONE_NODE: Caveat = Caveat {
    unless: Need::Nodes(2),
    words: "With one NUMA node there is one place for pages, and the rows of page placement are \
        the same runs as those without: they are left out.",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Part;
    use crate::results::Results;
    use crate::setting::Scale;

    /// Catches: a report that leaves out which manager it has, or that other runs have another one.
    #[test]
    fn each_report_says_its_contention_manager_and_that_of_runs() {
        let setting = Setting::new(Scale::Quick, 2);
        for experiment in experiments() {
            let parts = experiment.report(&Results::default(), &setting);
            let Part::Words(words) = &parts[0] else { panic!("{parts:?}") };
            let name = experiment.about.name;
            assert!(words.contains("contention manager suicide"), "{name}: {words}");
            assert!(words.contains("have the manager backoff"), "{name}: {words}");
        }
    }
}
