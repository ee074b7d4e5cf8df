//! Idle workers that learn how long to spin, like those of the runtime.
//!
//! The windows are those of [`sinew_policy::idle`], driven by virtual time. Simulated cores are
//! never shared with other programs, so no window is closed for that reason.

use sinew_policy::idle::{Idle as Ended, SpinWindow};

use super::Simulation;
use crate::queue::Time;
use crate::setup::Idle;
use crate::workload::Workload;

/// Picoseconds in a microsecond.
const US: Time = 1_000_000;

/// The spinning state of one worker.
#[derive(Debug, Clone, Default)]
pub(super) struct Spinner {
    window: SpinWindow,
    /// Start of the current search, and its limit.
    began: Time,
    spins: Time,
    /// An idle time that has not ended: the time spent searching and sleeping so far, and the time
    /// at which the worker parked.
    idle: Option<(Time, Time)>,
    asleep_since: Option<Time>,
}

impl<W: Workload> Simulation<'_, W> {
    /// Begins a search without a frame on the stack.
    pub(super) fn begin_to_spin(&mut self, me: usize) {
        let now = self.queue.now();
        let Some(spinner) = self.spinners.get_mut(me) else { return };
        let (_, asleep) = spinner.idle.get_or_insert_default();
        *asleep += spinner.asleep_since.take().map_or(0, |since| now - since);
        (spinner.began, spinner.spins) = (now, Time::from(spinner.window.next_us()) * US);
    }

    /// Begins a search in a join. Parking there would delay other workers as well.
    pub(super) fn begin_to_spin_in_join(&mut self, me: usize) {
        let now = self.queue.now();
        let Some(spinner) = self.spinners.get_mut(me) else { return };
        (spinner.began, spinner.spins) = (now, Time::from(spinner.window.break_even_us()) * US);
    }

    /// The worker parks.
    pub(super) fn ends_to_spin(&mut self, me: usize) {
        let now = self.queue.now();
        let Some(spinner) = self.spinners.get_mut(me) else { return };
        if let Some((searched, _)) = &mut spinner.idle {
            *searched += now - spinner.began;
        }
        spinner.asleep_since = Some(now);
    }

    /// The worker has got a task and learns from the idle time.
    pub(super) fn learns_from_idle_time(&mut self, me: usize) {
        let now = self.queue.now();
        let Some(spinner) = self.spinners.get_mut(me) else { return };
        let Some((searched, asleep)) = spinner.idle.take() else { return };
        let micros = |time: Time| u32::try_from(time / US).unwrap_or(u32::MAX);
        spinner.window.record(Ended {
            searched_us: micros(searched + now - spinner.began),
            parked_us: (asleep > 0).then(|| micros(asleep)),
            lost_core: false,
        });
    }

    /// Whether a worker's search has reached its limit.
    pub(super) fn has_spun_enough(&self, me: usize, rounds: u32) -> bool {
        match self.setup.idle {
            Idle::Spin => false,
            Idle::Park { .. } => self.workers[me].in_vain >= rounds,
            Idle::Adaptive => self
                .spinners
                .get(me)
                .is_none_or(|spinner| self.now() - spinner.began >= spinner.spins),
        }
    }
}
