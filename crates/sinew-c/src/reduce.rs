//! Reductions: values of blocks of indices, combined in the order of the indices.
//!
//! The blocks follow from the number of indices alone, and so does the tree by which their values
//! are combined. So the result has the same bits for each number of workers.

use std::ffi::c_void;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{ControlFlow, Range};

use sinew_core::Worker;
use sinew_loops::loops::{Options, fold_ranges};
use sinew_sync::atomic::{AtomicBool, Ordering};

use crate::callback::{Callback, CombineFn, ReduceFn, ValueFn};
use crate::handle::Handle;
use crate::options::{self, LoopOptions, Reduction};
use crate::pool;
use crate::ranges::Request;
use crate::status::{Outcome, Status, guarded};

/// A part of a value, aligned as any type of C is.
#[repr(align(16))]
#[derive(Clone, Copy)]
struct Unit(#[expect(dead_code, reason = "C reads and writes it")] [MaybeUninit<u8>; UNIT]);

const UNIT: usize = 16;

/// Values of this many parts need no allocation.
const SHORT: usize = 4;

/// The functions of a reduction, with their context.
struct Functions {
    size: usize,
    identity: ValueFn,
    range: ReduceFn,
    combine: CombineFn,
    drop: Option<ValueFn>,
}

/// A value, which ends by being combined into another one, returned, or dropped.
struct Value<'f> {
    bytes: Bytes,
    functions: &'f Callback<Functions>,
}

enum Bytes {
    Short([Unit; SHORT]),
    Long(Box<[Unit]>),
}

impl Callback<Functions> {
    fn identity(&self) -> Value<'_> {
        let empty = Unit([MaybeUninit::uninit(); UNIT]);
        let bytes = match self.function.size.div_ceil(UNIT) {
            ..=SHORT => Bytes::Short([empty; SHORT]),
            long => Bytes::Long(vec![empty; long].into_boxed_slice()),
        };
        let mut value = ManuallyDrop::new(Value { bytes, functions: self });
        // SAFETY: the header's terms; the function makes the bytes a value.
        unsafe { (self.function.identity)(self.context, value.address()) };
        ManuallyDrop::into_inner(value)
    }

    /// `left`, with `right` added after it.
    fn combine<'f>(&self, mut left: Value<'f>, right: Value<'f>) -> Value<'f> {
        // It ends in the function.
        let mut right = right.into_parts();
        // SAFETY: the header's terms; both are values.
        unsafe { (self.function.combine)(self.context, left.address(), right.address()) };
        left
    }

    /// Adds the indices of a range. Returns whether the reduction goes on.
    fn add(&self, value: &mut Value<'_>, range: Range<usize>) -> bool {
        // SAFETY: the header's terms.
        let flow =
            unsafe { (self.function.range)(self.context, value.address(), range.start, range.end) };
        flow == 0
    }
}

impl Value<'_> {
    fn address(&mut self) -> *mut c_void {
        self.bytes.address()
    }

    /// The bytes alone, whose end is the caller's matter.
    fn into_parts(self) -> Bytes {
        let mut this = ManuallyDrop::new(self);
        std::mem::replace(&mut this.bytes, Bytes::Long(Box::default()))
    }
}

impl Bytes {
    fn address(&mut self) -> *mut c_void {
        match self {
            Self::Short(units) => units.as_mut_ptr().cast(),
            Self::Long(units) => units.as_mut_ptr().cast(),
        }
    }
}

impl Drop for Value<'_> {
    fn drop(&mut self) {
        if let Some(drop) = self.functions.function.drop {
            let context = self.functions.context;
            // SAFETY: the header's terms; this is a value, which ends here.
            unsafe { drop(context, self.address()) };
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn sinew_reduce(
    pool: Handle,
    n: usize,
    from: *const LoopOptions,
    reduction: *const Reduction,
    context: *mut c_void,
    result: *mut c_void,
) -> Status {
    guarded(|| {
        if reduction.is_null() || result.is_null() {
            return Err(Status::Invalid);
        }
        let function = functions(options::read(reduction)?)?;
        let functions = Callback { context, function };
        let request = Request::of(from, functions.function.range as usize)?;
        let options = Options { reproducible: true, ..request.options() };
        let functions = &functions;
        let mut bytes =
            pool::run(pool, |w| fold(w, n, &options, functions).map(Value::into_parts))?;
        // SAFETY: the header's terms; both are valid for the value's size, and apart.
        unsafe { result.copy_from_nonoverlapping(bytes.address(), functions.function.size) };
        Ok(())
    })
}

fn functions(from: Reduction) -> Outcome<Functions> {
    let Reduction { value_size: size, identity, range, combine, drop, .. } = from;
    match (identity, range, combine) {
        (Some(identity), Some(range), Some(combine)) if size > 0 => {
            Ok(Functions { size, identity, range, combine, drop })
        }
        _ => Err(Status::Invalid),
    }
}

fn fold<'f>(
    w: &Worker,
    n: usize,
    options: &Options<'_>,
    functions: &'f Callback<Functions>,
) -> Outcome<Value<'f>> {
    let is_stopped = AtomicBool::new(false);
    let add = |value: &mut Value<'f>, range: Range<usize>| {
        if functions.add(value, range) {
            return ControlFlow::Continue(());
        }
        // Relaxed: read after the loop, whose end orders it.
        is_stopped.store(true, Ordering::Relaxed);
        ControlFlow::Break(())
    };
    let combine = |left, right| functions.combine(left, right);
    let folded = fold_ranges(w, n, options, || functions.identity(), add, combine);
    if is_stopped.into_inner() {
        return Err(Status::Stopped);
    }
    let folded = folded.map_err(|_| Status::Cancelled)?;
    Ok(folded.unwrap_or_else(|| functions.identity()))
}
