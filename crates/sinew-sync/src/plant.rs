//! Planted bugs: how the checkers are checked.
//!
//! A model that passes proves little until it has been seen to fail. Each variant of [`Bug`] names
//! one mistake that the protocols could contain. A test plants it, runs the model and expects it to
//! fail. In builds without a model checker [`planted`] is the constant `false`, and the mistakes do
//! not exist.
//!
//! To add one: a variant here; the mistake in the protocol, by [`planted`] or [`ordering`]; a test
//! that plants it and expects a failure, in the loom model of that file or by `hunt` in
//! `sinew-core/src/shuttle`.

/// A mistake that a checker must catch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// The light fence does nothing. This is a mistake only where the task stack relies on the
    /// fence.
    NoLightFence,
    /// The exposer loads `head` without the heavy fence after it raised `split`.
    NoHeavyFence,
    /// Pop takes a task as private although an exposure is pending.
    IgnorePending,
    /// A thief reads the slot before its compare-and-swap on `bounds`.
    EarlyRead,
    /// Push publishes `head` with a relaxed store.
    RelaxedPush,
    /// Pop lowers `head` with a relaxed store.
    RelaxedPop,
    /// A thief reports a finished task with a relaxed operation.
    RelaxedDone,
    /// The last searcher parks without checking for work again.
    NoLastCheck,
    /// A worker whose timed park expired searches without setting its steal requests again.
    ForgottenStealRequest,
    /// A searcher announces that it parks, and checks for work without a fence between the two.
    NoSleepFence,
    /// A thief takes the last task of a second queue without a fence before it reads `bottom`.
    NoQueueFence,
    /// The reader of a lookahead ring looks for the owner without a fence after its claim.
    NoClaimFence,
    /// The owner of a lookahead ring reuses a cell without a look at the claim.
    BlindReuse,
    /// The reader of a lookahead ring ends its claim with a relaxed store.
    RelaxedClaim,
    /// The owner of a lookahead ring uses the cell of an item that it keeps for the reader.
    ForgottenKeep,
    /// An external thread leaves its worker slot with a relaxed store.
    RelaxedLeave,
    /// An owner publishes tasks without holding the exposers' token.
    PublishWithoutToken,
    /// A thief of a loop's range deposits what it stole with a store instead of an exchange.
    StoredDeposit,
    /// A closed source keeps the iterations that it returned to the loop.
    OpenSource,
    /// A participant continues a claimed part that it has returned to the loop.
    KeptChunk,
    /// A CPU for a thread is chosen under one lock and taken under another.
    TornCpuChoice,
    /// A thread releases its CPU before it has moved away from it.
    EarlyCpuRelease,
    /// A thread that keeps its CPU in a nested loop releases it when the inner loop ends.
    InnerCpuRelease,
    /// One half of a sort counts as done before it is sorted.
    EarlyHalf,
    /// A participant that waited for a stolen arm is not counted as active again.
    ForgottenReturn,
    /// A worker of a worklist leaves without a check for units that it left, or that were woken
    /// meanwhile.
    ForgottenLeaver,
    /// A panic in a batch of units returns the units before it to the list.
    LostBatch,
    /// A panic in a batch of units drops the units that those before it have added.
    LostAdditions,
    /// A worklist with priorities ends by the hint of the lowest bucket, not by the lengths.
    HintDecides,
    /// A thief of a loop's range registers the stolen part only after other thieves may have stolen
    /// from that part.
    LateRegistration,
    /// A searcher that has found work does not wake the next one.
    NoNextSearcher,
    /// A worker leaves a pool that is ending as soon as it finds no work of its own.
    EarlyEnd,
    /// A worker leaves though its last search preceded the request to end the pool.
    StaleSearch,
    /// A thief does not wake the worker that waits for its task.
    ForgottenJoiner,
    /// A thief tells its observer the end of a task after it has reported the task as finished.
    LateEvent,
    /// A token is queued before the task for which it stands.
    EarlyToken,
    /// No wake-up follows a delivered task.
    SilentDelivery,
    /// A latch is set with a relaxed store.
    RelaxedLatch,
    /// A part of a broadcast decrements the count with a relaxed operation.
    RelaxedCount,
    /// An owner takes its worker slot without the poll reason that makes its first push wake a
    /// thief.
    NoStartReason,
    /// A caller that finds all workers busy notifies none of them of its call.
    SilentCall,
    /// A searcher that finds work does not notify the workers of a call that relies on it.
    KeptCall,
    /// A caller looks for its queued call under one lock and withdraws it under another.
    TornWithdrawal,
    /// The queue forgets the priority of a call.
    LostPriority,
    /// A thief forgets the priority of the call to which its task belongs.
    ForgottenPriority,
    /// A caller with a deadline parks without a time limit.
    UntimedWait,
    /// A caller whose deadline has passed reports that without a check whether a worker runs its
    /// call.
    BlindExpiry,
    /// A caller whose deadline has passed cancels its control without a check whether the worker
    /// that took its call has begun it.
    BlindCancel,
    /// In a pool of one worker, a caller that has its result does not wake the next caller, though
    /// its own wake-up may have been for the free worker slot.
    KeptExternalSlot,
    /// A cancellation does not wake the callers whose calls it ends.
    SilentCancel,
    /// Workers that stand down are not woken when the limit rises.
    SilentRaise,
    /// A worker that stands down after it was woken for new work does not pass the wake-up on.
    KeptWake,
    /// A thief reports a task without ending its epoch.
    StaleEpoch,
    /// A waiting worker claims a part of its task without first checking whether the task is
    /// finished.
    LateCheck,
    /// Two-field stack: the test-and-set acquires nothing.
    RelaxedTestAndSet,
    /// Two-field stack: a join mistakes a claimed task for a stolen one.
    HastyJoin,
    /// Two-field stack: a thief keeps its claim without a check that the task is still the bottom
    /// one.
    StaleBottom,
    /// A token for a domain's task is dropped after one check of the queues.
    OneCheck,
    /// A worker that serves a call for its domain's debts registers only after it has read them.
    LateServeRegistration,
    /// A thread whose hook may start tasks is not counted before it has arrived.
    UncountedHook,
    /// A worker that pays a debt of its domain keeps the token of another task until its own task
    /// is over.
    KeptToken,
    /// A reader of a seqlock reads the version again without a fence.
    TornRead,
    /// Transactions: a commit does not check whether a variable that it read has changed.
    NoCommitValidation,
    /// Transactions: a snapshot is extended without validation of the reads in it.
    NoExtensionValidation,
    /// Transactions: a record is released before its value is stored.
    EarlyRelease,
    /// Transactions: a record is released with a relaxed store.
    RelaxedRelease,
    /// Transactions: a value is used without a second check of its record.
    NoSecondCheck,
    /// Transactions: a sleeper does not mark the records that it waits for.
    UnmarkedSleep,
    /// Transactions: a version is read without a pin.
    NoPin,
    /// Transactions that lock at their commit: a record is locked without a check whether it is
    /// younger than the snapshot.
    BlindLock,
    /// Transactions: an irrevocable one stores its values without locking its records again.
    UnlockedStore,
    /// Transactions: a container's node is allocated under a snapshot older than the commit that
    /// freed the node.
    StaleNode,
    /// Transactions: a snapshot includes a commit that the clock has not shown yet.
    FutureSnapshot,
    /// Transactions: a search of a group of keys does not enter the group's record in the read set.
    UnenteredGroup,
    /// Transactions: a search of a hash map that has no groups yet does not read that.
    UnreadStart,
    /// Transactions: a part that is undone leaves what it wrote over earlier writes.
    TornUndo,
    /// Transactions: an attempt that a panic ends keeps its locks.
    KeptLock,
    /// Transactions: a part within another loses what it wrote over earlier writes when it ends.
    LostPart,
    /// Transactions: a change that precedes a request for notification is not reported.
    ForgottenChange,
    /// Transactions: a thread forks without the locks that other threads may hold.
    UnlockedFork,
    /// Transactions: a forked child leaves the token to a thread that does not exist in it.
    LostToken,
    /// A waiting unit of a worklist can be woken before it is in the list in which wakers search
    /// for it.
    EarlySet,
    /// A worklist whose units all wait ends without trying them once more.
    NoLastRetry,
    /// Ranks: a bag ends after one wave whose sums are equal.
    OneWave,
    /// Ranks: a push along a lifeline is counted, but not sent.
    LostPush,
    /// A stopped rank of a bag drops the units that still come (B3 of `sinew_dist::bag`).
    LostRest,
    /// Ranks: the units that a lost rank had do not run again.
    ForgottenLease,
    /// Ranks: units whose result is merged run again when the rank that ran them is lost.
    MergedTwice,
    /// Ranks: the end of a bag waits for a lost rank.
    CountedLoss,
}

#[cfg(any(loom, shuttle))]
mod imp {
    use super::Bug;

    std::thread_local! {
        // The checkers run all of a model's threads on the thread that called them.
        static PLANTED: std::cell::Cell<u128> = const { std::cell::Cell::new(0) };
    }

    /// Plants `bugs`, and no others, for models that this thread runs from now on.
    pub fn plant(bugs: &[Bug]) {
        let set = bugs.iter().fold(0, |set, bug| set | 1 << *bug as u32);
        PLANTED.with(|planted| planted.set(set));
    }

    /// Whether `bug` is planted.
    pub fn planted(bug: Bug) -> bool {
        PLANTED.with(|planted| planted.get() & 1 << bug as u32 != 0)
    }
}

#[cfg(any(loom, shuttle))]
pub use imp::{plant, planted};

/// Whether `bug` is planted: the one that the environment names.
#[cfg(all(sinew_planted, not(any(loom, shuttle))))]
pub fn planted(bug: Bug) -> bool {
    static NAME: std::sync::LazyLock<String> =
        std::sync::LazyLock::new(|| std::env::var("SINEW_PLANTED").unwrap_or_default());
    !NAME.is_empty() && *NAME == format!("{bug:?}")
}

/// Whether `bug` is planted: never, in this build.
#[cfg(not(any(sinew_planted, loom, shuttle)))]
#[inline(always)]
pub const fn planted(_bug: Bug) -> bool {
    false
}

/// `ordering`, or `Relaxed` where `bug` is planted.
#[inline(always)]
pub fn ordering(bug: Bug, ordering: crate::atomic::Ordering) -> crate::atomic::Ordering {
    if planted(bug) { crate::atomic::Ordering::Relaxed } else { ordering }
}
