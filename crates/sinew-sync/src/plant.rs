//! Planted bugs: how the checkers are checked.
//!
//! A model that passes proves little until it has been seen to fail. Each variant of [`Bug`] names
//! one mistake that the protocols could contain; a test plants it, runs the model and expects it to
//! fail. In builds that are not for a model checker [`planted`] is the constant `false` and the
//! mistakes do not exist.

/// A mistake that a checker must catch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// The light fence is nothing. A mistake where the stack relies on it, faithful to the machine
    /// where it does not.
    NoLightFence,
    /// The exposer looks at `head` without the heavy fence after it raised `split`.
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
    /// The last searcher parks without looking once more.
    NoLastLook,
    /// Who has dozed looks for work without leaving its notes again.
    ForgottenNote,
    /// The searcher announces its sleep without a fence before its last look.
    NoSleepFence,
    /// A thief takes the last task of a second queue without a fence before it reads `bottom`.
    NoQueueFence,
    /// A guest leaves its seat with a relaxed store.
    RelaxedLeave,
    /// An owner publishes tasks without holding the exposers' token.
    PublishWithoutToken,
    /// A thief of a loop's range deposits what it stole with a store instead of an exchange.
    StoredDeposit,
    /// Closing a loop's source leaves in it what it answers.
    OpenSource,
    /// Who gives a loop back what it has claimed goes on with it.
    KeptChunk,
    /// A place for a thread is looked for under one lock and taken under another.
    TornPlace,
    /// A thread gives its place back before it has moved away from there.
    EarlyPlace,
    /// A thread that keeps its place in a loop within a loop gives it back when the inner one ends.
    InnerPlace,
    /// A half of what is sorted counts as done before it is.
    EarlyHalf,
    /// A participant that has waited for a stolen arm is not counted as at work again.
    ForgottenReturn,
    /// A worklist ends when its workers have gone, without another look at what they have left.
    NoSecondRound,
    /// A panic among units that are run one after the other puts those before it back to the list.
    LostStretch,
    /// A thief of a loop's range notes what it stole only after others may have stolen from it in
    /// turn.
    LateNote,
    /// A searcher that has found work does not wake the next one.
    LonelySearcher,
    /// A worker leaves an ending pool as soon as it finds nothing to do itself.
    EarlyEnd,
    /// A worker resigns that has last looked for work before the pool was told to end.
    StaleLook,
    /// A thief does not wake the worker that waits for its task.
    ForgottenJoiner,
    /// A token is queued before the task that it stands for.
    EarlyToken,
    /// A delivered task is not followed by a wake-up.
    SilentDelivery,
    /// A latch is set with a relaxed store.
    RelaxedLatch,
    /// A part of a broadcast counts itself out with a relaxed operation.
    RelaxedCount,
    /// An owner comes to its seat without leaving itself the note that makes its first push wake.
    QuietStart,
    /// A caller that finds all workers at work tells none of them of its call.
    SilentCall,
    /// A searcher that finds work does not tell the workers of a call that relies on it.
    KeptCall,
    /// A caller looks for its queued call under one lock and withdraws it under another.
    TornWithdrawal,
    /// A caller of a pool of one that has its answer does not wake the next one, though it may have
    /// been woken for the seat.
    KeptSeat,
    /// A cancellation does not wake the callers whose calls it ends.
    SilentCancel,
    /// Workers that stand down are not woken when the limit rises.
    SilentRaise,
    /// A worker that stands down after it was woken for new work does not pass the wake-up on.
    KeptWake,
    /// A thief reports a task without ending its epoch.
    StaleEpoch,
    /// A waiting worker does not look whether its task is finished before it claims a part of it.
    LateLook,
    /// Two-field stack: the test-and-set acquires nothing.
    RelaxedTestAndSet,
    /// Two-field stack: a join takes a task that is claimed for one that is stolen.
    HastyJoin,
    /// Two-field stack: a thief keeps its claim without looking whether the task is still the
    /// bottom one.
    StaleBottom,
    /// A token for a domain's task is given up after one look at the queues.
    OneLook,
    /// Who answers a call for the debts of its domain says so only after it has looked at them.
    LateAnswer,
    /// A thread whose hook may start something does not count before it has come.
    UncountedHook,
    /// Who pays off a debt of its domain keeps the token of another task until its own is over.
    KeptToken,
    /// A reader of a ledger looks at the version again without a fence.
    TornReading,
    /// Transactions: a commit does not look whether what it read has changed.
    NoCommitValidation,
    /// Transactions: a snapshot is extended without a look at what it consists of.
    NoExtensionValidation,
    /// Transactions: a record is released before its value is stored.
    EarlyRelease,
    /// Transactions: a record is released with a relaxed store.
    RelaxedRelease,
    /// Transactions: a value is believed without a second look at its record.
    NoSecondLook,
    /// Transactions: a sleeper does not mark the records that it waits for.
    UnmarkedSleep,
    /// Transactions: a version is read without a pin.
    NoPin,
    /// Transactions that lock at their commit: a record is locked without a look whether it is
    /// younger than the snapshot.
    BlindLock,
    /// Transactions: an irrevocable one stores its values without taking its locks again.
    UnlockedStore,
    /// Transactions: a container's node is allocated under a snapshot that is older than the commit
    /// that freed it.
    StaleNode,
    /// Transactions: a change that has come before somebody asks to be told of it is not told.
    ForgottenChange,
    /// A worklist's unit that waits can be woken before it lies where it is looked for.
    EarlySet,
    /// A worklist in which every unit waits ends without another try of them.
    NoLookBack,
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

/// Whether `bug` is planted: never, in this build.
#[cfg(not(any(loom, shuttle)))]
#[inline(always)]
pub const fn planted(_bug: Bug) -> bool {
    false
}

/// `ordering`, or `Relaxed` where `bug` is planted.
#[inline(always)]
pub fn ordering(bug: Bug, ordering: crate::atomic::Ordering) -> crate::atomic::Ordering {
    if planted(bug) { crate::atomic::Ordering::Relaxed } else { ordering }
}
