//! Progress of long simulations, their remaining time, and interrupts.

use std::sync::Arc;
use std::time::Instant;

use signal_hook::consts::SIGINT;
use signal_hook::flag;
use sinew_console::Failure;
use sinew_sim::Progress as Step;
use sinew_sync::atomic::{AtomicBool, Ordering};

use super::rows::micros;
use crate::measure::seconds;
use crate::progress::Progress;

/// Observes all runs of a command.
pub(super) struct Watch {
    stop: Arc<AtomicBool>,
    progress: Progress,
}

impl Watch {
    /// # Errors
    ///
    /// If Ctrl-C cannot be handled.
    pub(super) fn new() -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        flag::register(SIGINT, Arc::clone(&stop))
            .map_err(|error| Failure::Wrong(format!("cannot listen for Ctrl-C: {error}")))?;
        Ok(Self { stop, progress: Progress::new() })
    }

    /// Whether the user has interrupted.
    pub(super) fn has_enough(&self) -> bool {
        // Relaxed: nothing is published by it.
        self.stop.load(Ordering::Relaxed)
    }

    /// Run `at` of `all` begins. The returned function is called with each step, and returns
    /// whether to continue.
    pub(super) fn run(&self, at: usize, all: usize, what: &str) -> impl FnMut(&Step) -> bool + '_ {
        let title = format!("[{}/{all}] {what}", at + 1);
        self.progress.done(&title);
        self.progress.now(&title);
        let begin = Instant::now();
        move |step| {
            let rest = rest(begin.elapsed().as_secs_f64(), step);
            let line = format!("{title}: {} done, {:.1} us{rest}", step.tasks, micros(step.time));
            self.progress.now(&line);
            !self.has_enough()
        }
    }

    /// A step of many runs begins. The returned function is called with the completed share, and
    /// returns whether to continue.
    pub(super) fn share<'w>(&'w self, what: &'w str) -> impl FnMut(f64) -> bool + 'w {
        self.progress.done(what);
        let begin = Instant::now();
        move |share| {
            self.progress.now(&format!("{what}{}", left(begin.elapsed().as_secs_f64(), share)));
            !self.has_enough()
        }
    }

    /// A step that is not a simulation begins.
    pub(super) fn say(&self, what: &str) {
        self.progress.done(what);
        self.progress.now(what);
    }
}

/// The estimated end after this many seconds.
fn rest(elapsed_s: f64, step: &Step) -> String {
    if let Some(share) = step.share {
        return left(elapsed_s, share);
    }
    let rate = step.tasks as f64 / elapsed_s.max(1e-9);
    // The mean of trees of this kind says little about a single one.
    let usual = match step.expected {
        Some(usual) if usual > step.tasks as f64 => {
            let left = seconds((usual - step.tasks as f64) / rate.max(1e-9));
            format!(", {left} left if it has the usual {usual:.0}")
        }
        Some(usual) => format!(", more than the usual {usual:.0}"),
        None => String::new(),
    };
    format!(", {rate:.0}/s{usual}")
}

/// The completed share after this many seconds, and the remaining time.
fn left(elapsed_s: f64, share: f64) -> String {
    let share = share.clamp(0.0, 1.0);
    // The first moments allow no estimate.
    if share < 0.001 {
        return String::new();
    }
    format!(", {:.0} %, about {} left", share * 100.0, seconds(elapsed_s * (1.0 - share) / share))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: an estimate that grows as the end comes nearer.
    #[test]
    fn the_time_left_follows_from_what_is_done() {
        assert_eq!(left(3.0, 0.25), ", 25 %, about 9.00 s left");
        assert_eq!(left(3.0, 1.0), ", 100 %, about 0.00 us left");
        assert_eq!(left(3.0, 0.0), "");
    }

    /// Catches: an estimate of an unknown end, or a run without an end that shows nothing.
    #[test]
    fn where_the_end_is_not_known_the_rate_is_shown() {
        let step = |tasks, share, expected| Step { time: 0, events: 0, tasks, share, expected };
        assert_eq!(rest(3.0, &step(9, Some(0.25), None)), ", 25 %, about 9.00 s left");
        assert_eq!(rest(2.0, &step(100, None, None)), ", 50/s");
        assert_eq!(
            rest(2.0, &step(100, None, Some(400.0))),
            ", 50/s, 6.00 s left if it has the usual 400"
        );
        assert_eq!(rest(2.0, &step(100, None, Some(40.0))), ", 50/s, more than the usual 40");
    }
}
