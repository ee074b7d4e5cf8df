//! The threading layer of numba, which compiles Python functions with parallel loops.
//!
//! numba gets the addresses of these functions from the Python package (`python/sinew/numba.py`)
//! and calls them from compiled code, without Python's lock. Their names and types are numba's.
//!
//! A parallel function is one loop of the process's pool. numba indexes the partial results of a
//! reduction by [`sinew_numba_get_thread_id`], and sizes them by the number of threads that holds
//! at the call. So a participant has a number below that ([`Numbers`]), also where loops are
//! nested, and it sees the number of threads of its caller. In a region of no more rows than
//! threads, as numba cuts parallel loops, each row has its own number: a reduction then has the
//! same bits in each run, whichever threads have come.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::ops::{ControlFlow, Range};

use sinew_core::{Worker, global_pool};
use sinew_loops::loops::{Options, for_each_range};
use sinew_sync::statics::{AtomicU32, Ordering};

use crate::numbers::{Number, Numbers, Rule};

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

/// One participant of a region: the arrays that a kernel gets.
struct Participant {
    operands: Vec<*mut c_char>,
    lengths: Vec<usize>,
}

impl Region {
    fn participant(&self) -> Participant {
        // SAFETY: numba's array has the rows first, then the other dimensions.
        let lengths = unsafe { std::slice::from_raw_parts(self.lengths, self.dimensions + 1) };
        Participant { operands: vec![std::ptr::null_mut(); self.count], lengths: lengths.to_vec() }
    }

    /// Runs the rows of `range` under a number: each operand begins at the first of them.
    fn run(&self, participant: &mut Participant, range: Range<usize>, number: usize) {
        for (j, operand) in participant.operands.iter_mut().enumerate() {
            // SAFETY: there are `count` operands and steps.
            let (base, step) = unsafe { (*self.operands.add(j), *self.steps.add(j)) };
            // It wraps: a step may be negative, an operand without elements null.
            *operand = base.wrapping_offset(step.wrapping_mul(range.start as isize));
        }
        participant.lengths[0] = range.len();
        let part = Part { threads: self.threads, number: number as u32 };
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
        let options = Options { threads, ..Options::default() };
        if rows <= threads {
            let piece = |participant: &mut Participant, range: Range<usize>| {
                range.for_each(|row| self.run(participant, row..row + 1, row));
                ControlFlow::Continue(())
            };
            // A loop without a control is not cancelled.
            let _ = for_each_range(w, rows, &options, || self.participant(), piece);
            return;
        }
        let numbers = Numbers::new(w.index(), w.max_threads().min(threads), Rule::InTurn);
        let enter = || (numbers.take(), self.participant());
        let piece = |(number, participant): &mut (Number<'_>, Participant), range: Range<usize>| {
            self.run(participant, range, number.value);
            ControlFlow::Continue(())
        };
        let _ = for_each_range(w, rows, &options, enter, piece);
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

#[cfg(test)]
mod tests {
    //! Blind to: what numba compiles. The tests of the Python package run that.

    use super::*;
    use sinew_sync::atomic::AtomicUsize;

    const ROWS: usize = 3000;
    const WIDTH: usize = 2;

    /// Written by the kernels of a test.
    struct Log {
        visits: Vec<AtomicUsize>,
        failures: AtomicUsize,
        threads: u32,
        rows: AtomicUsize,
        inner: bool,
    }

    impl Log {
        fn new(threads: u32, inner: bool) -> Self {
            let visits = (0..ROWS).map(|_| AtomicUsize::new(0)).collect();
            let (failures, rows) = (AtomicUsize::new(0), AtomicUsize::new(0));
            Self { visits, failures, threads, rows, inner }
        }

        fn expect(&self, holds: bool) {
            self.failures.fetch_add(usize::from(!holds), Ordering::Relaxed);
        }

        /// Runs a region over a table of row numbers, which lies backwards in memory.
        fn region(&self, rows: usize) {
            self.rows.store(rows, Ordering::Relaxed);
            let table: Vec<usize> = (0..rows * WIDTH).rev().map(|at| at / WIDTH).collect();
            let last = table.as_ptr().wrapping_add((rows * WIDTH).saturating_sub(WIDTH));
            let operands = [last.cast_mut().cast::<c_char>()];
            let steps = [-((WIDTH * size_of::<usize>()) as isize)];
            let data = std::ptr::from_ref(self).cast_mut().cast::<c_void>();
            let (operands, lengths) = (operands.as_ptr(), [rows, WIDTH]);
            let (lengths, steps) = (lengths.as_ptr(), steps.as_ptr());
            let threads = self.threads as isize;
            sinew_numba_parallel_for(kernel, operands, lengths, steps, data, 1, 1, threads);
        }
    }

    /// Checks its arguments, and counts its rows.
    // SAFETY of a call: with the arrays of `Log::region`.
    unsafe extern "C" fn kernel(
        operands: *mut *mut c_char,
        lengths: *mut usize,
        steps: *const isize,
        data: *mut c_void,
    ) {
        // SAFETY: as `Log::region` made them.
        let (log, first, rows, width, step) =
            unsafe { (&*data.cast::<Log>(), *operands, *lengths, *lengths.add(1), *steps) };
        let number = sinew_numba_get_thread_id();
        log.expect(width == WIDTH && (0..log.threads as isize).contains(&number));
        log.expect(sinew_numba_get_num_threads() == log.threads as isize);
        for row in 0..rows as isize {
            // SAFETY: a row of the table.
            let at = unsafe { *first.offset(row * step).cast::<usize>() };
            log.visits[at].fetch_add(1, Ordering::Relaxed);
            let is_few = log.rows.load(Ordering::Relaxed) <= log.threads as usize;
            log.expect(!is_few || number == at as isize);
            if log.inner && at.is_multiple_of(500) {
                let inner = Log::new(1, false);
                inner.region(70);
                log.expect(inner.failures.into_inner() == 0);
                log.expect(sinew_numba_get_thread_id() == number);
            }
        }
    }

    /// Catches: a row that is left out or visited twice, a number that is too high or, with few
    /// rows, another row's, and a thread that keeps the number of a nested region.
    #[test]
    fn a_region_visits_each_row_once_with_numbers_below_its_threads() {
        for threads in [1, 2, 7] {
            for rows in [0, 1, 2, 64, ROWS] {
                let log = Log::new(threads, true);
                log.region(rows);
                assert_eq!(log.failures.load(Ordering::Relaxed), 0, "{threads} threads");
                let visits: Vec<_> = log.visits.into_iter().map(AtomicUsize::into_inner).collect();
                assert!(visits[..rows].iter().all(|&n| n == 1), "{rows} rows: {visits:?}");
                assert!(visits[rows..].iter().all(|&n| n == 0), "{rows} rows: {visits:?}");
            }
        }
        assert_eq!(sinew_numba_get_thread_id(), 0);
    }

    /// Catches: a number of threads that other threads see, and one that is lost.
    #[test]
    fn a_thread_keeps_its_own_number_of_threads() {
        sinew_numba_launch_threads(5);
        let before = sinew_numba_get_num_threads();
        sinew_numba_set_num_threads(3);
        let other = std::thread::spawn(|| sinew_numba_get_num_threads()).join().unwrap();
        assert_eq!((before, other, sinew_numba_get_num_threads()), (5, 5, 3));
    }
}
