//! Ctrl-C in commands that print the results so far.

use std::io;
use std::sync::Arc;
#[cfg(unix)]
use std::thread;

use signal_hook::consts::SIGINT;
use signal_hook::flag::{register, register_conditional_shutdown};
#[cfg(unix)]
use signal_hook::iterator::Signals;
use sinew_console::{Failure, INTERRUPTED};
use sinew_sync::atomic::AtomicBool;

/// Calls `end` on a thread of its own when the process is interrupted. Another interrupt ends the
/// process at once, in case that nothing reads what `end` prints.
///
/// Where signals cannot be waited for, the first interrupt ends the process.
///
/// # Errors
///
/// If signals cannot be handled.
pub(crate) fn at_interrupt(end: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    watch(end).map_err(|error| Failure::Usage(format!("cannot watch for Ctrl-C: {error}")))
}

#[cfg(unix)]
fn watch(end: impl FnOnce() + Send + 'static) -> io::Result<()> {
    // The order counts: the flag is still clear when the first signal is handled.
    let is_second = Arc::new(AtomicBool::new(false));
    register_conditional_shutdown(SIGINT, INTERRUPTED, Arc::clone(&is_second))?;
    register(SIGINT, is_second)?;
    let mut signals = Signals::new([SIGINT])?;
    let wait = move || {
        if signals.forever().next().is_some() {
            end();
        }
    };
    thread::Builder::new().spawn(wait).map(drop)
}

#[cfg(not(unix))]
fn watch(_end: impl FnOnce() + Send + 'static) -> io::Result<()> {
    register_conditional_shutdown(SIGINT, INTERRUPTED, Arc::new(AtomicBool::new(true))).map(drop)
}
