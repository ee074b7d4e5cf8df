//! The configuration of a run.

use std::fmt;
use std::str::FromStr;

use sinew_policy::chunk::ScheduleError;
use sinew_policy::victim::Victims;
use sinew_policy::{StackKind, Wait};
use sinew_topology::{Machine, Mapping, MappingError};

use crate::costs::{Costs, is_slow_down};
use crate::queue::Time;
use crate::random::is_within;

/// How a worker waits in a join whose task was stolen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Like the runtime under this policy.
    Runtime(Wait),
    /// Steals only from the thief of the awaited task, whose tasks are parts of it.
    Thief,
    /// Steals as if it had no task; the worker that finishes last continues the join. Theoretical
    /// bounds assume this ideal, which no library can implement. The simulator can, because tasks
    /// end with their joins.
    Leave,
}

impl Waiting {
    /// Whether the worker steals only from thieves of awaited tasks.
    pub(crate) fn helps_thieves_only(self) -> bool {
        matches!(self, Self::Thief | Self::Runtime(Wait::Transitive | Wait::Descendants))
    }
}

impl Default for Waiting {
    fn default() -> Self {
        Self::Runtime(Wait::default())
    }
}

impl FromStr for Waiting {
    type Err = SetupError;

    /// Reads the names of [`Wait`], `thief` and `leave`.
    ///
    /// # Errors
    ///
    /// Names the text and the valid names.
    fn from_str(text: &str) -> Result<Self, SetupError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "thief" => Ok(Self::Thief),
            "leave" => Ok(Self::Leave),
            name => name.parse().map(Self::Runtime).map_err(|_| {
                let names = Wait::ALL.map(Wait::name).join(", ");
                SetupError(format!(
                    "unknown way to wait `{text}`; expected one of: {names}, thief, leave"
                ))
            }),
        }
    }
}

/// The tasks of a worker that thieves see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// All of them, at once.
    Open,
    /// Like the runtime with this kind of stack. Tasks of a split stack are private until a thief
    /// requests them; the next spawn then publishes half. If no spawn comes for [`Setup::silence`],
    /// the thief exposes all of them. Tasks of a two-field stack are public. A thief that arrives
    /// while another one is taking the oldest task has read an old boundary, and backs out.
    Runtime(StackKind),
}

impl Stack {
    /// The runtime's default stack.
    pub(crate) const SPLIT: Self = Self::Runtime(StackKind::Split);
    /// The alternative stack.
    pub(crate) const TWO_FIELD: Self = Self::Runtime(StackKind::TwoField);
}

impl Default for Stack {
    fn default() -> Self {
        Self::Runtime(StackKind::default())
    }
}

impl FromStr for Stack {
    type Err = SetupError;

    /// Reads `open` and the names of [`StackKind`].
    ///
    /// # Errors
    ///
    /// Names the text and the valid names.
    fn from_str(text: &str) -> Result<Self, SetupError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "open" => Ok(Self::Open),
            name => name.parse().map(Self::Runtime).map_err(|_| {
                let names = StackKind::ALL.map(StackKind::name).join(", ");
                SetupError(format!("unknown task stack `{text}`; expected one of: {names}, open"))
            }),
        }
    }
}

/// The behaviour of a worker that finds no task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// Keeps searching.
    Spin,
    /// Parks after this many failed rounds, unless a task can be stolen; a spawn wakes a parked
    /// worker.
    Park {
        /// Rounds, at least 1.
        rounds: u32,
    },
    /// Like the runtime: spins for a window that each worker learns from its idle times, in virtual
    /// time, then parks ([`sinew_policy::idle`]). In joins it spins for as long as parking costs.
    Adaptive,
}

impl Idle {
    /// The default.
    pub const USUAL: Self = Self::Park { rounds: 4 };
}

impl Default for Idle {
    fn default() -> Self {
        Self::USUAL
    }
}

impl FromStr for Idle {
    type Err = SetupError;

    /// Reads `spin`, `adaptive`, `park`, which is [`USUAL`](Self::USUAL), and `park:8`.
    ///
    /// # Errors
    ///
    /// Names the text and the valid forms.
    fn from_str(text: &str) -> Result<Self, SetupError> {
        let name = text.trim().to_ascii_lowercase();
        let rounds = name.strip_prefix("park:").and_then(|rounds| rounds.parse().ok());
        match (name.as_str(), rounds) {
            ("spin", _) => Ok(Self::Spin),
            ("adaptive", _) => Ok(Self::Adaptive),
            ("park", _) => Ok(Self::USUAL),
            (_, Some(rounds @ 1..)) => Ok(Self::Park { rounds }),
            _ => Err(SetupError(format!(
                "unknown idle behaviour `{text}`; expected one of: park:4, spin, adaptive"
            ))),
        }
    }
}

/// A change of a worker during a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mishap {
    /// Leaves as soon as it has no frame.
    Leaves,
    /// Returns.
    Returns,
    /// Slows down: everything takes this many times as long, at least 1.
    Slows(f64),
}

/// A mishap of one worker at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fault {
    /// Time of the fault.
    pub at: Time,
    /// The worker. Worker 0 has the root and never leaves.
    pub worker: usize,
    /// The change.
    pub what: Mishap,
}

impl Fault {
    /// Checks that one of `workers` can have it; messages call a worker `name`.
    pub(crate) fn check(&self, workers: usize, name: &str) -> Result<(), SetupError> {
        let wrong = |why| Err(SetupError(why));
        match self.what {
            _ if self.worker >= workers => {
                wrong(format!("there is no {name} {}: there are {workers}", self.worker))
            }
            Mishap::Leaves if self.worker == 0 => {
                wrong(format!("{name} 0 cannot leave: choose another"))
            }
            Mishap::Slows(factor) if !(1.0..=1e6).contains(&factor) => wrong(format!(
                "a {name} becomes slower by a factor from 1 to 1000000, not {factor}"
            )),
            _ => Ok(()),
        }
    }
}

/// The configuration of a run, apart from the program.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Number of workers.
    pub workers: usize,
    /// The machine; without one all workers are equally far apart.
    pub machine: Option<Machine>,
    /// The places of the workers on it; [`Mapping::Compact`] packs them as close as possible.
    pub mapping: Mapping,
    /// The victim policy.
    pub victims: Victims,
    /// The task stack.
    pub stack: Stack,
    /// Picoseconds without a spawn after which a thief with a steal request exposes the tasks of a
    /// split stack.
    pub silence: Time,
    /// The behaviour in joins.
    pub wait: Waiting,
    /// The behaviour without a task.
    pub idle: Idle,
    /// The costs of operations.
    pub costs: Costs,
    /// Faults in any order.
    pub faults: Vec<Fault>,
    /// The greatest depth of tasks that may leave their package under [`Victims::Cats`]; see
    /// [`sinew_policy::victim::boundary`]. `None`: learned as in the runtime, from the first roots
    /// with enough stolen tasks; so a program of one root has no boundary.
    pub boundary: Option<u32>,
    /// Random seed; the same seed gives the same run.
    pub seed: u64,
}

/// The runtime's value.
const SILENCE: Time = 50_000_000;

impl Setup {
    /// `workers` workers at equal distances, with the runtime's defaults and the usual costs.
    pub fn new(workers: usize) -> Self {
        Self {
            workers,
            machine: None,
            mapping: Mapping::Compact,
            victims: Victims::default(),
            stack: Stack::default(),
            silence: SILENCE,
            wait: Waiting::default(),
            idle: Idle::USUAL,
            costs: Costs::usual(),
            faults: Vec::new(),
            boundary: None,
            seed: 0,
        }
    }

    /// Greedy scheduling: all operations are free, and no worker waits while a task is available.
    pub fn greedy(workers: usize) -> Self {
        let (wait, idle) = (Waiting::Leave, Idle::Park { rounds: 1 });
        Self { stack: Stack::Open, wait, idle, costs: Costs::ZERO, ..Self::new(workers) }
    }

    /// Whether T∞ + T1/p bounds the time: see [`sinew_policy::span::Bounds`].
    pub fn is_greedy(&self) -> bool {
        let waits_never = self.wait == Waiting::Leave
            && self.stack == Stack::Open
            && matches!(self.idle, Idle::Park { .. });
        waits_never && self.costs.are_zero() && self.faults.is_empty()
    }

    /// # Errors
    ///
    /// Describes the impossible value.
    pub fn check(&self) -> Result<(), SetupError> {
        let wrong = |wrong| Err(SetupError(wrong));
        match &self.machine {
            _ if self.workers == 0 => return wrong("there must be at least one worker".into()),
            _ if self.workers > MOST_WORKERS => {
                return wrong(format!("{} workers are more than {MOST_WORKERS}", self.workers));
            }
            Some(machine) if machine.pus().len() < self.workers => {
                let pus = machine.pus().len();
                return wrong(format!(
                    "{} workers do not fit onto a machine of {pus} PUs: use fewer, or a larger \
                     machine",
                    self.workers
                ));
            }
            _ => {}
        }
        match self.idle {
            Idle::Spin if self.costs.attempt.is_zero() => {
                return wrong(
                    "workers that spin without ever spending time would spin for ever: \
                    give attempts a cost, or park"
                        .into(),
                );
            }
            Idle::Adaptive if self.costs.attempt.is_zero() => {
                return wrong(
                    "workers spin for some time, which never passes where attempts cost \
                    nothing: give them a cost, or park after some rounds"
                        .into(),
                );
            }
            Idle::Park { rounds: 0 } => return wrong("workers park after at least 1 round".into()),
            _ => {}
        }
        if let Some(factor) =
            self.costs.factors.iter().find(|factor| !is_within(&(0.0..=1e6), **factor))
        {
            return wrong(format!(
                "the distance factor {factor} is not a number from 0 to 1000000"
            ));
        }
        if self.costs.factors.contains(&0.0) && !self.costs.attempt.is_zero() {
            return wrong(
                "a distance factor of 0 lets workers try for ever without spending time: \
                write a number above 0"
                    .into(),
            );
        }
        let slower = [&self.costs.contention, &self.costs.far].into_iter().flatten();
        if let Some(factor) = slower.into_iter().find(|factor| !is_slow_down(factor)) {
            return wrong(format!(
                "work beside others or far from its data takes 1 to 1000000 times as long, not \
                 {factor}"
            ));
        }
        self.faults.iter().try_for_each(|fault| fault.check(self.workers, "worker"))
    }
}

/// Greatest number of workers.
pub const MOST_WORKERS: usize = 1 << 20;

/// The reason why a [`Setup`] is impossible, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupError(String);

impl SetupError {
    pub(crate) fn new(why: String) -> Self {
        Self(why)
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SetupError {}

impl From<ScheduleError> for SetupError {
    fn from(error: ScheduleError) -> Self {
        Self(error.to_string())
    }
}

impl From<MappingError> for SetupError {
    fn from(error: MappingError) -> Self {
        Self(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a name that means something else than in the runtime.
    #[test]
    fn waiting_has_the_names_of_the_runtime() {
        for wait in Wait::ALL {
            assert_eq!(wait.name().parse(), Ok(Waiting::Runtime(wait)));
        }
        assert_eq!("thief".parse(), Ok(Waiting::Thief));
        for stack in StackKind::ALL {
            assert_eq!(stack.name().parse(), Ok(Stack::Runtime(stack)));
        }
    }

    /// Catches: a rule that cannot be written, or is read as another one.
    #[test]
    fn what_idle_workers_do_can_be_written() {
        let read = |text: &str| text.parse::<Idle>();
        assert_eq!([read("spin"), read(" Adaptive")], [Ok(Idle::Spin), Ok(Idle::Adaptive)]);
        assert_eq!([read("park"), read("park:9")], [Ok(Idle::USUAL), Ok(Idle::Park { rounds: 9 })]);
        for text in ["", "park:0", "park:-1", "sleep"] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.starts_with(&format!("unknown idle behaviour `{text}`")), "{error}");
        }
    }

    /// Catches: a setup that is infinite or meaningless, and runs.
    #[test]
    fn impossible_setups_are_refused_in_one_line_that_names_the_value() {
        let machine = Some("core:4".parse().expect("a machine"));
        let fault = |worker, what| vec![Fault { at: 0, worker, what }];
        let spin = Setup { idle: Idle::Spin, ..Setup::greedy(2) };
        let factors =
            Setup { costs: Costs { factors: vec![-1.0], ..Costs::ZERO }, ..Setup::new(2) };
        for (setup, says) in [
            (Setup::new(0), "at least one"),
            (Setup::new(MOST_WORKERS + 1), "1048577"),
            (Setup { machine, ..Setup::new(5) }, "5 workers do not fit onto a machine of 4 PUs"),
            (spin, "for ever"),
            (Setup { idle: Idle::Adaptive, ..Setup::greedy(2) }, "never passes"),
            (Setup { idle: Idle::Park { rounds: 0 }, ..Setup::new(2) }, "at least 1 round"),
            (factors, "-1"),
            (
                Setup { costs: Costs { contention: vec![0.5], ..Costs::ZERO }, ..Setup::new(2) },
                "not 0.5",
            ),
            (Setup { faults: fault(2, Mishap::Leaves), ..Setup::new(2) }, "no worker 2"),
            (Setup { faults: fault(0, Mishap::Leaves), ..Setup::new(2) }, "worker 0"),
            (Setup { faults: fault(1, Mishap::Slows(0.5)), ..Setup::new(2) }, "0.5"),
        ] {
            let error = setup.check().expect_err(says).to_string();
            assert!(error.contains(says) && !error.contains('\n'), "{error}");
        }
        assert_eq!(Setup::new(4).check(), Ok(()));
    }
}
