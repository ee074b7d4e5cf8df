//! The thread's descriptor, and whether the thread is inside a transaction.
//!
//! A scheduler on this thread is notified as well ([`current_worker`]): in a pool, joins, scopes
//! and loops of a transaction stay on the thread, and it runs no other task meanwhile.
//!
//! # Invariants
//!
//! - I12: while `idle` is null and `descriptor` is not, the descriptor is borrowed by the one
//!   `atomically` that took it, and no other code uses it.

use crate::after::After;
use crate::descriptor::Descriptor;
use crate::sites::Site;
use sinew_sync::current_worker;
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

/// The state of a thread. Without a destructor, so that an access is one address.
struct Here {
    /// The descriptor, or null while it is borrowed: one test covers both "exists" and "is free".
    idle: Cell<*mut Descriptor>,
    /// The same, borrowed or not.
    descriptor: Cell<*mut Descriptor>,
    /// The site that borrowed it last.
    site: Cell<Option<Site>>,
}

impl Here {
    const fn new() -> Self {
        Self {
            idle: Cell::new(null_mut()),
            descriptor: Cell::new(null_mut()),
            site: Cell::new(None),
        }
    }
}

/// Frees the descriptor when the thread ends.
struct Owner(Cell<*mut Descriptor>);

impl Drop for Owner {
    fn drop(&mut self) {
        let descriptor = self.0.get();
        if descriptor.is_null() {
            return;
        }
        // SAFETY: the thread ends outside of any transaction, so nothing borrows the descriptor
        // (I12); it was made in `make_cold`, which has left it to this destructor.
        unsafe { end(descriptor) };
    }
}

/// Ends the life of a descriptor: returns its number and frees it.
///
/// # Safety
///
/// It is this thread's, from `make_cold`, and nothing borrows it or ends it again.
unsafe fn end(descriptor: *mut Descriptor) {
    #[cfg(not(any(loom, shuttle)))]
    {
        HERE.with(|here| {
            here.idle.set(null_mut());
            here.descriptor.set(null_mut());
        });
        // SAFETY: the caller's promise.
        unsafe { &*descriptor }.retire();
    }
    // SAFETY: made by `Box::leak` in `make_cold`, and no longer in `HERE`, or that no longer exists
    // either.
    drop(unsafe { Box::from_raw(descriptor) });
}

#[cfg(not(any(loom, shuttle)))]
std::thread_local! {
    static HERE: Here = const { Here::new() };
    static OWNER: Owner = const { Owner(Cell::new(null_mut())) };
}

#[cfg(shuttle)]
shuttle::thread_local! {
    static HERE: Here = Here::new();
    static OWNER: Owner = Owner(Cell::new(null_mut()));
}

#[cfg(loom)]
loom::thread_local! {
    static HERE: Here = Here::new();
    static OWNER: Owner = Owner(Cell::new(null_mut()));
}

/// Whether the current thread is inside a transaction.
///
/// A scheduler checks this before it runs another task on the thread.
#[inline]
pub fn in_transaction() -> bool {
    HERE.with(|here| here.idle.get().is_null() && !here.descriptor.get().is_null())
}

/// Begins a transaction of `site` on this thread: the caller borrows the descriptor until
/// [`leave`].
///
/// # Panics
///
/// If the thread is already inside a transaction.
#[inline(always)]
pub(crate) fn enter(site: Site) -> NonNull<Descriptor> {
    HERE.with(|here| {
        let descriptor = NonNull::new(here.idle.get()).unwrap_or_else(|| enter_cold(here, site));
        here.idle.set(null_mut());
        here.site.set(Some(site));
        current_worker::begin();
        descriptor
    })
}

/// Ends the transaction of this thread, which borrowed `descriptor`.
#[inline(always)]
pub(crate) fn leave(descriptor: NonNull<Descriptor>) {
    current_worker::end();
    HERE.with(|here| here.idle.set(descriptor.as_ptr()));
}

/// [`leave`] of a transaction that is not on the fast path: it frees a descriptor that no
/// destructor would free.
pub(crate) fn leave_cold(descriptor: NonNull<Descriptor>) {
    leave(descriptor);
    // SAFETY: this thread's, and nothing borrows it any more; nothing else ends it either, as no
    // destructor knows it.
    unsafe {
        if descriptor.as_ref().ends_with_transaction {
            end(descriptor.as_ptr());
        }
    }
}

/// [`Descriptor::keep_lists`], if the descriptor is idle.
pub(crate) fn keep_lists(empty: Box<After>) {
    HERE.with(|here| {
        // SAFETY: by I12 nothing else uses a descriptor that is idle; dropping its own lists, which
        // are empty, runs no other code.
        if let Some(descriptor) = unsafe { here.idle.get().as_mut() } {
            descriptor.keep_lists(empty);
        }
    });
}

/// The descriptor of a thread that has none yet.
#[cold]
fn enter_cold(here: &Here, site: Site) -> NonNull<Descriptor> {
    match here.site.get() {
        Some(other) if !here.descriptor.get().is_null() => nested(other, site),
        _ => make_cold(here),
    }
}

#[cold]
fn nested(other: Site, site: Site) -> ! {
    panic!(
        "the transaction of {site} was started inside the one of {other}, on the same thread: \
         hand `tx` on, or call `tx.atomically(..)`, to make it a part of the other"
    );
}

#[cold]
fn make_cold(here: &Here) -> NonNull<Descriptor> {
    // Before there are other threads the kernel registers the asymmetric fence quickly.
    if !sinew_sync::fence::is_asymmetric() && sinew_sync::fence::register_is_quick() {
        sinew_sync::fence::register();
    }
    let mut descriptor = NonNull::from(Box::leak(Box::new(Descriptor::new())));
    here.descriptor.set(descriptor.as_ptr());
    if OWNER.try_with(|owner| owner.0.set(descriptor.as_ptr())).is_err() {
        // SAFETY: made above, and no other code has it yet.
        unsafe { descriptor.as_mut() }.end_with_transaction();
    }
    descriptor
}
