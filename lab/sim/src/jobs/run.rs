//! Arrivals, rounds, ends.

use sinew_cpus::CpuSet;
use sinew_policy::share::jobs::{Job, Rank, decide};
use sinew_policy::share::{self, Curve, Effects, Grant, Layout, Policy, Program, Speed};

use super::{JobKind, JobsReport, Machines, Part, SimulatedJob, Way};
use crate::programs::SECOND;
use crate::queue::Time;
use crate::random::{mix, unit};

/// A job with less work than this is done, in core seconds.
const NOTHING: f64 = 1e-9;

pub(super) type Around<'a> = &'a mut dyn FnMut(&mut dyn FnMut());

pub(super) fn run(setup: &Machines, jobs: &[SimulatedJob], around: Around<'_>) -> JobsReport {
    let mut run = Run::new(setup, jobs, around);
    while let Some(time) = run.next() {
        run.advance(time);
        run.end_jobs();
        run.admit_jobs();
        run.round_if_due();
    }
    run.close()
}

/// A job that runs.
struct Active {
    id: usize,
    left: f64,
    speed: f64,
    /// The grant of each rank, and whether it was decided.
    grants: Vec<(Grant, bool)>,
}

struct Run<'a> {
    setup: &'a Machines,
    jobs: &'a [SimulatedJob],
    around: Around<'a>,
    layout: Layout,
    /// The numbers of the jobs to come, the next one last.
    coming: Vec<usize>,
    active: Vec<Active>,
    /// For each machine: the jobs and parts on it.
    on: Vec<Vec<(usize, usize)>>,
    /// The places of jobs in `active`.
    place: Vec<usize>,
    now: f64,
    /// The time of the next round, if anything has changed.
    due: Option<f64>,
    slowdowns: f64,
    report: JobsReport,
}

fn seconds(time: Time) -> f64 {
    time as f64 / SECOND as f64
}

impl<'a> Run<'a> {
    fn new(setup: &'a Machines, jobs: &'a [SimulatedJob], around: Around<'a>) -> Self {
        let mut coming: Vec<usize> = (0..jobs.len()).collect();
        coming.sort_by_key(|&id| std::cmp::Reverse((jobs[id].at, id)));
        Self {
            setup,
            jobs,
            around,
            layout: Layout::flat(setup.cores as usize),
            coming,
            active: Vec::new(),
            on: vec![Vec::new(); setup.machines],
            place: vec![usize::MAX; jobs.len()],
            now: 0.0,
            due: None,
            slowdowns: 0.0,
            report: JobsReport::default(),
        }
    }

    /// The time of the next event.
    fn next(&self) -> Option<f64> {
        let arrival = self.coming.last().map(|&id| seconds(self.jobs[id].at));
        let ends = self.active.iter().map(|job| self.now + job.left.max(0.0) / job.speed);
        ends.chain(arrival).chain(self.due).reduce(f64::min)
    }

    fn advance(&mut self, time: f64) {
        let passed = (time - self.now).max(0.0);
        self.active.iter_mut().for_each(|job| job.left -= job.speed * passed);
        self.now = self.now.max(time);
    }

    fn end_jobs(&mut self) {
        let ended: Vec<usize> =
            self.active.iter().filter(|job| job.left <= NOTHING).map(|job| job.id).collect();
        for id in ended {
            self.active.swap_remove(self.place[id]);
            if let Some(moved) = self.active.get(self.place[id]) {
                self.place[moved.id] = self.place[id];
            }
            let job = &self.jobs[id];
            for part in &job.parts {
                self.on[part.machine].retain(|(other, _)| *other != id);
            }
            let time = self.now - seconds(job.at);
            let slowdown = time / self.time_alone(job);
            let report = &mut self.report;
            report.ended += 1;
            report.makespan = self.now;
            report.total += time;
            report.longest = report.longest.max(time);
            report.worst_slowdown = report.worst_slowdown.max(slowdown);
            self.slowdowns += slowdown;
            self.changed(id);
        }
    }

    fn time_alone(&self, job: &SimulatedJob) -> f64 {
        let cores = vec![f64::from(self.setup.cores); job.parts.len()];
        job.work / speed(job, &cores)
    }

    fn admit_jobs(&mut self) {
        while let Some(&id) = self.coming.last()
            && seconds(self.jobs[id].at) <= self.now
        {
            self.coming.pop();
            let job = &self.jobs[id];
            let grant = |part: &Part| {
                let threads = self.first_threads(part.machine);
                (Grant { threads, cores: self.layout.cores() }, false)
            };
            let grants = job.parts.iter().map(grant).collect();
            self.place[id] = self.active.len();
            self.active.push(Active { id, left: job.work, speed: 0.0, grants });
            for (at, part) in job.parts.iter().enumerate() {
                self.on[part.machine].push((id, at));
            }
            self.changed(id);
        }
    }

    /// The cores of a rank that arrives on a machine: those that no other rank has, if they are not
    /// divided at once.
    fn first_threads(&self, machine: usize) -> u32 {
        let cores = self.setup.cores;
        match self.setup.way {
            Way::Static => (cores / self.setup.places).max(1),
            Way::Alone => 1,
            Way::Whole => cores.saturating_sub(self.used(machine)).max(1),
        }
    }

    /// A job has come or gone.
    fn changed(&mut self, id: usize) {
        let parts = &self.jobs[id].parts;
        match self.setup.way {
            Way::Static => {}
            Way::Alone => parts.iter().for_each(|part| self.decide_alone(part.machine)),
            Way::Whole => {
                let round = seconds(self.setup.round);
                self.due.get_or_insert((self.now / round).floor() * round + round);
            }
        }
        let touched: Vec<usize> =
            parts.iter().flat_map(|part| &self.on[part.machine]).map(|(id, _)| *id).collect();
        touched.into_iter().for_each(|id| self.set_speed(id));
    }

    fn decide_alone(&mut self, machine: usize) {
        let here = &self.on[machine];
        let program = |&(id, at): &(usize, usize)| {
            let (grant, decided) = &self.active[self.place[id]].grants[at];
            let held = if *decided { grant.clone() } else { Grant::default() };
            Program { held, ..Program::new(self.setup.cores, self.layout.cores()) }
        };
        let programs: Vec<Program> = here.iter().map(program).collect();
        let mut grants = Vec::new();
        (self.around)(&mut || {
            grants = share::decide(Policy::Equal, &self.layout, &programs, &Effects::none(), None);
        });
        self.report.most_ranks = self.report.most_ranks.max(programs.len());
        self.report.decisions += 1;
        for ((id, at), grant) in here.clone().into_iter().zip(grants) {
            self.grant(id, at, grant);
        }
        self.check(machine);
    }

    fn round_if_due(&mut self) {
        if self.due.is_none_or(|due| due > self.now) {
            return;
        }
        self.due = None;
        self.report.decisions += 1;
        let number = self.report.decisions;
        let kind =
            |job: &Active| Job { waits: self.jobs[job.id].kind == JobKind::Phases, weight: 1.0 };
        let kinds: Vec<Job> = self.active.iter().map(kind).collect();
        let places: Vec<(usize, usize)> = self
            .active
            .iter()
            .flat_map(|job| (0..job.grants.len()).map(|at| (job.id, at)))
            .collect();
        let ranks: Vec<Rank> = places.iter().map(|&(id, at)| self.known(id, at, number)).collect();
        let machines = vec![self.setup.cores; self.setup.machines];
        let mut counts = Vec::new();
        (self.around)(&mut || counts = decide(&machines, &kinds, &ranks));
        self.report.most_ranks = self.report.most_ranks.max(ranks.len());
        for ((id, at), threads) in places.into_iter().zip(counts) {
            self.grant(id, at, Grant { threads, cores: CpuSet::first(threads as usize) });
        }
        (0..self.on.len()).for_each(|machine| self.check(machine));
        let all: Vec<usize> = self.active.iter().map(|job| job.id).collect();
        all.into_iter().for_each(|id| self.set_speed(id));
    }

    /// A rank as the coordinators know it.
    fn known(&self, id: usize, at: usize, round: u64) -> Rank {
        let (job, active) = (&self.jobs[id], &self.active[self.place[id]]);
        let part = job.parts[at];
        let bits = mix(mix(self.setup.seed ^ round) ^ (id as u64) << 16 ^ at as u64);
        let error = self.setup.noise * (2.0 * unit(bits) - 1.0);
        let point = |cores: u32| Speed { cores, rate: job.speed_up(f64::from(cores)) as f32 };
        let (grant, decided) = &active.grants[at];
        Rank {
            load: part.load * (1.0 + error),
            curve: Curve::from_points([1, 2, 4, 8, self.setup.cores.max(9)].map(point)),
            held: if *decided { grant.threads } else { 0 },
            ..Rank::new(part.machine, self.place[id], self.setup.cores)
        }
    }

    fn grant(&mut self, id: usize, at: usize, grant: Grant) {
        let active = &mut self.active[self.place[id]];
        let threads = grant.threads;
        let (before, decided) = std::mem::replace(&mut active.grants[at], (grant, true));
        if decided && before.threads != threads {
            let moved = before.threads.abs_diff(threads);
            self.report.moved += u64::from(moved);
            active.left += f64::from(moved) * seconds(self.setup.move_cost) * active.speed;
        }
    }

    /// J1.
    fn check(&self, machine: usize) {
        let (used, ranks) = (self.used(machine), self.on[machine].len() as u32);
        let cores = self.setup.cores;
        assert!(used <= cores || ranks > cores, "{used} cores of machine {machine} are given");
    }

    fn used(&self, machine: usize) -> u32 {
        let threads = |&(id, at): &(usize, usize)| self.active[self.place[id]].grants[at].0.threads;
        self.on[machine].iter().map(threads).sum()
    }

    /// More threads than cores share them.
    fn set_speed(&mut self, id: usize) {
        let job = &self.jobs[id];
        let grants = self.active[self.place[id]].grants.iter().zip(&job.parts);
        let cores = grants.map(|((grant, _), part)| {
            let used = f64::from(self.used(part.machine));
            f64::from(grant.threads) * (f64::from(self.setup.cores) / used).min(1.0)
        });
        let cores: Vec<f64> = cores.collect();
        self.active[self.place[id]].speed = speed(job, &cores);
    }

    /// J2.
    fn close(self) -> JobsReport {
        assert_eq!(self.report.ended, self.jobs.len(), "every job ends");
        let mean_slowdown = self.slowdowns / self.report.ended.max(1) as f64;
        JobsReport { mean_slowdown, ..self.report }
    }
}

/// The speed of a job whose ranks have so many cores.
fn speed(job: &SimulatedJob, cores: &[f64]) -> f64 {
    let speeds = job.parts.iter().zip(cores).map(|(part, &cores)| (job.speed_up(cores), part));
    match job.kind {
        JobKind::Bag => speeds.map(|(speed, _)| speed).sum(),
        JobKind::Phases => speeds.map(|(speed, part)| speed / part.load).fold(f64::MAX, f64::min),
    }
}
