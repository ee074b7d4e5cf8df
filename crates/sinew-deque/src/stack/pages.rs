//! Memory of task stacks: zeroed, and allocated page by page at the first touch.
//!
//! A page lies on the NUMA node of the thread that touches it first. That must be the stack's
//! owner, not the thread that builds the pool, so nothing is written here. Machines with several
//! nodes use no large pages: one touch would place the stacks of many owners. The allocator's
//! memory is not used either: it must clear reused memory first, half a MiB for each worker of each
//! pool, of which most programs use only the first page.

/// A descriptor that begins as zeros.
///
/// # Safety
///
/// All-zero bytes are a valid value and represent an empty descriptor.
pub(super) unsafe trait Blank: Sized {
    /// The same for models, whose atomics are not plain bytes.
    #[cfg(any(loom, shuttle))]
    fn blank() -> Self;
}

#[cfg(all(unix, not(any(loom, shuttle))))]
mod imp {
    use std::io;
    use std::ops::Deref;
    use std::ptr::{NonNull, null_mut};

    use super::Blank;
    use crate::node::PreferredNode;

    /// An array of empty descriptors.
    #[derive(Debug)]
    pub(in crate::stack) struct Pages<T> {
        first: NonNull<T>,
        count: usize,
    }

    // SAFETY: owned memory.
    unsafe impl<T: Send> Send for Pages<T> {}
    // SAFETY: it is shared as a slice.
    unsafe impl<T: Sync> Sync for Pages<T> {}

    impl<T: Blank> Pages<T> {
        /// Memory for an owner that prefers this node.
        ///
        /// # Panics
        ///
        /// If the system has no memory left.
        pub(in crate::stack) fn new(count: usize, node: PreferredNode) -> Self {
            const { assert!(!std::mem::needs_drop::<T>() && align_of::<T>() <= 4096) };
            // SAFETY: a private mapping of fresh memory, placed by the kernel.
            let pages = unsafe {
                libc::mmap(
                    null_mut(),
                    count * size_of::<T>(),
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANON,
                    -1,
                    0,
                )
            };
            let pages = NonNull::new(pages).filter(|pages| pages.as_ptr() != libc::MAP_FAILED);
            let Some(first) = pages else {
                panic!(
                    "sinew: no memory for a worker's task stack: {}",
                    io::Error::last_os_error()
                );
            };
            let pages = Self { first: first.cast(), count };
            #[cfg(target_os = "linux")]
            if node != PreferredNode::OnlyNode {
                // A kernel without large pages refuses, which is harmless.
                // SAFETY: this changes no contents.
                unsafe { pages.advise(libc::MADV_NOHUGEPAGE) };
            }
            #[cfg(not(target_os = "linux"))]
            let _ = node;
            pages
        }

        /// Moves the pages to an owner that prefers this node: the kernel frees them and allocates
        /// them again at the next touch, unless they are on that node.
        #[cfg(target_os = "linux")]
        pub(in crate::stack) fn pass_to(&mut self, node: PreferredNode) {
            use sinew_topology::page_nodes;

            let all_on = |node| {
                page_nodes(&self[..]).is_ok_and(|at| at.into_iter().flatten().all(|at| at == node))
            };
            let is_near = match node {
                PreferredNode::OnlyNode => true,
                PreferredNode::Any => false,
                PreferredNode::Node(node) => all_on(node),
            };
            if !is_near {
                // If the kernel refuses, they stay on their node, which is slower.
                // SAFETY: no other code has them, and all zero is a valid value (`Blank`).
                unsafe { self.advise(libc::MADV_DONTNEED) };
            }
        }

        /// Does nothing: other systems report no nodes.
        #[cfg(not(target_os = "linux"))]
        pub(in crate::stack) fn pass_to(&mut self, _: PreferredNode) {}

        /// # Safety
        ///
        /// The caller permits the advice's effect on the contents.
        #[cfg(target_os = "linux")]
        unsafe fn advise(&self, advice: libc::c_int) {
            // SAFETY: the range is this array's; the caller guarantees the rest.
            unsafe {
                libc::madvise(self.first.as_ptr().cast(), self.count * size_of::<T>(), advice)
            };
        }
    }

    impl<T> Deref for Pages<T> {
        type Target = [T];

        #[inline]
        fn deref(&self) -> &[T] {
            // SAFETY: mapped by `new`, aligned as pages are, and all zero at first, which is a
            // valid value (`Blank`).
            unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
        }
    }

    impl<T> Drop for Pages<T> {
        fn drop(&mut self) {
            // SAFETY: mapped with this size by `new`; nothing in it needs a drop.
            unsafe { libc::munmap(self.first.as_ptr().cast(), self.count * size_of::<T>()) };
        }
    }
}

#[cfg(any(not(unix), loom, shuttle))]
mod imp {
    use std::ops::Deref;

    use super::Blank;
    use crate::node::PreferredNode;

    /// An array of empty descriptors.
    #[derive(Debug)]
    pub(in crate::stack) struct Pages<T>(Box<[T]>);

    impl<T: Blank> Pages<T> {
        #[cfg(any(loom, shuttle))]
        pub(in crate::stack) fn new(count: usize, _: PreferredNode) -> Self {
            Self((0..count).map(|_| T::blank()).collect())
        }

        #[cfg(not(any(loom, shuttle)))]
        pub(in crate::stack) fn new(count: usize, _: PreferredNode) -> Self {
            // SAFETY: all-zero bytes are a valid value (`Blank`).
            Self(unsafe { Box::new_zeroed_slice(count).assume_init() })
        }
    }

    impl<T> Deref for Pages<T> {
        type Target = [T];

        #[inline]
        fn deref(&self) -> &[T] {
            &self.0
        }
    }
}

pub(super) use imp::Pages;

#[cfg(all(test, target_os = "linux", not(any(loom, shuttle))))]
pub(super) use tests::tells_pages;

#[cfg(all(test, target_os = "linux", not(any(loom, shuttle))))]
mod tests {
    use sinew_sync::atomic::{AtomicU64, Ordering};
    use sinew_topology::page_nodes;

    use super::*;
    use crate::node::PreferredNode;

    /// A value on a page of its own.
    #[repr(align(4096))]
    struct Probe(AtomicU64);

    // SAFETY: an atomic at zero.
    unsafe impl Blank for Probe {}

    fn touch(pages: &Pages<Probe>) {
        pages.iter().for_each(|probe| probe.0.store(1, Ordering::Relaxed));
    }

    fn nodes_of(pages: &Pages<Probe>) -> Vec<Option<usize>> {
        page_nodes(pages).unwrap_or_default()
    }

    /// Whether the kernel reports which pages are allocated.
    pub(in crate::stack) fn tells_pages() -> bool {
        let fresh = Pages::<Probe>::new(1, PreferredNode::OnlyNode);
        let before = nodes_of(&fresh);
        touch(&fresh);
        before == [None] && matches!(nodes_of(&fresh)[..], [Some(_)])
    }

    /// Catches: pages that stay on the node of their last owner.
    #[test]
    fn pages_on_another_node_than_their_next_owner_are_allocated_again() {
        if !tells_pages() {
            println!("skipped: this kernel does not report which pages are allocated");
            return;
        }
        let kept_by = |preferred: fn(usize) -> PreferredNode| {
            let mut pages = Pages::<Probe>::new(3, PreferredNode::OnlyNode);
            touch(&pages);
            let node = nodes_of(&pages)[0].unwrap();
            pages.pass_to(preferred(node));
            let kept = nodes_of(&pages).iter().flatten().count();
            let zeroes = pages.iter().filter(|probe| probe.0.load(Ordering::Relaxed) == 0).count();
            assert_eq!(kept + zeroes, 3);
            kept
        };
        assert_eq!(kept_by(|_| PreferredNode::OnlyNode), 3);
        assert_eq!(kept_by(|_| PreferredNode::Any), 0);
        assert_eq!(kept_by(|node| PreferredNode::Node(node + 1)), 0);
        assert_eq!(kept_by(PreferredNode::Node), 3);
    }
}
