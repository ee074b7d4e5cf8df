//! The lock of a table's file: a claim in the file that names its holder, and a file lock that
//! the kernel frees.
//!
//! The file lock belongs to the open file: closing other descriptors of it changes nothing. The
//! kernel frees the lock when the last process that has this file open ends.
//!
//! The file lock alone excludes other programs, but the kernel does not say which process has it.
//! So a program writes its claim into the file before it takes the file lock, and withdraws the
//! claim after it has freed the lock. A waiting program reads the claim and asks the system about
//! that process. It takes over the claim of an ended process, and replaces the file of a stopped
//! process. Time alone never decides that a holder is dead.
//!
//! # States of the claim
//!
//! | claim | file lock | meaning |
//! |---|---|---|
//! | 0 | free | no program changes the table |
//! | P | free | P is about to take the lock, or has just freed it |
//! | P | held | P changes the table |
//! | P, ended | free | P died; the next program takes the claim over |
//! | own | held by another process | a child of an ended process has the open file: it never frees the lock |
//!
//! # Invariants
//!
//! - K1: a program takes the file lock only while the claim is its own, except after [`OVERDUE`],
//!   when the claim may be forged.
//! - K2: a claim names one opened table of one process: process number, start time, and a number.
//! - K3: every wait ends: with the lock, with a file that must be replaced, or after
//!   [`GIVE_UP_AFTER`].
//!
//! # Orderings
//!
//! The claim publishes nothing (Relaxed): the file lock, a system call, orders the words of the
//! table. A wrong claim costs a wait or a new file, never a lost change.
//!
//! # Tests
//!
//! `next_step` decides and has no effects, so the tests below can run it in every interleaving.

use std::fs::{File, TryLockError};
use std::io;
use std::time::{Duration, Instant};

use sinew_sync::statics::{AtomicU32, AtomicU64, Ordering};

use crate::process::ProcessId;
use crate::sys;

/// A waiting program asks about the claim's process only after this time.
const ASK_AFTER: Duration = Duration::from_millis(5);
/// After this time a claim counts as forged if its process holds no lock.
const OVERDUE: Duration = Duration::from_secs(2);
/// The own claim has stood for this long, and a process without a claim has the file lock.
const ORPHANED_AFTER: Duration = Duration::from_millis(50);
/// The longest wait for the lock.
pub(crate) const GIVE_UP_AFTER: Duration = Duration::from_secs(5);

/// The result of an attempt to lock a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockOutcome {
    /// The lock was taken.
    Lock,
    /// The lock will not be freed, so another file must replace this one.
    Stuck,
    /// The holder runs and keeps the lock.
    Busy,
}

/// The identity of one opened table of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim(u64);

const PID_BITS: u32 = 24;
const START_BITS: u32 = 24;

impl Claim {
    /// A claim for `process`; each call returns a different one.
    pub(crate) fn new(process: ProcessId) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed) & 0xffff;
        let low_bits = u64::from(process.pid) | low_start(process.started) << PID_BITS;
        Self(low_bits | u64::from(number) << (PID_BITS + START_BITS))
    }
}

fn low_start(started: u64) -> u64 {
    started & ((1 << START_BITS) - 1)
}

/// The state of the process that a claim names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claimant {
    Running,
    Stopped,
    Ended,
}

fn claimant(claim: u64) -> Claimant {
    let pid = (claim & ((1 << PID_BITS) - 1)) as u32;
    let started = claim >> PID_BITS & ((1 << START_BITS) - 1);
    let is_the_same = |process: &ProcessId| low_start(process.started) == started;
    match ProcessId::find(pid) {
        Ok(process) if !is_the_same(&process) => Claimant::Ended,
        Ok(process) if process.is_stopped() => Claimant::Stopped,
        Err(crate::Error::Gone) => Claimant::Ended,
        // A refusal by the system does not prove that the process has ended.
        Ok(_) | Err(_) => Claimant::Running,
    }
}

/// The limits that an attempt has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Waited {
    /// [`ASK_AFTER`] has passed.
    asks: bool,
    /// The own claim has stood for [`ORPHANED_AFTER`].
    orphaned: bool,
    /// [`OVERDUE`] has passed.
    overdue: bool,
}

/// The next action of a waiting program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Write the own claim in place of the one that was read.
    Claim,
    /// Try to take the file lock.
    Take,
    /// Read the claim again later.
    Wait,
    /// Give the file up.
    Replace,
}

/// Decides by the claim that was read.
fn next_step(read: u64, own: u64, waited: Waited, claimant: impl FnOnce() -> Claimant) -> Step {
    if read == 0 {
        return Step::Claim;
    }
    if read == own {
        return if waited.orphaned { Step::Replace } else { Step::Take };
    }
    if !waited.asks {
        return Step::Wait;
    }
    match claimant() {
        Claimant::Ended => Step::Claim,
        Claimant::Stopped => Step::Replace,
        Claimant::Running if waited.overdue => Step::Take,
        Claimant::Running => Step::Wait,
    }
}

/// Takes the lock of `file`, which holds until [`release`].
///
/// # Errors
///
/// The system refuses the lock for another reason than that it is held.
///
/// # Blocking
///
/// Until [`GIVE_UP_AFTER`] has passed since `began`, at most.
pub(crate) fn acquire(
    file: &sys::Mapping,
    claim: &AtomicU64,
    own: Claim,
    began: Instant,
) -> io::Result<LockOutcome> {
    let outcome = Attempt { began, claimed: None, round: 0 }.run(file, claim, own);
    if !matches!(outcome, Ok(LockOutcome::Lock)) {
        withdraw(claim, own);
    }
    outcome
}

/// An attempt to take a lock.
struct Attempt {
    began: Instant,
    /// The time at which the own claim was written.
    claimed: Option<Instant>,
    /// Pauses so far; they grow with it.
    round: u32,
}

impl Attempt {
    fn run(
        &mut self,
        file: &sys::Mapping,
        claim: &AtomicU64,
        own: Claim,
    ) -> io::Result<LockOutcome> {
        loop {
            let read = claim.load(Ordering::Relaxed);
            match next_step(read, own.0, self.waited(), || claimant(read)) {
                Step::Claim if exchange(claim, read, own.0) => {
                    self.claimed = Some(Instant::now());
                    // The lock is usually free now.
                    self.round = 0;
                    continue;
                }
                Step::Take if try_lock(file.file())? => {
                    // The claim may still be an overdue one of another process.
                    claim.store(own.0, Ordering::Relaxed);
                    return Ok(LockOutcome::Lock);
                }
                Step::Replace => return Ok(LockOutcome::Stuck),
                Step::Claim | Step::Take | Step::Wait => {}
            }
            if self.began.elapsed() > GIVE_UP_AFTER {
                return Ok(LockOutcome::Busy);
            }
            std::thread::park_timeout(Duration::from_micros(20 << self.round.min(5)));
            self.round += 1;
        }
    }

    fn waited(&self) -> Waited {
        let elapsed = self.began.elapsed();
        Waited {
            asks: elapsed > ASK_AFTER,
            orphaned: self.claimed.is_some_and(|at| at.elapsed() > ORPHANED_AFTER),
            overdue: elapsed > OVERDUE,
        }
    }
}

/// Tries to take the file lock.
fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn exchange(claim: &AtomicU64, from: u64, to: u64) -> bool {
    claim.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

/// Frees the lock, and then withdraws the claim. In this order no program finds the lock held
/// without a claim.
pub(crate) fn release(file: &sys::Mapping, claim: &AtomicU64, own: Claim) {
    let _ = file.file().unlock();
    withdraw(claim, own);
}

fn withdraw(claim: &AtomicU64, own: Claim) {
    exchange(claim, own.0, 0);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    //! Checks a few programs that take the lock, are stopped and die. The search visits every state
    //! that they can reach. Blind to: times, and a file lock that is not the kernel's.
    use std::collections::HashSet;

    use super::*;

    /// The position of a program in its attempt.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    enum At {
        Reads,
        /// It has read this claim, and will take this action.
        Acts(u64, Act),
        Holds,
        /// It has freed the lock, and withdraws its claim next.
        Freed,
        Done,
        Dead,
        /// It is dead, and a child has the open file: the lock is never freed.
        DeadWithChild,
    }

    /// [`Step`] with a hash.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    enum Act {
        Claim,
        Take,
        Wait,
        Replace,
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Plant {
        None,
        /// Time decides: a program that has waited replaces the file of a running holder.
        Impatient,
        /// The claim is withdrawn before the lock is freed.
        EarlyWithdrawal,
        /// A running process counts as ended, as if only its number were compared and not its
        /// start.
        WrongEnd,
    }

    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    struct World {
        claim: u64,
        /// The program that has the file lock.
        lock: Option<usize>,
        at: Vec<At>,
        stopped: Vec<bool>,
    }

    const LATER: Waited = Waited { asks: true, orphaned: false, overdue: false };

    struct Search {
        seen: HashSet<World>,
        plant: Plant,
        replaced_without_cause: bool,
        taken_over: bool,
        orphans: bool,
    }

    impl Search {
        fn run(programs: usize, plant: Plant) -> Self {
            let mut search = Self {
                seen: HashSet::new(),
                plant,
                replaced_without_cause: false,
                taken_over: false,
                orphans: false,
            };
            let first = World {
                claim: 0,
                lock: None,
                at: vec![At::Reads; programs],
                stopped: vec![false; programs],
            };
            let mut open = vec![first];
            while let Some(world) = open.pop() {
                if search.seen.insert(world.clone()) {
                    for me in 0..programs {
                        open.extend(search.moves(&world, me));
                    }
                }
            }
            search
        }

        fn claimant(&self, world: &World, claim: u64) -> Claimant {
            let them = claim as usize - 1;
            match world.at[them] {
                _ if self.plant == Plant::WrongEnd => Claimant::Ended,
                At::Dead | At::DeadWithChild => Claimant::Ended,
                _ if world.stopped[them] => Claimant::Stopped,
                _ => Claimant::Running,
            }
        }

        /// All worlds that one step of this program leads to.
        fn moves(&mut self, world: &World, me: usize) -> Vec<World> {
            if matches!(world.at[me], At::Dead | At::DeadWithChild | At::Done) {
                return Vec::new();
            }
            let mut worlds = Vec::new();
            if world.stopped[me] {
                let mut on = world.clone();
                on.stopped[me] = false;
                return vec![on, Self::die(world, me, false)];
            }
            let mut stop = world.clone();
            stop.stopped[me] = true;
            worlds.extend([stop, Self::die(world, me, false)]);
            if world.lock == Some(me) {
                worlds.push(Self::die(world, me, true));
            }
            worlds.extend(self.steps(world, me));
            worlds
        }

        fn die(world: &World, me: usize, with_child: bool) -> World {
            let mut dead = world.clone();
            dead.stopped[me] = false;
            dead.at[me] = if with_child { At::DeadWithChild } else { At::Dead };
            if !with_child && dead.lock == Some(me) {
                dead.lock = None;
            }
            dead
        }

        fn steps(&mut self, world: &World, me: usize) -> Vec<World> {
            let own = me as u64 + 1;
            let to = |at: At| {
                let mut next = world.clone();
                next.at[me] = at;
                next
            };
            match world.at[me] {
                At::Reads => {
                    let waits = [Waited::default(), LATER, Waited { orphaned: true, ..LATER }];
                    let acts = waits.map(|waited| self.act(world, own, waited));
                    acts.iter().for_each(|act| self.check(world, me, *act));
                    acts.map(|act| to(At::Acts(world.claim, act))).into()
                }
                At::Acts(read, Act::Claim) => {
                    let mut next = to(At::Reads);
                    if next.claim == read {
                        self.taken_over |= read != 0;
                        next.claim = own;
                    }
                    vec![next]
                }
                At::Acts(_, Act::Take) => {
                    let mut next = to(At::Reads);
                    if next.lock.is_none() {
                        (next.lock, next.at[me]) = (Some(me), At::Holds);
                        next.claim = own;
                    }
                    vec![next]
                }
                At::Acts(_, Act::Wait) => vec![to(At::Reads)],
                At::Acts(_, Act::Replace) => vec![to(At::Done)],
                At::Holds => {
                    let mut next = to(At::Freed);
                    match self.plant {
                        Plant::EarlyWithdrawal => next.claim = 0,
                        _ => next.lock = None,
                    }
                    vec![next]
                }
                At::Freed => {
                    let mut next = to(At::Done);
                    if self.plant == Plant::EarlyWithdrawal {
                        next.lock = None;
                    } else if next.claim == own {
                        next.claim = 0;
                    }
                    vec![next]
                }
                At::Done | At::Dead | At::DeadWithChild => Vec::new(),
            }
        }

        /// The action of a program that has read the claim now.
        fn act(&self, world: &World, own: u64, waited: Waited) -> Act {
            match next_step(world.claim, own, waited, || self.claimant(world, world.claim)) {
                Step::Wait if self.plant == Plant::Impatient && waited.asks => Act::Replace,
                Step::Claim => Act::Claim,
                Step::Take => Act::Take,
                Step::Wait => Act::Wait,
                Step::Replace => Act::Replace,
            }
        }

        /// A file is replaced only if a stopped program or a dead program's child holds its lock,
        /// or if its claim is a stopped program's.
        fn check(&mut self, world: &World, me: usize, act: Act) {
            if act != Act::Replace {
                return;
            }
            let is_stuck = |them: usize| world.stopped[them] || world.at[them] == At::DeadWithChild;
            let claimant = (world.claim as usize).checked_sub(1).filter(|them| *them != me);
            // A program may also time out while the lock is free. Replacing the file harms no
            // program then.
            let runs = world.lock.is_some_and(|them| !is_stuck(them));
            self.replaced_without_cause |= runs && !claimant.is_some_and(is_stuck);
            self.orphans |= world.lock.is_some_and(|them| world.at[them] == At::DeadWithChild);
        }
    }

    /// Catches: a running holder that loses its file, a claim that no program can take over, and a
    /// lock that a dead program's child keeps for ever.
    #[test]
    fn only_a_stopped_program_or_a_dead_ones_child_loses_the_file() {
        for programs in 1..=3 {
            let search = Search::run(programs, Plant::None);
            assert!(!search.replaced_without_cause, "{programs}");
            assert!(programs == 1 || (search.taken_over && search.orphans));
            // Two programs never hold the lock.
            let holders = |world: &World| world.at.iter().filter(|at| **at == At::Holds).count();
            assert!(search.seen.iter().all(|world| holders(world) <= 1));
        }
    }

    /// Catches: a search that finds nothing.
    #[test]
    fn the_search_finds_each_planted_bug() {
        for plant in [Plant::Impatient, Plant::EarlyWithdrawal, Plant::WrongEnd] {
            assert!(Search::run(2, plant).replaced_without_cause, "{plant:?}");
        }
    }

    /// Catches: a claim that names another process, and equal claims for two tables of one process.
    #[test]
    fn a_claim_names_its_process() {
        let me = ProcessId::current();
        let (one, two) = (Claim::new(me), Claim::new(me));
        assert_ne!(one, two);
        assert_eq!(claimant(one.0), Claimant::Running);
        assert_eq!(
            claimant(Claim::new(ProcessId { started: me.started + 1, ..me }).0),
            Claimant::Ended
        );
        assert_eq!(claimant(u64::MAX), Claimant::Ended);
    }
}
