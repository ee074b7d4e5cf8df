//! Memory whose pages lie where they are wanted.
//!
//! # Invariants
//!
//! I1: the area is at least one page; the bytes that are handed out are its first ones, all of them
//! initialised: a fresh page is zero.

use std::io;
use std::ops::Range;
use std::ptr::NonNull;

use crate::cpuset::CpuSet;
use crate::pages::{Placement, PlacementError, memory_nodes};
use crate::sys::{self, Area, Policy};

/// Zeroed memory that starts at the start of a page, and of which no page is there before it is
/// touched.
///
/// What wants to be typed and safe builds on it: `Placed` in `sinew-core`.
///
/// ```
/// use sinew_topology::{Memory, Placement};
///
/// let memory = Memory::new(1 << 20, Placement::Cyclic);
/// match memory {
///     Ok(memory) => assert_eq!(memory.bytes(), 1 << 20),
///     Err(error) => println!("{error}"), // elsewhere than on Linux
/// }
/// ```
#[derive(Debug)]
pub struct Memory {
    area: Area,
    bytes: usize,
}

impl Memory {
    /// `bytes` of memory whose pages will be placed by `placement`.
    ///
    /// # Errors
    ///
    /// As [`Placement::check`]; [`PlacementError::Refused`] if the kernel does not take the
    /// placement, [`PlacementError::Memory`] if there is not so much room.
    ///
    /// # Cost
    ///
    /// Two system calls; the pages cost when they are touched.
    pub fn new(bytes: usize, placement: Placement) -> Result<Self, PlacementError> {
        placement.check()?;
        let whole = bytes.max(1).checked_next_multiple_of(sys::page_bytes()).unwrap_or(usize::MAX);
        let area = Area::new(whole).map_err(|source| PlacementError::Memory { bytes, source })?;
        let memory = Self { area, bytes };
        memory.place(0..bytes, placement)?;
        // Some systems make large pages unasked; one touch then places them as a whole.
        let by_page =
            matches!(placement, Placement::FirstTouch | Placement::BindLocal | Placement::Cyclic);
        if by_page && memory_nodes().len() > 1 {
            memory.area.refuse_large_pages();
        }
        Ok(memory)
    }

    /// Asks for large pages, where the system has them; without that there are none on machines of
    /// several nodes, unless all pages go to one. Large pages are placed as a whole: those of
    /// `Cyclic` go to the nodes in large steps.
    #[must_use]
    pub fn with_large_pages(self) -> Self {
        self.area.advise_large_pages();
        self
    }

    /// Places the pages whose first byte lies in `range`; they must not have been touched, or stay
    /// where they are. From any thread.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    ///
    /// # Panics
    ///
    /// If `range` ends beyond the memory.
    pub fn place(&self, range: Range<usize>, placement: Placement) -> Result<(), PlacementError> {
        assert!(range.end <= self.bytes, "byte {} of {}", range.end, self.bytes);
        match placement.policy()? {
            None | Some(Policy::Default) => Ok(()),
            Some(policy) => self.bind(range, &policy).map_err(|source| placement.refused(source)),
        }
    }

    /// Has the pages whose first byte lies in `range`, and that nobody has touched, come from this
    /// node, by the system's number, or from others when it is full. Where the kernel does not take
    /// that, they lie where they are first touched. From any thread.
    ///
    /// # Panics
    ///
    /// If `range` ends beyond the memory.
    pub fn prefer(&self, range: Range<usize>, node: usize) {
        assert!(range.end <= self.bytes, "byte {} of {}", range.end, self.bytes);
        // A wish: what comes of it can be asked for by `where_is`.
        let _ = self.bind(range, &Policy::Prefer(CpuSet::from_iter([node])));
    }

    fn bind(&self, range: Range<usize>, policy: &Policy) -> io::Result<()> {
        let page = sys::page_bytes();
        let (first, end) = (range.start.next_multiple_of(page), range.end.next_multiple_of(page));
        if first >= end {
            return Ok(());
        }
        sys::bind_pages(self.start().as_ptr().wrapping_add(first), end - first, policy)
    }

    /// Where the memory begins. What is read and written through it is the caller's to answer for.
    pub fn start(&self) -> NonNull<u8> {
        self.area.start()
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The size of a page of this system in bytes, large pages aside.
    pub fn page_bytes() -> usize {
        sys::page_bytes()
    }
}
