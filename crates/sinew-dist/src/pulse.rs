//! Signs of life between ranks over MPI: each rank expects them from the one before it.
//!
//! A sign names the machine and the process. So a rank that gives none can be ended, if it is on
//! this machine: it may be stopped, and would otherwise go on later, or never end.

use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use rustix::process as pidfd;

/// How long a rank may give no sign of life. `SINEW_DIST_SILENCE_MS` sets another limit.
pub const SILENCE: Duration = Duration::from_secs(1);

const BEAT: Duration = Duration::from_millis(100);

/// A longer gap between two looks is this process's own.
const LONGEST_LOOK: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Pulse {
    limit: Duration,
    /// When the last look was, when the last sign was sent, and for how long none has come.
    looked: Instant,
    sent: Option<Instant>,
    silent: Duration,
    own: String,
    /// The rank before, if it is on this machine.
    #[cfg(target_os = "linux")]
    before: Option<std::os::fd::OwnedFd>,
}

impl Pulse {
    /// None if the environment turns signs of life off.
    pub(crate) fn new() -> Option<Self> {
        let limit = std::env::var("SINEW_DIST_SILENCE_MS").ok().and_then(|text| text.parse().ok());
        let limit = limit.map_or(SILENCE, Duration::from_millis);
        (!limit.is_zero()).then(|| Self {
            limit,
            looked: Instant::now(),
            sent: None,
            silent: Duration::ZERO,
            own: format!("{} {}", machine(), std::process::id()),
            #[cfg(target_os = "linux")]
            before: None,
        })
    }

    /// A sign of life, if it is time for the next one.
    pub(crate) fn beat(&mut self) -> Option<Vec<u8>> {
        if self.sent.is_some_and(|sent| sent.elapsed() < BEAT) {
            return None;
        }
        self.sent = Some(Instant::now());
        Some(self.own.clone().into_bytes())
    }

    /// The rank before has sent a message; `sign` if it is a sign of life.
    pub(crate) fn heard(&mut self, sign: Option<&[u8]>) {
        self.silent = Duration::ZERO;
        #[cfg(target_os = "linux")]
        if let Some(sign) = sign
            && self.before.is_none()
        {
            self.before = open(sign);
        }
    }

    /// For how long the rank before has given no sign, if that is too long.
    pub(crate) fn silence(&mut self) -> Option<Duration> {
        self.silent += self.looked.elapsed().min(LONGEST_LOOK);
        self.looked = Instant::now();
        (self.silent > self.limit).then_some(self.silent)
    }

    /// Ends the rank before, if it is on this machine.
    pub(crate) fn end_before(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(before) = self.before.take() {
            // It has ended already if this fails.
            let _ = pidfd::pidfd_send_signal(before, pidfd::Signal::KILL);
        }
    }

    /// Another rank is the one before from now on.
    pub(crate) fn begin_again(&mut self) {
        self.silent = Duration::ZERO;
        #[cfg(target_os = "linux")]
        drop(self.before.take());
    }
}

/// A name for the machine, and for what process numbers mean there.
fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let numbers = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), numbers.display())
}

/// The process of a sign, if it is on this machine. It has just sent the sign, so its number is
/// still its own.
#[cfg(target_os = "linux")]
fn open(sign: &[u8]) -> Option<std::os::fd::OwnedFd> {
    let (place, process) = std::str::from_utf8(sign).ok()?.rsplit_once(' ')?;
    if place != machine() || place.trim().is_empty() {
        return None;
    }
    let process = pidfd::Pid::from_raw(process.parse().ok()?)?;
    pidfd::pidfd_open(process, pidfd::PidfdFlags::empty()).ok()
}
