//! Arrays whose blocks have locality domains.
//!
//! The first touch of a page determines its node. So workers of a block's domain fill the block, in
//! a strict scope. A block belongs to the domain of the worker that filled it, or, after
//! [`Placed::follow_pages`], to a domain on the node of its pages.
//!
//! # Invariants
//!
//! - P1: the memory of a `Placed` holds `len` values of `T`.
//! - P2: blocks are disjoint and cover the array.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
use std::slice::{from_raw_parts, from_raw_parts_mut};

use sinew_core::{ScopeBuilder, Worker};
use sinew_sync::lock::Mutex;
use sinew_topology::{Memory, Placement, PlacementError, page_nodes};

use crate::domains::Domains;
use crate::queues::DomainOrder;

/// How blocks are distributed over the domains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Distribution {
    /// Each domain gets neighbouring blocks: OpenMP's `static`.
    #[default]
    Static,
    /// Round robin: OpenMP's `static,1`.
    Cyclic,
    /// All to one domain.
    One(usize),
}

impl Distribution {
    /// The domain of `block`, one of `blocks`, among `domains`.
    ///
    /// ```
    /// use sinew_locality::Distribution;
    ///
    /// let six = [0, 1, 2, 3, 4, 5];
    /// assert_eq!(six.map(|block| Distribution::Static.domain(block, 6, 3)), [0, 0, 1, 1, 2, 2]);
    /// assert_eq!(six.map(|block| Distribution::Cyclic.domain(block, 6, 3)), [0, 1, 2, 0, 1, 2]);
    /// ```
    ///
    /// # Panics
    ///
    /// If all go to a domain that does not exist.
    #[track_caller]
    pub fn domain(self, block: usize, blocks: usize, domains: usize) -> usize {
        match self {
            Self::Static => block * domains / blocks.max(1),
            Self::Cyclic => block % domains,
            Self::One(domain) => {
                assert!(
                    domain < domains,
                    "there is no locality domain {domain}: there are {domains}"
                );
                domain
            }
        }
    }
}

/// The options of a [`Placed`] array.
#[derive(Debug, Clone)]
#[must_use = "nothing is allocated before `fill`"]
pub struct PlacedOptions {
    domains: Domains,
    distribution: Distribution,
    placement: Placement,
    large_pages: bool,
}

/// An array in blocks, each of which has a locality domain. It dereferences to a slice.
///
/// ```
/// use sinew_core::Pool;
/// use sinew_locality::{Distribution, DomainKind, Domains, Placed};
///
/// let pool = Pool::builder().threads(2).external_slot(false).build()?;
/// let domains = Domains::new(&pool, DomainKind::Parts(2))?;
/// let array = Placed::options(&domains).distribution(Distribution::Cyclic);
/// let squares = pool.run(|_| array.fill(1000, 250, |i| i * i))?;
/// assert_eq!((squares.len(), squares[30]), (1000, 900));
/// assert_eq!([0, 1, 2, 3].map(|block| squares.domain_of(block)), [0, 1, 0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Placed<T> {
    memory: Memory,
    len: usize,
    block: usize,
    owners: Vec<usize>,
    domains: Domains,
    values: PhantomData<T>,
}

impl PlacedOptions {
    /// The distribution of blocks over domains; [`Distribution::Static`] by default.
    pub fn distribution(mut self, distribution: Distribution) -> Self {
        self.distribution = distribution;
        self
    }

    /// The placement of pages; by default the first touch. [`Placement::BindLocal`] binds them to
    /// the node of the first touch. With any placement, the workers of its domain fill a block.
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// Requests large pages, of some megabytes, which are faster to access and coarser to place.
    pub fn large_pages(mut self, large: bool) -> Self {
        self.large_pages = large;
        self
    }

    /// An array of `len` values in blocks of `block`, the last of which may be shorter; value
    /// number `i` is `value(i)`.
    ///
    /// Workers of a domain fill its blocks, in the current pool. A domain may have no thread, such
    /// as one that has the external slot alone. Other workers then fill its blocks, which belong to
    /// the domains of these workers.
    ///
    /// # Errors
    ///
    /// As [`Memory::new`], before any value is computed. With [`Placement::BindLocal`] the system
    /// may refuse any worker that binds its blocks; the caller's node does not matter.
    ///
    /// # Panics
    ///
    /// If `block` is 0, or `value` panics; or the pool is not that of the domains.
    #[track_caller]
    pub fn fill<T, F>(self, len: usize, block: usize, value: F) -> Result<Placed<T>, PlacementError>
    where
        T: Copy + Send + Sync,
        F: Fn(usize) -> T + Sync,
    {
        self.fill_with(len, block, value, Memory::place)
    }

    /// [`fill`](Self::fill) with a replaceable system call, for tests.
    fn fill_with<T, F, P>(
        self,
        len: usize,
        block: usize,
        value: F,
        place: P,
    ) -> Result<Placed<T>, PlacementError>
    where
        T: Copy + Send + Sync,
        F: Fn(usize) -> T + Sync,
        P: Fn(&Memory, Range<usize>, Placement) -> Result<(), PlacementError> + Sync,
    {
        assert!(block > 0, "blocks of 0 values never fill an array: use at least 1");
        let bytes =
            len.checked_mul(size_of::<T>()).filter(|_| align_of::<T>() <= Memory::page_bytes());
        // Each worker binds its blocks itself.
        let is_local = self.placement == Placement::BindLocal;
        let placement = if is_local { Placement::FirstTouch } else { self.placement };
        let memory = Memory::new(bytes.unwrap_or(usize::MAX), placement)?;
        let memory = if self.large_pages { memory.with_large_pages() } else { memory };
        let filling = Filling { options: &self, memory: &memory, len, block };
        let mut owners = filling.assigned();
        if is_local {
            filling.bind::<T>(&mut owners, place)?;
            // A block belongs to the domain whose worker has bound it, whichever worker fills it.
            filling.fill(&mut owners.clone(), &value);
        } else {
            filling.fill(&mut owners, &value);
        }
        Ok(Placed { memory, len, block, owners, domains: self.domains, values: PhantomData })
    }
}

/// An array that is being filled.
struct Filling<'a> {
    options: &'a PlacedOptions,
    memory: &'a Memory,
    len: usize,
    block: usize,
}

impl Filling<'_> {
    /// The domain that each block is assigned to.
    fn assigned(&self) -> Vec<usize> {
        let (blocks, domains) = (self.len.div_ceil(self.block), self.options.domains.len());
        (0..blocks).map(|block| self.options.distribution.domain(block, blocks, domains)).collect()
    }

    /// Calls `each` with every block, on a worker of the block's owner. If the owner has no thread,
    /// the domain of the worker that ran the call owns the block afterwards.
    fn for_each_block(&self, owners: &mut [usize], each: impl Fn(usize) + Sync) {
        let each = &each;
        ScopeBuilder::new().queues(self.options.domains.queues(DomainOrder::Strict)).run(|s| {
            for (block, owner) in owners.iter_mut().enumerate() {
                let domain = *owner;
                s.spawn_into(domain, move |worker| {
                    *owner = self.owner(domain, worker);
                    each(block);
                });
            }
        });
    }

    /// The owner of a block that was assigned to `domain` and is filled by `worker`.
    fn owner(&self, domain: usize, worker: &Worker) -> usize {
        let domains = &self.options.domains;
        if domains.slots_of(domain).contains(&worker.index()) { domain } else { domains.of(worker) }
    }

    /// Binds each block to the node of its owner, before any value is computed.
    fn bind<T>(
        &self,
        owners: &mut [usize],
        place: impl Fn(&Memory, Range<usize>, Placement) -> Result<(), PlacementError> + Sync,
    ) -> Result<(), PlacementError> {
        let refusal = Mutex::new(None);
        self.for_each_block(owners, |block| {
            let range = self.range(block);
            let bytes = range.start * size_of::<T>()..range.end * size_of::<T>();
            if let Err(error) = place(self.memory, bytes, Placement::BindLocal) {
                *refusal.lock() = Some(error);
            }
        });
        refusal.lock().take().map_or(Ok(()), Err)
    }

    fn fill<T, F>(&self, owners: &mut [usize], value: &F)
    where
        T: Copy + Send + Sync,
        F: Fn(usize) -> T + Sync,
    {
        self.for_each_block(owners, |block| {
            let start = self.memory.start().cast::<T>();
            for i in self.range(block) {
                let value = value(i);
                // SAFETY: the memory has room for `len` values, aligned as pages are; only this
                // task writes to this block (P2).
                unsafe { start.add(i).write(value) };
            }
        });
    }

    fn range(&self, block: usize) -> Range<usize> {
        block * self.block..(block + 1).saturating_mul(self.block).min(self.len)
    }
}

// So that a call of `options` need not name the type of the values.
impl Placed<()> {
    /// Begins an array with these domains: distributed statically, placed by first touch.
    pub fn options(domains: &Domains) -> PlacedOptions {
        let (distribution, placement) = (Distribution::default(), Placement::default());
        PlacedOptions { domains: domains.clone(), distribution, placement, large_pages: false }
    }
}

impl<T: Copy + Send + Sync> Placed<T> {
    /// The number of blocks.
    pub fn blocks(&self) -> usize {
        self.owners.len()
    }

    /// The range of the values of a block.
    ///
    /// # Panics
    ///
    /// If there is no such block.
    #[track_caller]
    pub fn range_of(&self, block: usize) -> Range<usize> {
        assert!(block < self.blocks(), "there is no block {block}: there are {}", self.blocks());
        block * self.block..(block + 1).saturating_mul(self.block).min(self.len)
    }

    /// The domain of a block.
    ///
    /// # Panics
    ///
    /// If there is no such block.
    #[track_caller]
    pub fn domain_of(&self, block: usize) -> usize {
        self.owners[block]
    }

    /// The domains that the blocks belong to.
    pub fn domains(&self) -> &Domains {
        &self.domains
    }

    /// All blocks with their domains.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = (usize, &mut [T])> {
        let block = self.block;
        let owners = self.owners.clone();
        owners.into_iter().zip(self.chunks_mut(block))
    }

    /// Reads the nodes of the blocks' pages from the kernel, and assigns each block to the domain
    /// on the node with most of its pages. A block whose domain is on that node keeps it. If
    /// domains are parts without nodes, all blocks keep theirs.
    ///
    /// # Errors
    ///
    /// As [`page_nodes`].
    pub fn follow_pages(&mut self) -> Result<(), PlacementError> {
        for block in 0..self.blocks() {
            let node = most_frequent(&page_nodes(&self[self.range_of(block)])?);
            let stays = node.is_none() || self.domains.node(self.owners[block]) == node;
            if let Some(domain) =
                node.filter(|_| !stays).and_then(|node| self.domains.on_node(node))
            {
                self.owners[block] = domain;
            }
        }
        Ok(())
    }
}

/// The node that occurs most often, the lowest of several.
fn most_frequent(nodes: &[Option<usize>]) -> Option<usize> {
    let mut known: Vec<usize> = nodes.iter().flatten().copied().collect();
    known.sort_unstable();
    let runs = known.chunk_by(|a, b| a == b);
    runs.rev().max_by_key(|run| run.len()).map(|run| run[0])
}

impl<T> Deref for Placed<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: P1.
        unsafe { from_raw_parts(self.memory.start().cast().as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Placed<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: P1; borrowed mutably as long as the slice.
        unsafe { from_raw_parts_mut(self.memory.start().cast().as_ptr(), self.len) }
    }
}

impl<T> fmt::Debug for Placed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Placed")
            .field("len", &self.len)
            .field("owners", &self.owners)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::io;

    use sinew_core::Pool;
    use sinew_sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::domains::DomainKind;

    /// Catches: values that are computed, of the refused block or of others, though a worker's
    /// node has no memory; a refusal that does not name the placement.
    #[test]
    fn a_worker_is_refused_before_any_value_is_computed() {
        let pool = Pool::builder().threads(2).external_slot(false).build().unwrap();
        let domains = Domains::new(&pool, DomainKind::Parts(2)).unwrap();
        let options = Placed::options(&domains).placement(Placement::BindLocal);
        let refuse = |_: &Memory, bytes: Range<usize>, placement| match bytes.start {
            0 => Ok(()),
            _ => Err(PlacementError::Refused {
                placement,
                source: io::ErrorKind::OutOfMemory.into(),
            }),
        };
        let computed = AtomicUsize::new(0);
        let value = |i: usize| computed.fetch_add(i, Ordering::SeqCst);
        let error =
            pool.install(|_| options.fill_with(1000, 500, value, refuse)).unwrap_err().to_string();
        assert!(error.contains("`bind-local`"), "{error}");
        assert_eq!(computed.into_inner(), 0);
    }

    /// Catches: blocks that are not bound, or bound by another thread than their domain's workers,
    /// such as the caller.
    #[test]
    fn blocks_are_bound_by_their_own_domains_workers() {
        let pool = Pool::builder().threads(2).external_slot(false).build().unwrap();
        let domains = Domains::new(&pool, DomainKind::Parts(2)).unwrap();
        let options = Placed::options(&domains)
            .distribution(Distribution::Cyclic)
            .placement(Placement::BindLocal);
        let bound = Mutex::new(Vec::new());
        let place = |_: &Memory, bytes: Range<usize>, _| {
            bound
                .lock()
                .push((bytes.start / 100, sinew_core::with_current(|w| w.map(|w| domains.of(w)))));
            Ok(())
        };
        let array = pool.install(|_| options.fill_with(400, 100, |i| i as u8, place)).unwrap();
        let mut bound = bound.lock().clone();
        bound.sort_unstable();
        assert_eq!(bound, [0, 1, 2, 3].map(|block| (block, Some(block % 2))));
        assert!((0..4).all(|block| array.domain_of(block) == block % 2));
        assert!(array.iter().zip(0..).all(|(value, i)| *value == i as u8));
    }

    /// Catches: a tie that depends on the order of the pages.
    #[test]
    fn the_node_of_most_pages_counts() {
        assert_eq!(most_frequent(&[Some(2), None, Some(1), Some(2)]), Some(2));
        assert_eq!(most_frequent(&[Some(3), Some(1)]), Some(1));
        assert_eq!(most_frequent(&[None, None]), None);
    }
}
