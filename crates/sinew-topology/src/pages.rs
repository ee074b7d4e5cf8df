//! Placement of pages on NUMA nodes.
//!
//! The kernel places a page at its first touch: by the policy of its area, else by that of the
//! touching thread, else on the node of the thread's CPU. [`Placement`] names the policies.
//! [`Memory`](crate::Memory) applies one to an area, [`place_pages_of_current_thread`] to all pages
//! that a thread touches from now on. [`page_nodes`] returns the result.
//!
//! A placement is checked before any page is touched, against the nodes that exist and that this
//! process may use. On a machine of one node all placements are the same, and no system call is
//! made.
//!
//! # Not handled
//!
//! Pages that were touched stay on their node. The file cache and stacks follow the thread's policy
//! or none.
//!
//! # Tests
//!
//! `tests/pages.rs`; for several nodes, the guest machine of `cargo xtask numa-guest`.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::str::FromStr;

use crate::machine::Machine;
use crate::sys::{self, Policy};
use sinew_cpus::CpuSet;

/// The NUMA nodes of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Placement {
    /// On the node of the CPU that first touches them, or on another if that is full.
    #[default]
    FirstTouch,
    /// On this node and no other, by the system's number.
    Bind(usize),
    /// On the node of the calling thread's CPU, and no other.
    BindLocal,
    /// Round-robin over all nodes, page by page.
    Cyclic,
    /// All on the first node that this process may use.
    OneNode,
}

impl Placement {
    /// Whether this placement is possible here; touches nothing.
    ///
    /// # Errors
    ///
    /// [`PlacementError::NoSuchNode`] for a node that does not exist or is not allowed.
    /// [`PlacementError::Unsupported`] for all but [`Placement::FirstTouch`] on systems other than
    /// Linux.
    ///
    /// ```
    /// use sinew_topology::Placement;
    ///
    /// assert!(Placement::FirstTouch.check().is_ok());
    /// let error = Placement::Bind(4711).check().unwrap_err();
    /// assert!(error.to_string().contains("bind:4711"));
    /// ```
    pub fn check(self) -> Result<(), PlacementError> {
        self.policy().map(drop)
    }

    /// The kernel's policy, or `None` if it makes no difference.
    pub(crate) fn policy(self) -> Result<Option<Policy>, PlacementError> {
        if self == Self::FirstTouch {
            return Ok(Some(Policy::Default));
        }
        if cfg!(not(target_os = "linux")) {
            return Err(PlacementError::Unsupported { placement: self });
        }
        let nodes = memory_nodes();
        let policy = self.policy_among(&nodes, sys::current_node)?;
        Ok((nodes.len() > 1).then_some(policy))
    }

    /// The same on a machine with these nodes. `here` returns the node of the calling thread.
    fn policy_among(
        self,
        nodes: &CpuSet,
        here: impl FnOnce() -> io::Result<usize>,
    ) -> Result<Policy, PlacementError> {
        let one = |node| match nodes.contains(node) {
            true => Ok(Policy::Bind(CpuSet::from_iter([node]))),
            false => {
                Err(PlacementError::NoSuchNode { placement: self, node, nodes: nodes.clone() })
            }
        };
        match self {
            Self::FirstTouch => Ok(Policy::Default),
            Self::Bind(node) => one(node),
            Self::BindLocal if nodes.len() == 1 => one(nodes.lowest().unwrap_or(0)),
            Self::BindLocal => {
                one(here().map_err(|source| PlacementError::Refused { placement: self, source })?)
            }
            Self::Cyclic => Ok(Policy::Interleave(nodes.clone())),
            Self::OneNode => one(nodes.lowest().unwrap_or(0)),
        }
    }

    pub(crate) fn refused(self, source: io::Error) -> PlacementError {
        PlacementError::Refused { placement: self, source }
    }
}

impl fmt::Display for Placement {
    /// The form that [`FromStr`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstTouch => f.write_str("first-touch"),
            Self::Bind(node) => write!(f, "bind:{node}"),
            Self::BindLocal => f.write_str("bind-local"),
            Self::Cyclic => f.write_str("cyclic"),
            Self::OneNode => f.write_str("one-node"),
        }
    }
}

impl FromStr for Placement {
    type Err = ParsePlacementError;

    /// Reads `first-touch`, `bind:NODE`, `bind-local`, `cyclic` or `one-node`.
    fn from_str(text: &str) -> Result<Self, ParsePlacementError> {
        let wrong = || ParsePlacementError(text.to_owned());
        Ok(match text {
            "first-touch" => Self::FirstTouch,
            "bind-local" => Self::BindLocal,
            "cyclic" => Self::Cyclic,
            "one-node" => Self::OneNode,
            _ => {
                let node = text.strip_prefix("bind:").ok_or_else(wrong)?;
                Self::Bind(node.parse().map_err(|_| wrong())?)
            }
        })
    }
}

/// A text that names no placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsePlacementError(String);

impl fmt::Display for ParsePlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0;
        write!(
            f,
            "no page placement `{text}`: choose first-touch, bind:NODE, bind-local, cyclic or \
             one-node"
        )
    }
}

impl std::error::Error for ParsePlacementError {}

/// Why pages could not be placed, or their nodes not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum PlacementError {
    /// This system offers no placement.
    Unsupported {
        /// The requested placement.
        placement: Placement,
    },
    /// There is no such node, or this process may not use its memory.
    NoSuchNode {
        /// The requested placement.
        placement: Placement,
        /// The node.
        node: usize,
        /// The nodes that exist.
        nodes: CpuSet,
    },
    /// The kernel refused.
    Refused {
        /// The requested placement.
        placement: Placement,
        /// The kernel's error.
        source: io::Error,
    },
    /// There is not enough memory.
    Memory {
        /// The requested size in bytes.
        bytes: usize,
        /// The system's error.
        source: io::Error,
    },
    /// The system does not report the nodes of pages.
    Unknown {
        /// The kernel's error.
        source: io::Error,
    },
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { placement } => {
                write!(f, "cannot place pages by `{placement}` on this system: use first-touch")
            }
            Self::NoSuchNode { placement, node, nodes } => write!(
                f,
                "cannot place pages by `{placement}`: there is no memory for this process on node \
                 {node}, only on {nodes}"
            ),
            Self::Refused { placement, source } => {
                write!(
                    f,
                    "cannot place pages by `{placement}`: the kernel says {source}; use first-touch"
                )
            }
            Self::Memory { bytes, source } => {
                write!(f, "not enough memory for {bytes} bytes: {source}; choose a smaller size")
            }
            Self::Unknown { source } => {
                write!(
                    f,
                    "cannot read the nodes of pages: the kernel says {source}; continue without \
                     them"
                )
            }
        }
    }
}

impl std::error::Error for PlacementError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused { source, .. }
            | Self::Memory { source, .. }
            | Self::Unknown { source } => Some(source),
            Self::Unsupported { .. } | Self::NoSuchNode { .. } => None,
        }
    }
}

/// The nodes on which this process may have memory, by the system's numbers. At least one: 0 if the
/// system reports no nodes.
pub fn memory_nodes() -> CpuSet {
    let reported = sys::allowed_nodes().ok().filter(|nodes| !nodes.is_empty());
    reported.unwrap_or_else(|| {
        let nodes: CpuSet = Machine::host().nodes().iter().map(|node| node.number).collect();
        if nodes.is_empty() { CpuSet::first(1) } else { nodes }
    })
}

/// The node of each page that `slice` touches, in order; `None` for a page that was never touched.
///
/// ```
/// let numbers = vec![1_u64; 4096];
/// match sinew_topology::page_nodes(&numbers) {
///     Ok(nodes) => assert!(nodes.iter().all(Option::is_some)),
///     Err(error) => println!("{error}"),
/// }
/// ```
///
/// # Errors
///
/// [`PlacementError::Unknown`] if the system has more than one node and does not report them.
///
/// # Cost
///
/// A system call; some 100 ns a page.
pub fn page_nodes<T>(slice: &[T]) -> Result<Vec<Option<usize>>, PlacementError> {
    nodes_of_range(slice.as_ptr().cast(), size_of_val(slice))
}

/// The node of each page of the range. Not generic, so that it is compiled once.
fn nodes_of_range(start: *const u8, bytes: usize) -> Result<Vec<Option<usize>>, PlacementError> {
    let page = sys::page_bytes();
    let lead = start.addr() % page;
    let count = if bytes == 0 { 0 } else { (bytes + lead).div_ceil(page) };
    let first = start.wrapping_sub(lead);
    let pages: Vec<*const u8> = (0..count).map(|i| first.wrapping_add(i * page)).collect();
    match sys::nodes_of_pages(&pages) {
        Ok(nodes) => Ok(nodes.into_iter().map(|node| usize::try_from(node).ok()).collect()),
        Err(source) => {
            let nodes = memory_nodes();
            let only = nodes.lowest().filter(|_| cfg!(target_os = "linux") && nodes.len() == 1);
            only.map(|node| vec![Some(node); count]).ok_or(PlacementError::Unknown { source })
        }
    }
}

/// The page policy of a thread, in force until this is dropped. Not `Send`: the policy belongs to
/// the thread.
#[derive(Debug)]
#[must_use = "the drop restores the thread's former policy"]
pub struct PlacedThread {
    before: Option<Policy>,
    _of_this_thread: PhantomData<*mut ()>,
}

/// Sets the policy for all pages that the calling thread is the first to touch from now on, except
/// in areas with a placement of their own. Threads that it starts meanwhile inherit it.
///
/// # Errors
///
/// As [`Placement::check`], and [`PlacementError::Refused`]; the thread then keeps its policy.
pub fn place_pages_of_current_thread(placement: Placement) -> Result<PlacedThread, PlacementError> {
    let before = match placement.policy()? {
        Some(policy) if policy != Policy::Default || memory_nodes().len() > 1 => {
            let before = sys::thread_policy().map_err(|source| placement.refused(source))?;
            sys::set_thread_policy(&policy).map_err(|source| placement.refused(source))?;
            Some(before)
        }
        _ => None,
    };
    Ok(PlacedThread { before, _of_this_thread: PhantomData })
}

impl Drop for PlacedThread {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // Fails only if the process lost all those nodes meanwhile; then the kernel has already
            // chosen others.
            let _ = sys::set_thread_policy(before);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a kernel that does not do what it reports.
    use super::*;

    fn nodes() -> CpuSet {
        "0-1,3".parse().unwrap()
    }

    /// Catches: nodes taken by their rank where the system numbers them with gaps.
    #[test]
    fn each_placement_names_the_nodes_it_means() {
        let on = |placement: Placement| placement.policy_among(&nodes(), || Ok(3)).unwrap();
        let bound = |node| Policy::Bind(CpuSet::from_iter([node]));
        assert_eq!(on(Placement::FirstTouch), Policy::Default);
        assert_eq!(on(Placement::Bind(1)), bound(1));
        assert_eq!(on(Placement::BindLocal), bound(3));
        assert_eq!(on(Placement::Cyclic), Policy::Interleave(nodes()));
        assert_eq!(on(Placement::OneNode), bound(0));
    }

    /// Catches: an error that does not name the node, or the nodes that exist.
    #[test]
    fn a_node_that_does_not_exist_is_named_with_those_that_do() {
        let error = Placement::Bind(2).policy_among(&nodes(), || Ok(0)).unwrap_err().to_string();
        assert!(
            error.contains("`bind:2`") && error.contains("node 2") && error.contains("0-1,3"),
            "{error}"
        );
        let error = Placement::BindLocal.policy_among(&nodes(), || Ok(2)).unwrap_err().to_string();
        assert!(error.contains("`bind-local`") && error.contains("node 2"), "{error}");
    }

    /// Catches: a kernel's refusal that is not passed on.
    #[test]
    fn a_refusal_is_passed_on_with_the_placement() {
        let refuse = || Err(io::Error::from(io::ErrorKind::PermissionDenied));
        let error = Placement::BindLocal.policy_among(&nodes(), refuse).unwrap_err().to_string();
        assert!(error.contains("`bind-local`") && error.contains("permission denied"), "{error}");
    }

    /// Catches: a form that the command prints and does not read.
    #[test]
    fn a_placement_is_read_as_it_is_shown() {
        for text in ["first-touch", "bind:0", "bind:17", "bind-local", "cyclic", "one-node"] {
            assert_eq!(text.parse::<Placement>().unwrap().to_string(), text);
        }
        for text in ["", "bind", "bind:", "bind:-1", "bind:x", "Cyclic"] {
            let error = text.parse::<Placement>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("bind:NODE"), "{error}");
        }
    }
}
