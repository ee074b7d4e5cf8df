//! 200 random runs of every rule in a small simulated pool: workers with queues, packages with
//! masters, workers that come, leave and block.
//!
//! A run is a sequence of steps of randomly chosen workers and repeats from its seed. In a step a
//! worker takes a task from its own queue, runs a part of one, or does one round of stealing. A
//! blocked worker continues only when all the others' work is done, with tasks still in its queue:
//! only thieves can run those.

use std::collections::VecDeque;

use super::testing::Source;
use super::{Candidate, Holder, Outcome, Reach, VictimPolicy, Victims, View, takes_over};

const RUNS: u64 = 200;

/// Failed rounds, though work exists, after which a thief's reach is unlimited.
const LONG: u32 = 4;

#[derive(Debug, Clone, Copy)]
struct Task {
    id: usize,
    depth: u32,
    blocks: bool,
}

struct Worker {
    queue: VecDeque<Task>,
    running: Option<(Task, u32)>,
    active: bool,
    searches: bool,
    in_vain: u32,
    policy: Box<dyn VictimPolicy>,
}

struct World {
    victims: Victims,
    workers: Vec<Worker>,
    masters: Vec<Option<usize>>,
    /// How often each task was run.
    runs: Vec<u32>,
    /// The number of tasks that may still be spawned.
    budget: usize,
    /// Running or queued tasks, without the blocked ones.
    open: usize,
    piece_of: Vec<bool>,
    boundary: Option<u32>,
    left_packages: u32,
}

/// The view of a thief of the model.
struct Sight<'w> {
    world: &'w World,
    me: usize,
}

impl View for Sight<'_> {
    fn workers(&self) -> usize {
        self.world.workers.len()
    }
    fn me(&self) -> usize {
        self.me
    }
    fn is_active(&self, worker: usize) -> bool {
        self.world.workers[worker].active
    }
    fn load(&self, worker: usize) -> usize {
        self.world.workers[worker].queue.len()
    }
    fn oldest_depth(&self, worker: usize) -> Option<u32> {
        self.world.workers[worker].queue.front().map(|task| task.depth)
    }
    fn distance(&self, worker: usize) -> u8 {
        match worker {
            _ if worker == self.me => 0,
            _ if self.package(worker) != self.package(self.me) => 2,
            _ => 1,
        }
    }
    fn package(&self, worker: usize) -> usize {
        worker / 2
    }
    fn last_level(&self) -> u8 {
        1
    }
    fn reach(&self) -> Reach {
        match self.world.masters[self.package(self.me)] {
            _ if self.world.is_stranded(self.me) => Reach::Everywhere,
            Some(master) if master == self.me => Reach::Machine,
            _ => Reach::Package,
        }
    }
    fn boundary(&self) -> Option<u32> {
        self.world.boundary
    }
    fn wants_piece(&self) -> bool {
        !self.world.piece_of[self.package(self.me)]
    }
}

impl World {
    fn new(victims: Victims, source: &mut Source) -> Self {
        let workers = 2 + source.below(6);
        let worker = |_| Worker {
            queue: VecDeque::new(),
            running: None,
            active: true,
            searches: false,
            in_vain: 0,
            policy: victims.policy(),
        };
        let packages = workers.div_ceil(2);
        let mut world = Self {
            victims,
            workers: (0..workers).map(worker).collect(),
            masters: vec![None; packages],
            runs: Vec::new(),
            budget: 30 + source.below(30),
            open: 0,
            piece_of: (0..packages).map(|package| package == 0).collect(),
            boundary: source.one_in(2).then(|| source.below(4) as u32),
            left_packages: 0,
        };
        world.spawn(0, 0, false);
        world
    }

    fn spawn(&mut self, at: usize, depth: u32, blocks: bool) {
        let task = Task { id: self.runs.len(), depth, blocks };
        self.runs.push(0);
        self.open += 1;
        self.workers[at].queue.push_back(task);
    }

    fn is_stranded(&self, worker: usize) -> bool {
        self.workers[worker].in_vain > LONG
    }

    fn step(&mut self, me: usize, source: &mut Source) {
        if !self.workers[me].active {
            self.workers[me].active = source.one_in(10);
        } else if self.workers[me].running.is_some() {
            self.work(me);
        } else if source.one_in(20) && self.can_spare(me) {
            self.leave(me);
        } else if let Some(task) = self.workers[me].queue.pop_back() {
            self.begin(me, task, source);
        } else {
            self.steal(me, source);
        }
    }

    /// Whether another worker remains that can reach all tasks.
    fn can_spare(&self, me: usize) -> bool {
        let free =
            |worker: &Worker| worker.active && worker.running.is_none_or(|(task, _)| !task.blocks);
        self.workers.iter().enumerate().any(|(at, worker)| at != me && free(worker))
    }

    fn leave(&mut self, me: usize) {
        let worker = &mut self.workers[me];
        (worker.active, worker.searches, worker.in_vain) = (false, false, 0);
        if self.masters[me / 2] == Some(me) {
            self.masters[me / 2] = None;
        }
    }

    /// Begins a task. Its children are spawned at once, so that a blocked worker has some in its
    /// queue.
    fn begin(&mut self, me: usize, task: Task, source: &mut Source) {
        self.runs[task.id] += 1;
        self.workers[me].running = Some((task, source.below(6) as u32));
        (self.workers[me].searches, self.workers[me].in_vain) = (false, 0);
        self.open -= usize::from(task.blocks);
        for _ in 0..source.below(4).min(self.budget) {
            self.budget -= 1;
            let blocks = source.one_in(8) && self.blocked() + 1 < self.workers.len();
            self.spawn(me, task.depth + 1, blocks);
        }
    }

    /// The number of tasks that block, or will.
    fn blocked(&self) -> usize {
        let queued =
            self.workers.iter().flat_map(|worker| &worker.queue).filter(|task| task.blocks);
        let running =
            self.workers.iter().filter_map(|worker| worker.running).filter(|(task, _)| task.blocks);
        queued.count() + running.count()
    }

    fn work(&mut self, me: usize) {
        let Some((task, left)) = &mut self.workers[me].running else { return };
        let (blocks, over) = (task.blocks, *left == 0);
        *left = left.saturating_sub(1);
        if over && (!blocks || self.open == 0) {
            self.open -= usize::from(!blocks);
            self.workers[me].running = None;
        }
    }

    fn steal(&mut self, me: usize, source: &mut Source) {
        self.workers[me].searches = true;
        self.stand_for_mastership(me);
        let mut policy = std::mem::replace(&mut self.workers[me].policy, Victims::Random.policy());
        policy.start(&Sight { world: self, me }, &mut source.numbers());
        let found = self.round(&mut *policy, me, source);
        self.workers[me].policy = policy;
        match found {
            Some(task) => self.begin(me, task, source),
            None => {
                let in_sight = self.workers.iter().any(|worker| !worker.queue.is_empty());
                self.workers[me].in_vain += u32::from(in_sight);
            }
        }
    }

    fn round(
        &mut self,
        policy: &mut dyn VictimPolicy,
        me: usize,
        source: &mut Source,
    ) -> Option<Task> {
        loop {
            let victim = policy.next(&Sight { world: self, me }, &mut source.numbers())?;
            self.check(policy, me, victim);
            let task = self.workers[victim].queue.pop_front();
            let outcome = match task {
                Some(_) => Outcome::Stolen,
                None if self.workers[victim].searches => Outcome::Thief,
                None => Outcome::Empty,
            };
            policy.outcome(victim, outcome);
            if task.is_some() {
                self.piece_of[me / 2] = true;
                self.left_packages += u32::from(me / 2 != victim / 2);
                return task;
            }
        }
    }

    /// Checks that workers other than masters stay in their package, and all workers under the
    /// strict rule.
    fn check(&self, policy: &dyn VictimPolicy, me: usize, victim: usize) {
        let sight = Sight { world: self, me };
        assert!(victim != me && policy.allows(&sight, victim));
        let is_free = !self.victims.has_masters() || sight.reach() != Reach::Package;
        assert!(
            is_free || sight.package(victim) == sight.package(me),
            "{} leaves its package",
            self.victims
        );
    }

    fn stand_for_mastership(&mut self, me: usize) {
        let holder = match self.masters[me / 2] {
            None => Holder::Vacant,
            Some(master) if master == me => return,
            Some(master) if !self.workers[master].active => Holder::Parked,
            Some(master) if self.workers[master].running.is_some() => Holder::Works,
            Some(master) if self.workers[master].queue.is_empty() => Holder::Searches,
            Some(_) => Holder::Works,
        };
        if takes_over(holder, Candidate { waits: false, stranded: self.is_stranded(me) }) {
            self.masters[me / 2] = Some(me);
        }
    }

    fn is_over(&self) -> bool {
        self.workers.iter().all(|worker| worker.queue.is_empty() && worker.running.is_none())
    }
}

fn run(victims: Victims, seed: u64) -> World {
    let mut source = Source::new(seed);
    let mut world = World::new(victims, &mut source);
    for _ in 0..100_000 {
        if world.is_over() {
            return world;
        }
        let me = source.below(world.workers.len());
        world.step(me, &mut source);
    }
    panic!("{victims}, seed {seed}: work is stranded");
}

/// Catches: a task that no worker reaches while its owner is blocked, gone, or in another package;
/// a worker other than the master that leaves its package; a task run twice.
#[test]
fn every_task_runs_once_under_every_policy_while_workers_come_go_and_block() {
    for &victims in Victims::all() {
        let mut left_packages = 0;
        for seed in 0..RUNS {
            let world = run(victims, seed);
            assert!(
                world.runs.iter().all(|&runs| runs == 1),
                "{victims}, seed {seed}: {:?}",
                world.runs
            );
            left_packages += world.left_packages;
        }
        assert!(left_packages > 0, "{victims} never leaves a package");
    }
}

/// Catches: a model that does not detect stranded work.
#[test]
#[should_panic(expected = "work is stranded")]
fn the_model_finds_a_rule_that_never_leaves_its_package() {
    /// Tries the other worker of its package.
    struct StaysInPackage(bool);

    impl VictimPolicy for StaysInPackage {
        fn start(&mut self, _: &dyn View, _: &mut dyn FnMut() -> u64) {
            self.0 = true;
        }
        fn next(&mut self, view: &dyn View, _: &mut dyn FnMut() -> u64) -> Option<usize> {
            let other = view.me() ^ 1;
            (std::mem::take(&mut self.0) && other < view.workers()).then_some(other)
        }
        fn outcome(&mut self, _: usize, _: Outcome) {}
    }

    for seed in 0..RUNS {
        let mut source = Source::new(seed);
        let mut world = World::new(Victims::Random, &mut source);
        for worker in &mut world.workers {
            worker.policy = Box::new(StaysInPackage(false));
        }
        let mut steps = 0;
        while !world.is_over() {
            assert!(steps < 100_000, "work is stranded");
            let me = source.below(world.workers.len());
            world.step(me, &mut source);
            steps += 1;
        }
    }
}
