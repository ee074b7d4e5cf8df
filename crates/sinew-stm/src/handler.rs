//! A closure to call once, without an allocation if it is small.
//!
//! Each insertion into a container, and each removal, registers one: what an abort or a commit does
//! with the node.

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};

/// Room for the closures of containers: a reference, and a node with a time.
type Words = MaybeUninit<[u64; 3]>;

/// A closure, in place or behind a box.
pub(crate) struct Handler {
    words: Words,
    /// Takes the closure out of the words, and calls or drops it.
    end: unsafe fn(&mut Words, bool),
    /// The closure need not be `Send`.
    stays: PhantomData<*const ()>,
}

impl Handler {
    /// # Safety
    ///
    /// Everything that `f` borrows lives until the handler is called or dropped.
    pub(crate) unsafe fn new<F: FnOnce()>(f: F) -> Self {
        if size_of::<F>() <= size_of::<Words>() && align_of::<F>() <= align_of::<Words>() {
            Self::of(f)
        } else {
            Self::of(Box::new(f))
        }
    }

    /// A handler of a closure that has room in the words.
    fn of<F: FnOnce()>(f: F) -> Self {
        /// # Safety
        ///
        /// The words hold an `F`, which this takes.
        unsafe fn end<F: FnOnce()>(words: &mut Words, is_due: bool) {
            // SAFETY: the caller's promise.
            let f = unsafe { words.as_mut_ptr().cast::<F>().read() };
            if is_due {
                f();
            }
        }
        assert!(size_of::<F>() <= size_of::<Words>() && align_of::<F>() <= align_of::<Words>());
        let mut words = Words::uninit();
        // SAFETY: there is room for an `F`, as has just been checked.
        unsafe { words.as_mut_ptr().cast::<F>().write(f) };
        Self { words, end: end::<F>, stays: PhantomData }
    }

    pub(crate) fn call(self) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `of` made words and function for each other, and nothing else takes the closure.
        unsafe { (this.end)(&mut this.words, true) };
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        // SAFETY: as in `call`, which prevents this drop.
        unsafe { (self.end)(&mut self.words, false) };
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::Handler;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Catches: a closure that is dropped twice or not at all, and one that does not fit.
    #[test]
    fn a_closure_of_any_size_ends_once() {
        fn ends<const N: usize>() {
            let log = Rc::new(RefCell::new(Vec::new()));
            let handler = || {
                let (log, value) = (Rc::clone(&log), [7_u64; N]);
                // SAFETY: it borrows nothing.
                unsafe { Handler::new(move || log.borrow_mut().extend(value)) }
            };
            handler().call();
            assert_eq!((log.take().as_slice(), Rc::strong_count(&log)), (&[7; N][..], 1));
            drop(handler());
            assert_eq!((log.take().len(), Rc::strong_count(&log)), (0, 1));
        }
        ends::<0>();
        ends::<2>();
        ends::<3>();
        ends::<40>();
    }

    /// Catches: an alignment that the words do not have.
    #[test]
    fn a_closure_of_a_large_alignment_is_boxed() {
        #[repr(align(64))]
        struct Aligned(u8);
        let (aligned, mut seen) = (Aligned(3), None);
        let handler = || {
            let aligned = aligned;
            seen = Some((aligned.0, std::ptr::from_ref(&aligned).addr() % 64));
        };
        // SAFETY: what it borrows lives to the end of this function.
        unsafe { Handler::new(handler) }.call();
        assert_eq!(seen, Some((3, 0)));
    }
}
