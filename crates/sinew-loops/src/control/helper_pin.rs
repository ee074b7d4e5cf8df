//! A worker that helps another one of a skeleton: its thread is pinned near that one's.
//!
//! Its processor is the one nearest to the other worker's that no worker of the skeleton has
//! ([`place_helpers`]), among those of the mapping in force. The control's mapping is in force, if
//! there is one, or the pool's. A rule, such as scatter, allows all processors that the process may
//! use. If the control's mapping leaves the threads to the system, helpers are not pinned either.
//!
//! # Not handled
//!
//! A helper of a worker that is pinned nowhere, such as an external thread, is pinned by the pool;
//! external threads are never moved. Helpers may share a processor with idle threads of the pool,
//! and with the helpers of another skeleton.
//!
//! # Tests
//!
//! `sinew-topology`'s `tests/machines/beside.rs`: which processor; the crate `sinew`'s
//! `tests/limits.rs`: threads that go there.

use sinew_topology::{CpuSet, Machine, place_helpers};

use super::{Control, Operation};
use crate::affinity::{Pinning, pin_beside};
use sinew_core::Worker;

/// The pin of a worker that helps others of a skeleton, until this is dropped. It is no
/// participant, so it is not counted. For authors of skeletons.
///
/// ```
/// use sinew_core::{Mapping, Pool};
/// use sinew_loops::HelperPin;
///
/// let pool = Pool::builder().threads(2).mapping(Mapping::Compact).external_slot(false).build()?;
/// let cpus = pool.broadcast(|_| sinew_core::run(|w| w.pinned_cpu()));
/// pool.install(|w| {
///     let mut part = HelperPin::enter(w, None);
///     // Beside the worker of slot 1, in a skeleton of that one alone.
///     part.pin_beside(0, &cpus[1..], 1);
///     assert!(cpus[0] == cpus[1] || w.pinned_cpu() != cpus[1]);
/// });
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
#[derive(Debug)]
pub struct HelperPin<'c> {
    w: &'c Worker,
    control: Option<&'c Control>,
    /// The pool's mapping that is followed.
    version: usize,
    /// Whether the innermost pin of the worker is this one's.
    is_pinned: bool,
}

impl<'c> HelperPin<'c> {
    /// The worker helps from now on, in a skeleton that follows this control or none.
    /// [`pin_beside`](Self::pin_beside) decides where its thread runs.
    pub fn enter(w: &'c Worker, operation: Option<&Operation<'c>>) -> Self {
        Self {
            w,
            control: operation.map(|operation| operation.control),
            version: 0,
            is_pinned: false,
        }
    }

    /// Whether the pool's mapping has changed since the thread was pinned last.
    ///
    /// # Cost
    ///
    /// A load of a line that is hardly ever written, and a comparison.
    #[inline]
    pub fn is_behind(&self) -> bool {
        self.version != self.w.mapping_version()
    }

    /// Moves the thread to where it helps the worker of this number best. `workers`: the
    /// [CPUs](Worker::pinned_cpu) of all workers of the skeleton, of which the first `helpers` have
    /// a helper. To be called again whenever one of these has changed, or the [operation's
    /// version](Operation::version) has, or it [is behind](Self::is_behind).
    pub fn pin_beside(&mut self, number: usize, workers: &[Option<usize>], helpers: usize) {
        // Before the look at the mapping: one that changes meanwhile is followed the next time.
        self.version = self.w.mapping_version();
        self.w.follow_mapping_inside();
        let wished = self.control.and_then(|control| control.requests().1.pinning);
        let pinning = match wished {
            Some(pinning) if pinning.cpus().is_empty() => Some(Pinning::nowhere()),
            Some(pinning) => {
                let room = pinning.cpus().iter().flat_map(CpuSet::iter).collect();
                nearest(&room, number, workers, helpers)
            }
            None => nearest(&self.w.mapping_cpus(), number, workers, helpers),
        };
        self.is_pinned = pin_beside(self.w, self.is_pinned, pinning);
    }
}

impl Drop for HelperPin<'_> {
    fn drop(&mut self) {
        pin_beside(self.w, self.is_pinned, None);
    }
}

/// The pin of a worker's helper, among these CPUs.
fn nearest(
    room: &CpuSet,
    number: usize,
    workers: &[Option<usize>],
    helpers: usize,
) -> Option<Pinning> {
    // Without a known CPU, the machine need not be asked.
    workers.get(number).copied().flatten()?;
    let machine = Machine::host();
    let mut choice = Vec::new();
    for cpu in room.iter() {
        choice.extend(machine.find_cpu(cpu));
    }
    let mut places = Vec::with_capacity(workers.len());
    for cpu in workers {
        places.push(cpu.and_then(|cpu| machine.find_cpu(cpu)));
    }
    let places = place_helpers(machine, &choice, &places, helpers);
    places.get(number).copied().flatten().map(|pu| Pinning::at(machine.pu(pu).cpu))
}
