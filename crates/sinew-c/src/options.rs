//! Structures that callers fill in. The first field of each is its size, so later versions of the
//! library can add fields at the end and still serve older programs.

use std::ffi::{CStr, c_char, c_uint};
use std::mem::MaybeUninit;

use sinew_core::{Mapping, Wait};
use sinew_policy::chunk::Schedule;

use crate::callback::{CombineFn, ReduceFn, ValueFn};
use crate::handle::Handle;
use crate::status::{Outcome, Status, guarded, put};

/// As many workers as there are: `SINEW_ALL`.
pub(crate) const ALL: c_uint = c_uint::MAX;

/// A structure whose first field is its size.
///
/// # Safety
///
/// `repr(C)`, the first field is a `usize`, and every pattern of bits is a value.
pub(crate) unsafe trait ByItsSize: Copy {
    /// Values for the fields that an older program does not know.
    const DEFAULT: Self;
}

/// `sinew_pool_options`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolOptions {
    pub(crate) struct_size: usize,
    pub(crate) threads: c_uint,
    pub(crate) spare: c_uint,
    pub(crate) wait: c_uint,
    pub(crate) reserved: c_uint,
}

/// `sinew_loop_options`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopOptions {
    pub(crate) struct_size: usize,
    pub(crate) schedule: c_uint,
    pub(crate) threads: c_uint,
    pub(crate) chunk: usize,
    pub(crate) control: Handle,
    pub(crate) memory: Handle,
}

/// `sinew_reduction`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reduction {
    pub(crate) struct_size: usize,
    pub(crate) value_size: usize,
    pub(crate) identity: Option<ValueFn>,
    pub(crate) range: Option<ReduceFn>,
    pub(crate) combine: Option<CombineFn>,
    pub(crate) drop: Option<ValueFn>,
}

// SAFETY: `repr(C)` integers.
unsafe impl ByItsSize for PoolOptions {
    const DEFAULT: Self =
        Self { struct_size: size_of::<Self>(), threads: ALL, spare: 0, wait: 0, reserved: 0 };
}

// SAFETY: `repr(C)` integers and pointers that are only compared.
unsafe impl ByItsSize for LoopOptions {
    const DEFAULT: Self = Self {
        struct_size: size_of::<Self>(),
        schedule: 0,
        threads: ALL,
        chunk: 0,
        control: std::ptr::null_mut(),
        memory: std::ptr::null_mut(),
    };
}

// SAFETY: `repr(C)` integers, and functions, which are null or valid by the header's terms.
unsafe impl ByItsSize for Reduction {
    const DEFAULT: Self = Self {
        struct_size: size_of::<Self>(),
        value_size: 0,
        identity: None,
        range: None,
        combine: None,
        drop: None,
    };
}

/// The structure at `from`, with defaults for the fields that its size leaves out. A null pointer
/// stands for all defaults.
///
/// # Errors
///
/// [`Status::Invalid`] for a size without a whole field, and for one with fields that this version
/// does not know and that are not 0.
pub(crate) fn read<T: ByItsSize>(from: *const T) -> Outcome<T> {
    if from.is_null() {
        return Ok(T::DEFAULT);
    }
    let bytes = from.cast::<u8>();
    // SAFETY: not null, so valid by the header's terms, at least for its first field.
    let size = unsafe { from.cast::<usize>().read() };
    if size == size_of::<T>() {
        // SAFETY: as above, for all of its size.
        return Ok(unsafe { from.read() });
    }
    // A size beyond this has no meaning.
    if size <= size_of::<usize>() || size > 4096 || !size.is_multiple_of(align_of::<u32>()) {
        return Err(Status::Invalid);
    }
    // SAFETY: `from` is valid for its size.
    let is_known = (size_of::<T>()..size).all(|at| unsafe { bytes.add(at).read() } == 0);
    if !is_known {
        return Err(Status::Invalid);
    }
    let mut read = MaybeUninit::new(T::DEFAULT);
    // SAFETY: both are valid for that many bytes, and any bytes are a value.
    unsafe {
        let to = read.as_mut_ptr().cast::<u8>();
        to.copy_from_nonoverlapping(bytes, size.min(size_of::<T>()));
        Ok(read.assume_init())
    }
}

/// A number of threads; `None` for all.
///
/// # Errors
///
/// [`Status::Invalid`] for 0.
pub(crate) fn threads(number: c_uint) -> Outcome<Option<usize>> {
    match number {
        0 => Err(Status::Invalid),
        ALL => Ok(None),
        number => Ok(Some(number as usize)),
    }
}

/// The schedule of a code of the header and a chunk; `None` for the default.
///
/// # Errors
///
/// [`Status::Invalid`] for an unknown code, and for a chunk of 0 where the schedule needs one.
pub(crate) fn schedule(code: c_uint, chunk: usize) -> Outcome<Option<Schedule>> {
    if code == 0 {
        return Ok(None);
    }
    let code = u8::try_from(code).map_err(|_| Status::Invalid)?;
    Schedule::from_code(code, chunk).map(Some).ok_or(Status::Invalid)
}

/// A text of the caller.
///
/// # Errors
///
/// [`Status::Invalid`] for a null pointer, and for bytes that are no text.
pub(crate) fn text<'t>(from: *const c_char) -> Outcome<&'t str> {
    if from.is_null() {
        return Err(Status::Invalid);
    }
    // SAFETY: not null, so a string by the header's terms, which stays during the call.
    unsafe { CStr::from_ptr(from) }.to_str().map_err(|_| Status::Invalid)
}

/// The mapping of a text; `None` for a null pointer.
///
/// # Errors
///
/// [`Status::Invalid`] for a text that is none.
pub(crate) fn mapping(from: *const c_char) -> Outcome<Option<Mapping>> {
    if from.is_null() {
        return Ok(None);
    }
    text(from)?.parse().map(Some).map_err(|_| Status::Invalid)
}

/// `sinew_schedule_from_name`: the code and the number of a text such as `dynamic:64`.
#[unsafe(no_mangle)]
extern "C" fn sinew_schedule_from_name(
    name: *const c_char,
    schedule: *mut c_uint,
    chunk: *mut usize,
) -> Status {
    guarded(|| {
        let named: Schedule = text(name)?.parse().map_err(|_| Status::Invalid)?;
        let (code, number) = named.code();
        if schedule.is_null() || chunk.is_null() {
            return Err(Status::Invalid);
        }
        put(schedule, c_uint::from(code))?;
        put(chunk, number)
    })
}

/// The wait policy of a code of the header.
///
/// # Errors
///
/// [`Status::Invalid`] for an unknown code.
pub(crate) fn wait(code: c_uint) -> Outcome<Wait> {
    match code {
        0 => Ok(Wait::Leapfrog),
        1 => Ok(Wait::Descendants),
        2 => Ok(Wait::Block),
        _ => Err(Status::Invalid),
    }
}
