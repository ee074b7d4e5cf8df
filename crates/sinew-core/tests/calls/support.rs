//! Pools and a watchdog for the tests.

use std::io::Write;
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

use sinew_core::{Pool, Wait};

/// How long anything may take before it counts as hanging. Generous: the machine may be busy.
const LIMIT: Duration = Duration::from_secs(120);

/// A pool of `threads` workers, one of which is the external thread.
pub(crate) fn pool(threads: usize, wait: Wait) -> Pool {
    Pool::builder().threads(threads).wait(wait).build().unwrap()
}

/// A pool with a thread at each of its `threads` slots.
pub(crate) fn full_pool(threads: usize) -> Pool {
    Pool::builder().threads(threads).external_slot(false).build().unwrap()
}

/// A pool of `threads` workers, all of which are blocked while `meanwhile` runs: the external
/// thread as well.
pub(crate) fn while_blocked(threads: usize, meanwhile: impl FnOnce(&Pool) + Send) {
    let pool = &pool(threads, Wait::default());
    let (begun, hold) = (Barrier::new(threads + 1), Barrier::new(threads + 1));
    thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| {
                pool.run(|_| {
                    begun.wait();
                    hold.wait();
                });
            });
        }
        begun.wait();
        meanwhile(pool);
        hold.wait();
    });
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
