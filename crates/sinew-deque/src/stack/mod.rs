//! The task stack: a worker's own join tasks. The owner takes them back at almost no cost; thieves
//! steal from the bottom.
//!
//! It is an array of fixed-size descriptors, last in first out for the owner, stolen from the
//! oldest end: the *direct task stack* of Faxén's Wool. Its upper part is private: the owner joins
//! there with no fence, no read-modify-write and no shared cache line. Thieves, not the owner, move
//! the boundary, which an asymmetric fence makes safe. Source: K.-F. Faxén and J. Ardelius,
//! "Manycore Work Stealing" (2011), and Faxén's "Efficient Work Stealing for Fine Grained
//! Parallelism" (2010). Differences: one word for the whole stack holds the claims, not a state in
//! each descriptor; and the thief that needs the private part takes it from the owner.
//!
//! # State
//!
//! | word | written by | meaning |
//! |---|---|---|
//! | `head` | owner | pointer to the next free slot; every slot below is a task, or pinned while its owner waits for it |
//! | `split` | holder of `token` | only *warns* the owner: a pop at or above it is private. May be higher than `limit`, never lower. `FENCED` and `WATCHED` always warn |
//! | `bounds` | any worker, by read-modify-write | `tail` (next to steal), `limit` (end of the public part), `pending` (an exposure is in progress) |
//! | `token` | try-lock | its holder moves `split`: an exposing thief, or the publishing owner, which never waits for it |
//! | `poll` | any thread sets, owner takes | quiet: the address of the last slot; otherwise the poll reasons, for which the owner must leave the fast path |
//!
//! The owner's words are addresses, so that its fast path computes none; `bounds` counts slots from
//! the oldest end.
//!
//! # Invariants
//!
//! - I1: `tail ≤ limit`, and only slots in `tail..limit` can be claimed.
//! - I2: `limit` rises only under `token`, and only after `split` has risen to at least the new
//!   `limit`.
//! - I3: only the owner fills a slot, and only while the slot is at or above `limit` and no thief
//!   has claimed it.
//! - I4: once a thief has moved `tail` over a slot, the slot and the joiner's frame stay as they
//!   are until the thief's `finish`.
//! - I5: every task is taken exactly once, by the owner's pop or by one thief.
//! - I6: an owner that calls [`end_epoch`](TaskStack::end_epoch) after each stolen task, before it
//!   reports, has only parts of that task public while `bounds` keeps its epoch. So a thief that
//!   reads `bounds`, finds the task unreported, and then claims, has a part of it.
//! - I7: the last slot is never public. A join that fills it withdraws its task, so that its first
//!   arm may use the slot.
//! - I8: `head` is not below its value when the depth was last set. So the depth of a pushed task,
//!   which is computed from its slot's address, is at least 1 and fits into half a word.
//!
//! # Orderings
//!
//! - M1: push stores `head` (Release) ↔ the exposer loads it (Acquire): slots below the value read
//!   are filled.
//! - M2: `bounds` is raised (AcqRel) ↔ a thief's claim (AcqRel): slots below `limit` are filled,
//!   and stay so by I4.
//! - M3: pop stores `head`, *light*, loads `split` ↔ the exposer sets `pending`, raises `split`,
//!   *heavy*, loads `head`: either the owner is warned, or the exposer sees the lower `head` and
//!   exposes less. With `split` at `FENCED` the cold path executes `fence(SeqCst)` instead.
//! - M4: `split` is raised (Release) after `pending` is set ↔ `fence(Acquire)` in the cold pop: a
//!   warned owner sees `pending` or its outcome.
//! - M5: push stores `head`, *light*, loads `poll` ↔ a sleeper sets `poll`, *heavy*, loads `head`:
//!   either the owner sees the reason or the sleeper sees the task.
//! - M6: `finish` (AcqRel) ↔ `is_done` (Acquire): the result of a stolen task (see `slot`).
//!
//! # Cost
//!
//! Push: the slot's three words, `head`, two loads and a comparison. Pop: `head`, one load and
//! comparison. No locked instruction, no fence. Steal: one compare-and-swap and one `fetch_or` on
//! the victim's lines, one swap at the end.
//!
//! # The other stack
//!
//! With the feature `experiments` a pool can be built with two-field stacks. Their poll word
//! permanently holds a reason that sends every join off the fast path. The slow path then uses the
//! [`TwoField`] stack, and so do the thief's functions of this one. Without the feature,
//! `no_two_field` has types without a value, and the compiler removes what uses them.
//!
//! # Tests
//!
//! `loom` runs scripts of owner and thieves, and plants bugs that it must catch; `parts` does so
//! for I6.

mod bounds;
#[cfg(all(test, loom))]
mod loom;
mod pages;
#[cfg(all(test, loom))]
mod parts;
mod slot;
mod slots;
#[cfg(all(test, loom))]
mod tally;
mod thief;
#[cfg_attr(not(feature = "experiments"), path = "no_two_field.rs")]
mod two_field;

use sinew_sync::CachePadded;
use sinew_sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};
use sinew_sync::fence::light;
use sinew_sync::plant::{self, Bug};
use sinew_sync::statics::{AtomicUsize as PlainUsize, Ordering as PlainOrdering};
use sinew_topology::{PlacementError, page_nodes};

use crate::node::PreferredNode;
use bounds::{AtomicBounds, Bounds};
pub use slot::{Slot, Task};
use slots::Slots;
pub use thief::{Claim, Exposure, Steal};
pub use two_field::{Descriptor, TwoField};

/// Slots of a stack. A join on a full stack runs both arms inline.
pub const CAPACITY: u32 = if cfg!(any(loom, shuttle)) { 4 } else { 8192 };

/// Greater depths are set as this one. Times the size of a slot, it and a full stack are below 2³².
pub const DEEPEST: u32 = if cfg!(any(loom, shuttle)) { 1 << 16 } else { 1 << 26 };

/// The number of the last slot, which is never public: its join has withdrawn it.
const LAST: u32 = CAPACITY - 1;

/// `split` of a stack whose owner cannot rely on the heavy fence: every pop takes the cold path.
const FENCED: usize = usize::MAX;

/// `split` of a stack whose owner polls after every push: every pop takes the cold path as well.
const WATCHED: usize = usize::MAX - 1;

/// Poll reasons are the numbers below this: no slot has such an address.
const REASONS: usize = 1 << 11;

/// The poll reasons, for which an owner leaves its fast path: the bits of a poll word.
pub mod reason {
    /// A thief searches for work: publish half of the private tasks.
    pub const STEAL_REQUEST: usize = 1;
    /// Every push executes a full fence.
    pub(super) const FULL_FENCES: usize = 2;
    /// The owner polls after every push.
    pub(super) const EVERY_PUSH: usize = 4;
    /// The reasons that keep the owner in a mode. All others are requests.
    pub(super) const MODES: usize = FULL_FENCES | EVERY_PUSH;

    /// The scheduler's own request number `number`, to which this crate gives no meaning.
    ///
    /// # Panics
    ///
    /// If `number` is 8 or more.
    #[track_caller]
    pub const fn own(number: u32) -> usize {
        assert!(number < 8, "a poll word holds 8 requests of the scheduler's");
        8 << number
    }
}

/// Options for a new task stack.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether the owner cannot use the light fence yet.
    pub fenced: bool,
    /// Whether the owner polls after every push.
    pub every_push: bool,
    /// Whether the tasks are on a two-field stack, which needs the feature `experiments`.
    pub two_field: bool,
    /// The NUMA node for the stack's pages.
    pub node: PreferredNode,
}

/// The result of a pop.
#[derive(Debug, PartialEq, Eq)]
pub enum Popped {
    /// The task is the owner's again, and no thief has run it.
    Mine,
    /// A thief has taken it.
    Stolen,
}

/// A worker's task stack.
///
/// The owner's words come first, together on one line that no searching thief reads; thieves poll
/// `shared`.
#[derive(Debug)]
#[repr(C)]
pub struct TaskStack {
    head: AtomicPtr<Slot>,
    split: AtomicUsize,
    poll: AtomicUsize,
    /// The sum of this and a slot's address, modulo the word, is the depth of the task that the
    /// slot gets next, times the size of a slot (I8). Owner only.
    depth_offset: PlainUsize,
    slots: Slots,
    shared: CachePadded<Shared>,
}

#[derive(Debug)]
struct Shared {
    bounds: AtomicBounds,
    token: AtomicBool,
    /// Every push makes its owner poll. Never changes.
    every_push: bool,
    /// This worker's join tasks, in pools with two-field stacks. Never changes.
    two_field: two_field::Optional,
    /// A thief has set `STEAL_REQUEST`, and the owner has not taken it yet. It saves other thieves
    /// a read of the owner's line.
    has_request: AtomicBool,
}

// SAFETY: `head` points into the stack's own slots. The raw pointers in those are used only by the
// worker that runs the task.
unsafe impl Send for TaskStack {}

impl TaskStack {
    /// An empty stack.
    ///
    /// # Panics
    ///
    /// If the system has no memory left.
    // Not track_caller: no caller can do anything about it.
    pub fn new(options: Options) -> Self {
        let Options { fenced, every_push, two_field, node } = options;
        let slots = Slots::new(node);
        let first = slots.as_ptr().cast_mut();
        let stack = Self {
            head: AtomicPtr::new(first),
            split: AtomicUsize::new(0),
            poll: AtomicUsize::new(0),
            depth_offset: PlainUsize::new(0),
            slots,
            shared: CachePadded::new(Shared {
                bounds: AtomicBounds::new(Bounds::empty(0)),
                token: AtomicBool::new(false),
                every_push: every_push || two_field,
                two_field: two_field::Optional::new(two_field, node),
                has_request: AtomicBool::new(false),
            }),
        };
        // Relaxed: no other thread knows the stack yet.
        stack.split.store(if fenced { FENCED } else { stack.split_at(0) }, Ordering::Relaxed);
        stack.poll.store(stack.quiet(), Ordering::Relaxed);
        stack.set_depth(0);
        stack
    }

    /// Depth of the running task: what was set, and one more for each task that was pushed since
    /// and not taken back. Owner only.
    #[inline]
    pub fn depth(&self) -> u32 {
        // Relaxed: only the owner writes `head`.
        let next = self.next_depth(self.head.load(Ordering::Relaxed));
        // Wraps for other threads, which may see values that do not belong together.
        ((next / size_of::<Slot>()) as u32).wrapping_sub(1)
    }

    /// Sets the depth of the running task, to [`DEEPEST`] at most. Owner only. Before a task that
    /// is on the stack now is taken back, the depth must be set to its present value again (I8).
    #[inline]
    pub fn set_depth(&self, depth: u32) {
        let next = (depth.min(DEEPEST) as usize + 1) * size_of::<Slot>();
        // Relaxed: only the owner uses either.
        let head = self.head.load(Ordering::Relaxed).addr();
        self.depth_offset.store(next.wrapping_sub(head), PlainOrdering::Relaxed);
    }

    /// The depth of the task that slot `at` gets next, times the size of a slot.
    #[inline(always)]
    fn next_depth(&self, at: *const Slot) -> usize {
        // Relaxed: only the owner uses it.
        self.depth_offset.load(PlainOrdering::Relaxed).wrapping_add(at.addr())
    }

    /// Pushes a task, one deeper than the running task. Returns its slot, and whether the owner
    /// must now poll (`take_poll_reasons`, `is_full`).
    ///
    /// # Safety
    ///
    /// Owner only. `is_full` was false for the push before. The task's data stay valid until it is
    /// popped or finished. The depth was set as [`set_depth`](Self::set_depth) says.
    #[inline(always)]
    pub unsafe fn push(&self, task: Task) -> (SlotPtr, bool) {
        // Relaxed: only the owner writes `head`.
        let at = self.head.load(Ordering::Relaxed);
        let depth = self.next_depth(at);
        debug_assert!(depth > 0 && u32::try_from(depth).is_ok(), "I8: {depth}");
        // SAFETY: by I3 the slot at `head` is the owner's; it is inside the array because the stack
        // was not full.
        let next = unsafe {
            (*at).fill(task, depth);
            at.add(1)
        };
        // Release: M1.
        self.head.store(next, plant::ordering(Bug::RelaxedPush, Ordering::Release));
        light(); // M5
        // Relaxed: a hint; the cold path acquires.
        (SlotPtr(at), at.addr() >= self.poll.load(Ordering::Relaxed))
    }

    /// Takes back the newest task, in slot `at`, if it is private. After `false`, call
    /// [`pop_cold`](Self::pop_cold).
    ///
    /// # Safety
    ///
    /// Owner only; `at` is the newest slot.
    #[inline(always)]
    pub unsafe fn pop(&self, at: SlotPtr) -> bool {
        // Release: an exposer that reads this value must find the slots below filled (M1).
        self.head.store(at.0, plant::ordering(Bug::RelaxedPop, Ordering::Release));
        light(); // M3
        // Relaxed: a warning; the cold path reads the words behind it.
        self.split.load(Ordering::Relaxed) <= at.0.addr()
    }

    /// Takes back the newest task, in slot `at`, which no thief takes: it is the last slot, or that
    /// of a pool with two-field stacks. The next pop is the same task's, and finds it private.
    ///
    /// # Safety
    ///
    /// Owner only, directly after the push.
    pub unsafe fn withdraw(&self, at: SlotPtr) {
        self.head.store(at.0, Ordering::Release); // M1
    }

    /// The rest of a pop that `split` has warned.
    ///
    /// # Safety
    ///
    /// Owner only, directly after `pop(at)` returned false.
    #[cold]
    #[inline(never)]
    pub unsafe fn pop_cold(&self, at: SlotPtr) -> Popped {
        let at = self.index(at.0);
        if self.is_fenced() {
            fence(Ordering::SeqCst); // M3
        } else {
            fence(Ordering::Acquire); // M4
        }
        let taken_back = self.shared.bounds.update(|b| {
            let pending = b.pending && !plant::planted(Bug::IgnorePending);
            if b.tail > at || (b.limit <= at && !pending) {
                return None;
            }
            Some(Bounds { limit: b.limit.min(at), pending: false, ..b })
        });
        match taken_back {
            Err(b) if b.tail > at => Popped::Stolen,
            Err(_) => {
                self.lower_split();
                Popped::Mine
            }
            Ok(_) => Popped::Mine,
        }
    }

    /// Keeps the stolen slot `at` below everything that is pushed while its owner waits for it.
    ///
    /// # Safety
    ///
    /// Owner only, after `pop_cold(at)` returned `Stolen`.
    pub unsafe fn pin(&self, at: SlotPtr) {
        // Release: M1.
        // SAFETY: `at` is a slot, so this is at most one past the last.
        self.head.store(unsafe { at.0.add(1) }, Ordering::Release);
    }

    /// Frees the stolen slot `at` once its thief has finished and everything above it is gone.
    ///
    /// # Safety
    ///
    /// Owner only, after `pin(at)`, with `slot(at).is_done()`.
    pub unsafe fn unpin(&self, at: SlotPtr) {
        self.head.store(at.0, Ordering::Release);
        let at = self.index(at.0);
        // Nothing is public (`tail` = `limit` = `at` + 1), so no claim can interfere; this also
        // cancels a pending exposure.
        let freed = self.shared.bounds.update(|b| {
            debug_assert!(!b.has_public() && b.tail == at + 1, "unpin({at}) of {b:?}");
            Some(Bounds { epoch: b.epoch, ..Bounds::empty(at) })
        });
        debug_assert!(freed.is_ok());
    }

    /// Ends the epoch of a stolen task that is over but not reported: no task that becomes public
    /// from now on is a part of it (I6).
    ///
    /// # Safety
    ///
    /// Owner only, with every task joined that the stolen one pushed.
    pub unsafe fn end_epoch(&self) {
        // AcqRel: before the report (M6), so that a worker that finds the task unreported after it
        // read these bounds knows its epoch.
        let _ = self.shared.bounds.update(|b| Some(Bounds { epoch: b.epoch + 1, ..b }));
    }

    /// Publishes half of the private tasks, the oldest ones. Returns whether any task became
    /// public; `None` if an exposing thief holds the token, so the owner must try again.
    ///
    /// # Safety
    ///
    /// Owner only.
    pub unsafe fn publish(&self) -> Option<bool> {
        if let Some(two_field) = self.two_field() {
            return Some(two_field.load() > 0);
        }
        let head = self.head(Ordering::Relaxed);
        if !plant::planted(Bug::PublishWithoutToken) && !self.try_token() {
            return None;
        }
        let limit = self.shared.bounds.load(Ordering::Relaxed).limit;
        let private = head.saturating_sub(limit);
        let new_limit = limit + private.div_ceil(2);
        if private > 0 {
            self.set_split(new_limit); // I2
            // AcqRel: M2. The token keeps others from setting `pending`; thieves may move `tail`
            // meanwhile.
            let _ = self.shared.bounds.update(|b| Some(Bounds { limit: new_limit, ..b }));
        }
        self.release_token();
        Some(private > 0)
    }

    #[inline]
    fn slot(&self, index: u32) -> &Slot {
        &self.slots[index as usize]
    }

    /// How many slots lie below `at`.
    #[inline]
    fn index(&self, at: *const Slot) -> u32 {
        ((at.addr() - self.slots.as_ptr().addr()) / size_of::<Slot>()) as u32
    }

    /// `head`, as a number of slots.
    #[inline]
    fn head(&self, order: Ordering) -> u32 {
        self.index(self.head.load(order))
    }

    /// Whether slot `at` is the last one, so that the owner may push nothing above it.
    #[inline]
    pub fn is_full(&self, at: SlotPtr) -> bool {
        at.0.addr() >= self.last()
    }

    /// Whether all joins of its owner leave the fast path.
    #[inline]
    pub fn has_slow_joins(&self) -> bool {
        self.shared.every_push
    }

    /// Takes the poll reasons. Owner only.
    pub fn take_poll_reasons(&self) -> usize {
        if self.is_fenced() {
            fence(Ordering::SeqCst); // M5
        }
        let quiet = self.quiet();
        if self.poll.load(Ordering::Relaxed) == quiet {
            return 0;
        }
        // Acquire: pairs with Release in `set_poll_reason`. It also keeps the store of
        // `has_request` behind this swap: a thief that sees it sets the reason for the owner's next
        // call.
        let reasons = self.poll.swap(quiet, Ordering::AcqRel);
        // Relaxed: a hint among thieves; it publishes nothing.
        self.shared.has_request.store(false, Ordering::Relaxed);
        if reasons < REASONS { reasons & !reason::MODES } else { 0 }
    }

    /// Sets a poll reason, which the owner takes at its next push or safe point. Any thread may
    /// call it.
    pub fn set_poll_reason(&self, reason: usize) {
        let with = |old: usize| Some(if old < REASONS { old | reason } else { reason });
        // Release: pairs with Acquire in `take_poll_reasons`. Always a write, as the sleepers'
        // handshake requires one (M5).
        let _ = self.poll.fetch_update(Ordering::Release, Ordering::Relaxed, with);
    }

    /// Whether a reason is set; cheap, for safe points. Owner only.
    #[inline(always)]
    pub fn has_poll_reason(&self) -> bool {
        self.poll.load(Ordering::Relaxed) < REASONS
    }

    /// Whether the owner's pops execute full fences.
    #[inline]
    pub fn is_fenced(&self) -> bool {
        // Relaxed: only the owner leaves this mode, and only the owner's reads decide anything.
        self.split.load(Ordering::Relaxed) == FENCED
    }

    /// Leaves the fenced mode: the owner uses the light fence from now on. Does nothing while an
    /// exposing thief holds the token.
    ///
    /// # Safety
    ///
    /// Owner only; the caller has seen `sinew_sync::fence::is_asymmetric()` return true.
    pub unsafe fn rely_on_heavy_fences(&self) {
        if self.is_fenced() && self.try_token() {
            // Later exposers take the token after this, so they also use the heavy fence.
            let limit = self.shared.bounds.load(Ordering::Relaxed).limit;
            self.split.store(self.split_at(limit), Ordering::Release);
            self.release_token();
            let reasons = self.poll.swap(self.quiet(), Ordering::AcqRel);
            if reasons < REASONS && reasons & !reason::MODES != 0 {
                self.set_poll_reason(reasons & !reason::MODES);
            }
        }
    }

    /// The size of its slots in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.slots) + self.two_field().map_or(0, TwoField::bytes)
    }

    /// The NUMA nodes of its slots' pages.
    pub fn page_nodes(&self) -> Result<Vec<Option<usize>>, PlacementError> {
        self.two_field().map_or_else(|| page_nodes(&self.slots), TwoField::page_nodes)
    }

    /// The stack that replaces this one, in pools with two-field stacks.
    #[inline]
    pub fn two_field(&self) -> Option<&TwoField> {
        self.shared.two_field.get()
    }

    /// Whether the stack is empty. Exact for the owner.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head(Ordering::Relaxed) == 0 && self.two_field().is_none_or(TwoField::is_empty)
    }

    /// Lowers `split` after a pop that it warned without need, so that it does not warn the next.
    fn lower_split(&self) {
        if !self.is_fenced() && self.try_token() {
            // Relaxed load: under the token only the owner itself changes `limit`.
            let limit = self.shared.bounds.load(Ordering::Relaxed).limit;
            self.split.store(self.split_at(limit), Ordering::Relaxed);
            self.release_token();
        }
    }

    /// Holder of the token only.
    fn set_split(&self, split: u32) {
        if !self.is_fenced() {
            // Release: M4.
            self.split.store(self.split_at(split), Ordering::Release);
        }
    }

    /// The value of `split` that warns of pops below this slot.
    fn split_at(&self, split: u32) -> usize {
        if self.shared.every_push { WATCHED } else { self.address(split) }
    }

    #[inline]
    fn try_token(&self) -> bool {
        // Acquire: the last holder's changes of `split` precede this one's.
        !self.shared.token.load(Ordering::Relaxed)
            && !self.shared.token.swap(true, Ordering::Acquire)
    }

    #[inline]
    fn release_token(&self) {
        self.shared.token.store(false, Ordering::Release);
    }

    /// The address of a slot, or of the end.
    #[inline]
    fn address(&self, index: u32) -> usize {
        self.slots.as_ptr().wrapping_add(index as usize).addr()
    }

    /// The address of the last slot.
    #[inline]
    fn last(&self) -> usize {
        self.address(LAST)
    }

    /// The value of `poll` without a reason.
    fn quiet(&self) -> usize {
        let fenced = if self.is_fenced() { reason::FULL_FENCES } else { 0 };
        let every_push = if self.shared.every_push { reason::EVERY_PUSH } else { 0 };
        if fenced | every_push == 0 { self.last() } else { fenced | every_push }
    }
}

/// The address of an owner's slot, from its push to its pop.
#[derive(Debug, Clone, Copy)]
pub struct SlotPtr(*mut Slot);

impl SlotPtr {
    /// The slot.
    ///
    /// # Safety
    ///
    /// Not used after the stack is dropped.
    pub unsafe fn slot<'a>(self) -> &'a Slot {
        // SAFETY: only `push` makes an `SlotPtr`, of a pointer into the stack's slots.
        unsafe { &*self.0 }
    }
}
