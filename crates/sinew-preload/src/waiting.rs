//! How long GNU's runtime spins, as far as it can be changed in a program that runs.
//!
//! Threads that have a processor each should spin for one another: whoever sleeps between short
//! regions is woken late, in each of them. Threads that share one should not: whoever spins keeps
//! the other from what is waited for. The runtime reads the number of turns once, when it starts.
//! But while there are more of its threads than processors it spins a fraction of that, and it
//! counts its threads anew whenever a team is made or ends. So while a program's share is narrower
//! than its teams, a thread of this library's own holds a second team of two, which does nothing
//! but be counted. Two programs of short loops with a core each take 1.15 times the ideal with it,
//! 1.5 without.
//!
//! Teams stay as they are, and nothing that a program can ask its runtime for changes. Users who
//! say how to wait are left alone, and programs whose teams are smaller than the machine: for those
//! it would take more threads.
//!
//! # Invariants
//!
//! W1: a runtime has one such thread at a time. It goes from ABSENT to PRESENT by whoever starts it, from PRESENT to ENDING by whoever ends it, and from ENDING to ABSENT by
//! itself, as the last that it does here.\
//! W2: it takes no signals: these are for the program's threads.
//!
//! # Not handled
//!
//! A forked child has the count of its parent, and no thread to end; nor has it the parent's teams,
//! and GNU's runtime cannot make new ones there.

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

/// A region begins whose team is to have so many threads, or as many as the runtime likes (0): lets
/// them wait as suits the share.
pub(crate) fn adjust(runtime: &'static Runtime, threads: u32) {
    let (share, all) = (share::threads(), share::start_cpus());
    if share == 0 || share >= all {
        // One load where there is nothing to end.
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

/// The life of the thread.
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

/// What the second team does.
extern "C" fn nothing(_: *mut c_void) {}
