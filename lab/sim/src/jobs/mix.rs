//! Random jobs.

use crate::programs::SECOND;
use crate::queue::Time;
use crate::random::Duration;

/// How the ranks of a job work together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKind {
    /// They wait for each other.
    Phases,
    /// Each takes from what is left.
    Bag,
}

/// A rank of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// The number of its machine.
    pub machine: usize,
    /// Its work from one wait to the next, relative to the other ranks'.
    pub load: f64,
}

/// A job.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedJob {
    /// When it arrives.
    pub at: Time,
    /// How its ranks work together.
    pub kind: JobKind,
    /// Its work: seconds of one core at the load 1, for each of its ranks if they wait, otherwise
    /// of all together.
    pub work: f64,
    /// The serial part of a rank's work, by which its speed grows with its cores.
    pub serial: f64,
    /// Its ranks.
    pub parts: Vec<Part>,
}

impl SimulatedJob {
    /// The speed of a rank with so many cores.
    pub(super) fn speed_up(&self, cores: f64) -> f64 {
        let whole = cores.max(1.0);
        cores.min(1.0) / (self.serial + (1.0 - self.serial) / whole)
    }
}

/// `number` jobs that need about `used` of all cores of so many machines, from a seed. Of ten jobs
/// two are bags, and of ten two have one rank; the others have 2 to 16 ranks. The loads of ranks
/// differ by up to four times. Ranks go to machines that follow each other from a random one on.
pub fn random(
    number: usize,
    machines: usize,
    cores: u32,
    used: f64,
    seed: u64,
) -> Vec<SimulatedJob> {
    let mut random = fastrand::Rng::with_seed(crate::random::mix(seed));
    let work = Duration::Exponential(60 * SECOND);
    let mut all: Vec<SimulatedJob> =
        (0..number).map(|_| job(&mut random, work, machines)).collect();
    let core_seconds: f64 = all.iter().map(SimulatedJob::core_seconds).sum();
    let length = core_seconds / (machines as f64 * f64::from(cores) * used);
    let between = Duration::Exponential((length / number as f64 * SECOND as f64) as Time);
    let mut at = 0;
    for job in &mut all {
        job.at = at;
        at += between.draw(random.u64(..));
    }
    all
}

impl SimulatedJob {
    fn core_seconds(&self) -> f64 {
        match self.kind {
            JobKind::Bag => self.work,
            JobKind::Phases => self.work * self.parts.iter().map(|part| part.load).sum::<f64>(),
        }
    }
}

fn job(random: &mut fastrand::Rng, work: Duration, machines: usize) -> SimulatedJob {
    let kind = if random.u32(0..10) < 2 { JobKind::Bag } else { JobKind::Phases };
    let ranks = if random.u32(0..10) < 2 { 1 } else { 1 << random.u32(1..5) };
    let ranks = ranks.min(machines);
    let seconds = work.draw(random.u64(..)) as f64 / SECOND as f64;
    let work = if kind == JobKind::Bag { seconds * ranks as f64 } else { seconds };
    // The machines follow each other, as a batch system gives them.
    let first = random.usize(0..machines);
    let part = |at| Part { machine: (first + at) % machines, load: 0.25 + 0.75 * random.f64() };
    let parts = (0..ranks).map(part).collect();
    SimulatedJob { at: 0, kind, work: work.max(1.0), serial: random.f64() * 0.05, parts }
}
