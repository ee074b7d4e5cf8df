//! Jobs whose ranks are on several machines: how many cores each rank gets.
//!
//! A rank that waits for the others of its job does not need all the cores that its machine alone
//! would give it. [`decide`] takes all machines at once, in three steps:
//!
//! 1. Each machine is divided equally by itself.
//! 2. A job that waits is as fast as its slowest rank. Its other ranks keep the cores that they
//!    need to keep up, and the rest becomes free.
//! 3. Free cores go to the ranks that have fewest, core by core: to one that nobody waits for, or
//!    to all slowest ranks of a job at once.
//!
//! So no job is slower than each machine alone would make it. Cores that make no job faster stay
//! free.
//!
//! Source: max-min fairness by progressive filling (Bertsekas and Gallager, "Data Networks", 1992).
//! Differences: whole cores, measured speed-ups, ranks that wait, and the present numbers where
//! they are as good.
//!
//! # Invariants
//!
//! - J1: on a machine with as many cores as active ranks, ranks have no more cores than it has. On
//!   a crowded one, each has one, and the kernel divides the time.
//! - J2: an active rank has at least one core, and its minimum if all minima of its machine fit.
//! - J3: a rank has at most the cores that it can use.
//! - J4: no job is slower than with the numbers of step 1, but for the tolerance. No job that
//!   waits gets faster by free cores.
//! - J5: a decision over its own numbers returns them.
//! - J6: if no job waits for ranks, each machine is divided as under [`Policy::Equal`].
//!
//! [`Policy::Equal`]: super::Policy::Equal
//!
//! # Cost
//!
//! O(n·c·log n) for n ranks and c cores a machine.
//!
//! # Tests
//!
//! `tests`: J1 to J6 on random machines and jobs.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Curve;

/// A rank keeps its number of cores if it is slower than needed by less than this.
const TOLERANCE: f64 = 1.05;

/// The most rounds of a decision; nearly all need two.
const MOST_ROUNDS: usize = 8;

/// A job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Job {
    /// Whether its ranks wait for each other, so that it is as fast as its slowest rank. Otherwise
    /// it is as fast as all of them together.
    pub waits: bool,
    /// Its weight relative to others'.
    pub weight: f64,
}

/// A rank of a job on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Rank {
    /// The number of its machine.
    pub machine: usize,
    /// The number of its job.
    pub job: usize,
    /// The least cores that it should have.
    pub min: u32,
    /// The most cores that it can use now; 0 if it has no work. Then it gets none.
    pub max: u32,
    /// Its work from one wait to the next, relative to the other ranks of the job; positive.
    pub load: f64,
    /// Its measured speeds.
    pub curve: Curve,
    /// The cores that it has.
    pub held: u32,
}

impl Rank {
    /// A rank that can use `max` cores, has the load of all others, and holds nothing.
    pub fn new(machine: usize, job: usize, max: u32) -> Self {
        Self { machine, job, min: 1, max, load: 1.0, curve: Curve::default(), held: 0 }
    }

    fn sound_load(&self) -> f64 {
        if self.load.is_finite() { self.load.clamp(1e-9, 1e9) } else { 1.0 }
    }
}

/// The numbers of cores, in the order of `ranks`. `machines` are the cores of each machine.
///
/// # Panics
///
/// If a rank names a machine or a job that does not exist.
///
/// ```
/// use sinew_policy::share::jobs::{Job, Rank, decide};
///
/// // Job 0 has a quarter of its work on the second machine; job 1 gets the cores that it leaves.
/// let jobs = [Job { waits: true, weight: 1.0 }, Job { waits: false, weight: 1.0 }];
/// let light = Rank { load: 0.25, ..Rank::new(1, 0, 8) };
/// let ranks = [Rank::new(0, 0, 8), light, Rank::new(1, 1, 8)];
/// assert_eq!(decide(&[8, 8], &jobs, &ranks), [8, 2, 6]);
/// ```
#[track_caller]
pub fn decide(machines: &[u32], jobs: &[Job], ranks: &[Rank]) -> Vec<u32> {
    let held: Vec<u32> = ranks.iter().map(|rank| rank.held).collect();
    let mut counts = Filling::new(machines, jobs, ranks, &held).run();
    for _ in 0..MOST_ROUNDS {
        // Which of several equal ranks gets the last core depends on what they hold (J5).
        let again = Filling::new(machines, jobs, ranks, &counts).run();
        if again == counts {
            break;
        }
        counts = again;
    }
    counts
}

/// The speed of a job with these numbers of cores, relative to one rank of the load 1 on one core.
/// `ranks` are those of the job, with their numbers of cores, which may be fractions of one.
pub fn speed<'r>(job: Job, ranks: impl Iterator<Item = (&'r Rank, f64)>) -> f64 {
    let speed_of = |(rank, cores): (&Rank, f64)| {
        let whole = (cores.max(1.0)) as u32;
        (rank.curve.speed_up(whole) * cores.min(1.0), rank.sound_load())
    };
    let speeds = ranks.map(speed_of);
    if job.waits {
        let slowest = speeds.map(|(speed, load)| speed / load).fold(f64::INFINITY, f64::min);
        if slowest.is_finite() { slowest } else { 0.0 }
    } else {
        speeds.map(|(speed, _)| speed).sum()
    }
}

/// A decision that is being made.
struct Filling<'a> {
    jobs: &'a [Job],
    ranks: &'a [Rank],
    held: &'a [u32],
    counts: Vec<u32>,
    /// The cores of each machine that no rank has.
    free: Vec<u32>,
    /// For each rank of a job that waits: its least time with 1, 2, … cores at most.
    times: Vec<Vec<f64>>,
    groups: Vec<Group>,
}

/// Ranks that rise together: those of a job that waits, or one.
struct Group {
    waits: bool,
    weight: f64,
    /// The ranks with the bits of their times, which are in the order of the times. A rank that
    /// nobody waits for has the time 0.
    slowest: BinaryHeap<(u64, usize)>,
    /// The ranks that rise next, and the cores that they have then.
    next: Vec<(usize, u32)>,
}

/// The place of a group in the order: by cores and weight, then those that hold what they need.
type Key = Reverse<(u64, bool, usize)>;

impl<'a> Filling<'a> {
    fn new(machines: &[u32], jobs: &'a [Job], ranks: &'a [Rank], held: &'a [u32]) -> Self {
        let sum = |each: &dyn Fn(&Rank) -> u32| {
            let mut sums = vec![0_u32; machines.len()];
            for rank in ranks.iter().filter(|rank| rank.max > 0) {
                sums[rank.machine] += each(rank);
            }
            sums
        };
        let (active, floors) = (sum(&|_| 1), sum(&|rank| rank.min.clamp(1, rank.max)));
        let first = |rank: &Rank| match rank.max {
            0 => 0,
            max if floors[rank.machine] <= machines[rank.machine] => rank.min.clamp(1, max),
            _ => 1,
        };
        let counts: Vec<u32> = ranks.iter().map(first).collect();
        let mut free = machines.to_vec();
        for (rank, count) in ranks.iter().zip(&counts) {
            free[rank.machine] = free[rank.machine].saturating_sub(*count);
        }
        let time = |rank: &Rank| match jobs[rank.job].waits {
            true => times(rank, machines[rank.machine], active[rank.machine]),
            false => Vec::new(),
        };
        let times = ranks.iter().map(time).collect();
        Self { jobs, ranks, held, counts, free, times, groups: Vec::new() }
    }

    fn run(mut self) -> Vec<u32> {
        let floors = self.counts.clone();
        self.fill(|_| false);
        self.trim(&floors);
        self.fill(|job| job.waits);
        self.counts
    }

    /// Raises the group with the fewest cores until none can rise.
    fn fill(&mut self, waits: impl Fn(Job) -> bool) {
        self.group(waits);
        let all = 0..self.groups.len();
        let mut lowest: BinaryHeap<Key> = all.filter_map(|at| self.prepare(at)).collect();
        while let Some(Reverse((_, _, at))) = lowest.pop() {
            if self.rise(at) {
                lowest.extend(self.prepare(at));
            }
        }
    }

    /// Makes a group of each job that waits, and one of every other rank that has work.
    fn group(&mut self, waits: impl Fn(Job) -> bool) {
        self.groups.clear();
        let mut of_job: Vec<Option<usize>> = vec![None; self.jobs.len()];
        for at in self.active() {
            let number = self.ranks[at].job;
            let job = self.jobs[number];
            let waits = waits(job);
            let group = of_job[number].filter(|_| waits).unwrap_or(self.groups.len());
            if group == self.groups.len() {
                let is_sound = job.weight.is_finite();
                let weight = if is_sound { job.weight.clamp(1e-3, 1e3) } else { 1.0 };
                let (slowest, next) = (BinaryHeap::new(), Vec::new());
                self.groups.push(Group { waits, weight, slowest, next });
                of_job[number] = Some(group);
            }
            let time = self.time_in(&self.groups[group], at);
            self.groups[group].slowest.push((time, at));
        }
    }

    fn active(&self) -> impl Iterator<Item = usize> + use<'a> {
        let ranks = self.ranks;
        (0..ranks.len()).filter(|&at| ranks[at].max > 0)
    }

    fn time(&self, rank: usize, cores: u32) -> f64 {
        self.times[rank][cores as usize - 1]
    }

    fn time_in(&self, group: &Group, rank: usize) -> u64 {
        if group.waits { self.time(rank, self.counts[rank]).to_bits() } else { 0 }
    }

    /// Takes from each rank of a job that waits what it does not need to keep up with the slowest.
    fn trim(&mut self, floors: &[u32]) {
        let jobs = self.jobs;
        let waits = |rank: &Rank| jobs[rank.job].waits;
        let mut slowest = vec![0.0_f64; jobs.len()];
        for at in self.active().filter(|&at| waits(&self.ranks[at])) {
            let job = self.ranks[at].job;
            slowest[job] = slowest[job].max(self.time(at, self.counts[at]));
        }
        for at in self.active().filter(|&at| waits(&self.ranks[at])) {
            let (rank, count, held) = (&self.ranks[at], self.counts[at], self.held[at]);
            let least = slowest[rank.job];
            let enough = (floors[at]..count).find(|&cores| self.time(at, cores) <= least);
            let enough = enough.unwrap_or(count);
            let keeps =
                (floors[at]..enough).contains(&held) && self.time(at, held) <= least * TOLERANCE;
            self.counts[at] = if keeps { held } else { enough };
            if keeps {
                // It counts as fast enough in the next step as well.
                self.times[at][held as usize - 1] = least;
            }
            self.free[rank.machine] += count - self.counts[at];
        }
    }

    /// Takes the slowest ranks of a group out for its next step. None if one of them can use no
    /// more cores.
    fn prepare(&mut self, at: usize) -> Option<Key> {
        let slowest = self.groups[at].slowest.peek()?.0;
        let mut holds = true;
        while let Some(&(time, rank)) = self.groups[at].slowest.peek()
            && time == slowest
        {
            self.groups[at].slowest.pop();
            let mut more = self.counts[rank] + 1..=self.ranks[rank].max;
            let next = more.find(|&cores| time == 0 || self.time(rank, cores).to_bits() < time)?;
            holds &= next <= self.held[rank];
            self.groups[at].next.push((rank, next));
        }
        let group = &self.groups[at];
        let cores = group.next.iter().map(|(_, next)| *next).max()?;
        Some(Reverse(((f64::from(cores) / group.weight).to_bits(), !holds, at)))
    }

    /// Whether there is room for the next step of a group, which is then taken.
    fn rise(&mut self, at: usize) -> bool {
        let next = std::mem::take(&mut self.groups[at].next);
        let more = |counts: &[u32], (rank, cores): (usize, u32)| cores - counts[rank];
        // A group may have several ranks on a machine. So each takes its cores at once, and gives
        // them back if they are not enough for all.
        for (done, &(rank, cores)) in next.iter().enumerate() {
            let needs = more(&self.counts, (rank, cores));
            let free = &mut self.free[self.ranks[rank].machine];
            if *free < needs {
                for &back in &next[..done] {
                    self.free[self.ranks[back.0].machine] += more(&self.counts, back);
                }
                return false;
            }
            *free -= needs;
        }
        for (rank, cores) in next {
            self.counts[rank] = cores;
            let time = self.time_in(&self.groups[at], rank);
            self.groups[at].slowest.push((time, rank));
        }
        true
    }
}

/// The least time of a rank with 1, 2, … cores at most, on a machine with so many cores and active
/// ranks. Times that differ by less than a millionth are equal, so that such ranks rise together.
fn times(rank: &Rank, cores: u32, active: u32) -> Vec<f64> {
    let load = rank.sound_load();
    let rounded = |time: f64| f64::from_bits(time.to_bits() & !0xffff_ffff);
    if active > cores {
        // Crowded: a part of a core, whatever its number.
        let time = rounded(load * f64::from(active) / f64::from(cores.max(1)));
        return vec![time; rank.max as usize];
    }
    let mut best = f64::INFINITY;
    let time = |n| {
        best = best.min(rounded(load / rank.curve.speed_up(n).max(1e-9)));
        best
    };
    (1..=rank.max).map(time).collect()
}
