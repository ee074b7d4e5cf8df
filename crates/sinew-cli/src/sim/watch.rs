//! How far long simulations are, how long they will still take, and whether their user has had
//! enough.

use std::sync::Arc;
use std::time::Instant;

use sinew_sim::Progress as Step;
use sinew_sync::atomic::{AtomicBool, Ordering};

use super::rows::micros;
use crate::failure::Failure;
use crate::measure::seconds;
use crate::progress::Progress;

/// Looks at all runs of a command.
pub(super) struct Watch {
    stop: Arc<AtomicBool>,
    progress: Progress,
}

impl Watch {
    /// # Errors
    ///
    /// If Ctrl-C cannot be listened for.
    pub(super) fn new() -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let word = Arc::clone(&stop);
        // Relaxed: nothing is published by it.
        ctrlc::set_handler(move || word.store(true, Ordering::Relaxed))
            .map_err(|error| Failure::Wrong(format!("cannot listen for Ctrl-C: {error}")))?;
        Ok(Self { stop, progress: Progress::new() })
    }

    /// Whether the user has asked for the end.
    pub(super) fn has_enough(&self) -> bool {
        // Relaxed: nothing is published by it.
        self.stop.load(Ordering::Relaxed)
    }

    /// Run `at` of `all` begins; what is answered is to be called as it goes on, and answers
    /// whether it should.
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

    /// Something begins that consists of many runs; what is answered is to be called with the share
    /// that is done, and returns whether to go on.
    pub(super) fn share<'w>(&'w self, what: &'w str) -> impl FnMut(f64) -> bool + 'w {
        self.progress.done(what);
        let begin = Instant::now();
        move |share| {
            self.progress.now(&format!("{what}{}", left(begin.elapsed().as_secs_f64(), share)));
            !self.has_enough()
        }
    }

    /// Something that is no simulation begins.
    pub(super) fn say(&self, what: &str) {
        self.progress.done(what);
        self.progress.now(what);
    }
}

/// What is known of the end after so many seconds.
fn rest(elapsed_s: f64, step: &Step) -> String {
    if let Some(share) = step.share {
        return left(elapsed_s, share);
    }
    let rate = step.tasks as f64 / elapsed_s.max(1e-9);
    // What trees of this kind have on average says little about this one.
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

/// How much is done after so many seconds, and how long the rest will take.
fn left(elapsed_s: f64, share: f64) -> String {
    let share = share.clamp(0.0, 1.0);
    // The first moments say nothing.
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

    /// Catches: an end that is foretold where nobody knows it, or no word at all of a run
    /// without one.
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
