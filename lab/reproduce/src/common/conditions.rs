//! The pool that a case runs in, made for one run and gone after it: the next case finds no thread
//! of this one's.

use std::time::Duration;

use sinew::profile::Profiler;
use sinew::{Mapping, Pool, PoolBuilder, Spin, StackKind, Victims};

use super::place::placed;
use crate::failure::Failure;

/// The configuration of a pool.
#[derive(Debug, Clone)]
pub(crate) struct Conditions {
    workers: usize,
    victims: &'static str,
    stack: StackKind,
    pinned: bool,
    restless: bool,
    strict: bool,
    delay_cycles: u32,
}

impl Conditions {
    /// A pool of `workers` workers with random victims, and defaults for the rest.
    pub(crate) fn workers(workers: usize) -> Self {
        Self {
            workers,
            victims: "random",
            stack: StackKind::default(),
            pinned: false,
            restless: false,
            strict: false,
            delay_cycles: 0,
        }
    }

    /// The victim policy, as the text of [`Victims`].
    pub(crate) fn victims(mut self, victims: &'static str) -> Self {
        self.victims = victims;
        self
    }

    /// The task stack of the workers.
    pub(crate) fn stack(mut self, stack: StackKind) -> Self {
        self.stack = stack;
        self
    }

    /// Every worker on a processor of its own, evenly over the packages, as the thesis has them,
    /// unless the user has requested another mapping.
    pub(crate) fn pinned(mut self) -> Self {
        self.pinned = true;
        self
    }

    /// Workers without work search without a pause.
    pub(crate) fn restless(mut self) -> Self {
        self.restless = true;
        self
    }

    /// Workers that a victim rule keeps in their package never leave it, however long they search
    /// in vain. Tasks wait for their owners then.
    pub(crate) fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Cycles by which every successful steal is delayed.
    pub(crate) fn delayed(mut self, cycles: u32) -> Self {
        self.delay_cycles = cycles;
        self
    }

    /// The pool.
    ///
    /// # Errors
    ///
    /// An unknown policy, or too few system resources for the threads.
    pub(crate) fn build(&self) -> Result<Pool, Failure> {
        self.builder()?.build().map_err(Failure::impossible)
    }

    /// The same pool, which accounts for the time of its workers.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub(crate) fn build_profiled(&self) -> Result<Pool, Failure> {
        self.builder()?.observer(Profiler::new()).build().map_err(Failure::impossible)
    }

    /// A pool for two workers of which one works, whose profiler records: loops are cut as for two,
    /// and nothing is stolen.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub(crate) fn build_recording(&self) -> Result<Pool, Failure> {
        let two = Self { workers: 2, ..self.clone() }.builder()?.external_slot(false);
        let pool =
            two.observer(Profiler::new().record(true)).build().map_err(Failure::impossible)?;
        pool.control().set_threads(1);
        Ok(pool)
    }

    fn builder(&self) -> Result<PoolBuilder, Failure> {
        let victims: Victims = self.victims.parse().map_err(Failure::impossible)?;
        let usual = if self.pinned { Mapping::Scatter } else { Mapping::None };
        let builder = Pool::builder()
            .threads(self.workers)
            .victims(victims)
            .stack(self.stack)
            .spin(if self.restless { Spin::Forever } else { Spin::Adaptive })
            .steal_delay(self.delay_cycles);
        let builder = if self.strict { builder.withhold(Duration::MAX) } else { builder };
        Ok(placed(builder, usual))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: few workers that fill one package, where the thesis has some in each.
    #[test]
    fn pinned_workers_are_spread_over_the_packages() {
        let pool = Conditions::workers(1).pinned().build().unwrap();
        assert_eq!(pool.mapping(), Mapping::Scatter);
    }

    /// Catches: a strict pool whose workers leave their packages after the usual time.
    #[test]
    fn strict_workers_search_in_vain_for_ever() {
        let shown = |conditions: Conditions| format!("{:?}", conditions.builder().unwrap());
        let usual = || Conditions::workers(2).victims("nearest");
        assert!(shown(usual()).contains("withheld_ns: 200000"), "{}", shown(usual()));
        assert!(shown(usual().strict()).contains(&format!("withheld_ns: {}", u64::MAX)));
    }
}
