//! The spinning time of GNU's runtime, as far as it can be changed in a running program.
//!
//! Threads that have a processor each should spin for one another. A thread that sleeps between
//! short regions is woken late, in each of them. Threads that share a processor should not spin: a
//! spinning thread delays the thread that it waits for. The runtime reads the number of turns once,
//! when it starts. But while it has more threads than processors, it spins for a fraction of that.
//! It counts its threads again whenever a team is made or ends.
//!
//! So while a program's share is narrower than its teams, a thread of this library holds a second
//! team of two. This team does nothing; it only raises the count. Two programs of short loops with
//! a core each take 1.15 times the ideal time with it, and 1.5 times without it.
//!
//! Teams keep their size, and nothing changes that a program can ask its runtime for. Programs are
//! left alone if their users set how to wait, or if their teams are smaller than the machine: those
//! would need more threads.
//!
//! # Invariants
//!
//! - W1: a runtime has one such thread at a time. The thread that starts it changes the state from
//!   ABSENT to PRESENT, and the thread that ends it from PRESENT to ENDING. The thread itself
//!   changes ENDING to ABSENT, as its last action here.
//! - W2: it takes no signals: these are for the program's threads.
//!
//! # Not handled
//!
//! A forked child has the count of its parent, and no thread to end. It does not have the parent's
//! teams either, and GNU's runtime cannot make new ones there.

#[cfg(sinew_preloaded)]
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
#[cfg(not(sinew_preloaded))]
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use core::ffi::c_void;
use core::ptr::null_mut;

use crate::functions::Function;
use crate::idle_team::{ABSENT, PRESENT, REFUSED};
use crate::rules;
use crate::runtime::Runtime;
use crate::{share, system};

/// Adapts the spinning to the share when a region begins. `threads` is the team's size, or 0 if the
/// runtime chooses it.
pub(crate) fn adjust(runtime: &'static Runtime, threads: u32) {
    let (share, all) = (share::threads(), share::start_cpus());
    if share == 0 || share >= all {
        // One load if there is nothing to end.
        if runtime.idle_team.state.load(Relaxed) == PRESENT {
            runtime.idle_team.end();
        }
        return;
    }
    if runtime.idle_team.state.load(Relaxed) != ABSENT || !share::may_shorten_waits() {
        return;
    }
    let team =
        if threads == rules::UNSAID { runtime.number(Function::MAX_THREADS, 1) } else { threads };
    if rules::crowds(team, share, all) {
        begin(runtime);
    }
}

fn begin(runtime: &'static Runtime) {
    let state = &runtime.idle_team.state;
    if state.compare_exchange(ABSENT, PRESENT, Acquire, Relaxed).is_err() {
        return;
    }
    let argument = core::ptr::from_ref(runtime).cast_mut().cast();
    if !system::start_quiet_thread(stand_by, argument) {
        state.store(REFUSED, Relaxed);
    }
}

/// The body of the thread.
extern "C" fn stand_by(runtime: *mut c_void) -> *mut c_void {
    // SAFETY: `begin` passes a runtime, which lives as long as the process.
    let runtime = unsafe { &*runtime.cast::<Runtime>() };
    runtime.call_in_team(nothing, 2);
    while runtime.idle_team.state.load(Acquire) == PRESENT {
        system::wait_while(&runtime.idle_team.state, PRESENT);
    }
    runtime.idle_team.state.store(ABSENT, Release);
    null_mut()
}

/// The body of the second team.
extern "C" fn nothing(_: *mut c_void) {}
