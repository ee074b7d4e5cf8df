//! The mapping that the user has requested for the pools of an experiment.
//!
//! Each experiment has a mapping of its own, mostly its publication's. A requested one replaces it
//! in all pools that are built while the experiment runs, except where a case is about a mapping.
//! The request belongs to the thread that runs the experiment, since every pool is built there; a
//! program that it starts is told of it.

use std::cell::RefCell;

use sinew::{Mapping, PoolBuilder};

thread_local! {
    static REQUESTED: RefCell<Option<Mapping>> = const { RefCell::new(None) };
}

/// Restores the request before, also after a panic.
struct Restore(Option<Mapping>);

impl Drop for Restore {
    fn drop(&mut self) {
        REQUESTED.set(self.0.take());
    }
}

/// Calls `run`, with this mapping requested meanwhile.
pub(crate) fn requesting<T>(mapping: Option<&Mapping>, run: impl FnOnce() -> T) -> T {
    let _restore = Restore(REQUESTED.replace(mapping.cloned()));
    run()
}

/// The requested mapping, if there is one.
pub(crate) fn requested() -> Option<Mapping> {
    REQUESTED.with_borrow(Option::clone)
}

/// The requested mapping, or `usual`.
pub(crate) fn mapping(usual: Mapping) -> Mapping {
    requested().unwrap_or(usual)
}

/// The same for a pool. An external thread is never pinned, so in a pool that pins every slot has a
/// thread of its own.
pub(crate) fn placed(builder: PoolBuilder, usual: Mapping) -> PoolBuilder {
    match mapping(usual) {
        Mapping::None => builder,
        mapping => builder.mapping(mapping).external_slot(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew::Pool;

    /// Catches: a request that is ignored, or outlives its experiment.
    #[test]
    fn a_request_replaces_the_usual_mapping_while_it_lasts() {
        let built = || placed(Pool::builder().threads(1), Mapping::Scatter).build().unwrap();
        assert_eq!(built().mapping(), Mapping::Scatter);
        requesting(Some(&Mapping::Compact), || assert_eq!(built().mapping(), Mapping::Compact));
        let panics = || requesting(Some(&Mapping::Compact), || panic!("a case"));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!(built().mapping(), Mapping::Scatter);
    }
}
