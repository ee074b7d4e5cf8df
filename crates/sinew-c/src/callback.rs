//! Functions of the caller, with the contexts that they get.
//!
//! They have the ABI `C-unwind`: an exception that leaves one reaches the scheduler's guards, which
//! end the process with a message. With the ABI `C` that would be undefined.

use std::ffi::{c_int, c_uint, c_void};

// SAFETY of all calls: the header's terms for the arguments.
/// `sinew_range_fn`: context, first index, end, number of the participant.
pub(crate) type RangeFn = unsafe extern "C-unwind" fn(*mut c_void, usize, usize, c_uint) -> c_int;
/// `sinew_task_fn`: context.
pub(crate) type TaskFn = unsafe extern "C-unwind" fn(*mut c_void);
/// `sinew_reduce_fn`: context, value, first index, end.
pub(crate) type ReduceFn =
    unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, usize, usize) -> c_int;
/// The beginning or the end of a value: context, value.
pub(crate) type ValueFn = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);
/// Context, value, the value to be added after it.
pub(crate) type CombineFn = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_void);

/// A function of the caller and its context.
#[derive(Clone, Copy)]
pub(crate) struct Callback<F> {
    pub(crate) context: *mut c_void,
    pub(crate) function: F,
}

// SAFETY: by the header's terms a callback may be called from any thread with its context.
unsafe impl<F: Send> Send for Callback<F> {}
// SAFETY: as above, by several threads at once, except where the header says otherwise.
unsafe impl<F: Sync> Sync for Callback<F> {}

impl Callback<TaskFn> {
    #[inline]
    pub(crate) fn call(self) {
        // SAFETY: the header's terms.
        unsafe { (self.function)(self.context) }
    }
}

impl Callback<RangeFn> {
    /// Returns whether the loop goes on.
    #[inline]
    pub(crate) fn call(self, begin: usize, end: usize, worker: c_uint) -> bool {
        // SAFETY: the header's terms.
        unsafe { (self.function)(self.context, begin, end, worker) == 0 }
    }
}
