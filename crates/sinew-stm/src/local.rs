//! The thread's descriptor, and whether a transaction of the thread is under way.
//!
//! # Invariants
//!
//! - I12: while `active` is set, the descriptor is borrowed by the one `atomically` that set it, and nobody else touches it.

use crate::descriptor::Descriptor;
use crate::sites::Site;
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

/// What a thread has. Without a destructor, so that an access is one address.
struct Here {
    active: Cell<Option<Site>>,
    descriptor: Cell<*mut Descriptor>,
}

impl Here {
    const fn new() -> Self {
        Self { active: Cell::new(None), descriptor: Cell::new(null_mut()) }
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
        #[cfg(not(any(loom, shuttle)))]
        {
            HERE.with(|here| here.descriptor.set(null_mut()));
            // SAFETY: the thread ends outside of any transaction, so nobody borrows the descriptor (I12).
            unsafe { &*descriptor }.retire();
        }
        // SAFETY: made by `Box::leak` in `make_cold`, and no longer in `HERE`, or that is gone as well.
        drop(unsafe { Box::from_raw(descriptor) });
    }
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
/// A scheduler asks this before it runs something else on the thread.
#[inline]
pub fn in_transaction() -> bool {
    HERE.with(|here| here.active.get().is_some())
}

/// Begins a transaction of `site` on this thread: the caller borrows the descriptor until [`leave`].
///
/// # Panics
///
/// If one is under way.
#[inline(always)]
pub(crate) fn enter(site: Site) -> NonNull<Descriptor> {
    HERE.with(|here| {
        if let Some(other) = here.active.get() {
            nested(other, site);
        }
        let descriptor = NonNull::new(here.descriptor.get()).unwrap_or_else(|| make_cold(here));
        here.active.set(Some(site));
        descriptor
    })
}

/// Ends the transaction of this thread.
#[inline(always)]
pub(crate) fn leave() {
    HERE.with(|here| here.active.set(None));
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
    // Before there are other threads the kernel registers the asymmetric fence at once.
    if !sinew_sync::fence::asymmetric() && sinew_sync::fence::register_is_quick() {
        sinew_sync::fence::register();
    }
    let descriptor = NonNull::from(Box::leak(Box::new(Descriptor::new())));
    here.descriptor.set(descriptor.as_ptr());
    // Where the thread is past its destructors the descriptor is lost, some hundred bytes.
    let _ = OWNER.try_with(|owner| owner.0.set(descriptor.as_ptr()));
    descriptor
}
