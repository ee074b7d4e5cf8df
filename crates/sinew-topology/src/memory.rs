//! Memory whose pages lie on chosen NUMA nodes.
//!
//! `pages` has the placements, `sys` the system calls.
//!
//! # Invariants
//!
//! - A1: the area is at least one page. The bytes in use are its first ones, all initialised: a
//!   fresh page is zero.

use std::io;
use std::ops::Range;
use std::ptr::NonNull;

use crate::pages::{Placement, PlacementError, memory_nodes};
use crate::sys::{self, Area, Policy};
use sinew_cpus::CpuSet;

/// Zeroed memory that starts at a page boundary. The kernel allocates each page at its first touch.
///
/// `Placed` in `sinew-locality` is a typed and safe array on top of it.
///
/// ```
/// use sinew_topology::{Memory, Placement};
///
/// let memory = Memory::new(1 << 20, Placement::Cyclic);
/// match memory {
///     Ok(memory) => assert_eq!(memory.bytes(), 1 << 20),
///     Err(error) => println!("{error}"), // on other systems than Linux
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
    /// As [`Placement::check`]; [`PlacementError::Refused`] if the kernel refuses the placement,
    /// [`PlacementError::Memory`] if there is not enough memory.
    ///
    /// # Cost
    ///
    /// Two system calls; each page costs a fault at its first touch.
    pub fn new(bytes: usize, placement: Placement) -> Result<Self, PlacementError> {
        placement.check()?;
        let whole = bytes.max(1).checked_next_multiple_of(sys::page_bytes()).unwrap_or(usize::MAX);
        let area = Area::new(whole).map_err(|source| PlacementError::Memory { bytes, source })?;
        let memory = Self { area, bytes };
        memory.place(0..bytes, placement)?;
        // Some systems make large pages by default; one touch then places a whole large page.
        let by_page =
            matches!(placement, Placement::FirstTouch | Placement::BindLocal | Placement::Cyclic);
        if by_page && memory_nodes().len() > 1 {
            memory.area.refuse_large_pages();
        }
        Ok(memory)
    }

    /// Advises large pages, if the system has them. Without this call, a machine of several nodes
    /// uses none, unless all pages go to one node. Large pages are placed as a whole: `Cyclic` then
    /// goes round the nodes in large steps.
    #[must_use]
    pub fn with_large_pages(self) -> Self {
        self.area.advise_large_pages();
        self
    }

    /// Places the pages whose first byte lies in `range`. Pages that were touched before stay on
    /// their node. Any thread may call it.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    ///
    /// # Panics
    ///
    /// If `range` ends beyond the memory.
    #[track_caller]
    pub fn place(&self, range: Range<usize>, placement: Placement) -> Result<(), PlacementError> {
        assert!(range.end <= self.bytes, "byte {} of {}", range.end, self.bytes);
        match placement.policy()? {
            None | Some(Policy::Default) => Ok(()),
            Some(policy) => self.bind(range, &policy).map_err(|source| placement.refused(source)),
        }
    }

    /// Prefers this node, by the system's number, for the untouched pages whose first byte lies in
    /// `range`; a full node makes the kernel use others. If the kernel refuses, each page lies on
    /// the node of its first touch. Any thread may call it.
    ///
    /// # Panics
    ///
    /// If `range` ends beyond the memory.
    #[track_caller]
    pub fn prefer(&self, range: Range<usize>, node: usize) {
        assert!(range.end <= self.bytes, "byte {} of {}", range.end, self.bytes);
        // A hint: `page_nodes` shows the result.
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

    /// The first byte. The caller is responsible for all accesses through it.
    pub fn start(&self) -> NonNull<u8> {
        self.area.start()
    }

    /// The length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The size of a page of this system in bytes, large pages aside.
    pub fn page_bytes() -> usize {
        sys::page_bytes()
    }
}
