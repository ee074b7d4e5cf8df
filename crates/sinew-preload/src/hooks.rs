//! What happens on the way from a program to its runtime. The machine code of [`stubs`](crate::stubs) calls these, and then the function that they answer.

use core::ffi::c_void;

use crate::functions::Function;
use crate::notes::{self, CLAUSE, OUTER_IS_ONE};
use crate::rules::{self, Objection, UNSAID};
use crate::runtime::{self, Runtime};
use crate::{share, system, waiting};

/// A function of the runtime to go on with, and the number of threads to tell it.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Onward {
    function: *mut c_void,
    threads: usize,
}

/// A parallel region of GNU's compiler begins: `said` is the number of threads in its clause, 0 without one.
pub(crate) extern "C" fn region(function: usize, place: usize, said: u32) -> Onward {
    let function = Function(function);
    // A program cannot have come here without a runtime: it would not have been started.
    let runtime = runtime::meant(function, place).unwrap_or_else(|| system::stop());
    let threads = team(runtime, said);
    waiting::adjust(runtime, threads);
    Onward { function: known(runtime, function), threads: threads as usize }
}

/// A parallel region of LLVM's compiler begins at `source`. A clause was pushed before.
pub(crate) extern "C" fn fork(function: usize, place: usize, source: *mut c_void) -> *mut c_void {
    let function = Function(function);
    let runtime = runtime::meant(function, place).unwrap_or_else(|| system::stop());
    // How many the clause says does not matter: it stays.
    let said = if notes::has(CLAUSE) { u32::MAX } else { UNSAID };
    notes::set(CLAUSE, false);
    let threads = team(runtime, said);
    if threads != said {
        runtime.push_num_threads(source, threads);
    }
    known(runtime, function)
}

/// The number of threads for a region that says `said`.
fn team(runtime: &Runtime, said: u32) -> u32 {
    if runtime.number(Function::LEVEL, 1) > 0 {
        let outer_is_one = notes::has(OUTER_IS_ONE) && runtime.team_size(1) == 1;
        let active = runtime.number(Function::ACTIVE_LEVEL, 0);
        return rules::nested(said, outer_is_one, active, runtime.number(Function::MAX_ACTIVE_LEVELS, 1));
    }
    outermost(runtime, said)
}

fn outermost(runtime: &Runtime, said: u32) -> u32 {
    let share = share::threads();
    if cfg!(sinew_planted) {
        // The careless library: it takes a program for one that follows, whatever it does. For a test that must see it fail.
        return if said == UNSAID && share != 0 { share } else { said };
    }
    let objections = notes::objections();
    if objections != 0 {
        explain_once(objections);
        notes::set(OUTER_IS_ONE, false);
        return said;
    }
    let maximum = runtime.number(Function::MAX_THREADS, 1);
    let threads = rules::outermost(said, maximum, share, objections);
    let is_one = threads == 1 && said == UNSAID;
    // Without the note a nested region could get a team that it would not have had.
    if notes::set(OUTER_IS_ONE, is_one) || !is_one { threads } else { said }
}

fn known(runtime: &Runtime, function: Function) -> *mut c_void {
    let found = runtime.find(function);
    if found.is_null() { system::stop() } else { found }
}

/// The program calls something that says of it what [`rules`] wants to know. `first` is the call's first argument.
pub(crate) extern "C" fn note(function: usize, place: usize, first: *mut c_void) -> *mut c_void {
    let function = Function(function);
    // Before there is anything to lower, nothing can be relied on either.
    let Some(runtime) = runtime::meant(function, place) else { return without_runtime as *mut c_void };
    match function {
        Function::PUSH_NUM_THREADS | Function::PUSH_STRICT => {
            notes::set(CLAUSE, true);
        }
        _ => object(function, first),
    }
    known(runtime, function)
}

/// What a program gets that calls a name of which it has only seen that it is there (a *weak* one, as OpenBLAS has): one thread, one processor.
extern "C" fn without_runtime() -> i32 {
    1
}

fn object(function: Function, first: *mut c_void) {
    let objection = match function {
        Function::MAX_THREADS | Function::MAX_THREADS_F | Function::THREAD_LIMIT => Objection::AskedMaximum,
        Function::SET_NUM_THREADS | Function::SET_NUM_THREADS_F | Function::SET_NUM_THREADS_8 => {
            Objection::OwnNumber
        }
        Function::TEAMS | Function::FORK_TEAMS | Function::PUSH_NUM_TEAMS => Objection::Teams,
        Function::THREADPRIVATE | Function::THREADPRIVATE_REGISTER => Objection::ThreadPrivate,
        Function::PUSH_PROC_BIND => Objection::Binds,
        // Fortran passes a pointer to what it says: then whatever it says counts as the stricter.
        Function::SET_DYNAMIC if first as u32 != 0 => return,
        Function::SET_DYNAMIC | Function::SET_DYNAMIC_F | Function::SET_DYNAMIC_8 => Objection::FixedTeams,
        _ => return,
    };
    notes::object(objection);
}

/// How many processors there are: as many as when the command started, although the mask that the runtime counts may be narrower now.
pub(crate) extern "C" fn num_procs(function: usize, place: usize) -> i32 {
    let function = Function(function);
    let Some(runtime) = runtime::meant(function, place) else { return without_runtime() };
    // Within a region it says nothing of other regions.
    if runtime.number(Function::LEVEL, 1) == 0 {
        notes::object(Objection::AskedMaximum);
    }
    let counted = runtime.number(function, 1);
    i32::try_from(counted.max(share::start_cpus())).unwrap_or(i32::MAX)
}

/// A thread's mask. A runtime that counts the processors as it starts, and sees a mask that is narrow at that moment, would take the machine for smaller than it is for
/// good: GNU's then waits too shortly for threads on processors that it has been given since, so that they sleep and wake in each region.
pub(crate) extern "C" fn affinity(thread: usize, bytes: usize, mask: *mut u32, place: usize) -> i32 {
    let answer = runtime::affinity(thread, bytes, mask);
    if answer == 0 && runtime::counts_at_start(place) {
        // SAFETY: the C library has just filled that many bytes of the caller's, in whole machine words.
        share::widen(unsafe { core::slice::from_raw_parts_mut(mask, bytes / 4) });
    }
    answer
}

/// What the C library's `sysconf` answers. The number of processors is no fewer than when the command started.
pub(crate) extern "C" fn sysconf(name: i32, _: usize, _: usize, place: usize) -> i64 {
    match name {
        system::PROCESSORS | system::PROCESSORS_AT_WORK => processors(name, place),
        _ => system::configured(name),
    }
}

/// The same by the names that only have this number.
pub(crate) extern "C" fn get_nprocs(_: usize, _: usize, _: usize, place: usize) -> i64 {
    processors(system::PROCESSORS_AT_WORK, place)
}

/// As `get_nprocs`, with those that are switched off.
pub(crate) extern "C" fn get_nprocs_conf(_: usize, _: usize, _: usize, place: usize) -> i64 {
    processors(system::PROCESSORS, place)
}

/// Whoever asks for the number of processors may divide its work by it, unless it is a runtime, which asks for itself.
fn processors(name: i32, place: usize) -> i64 {
    if !runtime::is_runtime(place) {
        notes::object(Objection::AskedMaximum);
    }
    system::configured(name).max(i64::from(share::start_cpus_at_any_time()))
}

/// Whether the caller is in a region of several threads, or would be had it not been lowered.
pub(crate) extern "C" fn in_parallel(function: usize, place: usize) -> i32 {
    let function = Function(function);
    let Some(runtime) = runtime::meant(function, place) else { return 0 };
    let lowered =
        || notes::has(OUTER_IS_ONE) && runtime.number(Function::LEVEL, 0) > 0 && runtime.team_size(1) == 1;
    i32::from(runtime.number(function, 0) != 0 || lowered())
}

/// Something is unloaded.
pub(crate) extern "C" fn dlclose(function: usize, _: usize, _: *mut c_void) -> *mut c_void {
    runtime::forget_places();
    let next = system::next_definition(Function(function).name());
    if next.is_null() { system::stop() } else { next }
}

/// Says once, to those who asked, why teams are left alone.
fn explain_once(objections: u32) {
    #[cfg(sinew_preloaded)]
    use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
    #[cfg(not(sinew_preloaded))]
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    static SAID: AtomicBool = AtomicBool::new(false);

    if SAID.load(Relaxed) || !share::is_verbose() || SAID.swap(true, Relaxed) {
        return;
    }
    let raised = rules::Objection::ALL.into_iter().find(|objection| objections & *objection as u32 != 0);
    // Not malleable is what `sinew exec` has said itself.
    if let Some(objection) = raised.filter(|objection| *objection != Objection::NotAllowed) {
        system::complain(b"sinew: teams are left alone: ");
        system::complain(objection.reason().as_bytes());
        system::complain(b"\n");
    }
}
