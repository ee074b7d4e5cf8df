//! The pin of a helper, which assists one worker of a skeleton: near that worker's processor.
//!
//! The helper gets the nearest processor of the mapping in force that no worker of the skeleton has
//! ([`place_helpers`]). The control's mapping is in force if there is one, otherwise the pool's. A
//! rule, such as scatter, contains all processors that the process may use. If the control's
//! mapping leaves threads to the system, helpers are not pinned either. Worklists have helpers
//! (`worklist::run::helper` of the crate `sinew`).
//!
//! # Not handled
//!
//! A helper of an unpinned worker, such as an external thread, keeps the pool's pin. External
//! threads are never moved. Helpers may share a processor with idle threads of the pool, and with
//! helpers of another skeleton.
//!
//! # Tests
//!
//! `sinew-topology`'s `tests/machines/helpers.rs`: the choice of the processor; the crate `sinew`'s
//! `tests/limits.rs`: the threads that run there.

use sinew_topology::{CpuSet, Machine, place_helpers};

use super::{Control, Operation};
use crate::affinity::{Pinning, pin_beside};
use sinew_core::Worker;

/// The pin of a helper's thread, until this is dropped. A helper is no participant and is not
/// counted. For authors of skeletons.
///
/// ```
/// use sinew_core::{Mapping, Pool};
/// use sinew_loops::HelperPin;
///
/// let pool = Pool::builder().threads(2).mapping(Mapping::Compact).external_slot(false).build()?;
/// let cpus = pool.broadcast(|_| sinew_core::run(|w| w.pinned_cpu()));
/// pool.install(|w| {
///     let mut pin = HelperPin::enter(w, None);
///     // Beside the worker of slot 1, the only worker of its skeleton.
///     pin.pin_beside(0, &cpus[1..], 1);
///     assert!(cpus[0] == cpus[1] || w.pinned_cpu() != cpus[1]);
/// });
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
#[derive(Debug)]
pub struct HelperPin<'c> {
    w: &'c Worker,
    control: Option<&'c Control>,
    /// The version of the pool's mapping that the pin follows.
    version: usize,
    /// Whether the worker's innermost pin is this one.
    is_pinned: bool,
}

impl<'c> HelperPin<'c> {
    /// A pin for the helper `w`, in a skeleton that follows the control of `operation`, if any. The
    /// thread stays where it is until [`pin_beside`](Self::pin_beside).
    pub fn enter(w: &'c Worker, operation: Option<&Operation<'c>>) -> Self {
        Self {
            w,
            control: operation.map(|operation| operation.control),
            version: 0,
            is_pinned: false,
        }
    }

    /// Whether the pool's mapping has changed since the last [`pin_beside`](Self::pin_beside).
    ///
    /// # Cost
    ///
    /// A load of a line that is hardly ever written, and a comparison.
    #[inline]
    pub fn is_behind(&self) -> bool {
        self.version != self.w.mapping_version()
    }

    /// Moves the thread beside worker `number`. `workers` are the [CPUs](Worker::pinned_cpu) of all
    /// workers of the skeleton, of which the first `helpers` have a helper. To be called again when
    /// an argument or the [operation's version](Operation::version) has changed, or when the pin
    /// [is behind](Self::is_behind).
    pub fn pin_beside(&mut self, number: usize, workers: &[Option<usize>], helpers: usize) {
        // Read before the mapping: a change in between makes this pin behind.
        self.version = self.w.mapping_version();
        self.w.follow_mapping_inside();
        let requested = self.control.and_then(|control| control.requests().1.pinning);
        let pinning = match requested {
            Some(pinning) if pinning.cpus().is_empty() => Some(Pinning::nowhere()),
            Some(pinning) => {
                let cpus = pinning.cpus().iter().flat_map(CpuSet::iter).collect();
                nearest(&cpus, number, workers, helpers)
                    .map(|cpu| Pinning::at(cpu, pinning.requested_ns()))
            }
            None => nearest(&self.w.mapping_cpus(), number, workers, helpers)
                .map(|cpu| Pinning::at(cpu, self.w.mapping_requested_ns())),
        };
        self.is_pinned = pin_beside(self.w, self.is_pinned, pinning);
    }
}

impl Drop for HelperPin<'_> {
    fn drop(&mut self) {
        pin_beside(self.w, self.is_pinned, None);
    }
}

/// The CPU of the helper of worker `number`, one of `cpus`.
fn nearest(
    cpus: &CpuSet,
    number: usize,
    workers: &[Option<usize>],
    helpers: usize,
) -> Option<usize> {
    // Without a known CPU there is nothing near, and the machine need not be read.
    workers.get(number).copied().flatten()?;
    let machine = Machine::host();
    let mut choice = Vec::new();
    for cpu in cpus.iter() {
        choice.extend(machine.find_cpu(cpu));
    }
    let mut places = Vec::with_capacity(workers.len());
    for cpu in workers {
        places.push(cpu.and_then(|cpu| machine.find_cpu(cpu)));
    }
    let places = place_helpers(machine, &choice, &places, helpers);
    places.get(number).copied().flatten().map(|pu| machine.pu(pu).cpu)
}
