//! The threading layer of numba, which compiles Python functions with parallel loops.
//!
//! numba gets the addresses of these functions from the Python package (`python/sinew/numba.py`)
//! and calls them from compiled code, without Python's lock. Their names and types are numba's.
//!
//! A parallel function is one loop of the process's pool. numba indexes the partial results of a
//! reduction by [`sinew_numba_get_thread_id`], and sizes them by the number of threads that holds
//! at the call. So a participant has a number below that ([`Numbers`]), also where loops are
//! nested, and it sees the number of threads of its caller.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::ops::{ControlFlow, Range};

use sinew_core::{Worker, global_pool};
use sinew_loops::loops::{Options, for_each_range};
use sinew_sync::statics::{AtomicU32, Ordering};

use crate::numbers::{Number, Numbers};

/// A compiled function: operands, lengths of dimensions, steps, data.
// SAFETY of a call: the arrays have the lengths that numba compiled it for.
type Kernel = unsafe extern "C" fn(*mut *mut c_char, *mut usize, *const isize, *mut c_void);

/// `NUMBA_NUM_THREADS`: the number of threads of a thread that has set none.
static LAUNCHED: AtomicU32 = AtomicU32::new(1);

/// A thread's part in the region that it works for.
#[derive(Clone, Copy)]
struct Part {
    /// The number of threads that the next region has; 0 for that of `LAUNCHED`.
    threads: u32,
    /// The number of this thread among those of its region.
    number: u32,
}

thread_local! {
    static PART: Cell<Part> = const { Cell::new(Part { threads: 0, number: 0 }) };
}

/// A region as numba calls it.
#[derive(Clone, Copy)]
struct Region {
    kernel: Kernel,
    operands: *const *mut c_char,
    lengths: *const usize,
    steps: *const isize,
    data: *mut c_void,
    dimensions: usize,
    count: usize,
    threads: u32,
}

// SAFETY: numba calls its kernels from any thread, and keeps the arrays until the call returns.
unsafe impl Sync for Region {}
// SAFETY: as above.
unsafe impl Send for Region {}

/// One participant of a region: its number, and the arrays that a kernel gets.
struct Participant<'n> {
    number: Number<'n>,
    operands: Vec<*mut c_char>,
    lengths: Vec<usize>,
}

impl Region {
    fn participant<'n>(&self, numbers: &'n Numbers) -> Participant<'n> {
        // SAFETY: numba's array has the rows first, then the other dimensions.
        let lengths = unsafe { std::slice::from_raw_parts(self.lengths, self.dimensions + 1) };
        Participant {
            number: numbers.take(),
            operands: vec![std::ptr::null_mut(); self.count],
            lengths: lengths.to_vec(),
        }
    }

    /// Runs the rows of `range`: each operand begins at the first of them.
    fn run(&self, participant: &mut Participant<'_>, range: Range<usize>) {
        for (j, operand) in participant.operands.iter_mut().enumerate() {
            // SAFETY: there are `count` operands and steps.
            let (base, step) = unsafe { (*self.operands.add(j), *self.steps.add(j)) };
            // It wraps: a step may be negative, an operand without elements null.
            *operand = base.wrapping_offset(step.wrapping_mul(range.start as isize));
        }
        participant.lengths[0] = range.len();
        let part = Part { threads: self.threads, number: participant.number.value as u32 };
        let before = PART.replace(part);
        let (operands, lengths) = (&mut participant.operands, &mut participant.lengths);
        // SAFETY: as numba compiled it; a kernel throws no exception.
        unsafe {
            (self.kernel)(operands.as_mut_ptr(), lengths.as_mut_ptr(), self.steps, self.data);
        }
        PART.set(before);
    }

    fn drive(&self, w: &Worker, rows: usize) {
        let threads = self.threads as usize;
        let numbers = Numbers::new(w.index(), w.max_threads().min(threads));
        let options = Options { threads, ..Options::default() };
        let piece = |participant: &mut Participant<'_>, range: Range<usize>| {
            self.run(participant, range);
            ControlFlow::Continue(())
        };
        // A loop without a control is not cancelled.
        let _ = for_each_range(w, rows, &options, || self.participant(&numbers), piece);
    }
}

/// A number of threads that is at least one.
fn at_least_one(threads: isize) -> u32 {
    u32::try_from(threads.max(1)).unwrap_or(u32::MAX)
}

/// `parallel_for`: `kernel` for the rows below `lengths[0]`, on at most `threads` threads.
#[unsafe(no_mangle)]
extern "C" fn sinew_numba_parallel_for(
    kernel: Kernel,
    operands: *const *mut c_char,
    lengths: *const usize,
    steps: *const isize,
    data: *mut c_void,
    dimensions: usize,
    count: usize,
    threads: isize,
) {
    let threads = at_least_one(threads);
    let region = Region { kernel, operands, lengths, steps, data, dimensions, count, threads };
    // SAFETY: a region has at least one dimension.
    let rows = unsafe { *lengths };
    global_pool().run(|w| region.drive(w, rows));
}

/// `launch_threads`: the pool starts its own threads; `count` is the number that each thread of
/// the program begins with.
#[unsafe(no_mangle)]
extern "C" fn sinew_numba_launch_threads(count: c_int) {
    // Relaxed: it publishes nothing else.
    LAUNCHED.store(at_least_one(count as isize), Ordering::Relaxed);
}

/// `set_num_threads`: the number of threads of later regions of this thread.
#[unsafe(no_mangle)]
extern "C" fn sinew_numba_set_num_threads(count: c_int) {
    PART.set(Part { threads: at_least_one(count as isize), ..PART.get() });
}

/// `get_num_threads`. Compiled code reads a whole register.
#[unsafe(no_mangle)]
extern "C" fn sinew_numba_get_num_threads() -> isize {
    match PART.get().threads {
        0 => LAUNCHED.load(Ordering::Relaxed) as isize,
        threads => threads as isize,
    }
}

/// `get_thread_id`.
#[unsafe(no_mangle)]
extern "C" fn sinew_numba_get_thread_id() -> isize {
    PART.get().number as isize
}

/// `synchronize`, `ready` and `add_task`: numba requires their addresses and calls none of them.
#[unsafe(no_mangle)]
extern "C" fn sinew_numba_unused() {}
