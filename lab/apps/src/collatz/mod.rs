//! The synthetic workload of the plastic skeletons: a map-array whose tasks repeat a Collatz
//! sequence.
//!
//! Source: Jenkins, "Design and Analysis of a Plastic Parallel Programming System", sections 4.4
//! and 5.2. A task's *grain* is how often it repeats the sequence from one constant start.
//! *Uniform* tasks all have the same grain; of *biased* ones the first of N parts has a larger
//! grain than the others: the worst case for static shares among N threads. The start is not
//! published; from 6 a repetition takes about 10 ns, as the published times imply.
//!
//! Tasks that stream through a table or walk it in random order, for what is named there as future
//! work, are made by [`Workload::kind`].
//!
//! | file | contents |
//! |---|---|
//! | `workload` | the tasks, and the table that each may read anywhere |
//! | `kernel` | what one task does, and what must come out |

mod kernel;
mod workload;

use std::fmt;

use sinew::iter::ParIter;
use sinew::{Schedule, Worker, over};

use crate::app::App;
use crate::loops::{LoopSchedule, Scheduled};
use crate::memory::room;
use crate::options::{Error, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use crate::product::Product;

pub use kernel::{Kind, Task, apply};
pub use workload::Workload;

const SIZES: &str =
    "TASKSxREPEATS, or TASKSxREPEATSxFEWERxN: only the first of N parts has REPEATS";

/// Tasks, repetitions of a task, those of the light tasks (0: no light tasks), and parts.
const NUMBERS: Product<4> = Product {
    app: "collatz",
    sizes: SIZES,
    tiny: [400, 100, 10, 4],
    small: [2_000, 2_000, 0, 4],
    full: [10_000, 1_000_000, 0, 4],
    ranges: [1..=100_000_000, 1..=1_000_000_000, 1..=1_000_000_000, 1..=65_536],
    absent: [0, 1_000_000, 0, 4],
};

pub(crate) const APP: App = App {
    name: "collatz",
    about: "a map-array over tasks that repeat a Collatz sequence, all alike or heavy ones first",
    sizes: SIZES,
    demo: "4000x8000x80x4",
    loops: true,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let [tasks, repeats, fewer, parts] = NUMBERS.pick(&options.size)?;
    // The tasks, and a result of each for both versions.
    room(APP.name, tasks * (size_of::<Task>() + 2 * size_of::<u64>()) as u64)?;
    let (tasks, parts) = (tasks as usize, parts as usize);
    let workload = match fewer {
        0 => Workload::uniform(tasks, repeats as u32),
        light => Workload::biased(tasks, repeats as u32, light as u32, parts),
    };
    let schedule = options.schedule_or(Schedule::Dynamic { chunk: tasks.div_ceil(256) });
    Ok(problem(Collatz { workload, schedule }))
}

struct Collatz {
    workload: Workload,
    schedule: LoopSchedule,
}

/// The steps that each task has taken.
#[derive(Debug, Clone, PartialEq)]
struct Steps(Vec<u64>);

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = self.0.iter().fold(0_u64, |sum, steps| sum.wrapping_add(*steps));
        write!(f, "{sum} steps")
    }
}

impl Solve for Collatz {
    type Input = ();
    type Answer = Steps;

    fn size(&self) -> String {
        self.workload.to_string()
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Steps {
        Steps(self.workload.serial())
    }

    fn parallel(&self, _: &Worker, (): ()) -> Steps {
        let Self { workload, schedule } = self;
        let steps = over(workload.tasks()).map_array(workload.table(), apply);
        Steps(steps.scheduled(*schedule).collect())
    }

    fn check(&self, Steps(answers): &Steps) -> Result<(), Wrong> {
        self.workload.check(answers)
    }
}
