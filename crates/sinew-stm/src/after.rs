//! The work after an attempt: handlers, values to drop, shared ownership to release.
//!
//! None of it runs between the first lock and the last release, nor inside the transaction: a
//! handler or a `Drop` may start transactions of its own.
//!
//! # Invariants
//!
//! - I5: the list is taken from its descriptor and emptied before `atomically` returns, also during
//!   unwinding. Handlers are called or dropped before kept values are released. So they may borrow
//!   from the environment of the call, and from kept values.

use crate::drops::Drops;
use crate::handler::Handler;
use crate::version::Header;
use std::ptr::NonNull;
use std::sync::Arc;

/// A version that no transaction can see any more, or ever saw.
pub(crate) struct Garbage(NonNull<Header>);

impl Drop for Garbage {
    fn drop(&mut self) {
        // SAFETY: the maker of this gave up the version, and guaranteed that nothing else reaches
        // it.
        unsafe { Header::free(self.0) };
    }
}

/// An `Arc` that a transaction keeps for its references.
struct Kept {
    value: *const (),
    release: unsafe fn(*const ()),
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: pointer and function were made for each other in `After::keep`, and this is the
        // only call.
        unsafe { (self.release)(self.value) };
    }
}

/// A position in the lists, to which the lists can return.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Mark {
    on_commit: usize,
    on_abort: usize,
}

/// The work after an attempt. A panic drops the lists in this order (I5).
#[derive(Default)]
pub(crate) struct After {
    /// Handlers of undone branches, and those of such branches that will never be called.
    undone: Drops<Handler>,
    on_abort: Drops<Handler>,
    on_commit: Drops<Handler>,
    void: Drops<Handler>,
    garbage: Drops<Garbage>,
    kept: Drops<Kept>,
}

impl After {
    /// Drops the version at the end of the attempt.
    ///
    /// # Safety
    ///
    /// It came from [`Header::new`], nothing else frees it, and nothing reaches it after the
    /// attempt.
    pub(crate) unsafe fn discard(&mut self, version: NonNull<Header>) {
        self.garbage.push(Garbage(version));
    }

    /// Keeps `value` alive until the attempt is over.
    pub(crate) fn keep<T>(&mut self, value: Arc<T>) -> *const T {
        /// # Safety
        ///
        /// The pointer came from `Arc::into_raw` of an `Arc<T>`, which this takes back.
        unsafe fn release<T>(value: *const ()) {
            // SAFETY: the caller's promise.
            drop(unsafe { Arc::from_raw(value.cast::<T>()) });
        }
        let value = Arc::into_raw(value);
        self.kept.push(Kept { value: value.cast(), release: release::<T> });
        value
    }

    /// Calls `handler` after the commit.
    ///
    /// # Safety
    ///
    /// Everything that it borrows lives until `atomically` returns, or is kept.
    pub(crate) unsafe fn on_commit(&mut self, handler: impl FnOnce()) {
        // SAFETY: by I5 the handler is called or dropped within the life of its borrows.
        self.on_commit.push(unsafe { Handler::new(handler) });
    }

    /// Calls `handler` if the attempt aborts.
    ///
    /// # Safety
    ///
    /// As for [`on_commit`](Self::on_commit).
    pub(crate) unsafe fn on_abort(&mut self, handler: impl FnOnce()) {
        // SAFETY: as above.
        self.on_abort.push(unsafe { Handler::new(handler) });
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { undone, on_abort, on_commit, void, garbage, kept } = self;
        let handlers = [undone, on_abort, on_commit, void];
        handlers.into_iter().all(|list| list.len() == 0) && garbage.len() == 0 && kept.len() == 0
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { on_commit: self.on_commit.len(), on_abort: self.on_abort.len() }
    }

    /// Undoes the handlers since `mark`: those of an abort will be called, those of a commit will
    /// not.
    pub(crate) fn undo(&mut self, mark: Mark) {
        self.on_commit.move_from(mark.on_commit, &mut self.void);
        self.on_abort.move_from(mark.on_abort, &mut self.undone);
    }

    /// Runs all of it, and leaves the lists empty. A panic in a handler propagates, and one in a
    /// `Drop` after the rest of its list is dropped. Then drop this: it drops what is left.
    pub(crate) fn run(&mut self, committed: bool) {
        let Self { undone, on_abort, on_commit, void, garbage, kept } = self;
        undone.for_each(Handler::call);
        let (due, other) = if committed { (on_commit, on_abort) } else { (on_abort, on_commit) };
        due.for_each(Handler::call);
        other.clear();
        void.clear();
        garbage.clear();
        kept.clear();
    }
}
