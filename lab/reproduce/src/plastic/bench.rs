//! The workload, run in several ways, timed and checked.

use sinew::iter::LoopOptions;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use sinew::iter::ParIter;
use sinew::{Control, LoopMetrics, Pool, Schedule, ThreadMetrics, over};
use sinew_apps::collatz::{Kind, Workload, apply};

use super::openmp::{Load, OpenMp, Team};
use crate::experiment::Case;
use crate::failure::Failure;
use crate::queues::pinned_pool;
use crate::results::{Labels, Metrics};

/// The way the workload is run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Way {
    /// One task after the other.
    Sequential,
    /// By a program in C.
    OpenMp(Team),
    /// By a map-array without a control.
    Plain(Schedule),
    /// With the metrics of each thread.
    Metered(Schedule),
    /// By one schedule, and after this time by the other.
    Switched(Schedule, Duration, Schedule),
}

/// A workload, and the program in C where there is one. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Bench {
    workload: Rc<Workload>,
    load: Load,
    openmp: Option<Rc<RefCell<OpenMp>>>,
}

impl Bench {
    /// Makes the tasks. Compiles the program in C if it is wanted.
    pub(crate) fn new(load: Load, wants_openmp: bool) -> Self {
        let Load { kind, tasks, heavy, light, parts, entries } = load;
        let workload = Workload::biased(tasks, heavy, light, parts);
        let workload = if kind == Kind::Compute { workload } else { workload.kind(kind, entries) };
        let openmp = wants_openmp.then(OpenMp::start).flatten().map(RefCell::new).map(Rc::new);
        Self { workload: Rc::new(workload), load, openmp }
    }

    /// A case that runs it this way; `None` if that cannot be done here.
    pub(crate) fn case(&self, way: Way, workers: usize, labels: Labels) -> Option<Case> {
        if matches!(way, Way::OpenMp(_)) && self.openmp.is_none() {
            return None;
        }
        let bench = self.clone();
        Some(Case::new(labels, move || bench.run(way, workers)))
    }

    fn run(&self, way: Way, workers: usize) -> Result<Metrics, Failure> {
        match way {
            Way::Sequential => {
                let (answers, wall_s) = timed(|| self.workload.serial());
                self.checked(&answers, wall_s)
            }
            Way::OpenMp(team) => self.in_c(team, workers),
            Way::Metered(schedule) => self.metered(schedule, &pool(workers)?),
            Way::Plain(schedule) => self.plain(schedule, &pool(workers)?),
            Way::Switched(from, after, to) => self.switched(from, after, to, &pool(workers)?),
        }
    }

    fn checked(&self, answers: &[u64], wall_s: f64) -> Result<Metrics, Failure> {
        self.workload.check(answers).map_err(|wrong| Failure::Wrong(wrong.to_string()))?;
        Ok(vec![("wall_s", wall_s)])
    }

    fn in_c(&self, team: Team, threads: usize) -> Result<Metrics, Failure> {
        let openmp =
            self.openmp.as_ref().ok_or_else(|| Failure::impossible("there is no OpenMP here"))?;
        let (wall_s, sum) = openmp.borrow_mut().run(&self.load, team, threads)?;
        if sum == self.workload.sum() {
            return Ok(vec![("wall_s", wall_s)]);
        }
        Err(Failure::Wrong(format!(
            "the program in C adds up to {sum} instead of {}",
            self.workload.sum()
        )))
    }

    fn plain(&self, schedule: Schedule, pool: &Pool) -> Result<Metrics, Failure> {
        let workload = &*self.workload;
        let run = |_: &_| {
            let tasks = over(workload.tasks()).schedule(schedule);
            tasks.map_array(workload.table(), apply).collect::<Vec<_>>()
        };
        let (answers, wall_s) = timed(|| pool.run(run));
        self.checked(&answers, wall_s)
    }

    fn metered(&self, schedule: Schedule, pool: &Pool) -> Result<Metrics, Failure> {
        let workload = &*self.workload;
        let run = |_: &_| {
            let tasks = over(workload.tasks()).metrics().schedule(schedule);
            tasks.map_array(workload.table(), apply).collect::<Vec<_>>()
        };
        let ((answers, metrics), wall_s) = timed(|| pool.run(run));
        Ok([self.checked(&answers, wall_s)?, sums(&metrics)].concat())
    }

    /// Runs under a control by which another thread changes the schedule this long after the loop
    /// has begun, unless the loop has ended by then.
    fn switched(
        &self,
        from: Schedule,
        after: Duration,
        to: Schedule,
        pool: &Pool,
    ) -> Result<Metrics, Failure> {
        let (workload, control) = (&*self.workload, &Control::new());
        let (end, ended) = mpsc::channel::<()>();
        thread::scope(|s| {
            s.spawn(move || {
                if has_begun(control, &ended)
                    && ended.recv_timeout(after) == Err(RecvTimeoutError::Timeout)
                {
                    control.set_schedule(to);
                }
            });
            let run = |_: &_| {
                let tasks = over(workload.tasks()).control(control).schedule(from);
                tasks.map_array(workload.table(), apply).collect::<Vec<_>>()
            };
            let (answers, wall_s) = timed(|| pool.run(run));
            drop(end);
            let answers = answers.map_err(Failure::impossible)?;
            let changes = vec![("changes", control.snapshot().changes as f64)];
            Ok([self.checked(&answers, wall_s)?, changes].concat())
        })
    }
}

/// Waits until a worker takes part under `control`; false if the loop ends before that is seen.
fn has_begun(control: &Control, ended: &mpsc::Receiver<()>) -> bool {
    let between_looks = Duration::from_micros(20);
    while control.snapshot().working == 0 {
        if ended.recv_timeout(between_looks) == Err(RecvTimeoutError::Disconnected) {
            return false;
        }
    }
    true
}

/// A pool whose workers run before the clock starts.
fn pool(workers: usize) -> Result<Pool, Failure> {
    let pool = pinned_pool(workers)?;
    pool.broadcast(|_| ());
    Ok(pool)
}

/// The times of all threads together.
fn sums(metrics: &LoopMetrics) -> Metrics {
    let sum = |time: fn(&ThreadMetrics) -> Duration| {
        metrics.threads.iter().map(|thread| time(thread).as_secs_f64()).sum::<f64>()
    };
    vec![
        ("run_s", sum(|thread| thread.run)),
        ("work_s", sum(|thread| thread.work)),
        ("overhead_s", sum(|thread| thread.overhead)),
        ("blocked_s", sum(|thread| thread.blocked)),
        ("tasks_done", metrics.tasks() as f64),
    ]
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, f64) {
    let begin = Instant::now();
    let answer = run();
    (answer, begin.elapsed().as_secs_f64())
}

/// The schedule of single tasks, as the publication calls it.
pub(crate) const DYNAMIC_INDIVIDUAL: Schedule = Schedule::Dynamic { chunk: 1 };

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(metrics: &Metrics, name: &str) -> f64 {
        metrics.iter().find(|(known, _)| *known == name).map(|(_, value)| *value).unwrap()
    }

    /// Catches: a way with wrong results, metrics of other tasks, and a change that is not made.
    #[test]
    fn every_way_is_judged_and_measures_what_it_says() {
        let load =
            Load { kind: Kind::Compute, tasks: 3_000, heavy: 200, light: 20, parts: 2, entries: 1 };
        let bench = Bench::new(load, false);
        let run = |way| bench.run(way, 2).unwrap();
        assert!(metric(&run(Way::Sequential), "wall_s") > 0.0);
        assert!(metric(&run(Way::Plain(Schedule::Static)), "wall_s") > 0.0);
        let metered = run(Way::Metered(Schedule::Dynamic { chunk: 1_000 }));
        assert_eq!(metric(&metered, "tasks_done"), 3_000.0);
        let parts = ["work_s", "overhead_s", "blocked_s"]
            .map(|part| metric(&metered, part))
            .iter()
            .sum::<f64>();
        assert!((parts - metric(&metered, "run_s")).abs() < 1e-6, "{metered:?}");
        let switched =
            run(Way::Switched(Schedule::Static, Duration::from_secs(60), DYNAMIC_INDIVIDUAL));
        assert_eq!(metric(&switched, "changes"), 0.0, "it was over by then");
        assert!(bench.case(Way::OpenMp(Team::Static), 2, Vec::new()).is_none());
    }
}
