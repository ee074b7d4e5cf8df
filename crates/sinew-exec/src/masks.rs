//! The masks of all threads of a process, set from outside.
//!
//! # Invariants
//!
//! - T1: a thread is moved only if it has the mask that was last set for it here. A new thread is
//!   moved only if its mask was in force when it began, so that it can only have inherited it. Any
//!   other mask is a user's binding: the thread is left alone for good, whatever its mask is later.
//! - T2: a thread that no complete search has seen began after that search. The kernel reports its
//!   start to a hundredth of a second. If the two disagree (a search missed the thread, or no
//!   parent leads to its process), only the kernel's time counts.
//!
//! # Not handled
//!
//! A program that binds a thread to exactly the mask that the thread has at that moment: it cannot
//! be told from one that does not. A mask that is set in the microsecond between reading a thread's
//! mask and changing it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::Duration;

use rustix::process::Pid;
use rustix::thread::{CpuSet as Mask, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use sinew_topology::{CpuSet, Limits};

use crate::descendants;

/// Passes over a process's threads before giving up on one that makes threads faster than they are
/// found.
const MOST_PASSES: usize = 100;

/// Spans of one mask that are kept apart; older ones are merged into one.
const MOST_SPANS: usize = 32;

/// A time on the clock by which the kernel dates the start of threads, in nanoseconds.
type Time = u64;

/// A mask, and the times at which some thread had it.
#[derive(Debug)]
struct InForce {
    cpus: CpuSet,
    /// Beginning and end of each span, in order. The end of a present span is [`Time::MAX`].
    spans: Vec<(Time, Time)>,
}

impl InForce {
    fn since(cpus: &CpuSet, from: Time) -> Self {
        Self { cpus: cpus.clone(), spans: vec![(from, Time::MAX)] }
    }

    fn lasts(&self) -> bool {
        self.spans.last().is_some_and(|span| span.1 == Time::MAX)
    }

    fn begin(&mut self, now: Time) {
        if self.lasts() {
            return;
        }
        if self.spans.len() == MOST_SPANS {
            let first = self.spans.remove(0);
            self.spans[0].0 = first.0;
        }
        self.spans.push((now, Time::MAX));
    }

    fn end(&mut self, now: Time) {
        if let Some(span) = self.spans.last_mut().filter(|span| span.1 == Time::MAX) {
            span.1 = now;
        }
    }

    /// Whether it was in force at any time from `from` to `until`.
    fn was_within(&self, (from, until): (Time, Time)) -> bool {
        self.spans.iter().any(|span| span.0 <= until && from <= span.1)
    }
}

/// A thread, distinct from later threads of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Thread {
    pub(crate) number: u32,
    /// Its start, in the kernel's ticks.
    pub(crate) began: u64,
}

impl Thread {
    fn is_alive(&self) -> bool {
        descendants::start_ticks(self.number) == Some(self.began)
    }
}

/// The mask that a thread was given last, or has inherited.
#[derive(Debug)]
struct Known {
    thread: Thread,
    mask: CpuSet,
}

/// The masks that were set, and the threads they were set for.
#[derive(Debug)]
pub(crate) struct Masks {
    /// The masks that were ever in force, the first one first.
    in_force: Vec<InForce>,
    last: HashMap<u32, Known>,
    /// Threads that were seen with a mask that was never in force for them.
    bound: HashSet<u32>,
    /// The time of the last complete search of all threads.
    searched: Time,
}

impl Masks {
    /// For threads that began with `start`, or with one of `others`; `bound` threads are left
    /// alone.
    pub(crate) fn new(
        start: &CpuSet,
        others: impl IntoIterator<Item = CpuSet>,
        bound: impl IntoIterator<Item = u32>,
    ) -> Self {
        let in_force = std::iter::once(start.clone()).chain(others);
        let in_force = in_force.map(|cpus| InForce::since(&cpus, 0)).collect();
        Self { in_force, last: HashMap::new(), bound: bound.into_iter().collect(), searched: 0 }
    }

    /// All masks that were in force.
    pub(crate) fn in_force(&self) -> impl Iterator<Item = &CpuSet> {
        self.in_force.iter().map(|mask| &mask.cpus)
    }

    /// Threads that are left alone for good.
    pub(crate) fn bound(&self) -> impl Iterator<Item = u32> {
        self.bound.iter().copied()
    }

    /// Records that a mask is in force from now on.
    fn begin(&mut self, cpus: &CpuSet) {
        let now = now();
        match self.in_force.iter_mut().find(|mask| mask.cpus == *cpus) {
            Some(mask) => mask.begin(now),
            None => self.in_force.push(InForce::since(cpus, now)),
        }
    }

    /// Ends the spans of masks that no thread has any more, after all threads were moved.
    pub(crate) fn end_unused(&mut self) {
        let (now, used) =
            (now(), self.last.values().map(|known| &known.mask).collect::<HashSet<_>>());
        let unused = self.in_force.iter_mut().filter(|mask| !used.contains(&mask.cpus));
        unused.for_each(|mask| mask.end(now));
    }

    /// Records the time of a complete search.
    pub(crate) fn set_searched(&mut self, time: Time) {
        self.searched = time;
    }

    /// Moves all threads of `pid` to `cpus`, also those that start meanwhile. A process that has
    /// ended is no error.
    pub(crate) fn set(&mut self, pid: u32, cpus: &CpuSet) {
        // No thread can have inherited the mask before it was set. A thread that has it already was
        // bound to it.
        threads_of(pid).into_iter().for_each(|thread| self.record(thread));
        self.begin(cpus);
        // A thread that was started by one that had not been moved yet is found by the next pass.
        // The last pass is one that moves no thread.
        for _ in 0..MOST_PASSES {
            let moved =
                threads_of(pid).into_iter().filter(|thread| self.set_thread(*thread, cpus)).count();
            if moved == 0 {
                break;
            }
        }
    }

    /// Puts the threads of `pid` on the processors of `cpus` in turn, one on each as far as there
    /// are enough.
    pub(crate) fn spread(&mut self, pid: u32, cpus: &CpuSet) {
        let places: Vec<CpuSet> = cpus.iter().map(only).collect();
        threads_of(pid).into_iter().for_each(|thread| self.record(thread));
        places.iter().for_each(|place| self.begin(place));
        for (thread, place) in threads_of(pid).into_iter().zip(places.iter().cycle()) {
            self.set_thread(thread, place);
        }
    }

    /// Records the inherited masks of new processes.
    pub(crate) fn record_new(&mut self, pids: &[u32]) {
        let is_new = |pid: &&u32| !self.last.contains_key(pid) && !self.bound.contains(pid);
        let new: Vec<u32> = pids.iter().filter(is_new).copied().collect();
        new.into_iter().flat_map(threads_of).for_each(|thread| self.record(thread));
    }

    /// Records a thread: its inherited mask if it is new, or that it is bound if its mask was not
    /// set here.
    fn record(&mut self, number: u32) {
        let Some(now) = mask_of(number) else { return };
        let known = self.last.get(&number);
        if known.is_some_and(|known| known.mask == now) {
            return;
        }
        let is_the_same = known.is_some_and(|known| known.thread.is_alive());
        let is_bound = is_the_same || !self.is_inherited(number, &now);
        let began = (!is_bound).then(|| descendants::start_ticks(number)).flatten();
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

    /// Whether a new thread can have inherited its mask from the thread that started it.
    fn is_inherited(&self, thread: u32, mask: &CpuSet) -> bool {
        let Some(mask) = self.in_force.iter().find(|in_force| in_force.cpus == *mask) else {
            return false;
        };
        // It has ended meanwhile, or the system does not tell.
        let Some((from, until)) = descendants::start_of(thread) else { return true };
        mask.was_within((
            if self.searched <= until { from.max(self.searched) } else { from },
            until,
        ))
    }

    /// Moves a thread unless it is bound. Returns whether it was moved.
    fn set_thread(&mut self, thread: u32, cpus: &CpuSet) -> bool {
        if !self.last.contains_key(&thread) {
            // This takes long enough for a new program to bind its thread.
            self.record(thread);
        }
        self.record(thread);
        let Some(known) = self.last.get_mut(&thread).filter(|known| known.mask != *cpus) else {
            return false;
        };
        if self.bound.contains(&thread) || !set_mask(thread, cpus) {
            return false;
        }
        known.mask = mask_after(thread, cpus);
        known.mask == *cpus
    }

    /// The threads that do not have the first mask now, whatever process they descend from.
    pub(crate) fn narrowed(&self) -> Vec<Thread> {
        let is_narrowed = |known: &&Known| known.mask != self.in_force[0].cpus;
        let is_ours = |known: &&Known| !self.bound.contains(&known.thread.number);
        let mut all: Vec<Thread> = self
            .last
            .values()
            .filter(is_narrowed)
            .filter(is_ours)
            .map(|known| known.thread)
            .collect();
        all.sort_unstable();
        all
    }

    /// Whether only the first mask was ever in force.
    pub(crate) fn are_untouched(&self) -> bool {
        self.in_force.len() == 1
    }

    /// Moves these threads to the first mask, unless they have ended.
    pub(crate) fn restore(&mut self, threads: &[Thread]) {
        let before = self.in_force[0].cpus.clone();
        for thread in threads.iter().filter(|thread| thread.is_alive()) {
            self.set_thread(thread.number, &before);
        }
    }

    /// Forgets threads that have ended, whose numbers may be used again.
    pub(crate) fn forget_ended(&mut self) {
        self.last.retain(|thread, _| mask_of(*thread).is_some());
        self.bound.retain(|thread| mask_of(*thread).is_some());
    }
}

/// The time by which the kernel dates the start of threads.
pub(crate) fn now() -> Time {
    let time = Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default();
    u64::try_from(time.as_nanos()).unwrap_or(Time::MAX)
}

/// Whether a process has several threads, which may wake one another.
pub(crate) fn are_several(pid: u32) -> bool {
    threads_of(pid).len() > 1
}

/// The set of one processor.
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

/// The CPUs a thread may run on; `None` if it has ended, or has more CPUs than a mask can hold.
pub(crate) fn mask_of(thread: u32) -> Option<CpuSet> {
    let mask = sched_getaffinity(Some(number(thread)?)).ok()?;
    Some((0..Mask::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect())
}

/// The mask that the kernel has set for a thread when `cpus` were requested: less if a cpuset says
/// so. Another mask comes from a program that has bound the thread since.
fn mask_after(thread: u32, cpus: &CpuSet) -> CpuSet {
    match mask_of(thread) {
        Some(now)
            if now != *cpus
                && Limits::read()
                    .cpuset()
                    .is_some_and(|allowed| now == cpus.intersection(allowed)) =>
        {
            now
        }
        _ => cpus.clone(),
    }
}

fn set_mask(thread: u32, cpus: &CpuSet) -> bool {
    let mut mask = Mask::new();
    cpus.iter().filter(|&cpu| cpu < Mask::MAX_CPU).for_each(|cpu| mask.set(cpu));
    number(thread).is_some_and(|thread| sched_setaffinity(Some(thread), &mask).is_ok())
}

#[cfg(test)]
mod tests {
    //! Blind to: threads of other processes; `tests/` checks those.
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    fn own_thread() -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
    }

    /// Runs `check` with a waiting thread, and the CPUs it may use. Skips the check on one CPU.
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

    /// Blind to: a kernel that moves the thread later.
    #[test]
    fn a_thread_follows_its_mask_there_and_back() {
        with_thread(|thread, all| {
            let one: CpuSet = all.lowest().into_iter().collect();
            let mut masks = Masks::new(all, [], []);
            assert!(masks.set_thread(thread, &one));
            assert_eq!(mask_of(thread).as_ref(), Some(&one));
            assert!(masks.set_thread(thread, all) && !masks.set_thread(thread, all));
            assert_eq!(mask_of(thread).as_ref(), Some(all));
        });
    }

    /// Catches: a thread that another program has bound and that is moved. Blind to: a binding to
    /// exactly the granted mask.
    #[test]
    fn a_thread_that_another_program_has_bound_is_left_alone() {
        with_thread(|thread, all| {
            let cpus: Vec<CpuSet> = all.iter().map(only).collect();
            let mut masks = Masks::new(all, [], []);
            assert!(masks.set_thread(thread, &cpus[0]));
            assert!(set_mask(thread, &cpus[1]), "another program binds it");
            assert!(!masks.set_thread(thread, all));
            assert_eq!(mask_of(thread).as_ref(), Some(&cpus[1]));
        });
    }

    /// Catches: a binding made just after a mask was set, recorded as the mask that was set.
    #[test]
    fn a_binding_just_after_a_move_is_not_what_was_set() {
        with_thread(|thread, all| {
            let cpus: Vec<CpuSet> = all.iter().map(only).collect();
            assert!(set_mask(thread, all) && set_mask(thread, &cpus[1]), "a program binds it");
            assert_eq!(mask_after(thread, all), *all);
            assert_eq!(mask_after(thread, &cpus[1]), cpus[1]);
        });
    }

    /// Catches: a bound thread that is moved because its mask is, or becomes, one that is granted.
    #[test]
    fn a_thread_that_was_bound_once_is_left_alone_for_good() {
        with_thread(|thread, all| {
            let cpus: Vec<CpuSet> = all.iter().map(only).collect();
            let mut masks = Masks::new(all, [], []);
            assert!(set_mask(thread, &cpus[1]), "another program binds it before the first search");
            // As if this were the one thread of the process whose mask matches the grant.
            masks.record(thread);
            masks.begin(&cpus[1]);
            assert!(!masks.set_thread(thread, &cpus[1]) && !masks.set_thread(thread, all));
            assert!(set_mask(thread, all) && !masks.set_thread(thread, &cpus[0]));
            assert_eq!(mask_of(thread).as_ref(), Some(all), "another program has bound it");
        });
    }

    /// Catches: a binding to exactly a mask that was granted earlier, or is granted later, taken
    /// for an inherited mask.
    #[test]
    fn a_mask_that_was_not_in_force_when_the_thread_began_is_a_binding() {
        with_thread(|thread, all| {
            let one = only(all.iter().next().expect("a processor"));
            let mut masks = Masks::new(all, [], []);
            masks.begin(&one);
            masks.end_unused();
            assert!(masks.in_force.iter().all(|mask| !mask.lasts()), "no thread has any of them");
            let mut is_left_alone = |spans: [(Time, Time); 2], searched| {
                masks
                    .in_force
                    .iter_mut()
                    .zip(spans)
                    .for_each(|(mask, span)| mask.spans = vec![span]);
                masks.set_searched(searched);
                masks.bound.clear();
                assert!(set_mask(thread, &one), "another program binds it");
                !masks.set_thread(thread, all)
            };
            let (ever, past, future) = ((0, Time::MAX), (0, 1), (Time::MAX - 1, Time::MAX));
            assert!(is_left_alone([ever, past], 0) && is_left_alone([ever, future], 0));
            let ago = (0, now());
            assert!(!is_left_alone([ever, ago], 0), "it can have inherited that mask");
        });
    }

    /// Catches: spans that grow without bound, and spans that are lost.
    #[test]
    fn old_spans_become_one() {
        let mut mask = InForce::since(&CpuSet::first(1), 0);
        for time in 1..1000 {
            mask.end(10 * time);
            mask.begin(10 * time + 5);
        }
        assert_eq!(mask.spans.len(), MOST_SPANS);
        assert!(mask.was_within((3, 4)) && mask.was_within((9_995, 9_996)));
        assert!(!mask.was_within((9_981, 9_984)) && mask.was_within((9_980, 9_984)));
    }

    /// Catches: a thread whose parents have ended, and that keeps its narrow mask.
    #[test]
    fn every_thread_that_was_moved_is_given_its_processors_back() {
        with_thread(|thread, all| {
            let one: CpuSet = all.lowest().into_iter().collect();
            let mut masks = Masks::new(all, [], []);
            assert!(masks.set_thread(thread, &one));
            let narrowed = masks.narrowed();
            assert_eq!(
                narrowed.iter().map(|narrowed| narrowed.number).collect::<Vec<_>>(),
                [thread]
            );
            masks.restore(&narrowed);
            assert_eq!(mask_of(thread).as_ref(), Some(all));
            assert_eq!(masks.narrowed(), []);
        });
    }

    /// Catches: another program's thread that is moved because it has the number of a thread that
    /// has ended.
    #[test]
    fn a_thread_of_the_same_number_is_another_one() {
        with_thread(|thread, all| {
            let one: CpuSet = all.lowest().into_iter().collect();
            let mut masks = Masks::new(all, [], []);
            assert!(masks.set_thread(thread, &one));
            let mut earlier = masks.narrowed();
            earlier[0].began -= 1;
            masks.restore(&earlier);
            assert_eq!(mask_of(thread).as_ref(), Some(&one));
            // The recorded thread has ended, and this thread has its number; so this thread is not
            // bound.
            masks.last.get_mut(&thread).unwrap().thread = earlier[0];
            assert!(set_mask(thread, all) && masks.set_thread(thread, &one));
        });
    }

    /// Blind to: a number that is used again at once.
    #[test]
    fn a_thread_that_has_ended_is_no_error() {
        let thread = thread::spawn(own_thread).join().unwrap();
        assert!(!Masks::new(&CpuSet::first(1), [], []).set_thread(thread, &CpuSet::first(1)));
    }
}
