//! A watchdog for tests that a defect would turn into an endless loop.

use std::io::Write;
use std::sync::mpsc;
use std::time::Duration;

/// Far more than a test takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(100);

/// Runs `test` on a thread of its own. A test that hangs ends the process with its name: its memory
/// may grow without bound, and nothing can end its thread.
pub(crate) fn ends<R: Send + 'static>(
    extra: Duration,
    test: impl FnOnce() -> R + Send + 'static,
) -> R {
    let (done, result) = mpsc::channel();
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let thread = std::thread::spawn(move || done.send(test()).is_ok());
    match result.recv_timeout(LIMIT + extra) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().unwrap_err())
        }
        Err(mpsc::RecvTimeoutError::Timeout) => {
            // Bypasses the harness, which would capture the output.
            let _ = writeln!(std::io::stderr(), "{name} hangs");
            std::process::abort();
        }
    }
}
