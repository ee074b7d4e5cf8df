//! Worklists as applications have them.

use sinew::worklist::{Report, Tuning, Work, Worklist};

/// A list of these units, tuned as asked for. Helpers may run them ahead: what a unit does, it does to variables.
pub(crate) fn worklist<U>(units: impl IntoIterator<Item = U>, tuning: Option<Tuning>) -> Worklist<U> {
    let list = units.into_iter().collect::<Worklist<U>>().speculative();
    match tuning {
        Some(tuning) => list.tune(tuning),
        None => list,
    }
}

/// Runs a list, and answers what its workers have kept.
///
/// # Panics
///
/// If the tuning is none for this pool, with a line that says why.
pub(crate) fn work_off<'env, W: Work<'env>>(list: &mut Worklist<W::Unit>, work: &W) -> Vec<W::Local> {
    let report: Report<W::Local> = list.run_work(work).unwrap_or_else(|error| panic!("{error}"));
    report.locals
}
