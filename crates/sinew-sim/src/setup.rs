//! What a run depends on.

use std::fmt;
use std::str::FromStr;

use sinew_policy::chunk::ScheduleError;
use sinew_policy::victim::Victims;
use sinew_policy::{StackKind, Wait};
use sinew_topology::{Machine, MappingError};

use crate::costs::{Costs, is_contention};
use crate::queue::Time;
use crate::random::is_within;

/// How a worker waits in a join whose task was stolen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// As the runtime does it under this policy.
    Runtime(Wait),
    /// Steals from the thief of the awaited task, whose tasks are parts of it; nothing else.
    Thief,
    /// Goes stealing as if it had nothing: the worker that finishes last goes on. The ideal that
    /// bounds are proved for; no library can do it. Possible here since tasks end with their joins.
    Leave,
}

impl Waiting {
    /// Whether the worker steals from thieves of awaited tasks only.
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
    /// Names the text, and what could be written instead.
    fn from_str(text: &str) -> Result<Self, SetupError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "thief" => Ok(Self::Thief),
            "leave" => Ok(Self::Leave),
            name => name.parse().map(Self::Runtime).map_err(|_| {
                let names = Wait::ALL.map(Wait::name).join(", ");
                SetupError(format!("`{text}` is no way to wait: write {names}, thief or leave"))
            }),
        }
    }
}

/// The tasks of a worker that its thieves see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// Everything, from the beginning.
    Open,
    /// As the runtime does it with this stack. Of a split stack nothing until a thief has asked:
    /// then the next spawn publishes half of it. Where no spawn comes for
    /// [so long](Setup::silence), the thief takes everything itself. Of a two-field stack
    /// everything; but a thief that comes while another one is busy with the oldest task has read
    /// an old boundary, and backs out.
    Runtime(StackKind),
}

impl Stack {
    /// The stack that the runtime has.
    pub(crate) const SPLIT: Self = Self::Runtime(StackKind::Split);
    /// The other one.
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
    /// Names the text, and what could be written instead.
    fn from_str(text: &str) -> Result<Self, SetupError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "open" => Ok(Self::Open),
            name => name.parse().map(Self::Runtime).map_err(|_| {
                let names = StackKind::ALL.map(StackKind::name).join(", ");
                SetupError(format!("`{text}` is no task stack: write {names} or open"))
            }),
        }
    }
}

/// What a worker does that finds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// Goes on searching.
    Spin,
    /// Parks after so many rounds in vain, where there is nothing to steal; a spawn wakes one that
    /// is parked.
    Park {
        /// Rounds, at least 1.
        rounds: u32,
    },
    /// As the runtime does it: spins for a window that each worker learns from its idle times, in
    /// virtual time, then parks ([`sinew_policy::idle`]). In joins it spins for as long as parking
    /// costs.
    Adaptive,
}

impl Idle {
    /// What runs do where nothing else is asked for.
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
    /// Names the text, and what could be written instead.
    fn from_str(text: &str) -> Result<Self, SetupError> {
        let name = text.trim().to_ascii_lowercase();
        let rounds = name.strip_prefix("park:").and_then(|rounds| rounds.parse().ok());
        match (name.as_str(), rounds) {
            ("spin", _) => Ok(Self::Spin),
            ("adaptive", _) => Ok(Self::Adaptive),
            ("park", _) => Ok(Self::USUAL),
            (_, Some(rounds @ 1..)) => Ok(Self::Park { rounds }),
            _ => Err(SetupError(format!(
                "`{text}` does not say what idle workers do: write park:4, spin or adaptive"
            ))),
        }
    }
}

/// Something that goes wrong with a worker, or right again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mishap {
    /// It goes as soon as it has no task in hand.
    Leaves,
    /// It comes back.
    Returns,
    /// From now on it takes so many times as long for everything, at least 1.
    Slows(f64),
}

/// A mishap, to whom and when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fault {
    /// When.
    pub at: Time,
    /// To whom. Worker 0, which has the root, never leaves.
    pub worker: usize,
    /// What.
    pub what: Mishap,
}

/// What a run depends on, besides the program.
#[derive(Debug, Clone)]
pub struct Setup {
    /// How many workers.
    pub workers: usize,
    /// The machine they sit on; without one all are equally far apart.
    pub machine: Option<Machine>,
    /// Whom they steal from.
    pub victims: Victims,
    /// What thieves see.
    pub stack: Stack,
    /// Picoseconds without a spawn after which a thief that has asked the owner of a split stack
    /// takes everything itself.
    pub silence: Time,
    /// What they do in joins.
    pub wait: Waiting,
    /// What they do without work.
    pub idle: Idle,
    /// What that costs.
    pub costs: Costs,
    /// What happens to them, in any order.
    pub faults: Vec<Fault>,
    /// The greatest depth of tasks that may leave their package under [`Victims::Cats`]; see
    /// [`sinew_policy::victim::boundary`]. None: learned as the runtime does, from the first roots
    /// of which enough tasks were stolen; so a program of one root has none.
    pub boundary: Option<u32>,
    /// From which all chance comes.
    pub seed: u64,
}

/// As long as the runtime waits.
const SILENCE: Time = 50_000_000;

impl Setup {
    /// So many workers, all equally far apart, as the runtime does it, with the usual costs.
    pub fn new(workers: usize) -> Self {
        Self {
            workers,
            machine: None,
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

    /// Greedy scheduling: nothing costs anything, nobody waits while there is work.
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
    /// What is impossible about it.
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
                    "{} workers do not fit onto a machine of {pus} PUs: use fewer, or a larger machine",
                    self.workers
                ));
            }
            _ => {}
        }
        match self.idle {
            Idle::Spin if self.costs.attempt.is_zero() => {
                return wrong("workers that spin without ever spending time would spin for ever: give attempts a cost, or park".into());
            }
            Idle::Adaptive if self.costs.attempt.is_zero() => {
                return wrong("workers spin for some time, which never passes where attempts cost nothing: give them a cost, or park after some rounds".into());
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
            return wrong("a distance factor of 0 lets workers try for ever without spending time: write a number above 0".into());
        }
        if let Some(factor) = self.costs.contention.iter().find(|factor| !is_contention(factor)) {
            return wrong(format!(
                "work beside others takes 1 to 1000000 times as long, not {factor}"
            ));
        }
        self.faults.iter().try_for_each(|fault| self.check_fault(fault))
    }

    fn check_fault(&self, fault: &Fault) -> Result<(), SetupError> {
        match fault.what {
            _ if fault.worker >= self.workers => Err(SetupError(format!(
                "there is no worker {}: there are {}",
                fault.worker, self.workers
            ))),
            Mishap::Leaves if fault.worker == 0 => {
                Err(SetupError("worker 0 has the root and cannot leave: choose another".into()))
            }
            Mishap::Slows(factor) if !(1.0..=1e6).contains(&factor) => Err(SetupError(format!(
                "a worker becomes slower by a factor from 1 to 1000000, not {factor}"
            ))),
            _ => Ok(()),
        }
    }
}

/// No run has more workers.
pub const MOST_WORKERS: usize = 1 << 20;

/// What is impossible about a [`Setup`], in one line.
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

    /// Catches: a name that stands for something else than in the runtime.
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

    /// Catches: a rule that cannot be asked for, or one that is taken for another.
    #[test]
    fn what_idle_workers_do_can_be_written() {
        let read = |text: &str| text.parse::<Idle>();
        assert_eq!([read("spin"), read(" Adaptive")], [Ok(Idle::Spin), Ok(Idle::Adaptive)]);
        assert_eq!([read("park"), read("park:9")], [Ok(Idle::USUAL), Ok(Idle::Park { rounds: 9 })]);
        for text in ["", "park:0", "park:-1", "sleep"] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.starts_with(&format!("`{text}`")), "{error}");
        }
    }

    /// Catches: a setup that would never end, or make no sense, and is run.
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
