//! Pools and a watchdog for the tests.

use std::io::Write;
use std::sync::mpsc;
use std::time::Duration;

use sinew_core::{Pool, Wait};

/// How long anything may take before it counts as hanging. Generous: the machine may be busy.
const LIMIT: Duration = Duration::from_secs(120);

/// A pool of `threads` workers, one of which is the external thread.
pub(crate) fn pool(threads: usize, wait: Wait) -> Pool {
    Pool::builder().threads(threads).wait(wait).build().unwrap()
}

/// Runs `test` on a thread of its own. A test that hangs ends the process with its name instead of
/// hanging the whole run.
pub(crate) fn ends<R: Send + 'static>(test: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, result) = mpsc::channel();
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let thread = std::thread::spawn(move || done.send(test()).is_ok());
    match result.recv_timeout(LIMIT) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().unwrap_err())
        }
        Err(mpsc::RecvTimeoutError::Timeout) => {
            // Past the harness, which would keep what it has captured to itself.
            let _ = writeln!(std::io::stderr(), "{name} hangs");
            std::process::abort();
        }
    }
}
