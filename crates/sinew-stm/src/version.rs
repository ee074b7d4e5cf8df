//! Versions of boxed values: each immutable, in a chain from the oldest kept one to the current
//! one.
//!
//! ```text
//! oldest ──newer──▶ … ──newer──▶ current
//! retired at 12      retired at 40    (what get clones)
//! ```
//!
//! A commit appends its version and stores the time of retirement in the last one. Later commits
//! remove versions that no transaction can see any more (`grace`) from the old end. The variable's
//! drop drops the rest. So no version outlives its variable, and values may borrow.
//!
//! # Invariants
//!
//! - I6: `oldest`, `newer` and `retired` are accessed only by a thread that has locked the record
//!   beside them, or owns the variable.
//! - I7: a version that was cut off, or never became current, is reached only through the list of
//!   values to drop.

use crate::drops::Panics;
use crate::word::{Bits, pack, unpack};
use sinew_sync::atomic::{AtomicPtr, Ordering};
use sinew_sync::cell::Cell;
use std::ptr::{NonNull, null_mut};

/// The common part of all versions, for any type.
#[derive(Debug)]
pub(crate) struct Header {
    newer: Cell<*mut Self>,
    retired: Cell<u64>,
    free: unsafe fn(*mut Self),
}

/// A value of one commit.
#[repr(C)]
struct Version<T> {
    header: Header,
    value: T,
}

impl Header {
    /// A version with `value`, to which nothing else refers.
    pub(crate) fn new<T>(value: T) -> NonNull<Self> {
        /// # Safety
        ///
        /// As for [`Header::free`], of a version of `T`.
        unsafe fn free<T>(header: *mut Header) {
            // SAFETY: the header is the first field of a boxed `Version<T>`, of which the caller
            // gives up the ownership.
            drop(unsafe { Box::from_raw(header.cast::<Version<T>>()) });
        }
        let header =
            Self { newer: Cell::new(null_mut()), retired: Cell::new(u64::MAX), free: free::<T> };
        NonNull::from(Box::leak(Box::new(Version { header, value }))).cast()
    }

    /// Drops the version.
    ///
    /// # Safety
    ///
    /// It came from [`new`](Self::new), and nothing refers to it any more.
    pub(crate) unsafe fn free(version: NonNull<Self>) {
        // SAFETY: the caller's promise, for the function that `new` made for this type.
        unsafe { (version.as_ref().free)(version.as_ptr()) };
    }

    /// The value of a version.
    ///
    /// # Safety
    ///
    /// It is a version of `T` and lives as long as `'a`.
    pub(crate) unsafe fn value<'a, T>(version: NonNull<Self>) -> &'a T {
        // SAFETY: the caller's promise; the value is changed only before the version is published,
        // by the transaction that made it (`value_mut`).
        unsafe { &(*version.as_ptr().cast::<Version<T>>()).value }
    }
}

impl Header {
    /// The value of a version, to be changed.
    ///
    /// # Safety
    ///
    /// It is a version of `T` that was never published, nothing else refers to it, and it lives as
    /// long as `'a`.
    pub(crate) unsafe fn value_mut<'a, T>(version: NonNull<Self>) -> &'a mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut (*version.as_ptr().cast::<Version<T>>()).value }
    }
}

/// A version as the bits of a write set's entry.
pub(crate) fn to_bits(version: NonNull<Header>) -> Bits {
    pack(version.as_ptr())
}

/// The inverse of [`to_bits`].
///
/// # Safety
///
/// The bits came from that function.
pub(crate) unsafe fn from_bits(bits: Bits) -> NonNull<Header> {
    // SAFETY: the caller's promise.
    unsafe { NonNull::new_unchecked(unpack::<*mut Header>(bits).assume_init()) }
}

/// The chain of a variable's versions.
#[derive(Debug)]
pub(crate) struct Chain {
    current: AtomicPtr<Header>,
    oldest: Cell<*mut Header>,
}

impl Chain {
    /// A chain of one version, which it owns from here on.
    pub(crate) fn new(version: NonNull<Header>) -> Self {
        Self { current: AtomicPtr::new(version.as_ptr()), oldest: Cell::new(version.as_ptr()) }
    }

    /// The current version. It may be read once the record beside the chain has been checked again,
    /// under a pin.
    pub(crate) fn current(&self) -> NonNull<Header> {
        // Acquire: R2, and the contents of the version.
        let current = self.current.load(Ordering::Acquire);
        debug_assert!(!current.is_null(), "a chain always has a version");
        // SAFETY: made from non-null pointers only.
        unsafe { NonNull::new_unchecked(current) }
    }

    /// Makes `version` the current one, as of the commit `now`.
    ///
    /// # Safety
    ///
    /// The caller has locked the record beside the chain, and gives up `version`.
    pub(crate) unsafe fn publish(&self, version: NonNull<Header>, now: u64) {
        let last = self.current();
        // SAFETY: by I6 no other thread is here; the last version is alive, as all from `oldest` to
        // `current` are.
        unsafe {
            last.as_ref().newer.with_mut(|newer| *newer = version.as_ptr());
            last.as_ref().retired.with_mut(|retired| *retired = now);
        }
        // Release: R2.
        self.current.store(version.as_ptr(), Ordering::Release);
    }

    /// Removes the versions retired at `safe` or before, and passes each to `discard`.
    ///
    /// # Safety
    ///
    /// The caller has locked the record beside the chain, and no transaction can see a version that
    /// was retired that early.
    pub(crate) unsafe fn cut(&self, safe: u64, mut discard: impl FnMut(NonNull<Header>)) {
        let current = self.current().as_ptr();
        loop {
            let oldest = self.oldest.with(|oldest| {
                // SAFETY: I6.
                unsafe { *oldest }
            });
            // SAFETY: alive, and accessed by this thread alone (I6).
            let (retired, newer) = unsafe {
                ((*oldest).retired.with(|retired| *retired), (*oldest).newer.with(|newer| *newer))
            };
            if oldest == current || retired > safe {
                return;
            }
            // SAFETY: I6 for the cell; never null, as above.
            let cut = unsafe {
                self.oldest.with_mut(|oldest| *oldest = newer);
                NonNull::new_unchecked(oldest)
            };
            discard(cut);
        }
    }

    /// Drops all versions. The chain must not be used after that.
    ///
    /// # Safety
    ///
    /// The caller owns the chain, and no transaction that has seen it is still running.
    pub(crate) unsafe fn free(&self) {
        let mut first = Panics::default();
        // SAFETY: the caller's promise. A retired version differs from the current one by its
        // retirement time; the current one has the highest. Each version has left the chain when it
        // is dropped.
        unsafe {
            self.cut(u64::MAX, |version| first.catch(|| Header::free(version)));
            first.catch(|| Header::free(self.current()));
        }
        first.resume();
    }
}
