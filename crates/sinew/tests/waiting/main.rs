//! Units of worklists that call `retry`: they wait for a change, and every run ends.
//!
//! Each test has a watchdog: a run that hangs fails.

mod chains;
mod deadlines;
mod endings;
mod graphs;
mod outside;

use std::sync::{Condvar, Mutex, mpsc};
use std::time::Duration;

use sinew::worklist::{Settings, Worklist};

/// More workers than cores, so that some worker is always interrupted in the middle.
const WORKERS: usize = 4;

/// Runs `test` on a thread of its own. Panics if it has not ended after a time that is long enough
/// for any of them.
fn watched<R: Send + 'static>(test: impl FnOnce() -> R + Send + 'static) -> R {
    let seconds = if std::env::var_os("SINEW_DEEP").is_some() { 600 } else { 60 };
    let (tell, told) = mpsc::channel();
    let runner = std::thread::spawn(move || {
        let result = test();
        // Refused if the watchdog has given up.
        let _ = tell.send(());
        result
    });
    if told.recv_timeout(Duration::from_secs(seconds)) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("the run hangs");
    }
    runner.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

fn pool(threads: usize) -> sinew::Pool {
    sinew::Pool::builder().threads(threads).build().unwrap()
}

/// Settings of every kind: one list and many, pairs, swaps, helpers.
fn every_kind(threads: usize) -> impl Iterator<Item = Settings> {
    (0..16).map(move |kind| {
        let settings = Settings::baseline(threads).stealing(kind & 1 > 0).coalescing(kind & 2 > 0);
        let settings = settings.swap_after((kind & 4 > 0).then_some(1));
        settings.lifespan(if kind & 8 > 0 { 100 } else { 0 })
    })
}

fn list_of<U>(units: impl IntoIterator<Item = U>, settings: Settings) -> Worklist<U> {
    let list = units.into_iter().collect::<Worklist<U>>().speculative();
    // Not `Tuning::Fixed`, which refuses helpers where no worker is idle.
    list.settings_handle().set(settings);
    list
}

/// Opened once; others wait for it.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn wait(&self) {
        let mut is_open = self.is_open.lock().unwrap();
        while !*is_open {
            is_open = self.opened.wait(is_open).unwrap();
        }
    }
}
