//! The masks of all threads of a process, set from outside.
//!
//! # Invariants
//!
//! T1: a thread is moved only if its mask is the one that was last set for it here, or, for a thread that is new, one of those that were in force before, which
//! it can only have inherited. Any other mask is somebody's wish, and a thread with such a mask is left alone for good, whatever its mask is later.
//!
//! # Not handled
//!
//! A program that binds a thread to exactly the CPUs that it has been given at that moment cannot be told from one that does not.

use std::collections::{HashMap, HashSet};
use std::fs;

use rustix::process::Pid;
use rustix::thread::{CpuSet as Mask, sched_getaffinity, sched_setaffinity};
use sinew_topology::CpuSet;

use crate::family;

/// Looks at a process's threads before giving up on one that makes threads faster than they can be looked at.
const MOST_LOOKS: usize = 100;

/// A thread that keeps its name when its number is given to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Thread {
    pub(crate) number: u32,
    /// When it began, as the kernel counts.
    pub(crate) began: u64,
}

impl Thread {
    fn is_there(&self) -> bool {
        family::began(self.number) == Some(self.began)
    }
}

/// The mask that a thread was given last, or has inherited.
#[derive(Debug)]
struct Known {
    thread: Thread,
    mask: CpuSet,
}

/// What was set for which thread.
#[derive(Debug)]
pub(crate) struct Masks {
    /// In force at some time, the one from before first.
    ours: Vec<CpuSet>,
    last: HashMap<u32, Known>,
    /// Threads that were seen with a mask that is nobody's here.
    bound: HashSet<u32>,
}

impl Masks {
    /// For threads that began with `start`, or with one of `others`.
    pub(crate) fn new(start: &CpuSet, others: impl IntoIterator<Item = CpuSet>) -> Self {
        let mut ours = vec![start.clone()];
        ours.extend(others);
        Self { ours, last: HashMap::new(), bound: HashSet::new() }
    }

    /// All masks that were in force.
    pub(crate) fn ours(&self) -> &[CpuSet] {
        &self.ours
    }

    /// Moves all threads of `pid` to `cpus`, also those that appear meanwhile. A process that has ended is no error.
    pub(crate) fn set(&mut self, pid: u32, cpus: &CpuSet) {
        // Nobody can have inherited the mask before it was set: a thread that has it already was bound to it.
        threads_of(pid).into_iter().for_each(|thread| self.note(thread));
        if !self.ours.contains(cpus) {
            self.ours.push(cpus.clone());
        }
        // A thread that was made by one that had not been moved yet is found by the next look; a look that moves nobody is the last.
        for _ in 0..MOST_LOOKS {
            let moved = threads_of(pid).into_iter().filter(|thread| self.set_thread(*thread, cpus)).count();
            if moved == 0 {
                break;
            }
        }
    }

    /// Puts the threads of `pid` on the processors of `cpus` in turn, one on each as far as there are enough.
    pub(crate) fn spread(&mut self, pid: u32, cpus: &CpuSet) {
        let places: Vec<CpuSet> = cpus.iter().map(only).collect();
        threads_of(pid).into_iter().for_each(|thread| self.note(thread));
        self.ours
            .extend(places.iter().filter(|place| !self.ours.contains(place)).cloned().collect::<Vec<_>>());
        for (thread, place) in threads_of(pid).into_iter().zip(places.iter().cycle()) {
            self.set_thread(thread, place);
        }
    }

    /// Takes note of processes that are new: of what their threads have inherited.
    pub(crate) fn know(&mut self, pids: &[u32]) {
        let is_new = |pid: &&u32| !self.last.contains_key(pid) && !self.bound.contains(pid);
        let new: Vec<u32> = pids.iter().filter(is_new).copied().collect();
        new.into_iter().flat_map(threads_of).for_each(|thread| self.note(thread));
    }

    /// Takes note of a thread: of what it has inherited if it is new, and that it is bound if its mask is not one that was set here.
    fn note(&mut self, number: u32) {
        let Some(now) = mask_of(number) else { return };
        let known = self.last.get(&number);
        if known.is_some_and(|known| known.mask == now) {
            return;
        }
        let is_the_same = known.is_some_and(|known| known.thread.is_there());
        let is_bound = is_the_same || !self.ours.contains(&now);
        let began = (!is_bound).then(|| family::began(number)).flatten();
        match began {
            Some(began) => {
                let thread = Thread { number, began };
                self.last.insert(number, Known { thread, mask: now });
            }
            None if is_bound => drop(self.bound.insert(number)),
            // It has ended.
            None => {}
        }
    }

    /// Moves a thread, if it is to be moved; answers whether it was.
    fn set_thread(&mut self, thread: u32, cpus: &CpuSet) -> bool {
        self.note(thread);
        let Some(known) = self.last.get_mut(&thread).filter(|known| known.mask != *cpus) else {
            return false;
        };
        if self.bound.contains(&thread) || !set_mask(thread, cpus) {
            return false;
        }
        // What the kernel made of it: less than was asked for, if a cpuset says so.
        known.mask = mask_of(thread).unwrap_or_else(|| cpus.clone());
        known.mask == *cpus
    }

    /// The threads that do not have the mask from before now, wherever they descend from.
    pub(crate) fn narrowed(&self) -> Vec<Thread> {
        let is_narrowed = |known: &&Known| known.mask != self.ours[0];
        let is_ours = |known: &&Known| !self.bound.contains(&known.thread.number);
        let mut all: Vec<Thread> =
            self.last.values().filter(is_narrowed).filter(is_ours).map(|known| known.thread).collect();
        all.sort_unstable();
        all
    }

    /// Moves these threads, as far as they are still there, to the mask from before.
    pub(crate) fn give_back(&mut self, threads: &[Thread]) {
        let before = self.ours[0].clone();
        for thread in threads.iter().filter(|thread| thread.is_there()) {
            self.set_thread(thread.number, &before);
        }
    }

    /// Forgets threads that have ended, whose numbers may come again.
    pub(crate) fn forget_ended(&mut self) {
        self.last.retain(|thread, _| mask_of(*thread).is_some());
        self.bound.retain(|thread| mask_of(*thread).is_some());
    }
}

/// Whether a process has threads that may wake one another.
pub(crate) fn are_several(pid: u32) -> bool {
    threads_of(pid).len() > 1
}

/// One processor.
pub(crate) fn only(cpu: usize) -> CpuSet {
    std::iter::once(cpu).collect()
}

fn threads_of(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn number(thread: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(thread).ok()?)
}

/// The CPUs a thread may run on; `None` if it has ended, or has more CPUs than a mask has room for.
pub(crate) fn mask_of(thread: u32) -> Option<CpuSet> {
    let mask = sched_getaffinity(Some(number(thread)?)).ok()?;
    Some((0..Mask::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect())
}

fn set_mask(thread: u32, cpus: &CpuSet) -> bool {
    let mut mask = Mask::new();
    cpus.iter().filter(|&cpu| cpu < Mask::MAX_CPU).for_each(|cpu| mask.set(cpu));
    number(thread).is_some_and(|thread| sched_setaffinity(Some(thread), &mask).is_ok())
}

#[cfg(test)]
mod tests {
    //! What they would miss: threads of programs that are not of this process; `tests/` has those.
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    fn own_thread() -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
    }

    /// Runs `check` with a thread that waits, and the CPUs it may use; skips where there is only one.
    fn with_thread(check: impl FnOnce(u32, &CpuSet)) {
        let all = mask_of(own_thread()).expect("an own mask");
        if all.len() < 2 {
            println!("skipped: one CPU, so no mask is narrower than another");
            return;
        }
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let waiter = thread::spawn(move || {
            tell.send(own_thread()).unwrap();
            let _ = ended.recv();
        });
        check(told.recv().unwrap(), &all);
        drop(end);
        waiter.join().unwrap();
    }

    /// Would miss: a kernel that moves the thread later.
    #[test]
    fn a_thread_follows_its_mask_there_and_back() {
        with_thread(|thread, all| {
            let one: CpuSet = all.lowest().into_iter().collect();
            let mut masks = Masks::new(all, []);
            assert!(masks.set_thread(thread, &one));
            assert_eq!(mask_of(thread).as_ref(), Some(&one));
            assert!(masks.set_thread(thread, all) && !masks.set_thread(thread, all));
            assert_eq!(mask_of(thread).as_ref(), Some(all));
        });
    }

    /// Would miss: a binding to exactly what was granted.
    #[test]
    fn a_thread_that_somebody_else_has_bound_is_left_alone() {
        with_thread(|thread, all| {
            let cpus: Vec<CpuSet> = all.iter().map(only).collect();
            let mut masks = Masks::new(all, []);
            assert!(masks.set_thread(thread, &cpus[0]));
            assert!(set_mask(thread, &cpus[1]), "somebody else binds it");
            assert!(!masks.set_thread(thread, all));
            assert_eq!(mask_of(thread).as_ref(), Some(&cpus[1]));
        });
    }

    /// Catches: a thread that is taken for ours because its mask happens to be, or comes to be, one that is granted.
    #[test]
    fn a_thread_that_was_bound_once_is_left_alone_for_good() {
        with_thread(|thread, all| {
            let cpus: Vec<CpuSet> = all.iter().map(only).collect();
            let mut masks = Masks::new(all, []);
            assert!(set_mask(thread, &cpus[1]), "somebody else binds it before it is first looked at");
            // Of all threads of this process it is the one that the grant is right for.
            masks.note(thread);
            masks.ours.push(cpus[1].clone());
            assert!(!masks.set_thread(thread, &cpus[1]) && !masks.set_thread(thread, all));
            assert!(set_mask(thread, all) && !masks.set_thread(thread, &cpus[0]));
            assert_eq!(mask_of(thread).as_ref(), Some(all), "it is somebody else's still");
        });
    }

    /// Catches: a thread that nothing leads to any more, and that keeps what it was narrowed to.
    #[test]
    fn every_thread_that_was_moved_is_given_its_processors_back() {
        with_thread(|thread, all| {
            let one: CpuSet = all.lowest().into_iter().collect();
            let mut masks = Masks::new(all, []);
            assert!(masks.set_thread(thread, &one));
            let narrowed = masks.narrowed();
            assert_eq!(narrowed.iter().map(|narrowed| narrowed.number).collect::<Vec<_>>(), [thread]);
            masks.give_back(&narrowed);
            assert_eq!(mask_of(thread).as_ref(), Some(all));
            assert_eq!(masks.narrowed(), []);
        });
    }

    /// Catches: a stranger that is moved because it has the number of a thread that has ended.
    #[test]
    fn a_thread_of_the_same_number_is_another_one() {
        with_thread(|thread, all| {
            let one: CpuSet = all.lowest().into_iter().collect();
            let mut masks = Masks::new(all, []);
            assert!(masks.set_thread(thread, &one));
            let mut earlier = masks.narrowed();
            earlier[0].began -= 1;
            masks.give_back(&earlier);
            assert_eq!(mask_of(thread).as_ref(), Some(&one));
            // One that has ended, and whose number this thread has now, was not bound by anybody.
            masks.last.get_mut(&thread).unwrap().thread = earlier[0];
            assert!(set_mask(thread, all) && masks.set_thread(thread, &one));
        });
    }

    /// Would miss: a number that is taken again at once.
    #[test]
    fn a_thread_that_has_ended_is_no_error() {
        let thread = thread::spawn(own_thread).join().unwrap();
        assert!(!Masks::new(&CpuSet::first(1), []).set_thread(thread, &CpuSet::first(1)));
    }
}
