//! Where pages are to lie, and where they do.
//!
//! The kernel decides about a page when it is first touched: by the policy of its area, else by
//! that of the thread which touches it, else it takes the node of the CPU that the thread runs on.
//! [`Placement`] names the policies there are; [`Memory`](crate::Memory) applies one to an area,
//! [`place_pages_of_current_thread`] to all that a thread touches from now on; [`where_is`] asks
//! what came of it.
//!
//! A placement is checked against the nodes that exist, and that this process may use, before
//! anything is touched. On a machine of one node every placement comes to the same, and the kernel
//! is not asked.
//!
//! # Not handled
//!
//! Pages that have been touched stay where they are. What the file cache holds, and stacks, follow
//! the thread's policy or none.
//!
//! # Tests
//!
//! `tests/pages.rs`; on several nodes, the guest machine of `cargo xtask numa-guest`.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::str::FromStr;

use crate::cpuset::CpuSet;
use crate::machine::Machine;
use crate::sys::{self, Policy};

/// On which NUMA nodes pages lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Placement {
    /// On the node of the CPU that first touches them, or elsewhere when that is full.
    #[default]
    FirstTouch,
    /// On this node and no other, by the system's number.
    Bind(usize),
    /// On the node of the CPU that asks for the placement, and no other.
    BindLocal,
    /// Page by page on all nodes in turn.
    Cyclic,
    /// All on the first node that this process may use.
    OneNode,
}

impl Placement {
    /// Whether this placement is possible here, found out without touching anything.
    ///
    /// # Errors
    ///
    /// [`PlacementError::NoSuchNode`] for a node that does not exist or is not allowed;
    /// [`PlacementError::Unsupported`] elsewhere than on Linux for all but
    /// [`Placement::FirstTouch`].
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

    /// What to tell the kernel, or nothing where it makes no difference.
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

    /// The same on a machine with these nodes. `here` answers the node of the calling thread.
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
    /// As [`FromStr`] reads it.
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
            "no page placement `{text}`: choose first-touch, bind:NODE, bind-local, cyclic or one-node"
        )
    }
}

impl std::error::Error for ParsePlacementError {}

/// Why pages cannot be placed as asked, or found.
#[derive(Debug)]
#[non_exhaustive]
pub enum PlacementError {
    /// This system places pages as it likes.
    Unsupported {
        /// What was asked for.
        placement: Placement,
    },
    /// There is no such node, or this process may not use its memory.
    NoSuchNode {
        /// What was asked for.
        placement: Placement,
        /// The node.
        node: usize,
        /// Those that there are.
        nodes: CpuSet,
    },
    /// The kernel refused.
    Refused {
        /// What was asked for.
        placement: Placement,
        /// The kernel's answer.
        source: io::Error,
    },
    /// There is not so much memory.
    Memory {
        /// What was asked for.
        bytes: usize,
        /// The system's answer.
        source: io::Error,
    },
    /// The system does not tell where pages are.
    Unknown {
        /// The kernel's answer.
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
                "cannot place pages by `{placement}`: there is no memory for this process on node {node}, only on {nodes}"
            ),
            Self::Refused { placement, source } => {
                write!(
                    f,
                    "cannot place pages by `{placement}`: the kernel says {source}; use first-touch"
                )
            }
            Self::Memory { bytes, source } => {
                write!(f, "no room for {bytes} bytes: {source}; choose a smaller size")
            }
            Self::Unknown { source } => {
                write!(f, "cannot tell on which nodes pages lie: the kernel says {source}")
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

/// The nodes on which this process may have memory, by the system's numbers. At least one: where
/// the system knows of no nodes, 0.
pub fn memory_nodes() -> CpuSet {
    let told = sys::allowed_nodes().ok().filter(|nodes| !nodes.is_empty());
    told.unwrap_or_else(|| {
        let nodes: CpuSet = Machine::host().nodes().iter().map(|node| node.number).collect();
        if nodes.is_empty() { CpuSet::first(1) } else { nodes }
    })
}

/// For each page that `slice` touches, from the first: the node that holds it, or `None` for one
/// that has not been touched yet.
///
/// ```
/// let numbers = vec![1_u64; 4096];
/// match sinew_topology::where_is(&numbers) {
///     Ok(nodes) => assert!(nodes.iter().all(Option::is_some)),
///     Err(error) => println!("{error}"),
/// }
/// ```
///
/// # Errors
///
/// [`PlacementError::Unknown`] where the system does not tell, and has more than one node.
///
/// # Cost
///
/// A system call; some 100 ns a page.
pub fn where_is<T>(slice: &[T]) -> Result<Vec<Option<usize>>, PlacementError> {
    let page = sys::page_bytes();
    let addresses = slice.as_ptr_range();
    let (start, end) = (addresses.start.cast::<u8>(), addresses.end.cast::<u8>());
    let lead = start.addr() % page;
    let count = if start == end { 0 } else { (end.addr() - start.addr() + lead).div_ceil(page) };
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

/// The policy of a thread, in force until this is dropped. Not `Send`: only the thread itself has
/// it.
#[derive(Debug)]
#[must_use = "the thread's former policy is back when this is dropped"]
pub struct PlacedThread {
    before: Option<Policy>,
    _of_this_thread: PhantomData<*mut ()>,
}

/// Places all pages that the calling thread is the first to touch from now on, where their area has
/// no placement of its own. Threads that it starts meanwhile inherit that.
///
/// # Errors
///
/// As [`Placement::check`], and [`PlacementError::Refused`]; the thread goes on as before.
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
            // Fails only if all those nodes were taken from this process meanwhile; then the kernel
            // has already chosen others.
            let _ = sys::set_thread_policy(before);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a kernel that does otherwise than it says.
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

    /// Catches: an error that does not say which node, or what there is instead.
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

    /// Catches: a notation that the command prints and does not read.
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
