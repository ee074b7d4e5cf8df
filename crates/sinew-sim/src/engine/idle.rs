//! Idle workers that spin for a window which they learn, as those of the runtime do.
//!
//! The windows are [`sinew_policy::idle`]'s, with virtual time for its clock. A core is never
//! shared with another program here, so no window is closed for that.

use sinew_policy::idle::{Idle as Ended, SpinWindow};

use super::Simulation;
use crate::queue::Time;
use crate::setup::Idle;
use crate::workload::Workload;

/// Picoseconds in a microsecond.
const US: Time = 1_000_000;

/// What one worker goes by.
#[derive(Debug, Clone, Default)]
pub(super) struct Spinner {
    window: SpinWindow,
    /// Since when it has been searching, and for how long it does.
    began: Time,
    spins: Time,
    /// An idle time that has not ended: how long it has searched and slept in it so far, and since
    /// when it sleeps.
    idle: Option<(Time, Time)>,
    asleep_since: Option<Time>,
}

impl<W: Workload> Simulation<'_, W> {
    /// A search without a task in hand begins.
    pub(super) fn begin_to_spin(&mut self, me: usize) {
        let now = self.queue.now();
        let Some(spinner) = self.spinners.get_mut(me) else { return };
        let (_, asleep) = spinner.idle.get_or_insert_default();
        *asleep += spinner.asleep_since.take().map_or(0, |since| now - since);
        (spinner.began, spinner.spins) = (now, Time::from(spinner.window.next_us()) * US);
    }

    /// A search in a join begins: to park there would hold up more than this worker.
    pub(super) fn begin_to_spin_in_join(&mut self, me: usize) {
        let now = self.queue.now();
        let Some(spinner) = self.spinners.get_mut(me) else { return };
        (spinner.began, spinner.spins) = (now, Time::from(spinner.window.patient_us()) * US);
    }

    /// It parks.
    pub(super) fn ends_to_spin(&mut self, me: usize) {
        let now = self.queue.now();
        let Some(spinner) = self.spinners.get_mut(me) else { return };
        if let Some((searched, _)) = &mut spinner.idle {
            *searched += now - spinner.began;
        }
        spinner.asleep_since = Some(now);
    }

    /// It has got a task, and learns from how long that took.
    pub(super) fn learns_from_idle_time(&mut self, me: usize) {
        let now = self.queue.now();
        let Some(spinner) = self.spinners.get_mut(me) else { return };
        let Some((searched, asleep)) = spinner.idle.take() else { return };
        let micros = |time: Time| u32::try_from(time / US).unwrap_or(u32::MAX);
        spinner.window.ended(Ended {
            searched_us: micros(searched + now - spinner.began),
            parked_us: (asleep > 0).then(|| micros(asleep)),
            lost_core: false,
        });
    }

    /// Whether a worker has searched in vain for as long as it does.
    pub(super) fn has_spun_enough(&self, me: usize, rounds: u32) -> bool {
        match self.setup.idle {
            Idle::Spin => false,
            Idle::Park { .. } => self.seats[me].in_vain >= rounds,
            Idle::Adaptive => self
                .spinners
                .get(me)
                .is_none_or(|spinner| self.now() - spinner.began >= spinner.spins),
        }
    }
}
