//! The actions before a call of a program goes on to its runtime. The machine code of
//! [`stubs`](super::stubs) calls [`enter`], and then the function that it returns.

use core::ffi::{CStr, c_char, c_void};

use super::lookup;
use super::stubs::{self, Arguments};
use crate::functions::Function;
use crate::rules::{self, Objection, UNSAID};
use crate::runtime::{self, Runtime};
use crate::thread_data::CLAUSE;
use crate::{objections, share, system, thread_data, waiting};

/// A call of the program.
#[derive(Debug, Clone, Copy)]
struct Call {
    function: Function,
    /// The return address.
    call_site: usize,
    /// The number of the runtime that it is bound to, if the program has looked the name up.
    bound: Option<usize>,
}

impl Call {
    /// The runtime that the call goes to. `None` if there is none: the program can do without one,
    /// and has only tested whether the name exists.
    fn runtime(&self) -> Option<&'static Runtime> {
        match self.bound {
            Some(number) => runtime::numbered(number),
            None => runtime::runtime_of_call(self.function, self.call_site),
        }
    }
}

/// Handles a call that came in by the entry of this `word` and returns to `call_site`. Returns the
/// function to go on with, which gets the arguments as this leaves them.
pub(crate) extern "C" fn enter(
    word: usize,
    call_site: usize,
    arguments: &mut Arguments,
) -> *const c_void {
    thread_data::arrived();
    let (function, bound) = stubs::meaning(word);
    let call = Call { function, call_site, bound };
    match function {
        Function::FORK_CALL | Function::FORK_CALL_IF => fork(call, arguments),
        Function::NUM_PROCS | Function::NUM_PROCS_F => result(arguments, num_procs(call)),
        Function::IN_PARALLEL | Function::IN_PARALLEL_F => result(arguments, in_parallel(call)),
        Function::ACTIVE_LEVEL | Function::ACTIVE_LEVEL_F => result(arguments, active_level(call)),
        Function::NESTED | Function::NESTED_F => result(arguments, nested(call)),
        Function::PLACE_PROCS | Function::PLACE_PROCS_F => {
            let processors = place_processors(call, arguments.0[0]);
            result(arguments, processors)
        }
        Function::PLACE_IDS | Function::PLACE_IDS_F => place_ids(call, arguments),
        Function::DLSYM => dlsym(call, arguments),
        Function::DLCLOSE | Function::DLOPEN | Function::DLMOPEN => load(function),
        _ if is_region(function) => region(call, arguments),
        _ => note(call, arguments.0[0]),
    }
}

/// Goes on with a function that returns `value`.
fn result(arguments: &mut Arguments, value: u32) -> *const c_void {
    arguments.0[0] = value as usize;
    stubs::result as *const c_void
}

/// Whether `function` begins a region and takes the number of threads as its third argument, as
/// GNU's do.
fn is_region(function: Function) -> bool {
    (Function::PARALLEL.0..=Function::LOOP_MAYBE_RUNTIME.0).contains(&function.0)
}

/// Begins a parallel region of GNU's compiler. The third argument is the clause's number of
/// threads, 0 without one.
fn region(call: Call, arguments: &mut Arguments) -> *const c_void {
    // A program cannot come here without a runtime: the dynamic linker would not have started it.
    let runtime = call.runtime().unwrap_or_else(|| system::stop());
    let threads = team(runtime, arguments.0[2] as u32);
    waiting::adjust(runtime, threads);
    arguments.0[2] = threads as usize;
    known(runtime, call.function)
}

/// Begins a parallel region of LLVM's compiler. The first argument names its source; a clause was
/// pushed before.
fn fork(call: Call, arguments: &Arguments) -> *const c_void {
    let runtime = call.runtime().unwrap_or_else(|| system::stop());
    // The clause's number does not matter: it stays.
    let said = if thread_data::has(CLAUSE) { u32::MAX } else { UNSAID };
    thread_data::set(CLAUSE, false);
    let threads = team(runtime, said);
    if threads != said {
        runtime.push_num_threads(arguments.0[0] as *mut c_void, threads);
    }
    known(runtime, call.function)
}

/// The number of threads for a region whose clause is `said`.
fn team(runtime: &Runtime, said: u32) -> u32 {
    if runtime.number(Function::LEVEL, 1) > 0 {
        let active = runtime.number(Function::ACTIVE_LEVEL, 0);
        return rules::nested(
            said,
            is_lowered_to_one(runtime),
            active,
            runtime.number(Function::MAX_ACTIVE_LEVELS, 1),
        );
    }
    outermost(runtime, said)
}

/// Whether the caller is in a region that was lowered to one thread, or nested in one.
fn is_lowered_to_one(runtime: &Runtime) -> bool {
    thread_data::has(thread_data::outer_is_one(runtime.index()))
        && runtime.number(Function::LEVEL, 0) > 0
        && runtime.number_of(Function::TEAM_SIZE, 1, 0) == 1
}

fn outermost(runtime: &Runtime, said: u32) -> u32 {
    let share = share::threads();
    if cfg!(sinew_planted) {
        // The careless library: it lowers every program. A test must see it fail.
        return if said == UNSAID && share != 0 { share } else { said };
    }
    let is_in_doubt = thread_data::check_objects();
    let (objections, one) = (objections::all(), thread_data::outer_is_one(runtime.index()));
    if objections != 0 {
        explain_once(objections);
    }
    if objections != 0 || is_in_doubt {
        thread_data::set(one, false);
        return said;
    }
    let maximum = runtime.number(Function::MAX_THREADS, 1);
    let threads = rules::outermost(said, maximum, share, objections);
    let is_one = threads == 1 && said == UNSAID;
    // Without the note a nested region could get a larger team than without this library.
    if thread_data::set(one, is_one) || !is_one { threads } else { said }
}

fn known(runtime: &Runtime, function: Function) -> *const c_void {
    let found = runtime.find(function);
    if found.is_null() { system::stop() } else { found }
}

/// Records a call that [`rules`] has to know of. `first` is the call's first argument.
fn note(call: Call, first: usize) -> *const c_void {
    // Without a runtime there is nothing to lower, and no earlier result to rely on.
    let Some(runtime) = call.runtime() else { return without_runtime as *const c_void };
    match call.function {
        Function::PUSH_NUM_THREADS | Function::PUSH_STRICT => {
            thread_data::set(CLAUSE, true);
        }
        function => object(function, first),
    }
    known(runtime, call.function)
}

/// The function for a weak name without a runtime, such as OpenBLAS has: one thread, one processor.
extern "C" fn without_runtime() -> i32 {
    1
}

fn object(function: Function, first: usize) {
    let objection = match function {
        Function::MAX_THREADS | Function::MAX_THREADS_F | Function::THREAD_LIMIT => {
            Objection::AskedMaximum
        }
        Function::SET_NUM_THREADS | Function::SET_NUM_THREADS_F | Function::SET_NUM_THREADS_8 => {
            Objection::OwnNumber
        }
        Function::TEAMS | Function::FORK_TEAMS | Function::PUSH_NUM_TEAMS => Objection::Teams,
        Function::THREADPRIVATE | Function::THREADPRIVATE_REGISTER => Objection::ThreadPrivate,
        Function::PUSH_PROC_BIND => Objection::Binds,
        // Fortran passes a pointer to its value. Then any value counts as the stricter one.
        Function::SET_DYNAMIC if first as u32 != 0 => return,
        Function::SET_DYNAMIC | Function::SET_DYNAMIC_F | Function::SET_DYNAMIC_8 => {
            Objection::FixedTeams
        }
        _ => return,
    };
    objections::add(objection);
}

/// The number of processors when the command started. The mask that the runtime counts may be
/// narrower now.
fn num_procs(call: Call) -> u32 {
    let Some(runtime) = call.runtime() else { return 1 };
    // Within a region the result says nothing of other regions.
    if runtime.number(Function::LEVEL, 1) == 0 {
        objections::add(Objection::AskedMaximum);
    }
    runtime.number(call.function, 1).max(share::start_cpus())
}

/// The number of processors of an OpenMP place. If users leave binding alone, LLVM's runtime has
/// one place: the mask as it was when the runtime started.
fn place_processors(call: Call, place: usize) -> u32 {
    let Some(runtime) = call.runtime() else { return 0 };
    let counted = runtime.number_of(call.function, place, 0);
    let is_mask = counted != 0 && runtime.number(Function::NUM_PLACES, 0) == 1;
    if is_mask { counted.max(share::start_cpus()) } else { counted }
}

/// The processors of an OpenMP place. The second argument is an array with room for as many as
/// [`place_processors`] has returned.
fn place_ids(call: Call, arguments: &mut Arguments) -> *const c_void {
    let Some(runtime) = call.runtime() else { return without_runtime as *const c_void };
    let count = if call.function == Function::PLACE_IDS {
        Function::PLACE_PROCS
    } else {
        Function::PLACE_PROCS_F
    };
    let counted = runtime.number_of(count, arguments.0[0], 0);
    if counted == 0
        || runtime.number(Function::NUM_PLACES, 0) != 1
        || share::start_cpus() <= counted
    {
        return known(runtime, call.function);
    }
    let ids = arguments.0[1] as *mut i32;
    for (index, cpu) in share::start_mask().take(share::start_cpus() as usize).enumerate() {
        // SAFETY: the caller passes an array for as many numbers as it was told that the place has,
        // which are as many as the command had processors.
        unsafe { ids.add(index).write(cpu) };
    }
    result(arguments, 0)
}

/// Whether the caller is in a region of several threads, or would be without lowering.
fn in_parallel(call: Call) -> u32 {
    let is_in =
        |runtime: &Runtime| runtime.number(call.function, 0) != 0 || is_lowered_to_one(runtime);
    call.runtime().map_or(0, |runtime| u32::from(is_in(runtime)))
}

/// The number of regions around the caller that have several threads, or would have without
/// lowering.
fn active_level(call: Call) -> u32 {
    let level = |runtime: &Runtime| {
        runtime.number(call.function, 0) + u32::from(is_lowered_to_one(runtime))
    };
    call.runtime().map_or(0, level)
}

/// Whether a nested region could have several threads. GNU's runtime counts the active regions
/// around it; LLVM's does not.
fn nested(call: Call) -> u32 {
    let Some(runtime) = call.runtime() else { return 0 };
    let said = runtime.number(call.function, 0);
    if said == 0 || !runtime.is_gnus() || !is_lowered_to_one(runtime) {
        return said;
    }
    let active = runtime.number(Function::ACTIVE_LEVEL, 0);
    u32::from(runtime.number(Function::MAX_ACTIVE_LEVELS, 1) > active + 1)
}

/// The program looks a name up.
fn dlsym(call: Call, arguments: &mut Arguments) -> *const c_void {
    let [handle, name, ..] = arguments.0;
    if name == 0 {
        return system::loaders_dlsym();
    }
    // SAFETY: the caller passes a name that ends with a zero, as `dlsym` requires, and null was
    // excluded. It is read before this call ends.
    let name = unsafe { CStr::from_ptr(name as *const c_char) };
    match lookup::find(call.call_site, handle as *mut c_void, name) {
        Some(found) => {
            arguments.0[0] = found as usize;
            stubs::result as *const c_void
        }
        None => system::loaders_dlsym(),
    }
}

/// The program loads or unloads an object.
fn load(function: Function) -> *const c_void {
    match function {
        Function::DLOPEN => thread_data::loading_begins(),
        // Objects that are loaded in a namespace of their own cannot be checked from here.
        Function::DLMOPEN => objections::add(Objection::ThreadPrivate),
        _ => runtime::forget_call_sites(),
    }
    let next = system::next_definition(function.name());
    if next.is_null() { system::stop() } else { next }
}

/// A thread's mask. A runtime counts the processors when it starts. If its mask is narrow at that
/// moment, it takes the machine for smaller for good. GNU's then spins too shortly for threads on
/// processors that it gets later, so that they sleep and wake in each region.
pub(crate) extern "C" fn affinity(
    thread: usize,
    bytes: usize,
    mask: *mut u32,
    call_site: usize,
) -> i32 {
    widened(Function::AFFINITY, (thread, bytes, mask), call_site)
}

/// As [`affinity`], by the number of a process or thread. TBB counts by this one. It reads it
/// again before it starts a worker: if the mask has changed meanwhile, it would give the worker the
/// first one, which `sinew exec` would take for a binding by the program.
pub(crate) extern "C" fn process_affinity(
    process: usize,
    bytes: usize,
    mask: *mut u32,
    call_site: usize,
) -> i32 {
    widened(Function::PROCESS_AFFINITY, (process, bytes, mask), call_site)
}

fn widened(
    function: Function,
    (whose, bytes, mask): (usize, usize, *mut u32),
    call_site: usize,
) -> i32 {
    let status = runtime::affinity(function, whose, bytes, mask);
    if status == 0 && runtime::counts_at_start(call_site) {
        // SAFETY: the C library has just filled that many bytes of the caller's buffer, in whole
        // machine words.
        share::widen(unsafe { core::slice::from_raw_parts_mut(mask, bytes / 4) });
    }
    status
}

/// The result of the C library's `sysconf`. The number of processors is no smaller than when the
/// command started.
pub(crate) extern "C" fn sysconf(name: i32, _: usize, _: usize, call_site: usize) -> i64 {
    match name {
        system::PROCESSORS | system::PROCESSORS_AT_WORK => processors(name, call_site),
        _ => system::configured(name),
    }
}

/// The number of processors that are online, as `get_nprocs` returns it.
pub(crate) extern "C" fn get_nprocs(_: usize, _: usize, _: usize, call_site: usize) -> i64 {
    processors(system::PROCESSORS_AT_WORK, call_site)
}

/// As [`get_nprocs`], with processors that are switched off.
pub(crate) extern "C" fn get_nprocs_conf(_: usize, _: usize, _: usize, call_site: usize) -> i64 {
    processors(system::PROCESSORS, call_site)
}

/// A program that asks for the number of processors may divide its work by it. A runtime asks for
/// itself.
fn processors(name: i32, call_site: usize) -> i64 {
    if !runtime::is_runtime(call_site) {
        objections::add(Objection::AskedMaximum);
    }
    system::configured(name).max(i64::from(share::start_cpus_at_any_time()))
}

/// Prints once, if asked to, why teams are left alone.
fn explain_once(objections: u32) {
    #[cfg(sinew_preloaded)]
    use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
    #[cfg(not(sinew_preloaded))]
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    static SAID: AtomicBool = AtomicBool::new(false);

    if SAID.load(Relaxed) || !share::is_verbose() || SAID.swap(true, Relaxed) {
        return;
    }
    let raised =
        rules::Objection::ALL.into_iter().find(|objection| objections & *objection as u32 != 0);
    // `sinew exec` itself reports a missing `--malleable`.
    if let Some(objection) = raised.filter(|objection| *objection != Objection::NotAllowed) {
        system::complain(b"sinew: teams are left alone: ");
        system::complain(objection.reason().as_bytes());
        system::complain(b"\n");
    }
}
