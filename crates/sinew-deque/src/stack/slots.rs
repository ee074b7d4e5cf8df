//! The slots of task stacks, some of which are reused.
//!
//! Slots of ended pools are kept for the next ones, unchanged: a slot is filled before any worker
//! reads it, and returning pages to the kernel interrupts every core of the process. On a machine
//! with several nodes they are returned nevertheless if they are on another node than their next
//! owner.

#[cfg(all(unix, not(any(loom, shuttle))))]
mod imp {
    use std::ops::Deref;

    use sinew_sync::lock::Mutex;

    use crate::node::PreferredNode;
    use crate::stack::pages::Pages;
    use crate::stack::{CAPACITY, Slot};

    /// The slots of pools that have ended.
    static SPARE: Mutex<Vec<Pages<Slot>>> = Mutex::new(Vec::new());
    /// The most stacks that are kept.
    const MOST_SPARE: usize = 16;

    /// Unused slots.
    #[derive(Debug)]
    pub(in crate::stack) struct Slots(Option<Pages<Slot>>);

    impl Slots {
        /// Slots for an owner that prefers this node.
        ///
        /// # Panics
        ///
        /// If the system has no memory left.
        pub(in crate::stack) fn new(node: PreferredNode) -> Self {
            // After a fork, a thread that does not exist in the child may hold the lock.
            let mut spare = SPARE.try_lock().and_then(|mut spare| spare.pop());
            if let Some(used) = &mut spare {
                used.pass_to(node);
            }
            Self(Some(spare.unwrap_or_else(|| Pages::new(CAPACITY as usize, node))))
        }
    }

    impl Drop for Slots {
        fn drop(&mut self) {
            if let Some(mut spare) = SPARE.try_lock()
                && spare.len() < MOST_SPARE
            {
                spare.extend(self.0.take());
            }
        }
    }

    impl Deref for Slots {
        type Target = [Slot];

        #[inline]
        fn deref(&self) -> &[Slot] {
            self.0.as_deref().unwrap_or_default()
        }
    }
}

#[cfg(any(not(unix), loom, shuttle))]
mod imp {
    use std::ops::Deref;

    use crate::node::PreferredNode;
    use crate::stack::pages::Pages;
    use crate::stack::{CAPACITY, Slot};

    /// Empty slots.
    #[derive(Debug)]
    pub(in crate::stack) struct Slots(Pages<Slot>);

    impl Slots {
        pub(in crate::stack) fn new(node: PreferredNode) -> Self {
            Self(Pages::new(CAPACITY as usize, node))
        }
    }

    impl Deref for Slots {
        type Target = [Slot];

        #[inline]
        fn deref(&self) -> &[Slot] {
            &self.0
        }
    }
}

pub(super) use imp::Slots;
