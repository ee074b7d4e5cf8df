//! Every program on every runner, round after round.
//!
//! Within a round the three runs of a program follow one another directly. Their order changes from
//! round to round and from program to program, so they have the same neighbours on a shared
//! machine. While one server works the others wait for their next line, with their pools at rest.

use super::builds::Build;
use super::catalogue::{Entry, Kind};
use super::server::{Request, Sample, Server};
use serde::Serialize;
use std::time::Duration;

/// The parameters of a measurement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) tiny: bool,
    /// Whether the loops without rayon are measured as well.
    pub(super) loops: bool,
    pub(super) rounds: usize,
    /// Programs are repeated until a sample takes about this long.
    pub(super) sample: Duration,
}

/// The places of the servers, in every array of three.
pub(super) const UPSTREAM: usize = 0;
pub(super) const SINEW: usize = 1;
pub(super) const AGAIN: usize = 2;
pub(super) const NAMES: [&str; 3] = ["upstream", "sinew", "upstream again"];

/// A runner of programs; a server, in real measurements.
#[derive(Debug)]
pub(super) struct Runner(Server);

impl Runner {
    /// Starts a server.
    ///
    /// # Errors
    ///
    /// As for [`Server::start`].
    pub(super) fn new(build: &Build, threads: usize) -> Result<Self, String> {
        Server::start(build, threads).map(Self)
    }
}

/// The times of one program.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) entry: &'static Entry,
    /// Number of runs of the program in a sample.
    pub(super) repeats: u32,
    /// One sample per round and runner.
    pub(super) samples: [Vec<Sample>; 3],
    /// The program without rayon, where its own time matters.
    pub(super) serial: Vec<Sample>,
    /// The error, and the runner; the program is out of the race then.
    pub(super) fault: Option<Fault>,
}

/// The error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Fault {
    pub(super) runner: &'static str,
    pub(super) why: String,
}

/// Rounds after which every runner gets a new process.
const ROUNDS_A_PROCESS: usize = 3;

/// The runners, by number.
trait Runners {
    fn ask(&mut self, runner: usize, request: Request) -> Result<Sample, String>;
    /// From now on new processes run the programs.
    fn renew(&mut self);
}

struct Servers([Runner; 3]);

impl Runners for Servers {
    fn ask(&mut self, runner: usize, request: Request) -> Result<Sample, String> {
        self.0[runner].0.ask(request)
    }

    fn renew(&mut self) {
        self.0.iter_mut().for_each(|runner| runner.0.renew());
    }
}

/// Runs all rounds.
pub(super) fn run(runners: [Runner; 3], entries: &[&'static Entry], plan: Plan) -> Vec<Row> {
    measure(&mut Servers(runners), entries, plan)
}

/// The same, with another runner.
fn measure(runners: &mut impl Runners, entries: &[&'static Entry], plan: Plan) -> Vec<Row> {
    let row = |entry| Row {
        entry,
        repeats: 0,
        samples: Default::default(),
        serial: Vec::new(),
        fault: None,
    };
    let mut rows: Vec<Row> = entries.iter().map(|entry| row(*entry)).collect();
    for round in 0..plan.rounds {
        if round > 0 && round.is_multiple_of(ROUNDS_A_PROCESS) {
            runners.renew();
        }
        for (index, row) in rows.iter_mut().enumerate().filter(|(_, row)| row.fault.is_none()) {
            row.fault = visit(runners, row, plan, round + index).err();
        }
    }
    rows
}

/// One program in one round.
fn visit(runners: &mut impl Runners, row: &mut Row, plan: Plan, turn: usize) -> Result<(), Fault> {
    let mut ask = |runner: usize, verb, repeats| {
        let request = Request { verb, name: row.entry.name, tiny: plan.tiny, repeats };
        runners.ask(runner, request).map_err(|why| Fault { runner: NAMES[runner], why })
    };
    if row.repeats == 0 {
        row.repeats = repeats(ask(UPSTREAM, "run", 1)?, plan.sample);
    }
    for runner in order(turn) {
        let sample = ask(runner, "run", row.repeats)?;
        row.samples[runner].push(sample);
    }
    let kind = row.entry.kind;
    if kind == Kind::Burst || (plan.loops && has_loop(kind)) {
        row.serial.push(ask(UPSTREAM, "serial", row.repeats)?);
    }
    Ok(())
}

/// Whether programs of this kind do the same work without rayon, as a loop.
pub(super) fn has_loop(kind: Kind) -> bool {
    matches!(kind, Kind::Plain | Kind::Chain | Kind::Burst)
}

/// The number of runs that take `time`.
fn repeats(once: Sample, time: Duration) -> u32 {
    let times = time.as_nanos() / u128::from(once.wall_ns.max(1));
    u32::try_from(times.clamp(1, 10_000)).unwrap_or(1)
}

/// All six orders of the runners, one after another.
fn order(turn: usize) -> [usize; 3] {
    const ORDERS: [[usize; 3]; 6] = [
        [UPSTREAM, SINEW, AGAIN],
        [AGAIN, SINEW, UPSTREAM],
        [SINEW, AGAIN, UPSTREAM],
        [UPSTREAM, AGAIN, SINEW],
        [AGAIN, UPSTREAM, SINEW],
        [SINEW, UPSTREAM, AGAIN],
    ];
    ORDERS[turn % ORDERS.len()]
}

#[cfg(test)]
mod tests {
    //! Blind to: noise that follows the rounds' own rhythm.
    use super::super::catalogue;
    use super::*;

    const PLAN: Plan =
        Plan { tiny: true, loops: false, rounds: 6, sample: Duration::from_nanos(100) };

    /// Runners that call a function.
    struct Answers<F> {
        answer: F,
        renewed: usize,
    }

    impl<F: FnMut(usize, Request) -> Result<Sample, String>> Runners for Answers<F> {
        fn ask(&mut self, runner: usize, request: Request) -> Result<Sample, String> {
            (self.answer)(runner, request)
        }

        fn renew(&mut self) {
            self.renewed += 1;
        }
    }

    fn answers<F: FnMut(usize, Request) -> Result<Sample, String>>(answer: F) -> Answers<F> {
        Answers { answer, renewed: 0 }
    }

    #[test]
    fn every_three_rounds_the_processes_are_new() {
        for (rounds, renewed) in [(1, 0), (3, 0), (4, 1), (15, 4)] {
            let mut runners = answers(|_, _| Ok(sample(30)));
            measure(&mut runners, &[&catalogue::ALL[0]], Plan { rounds, ..PLAN });
            assert_eq!(runners.renewed, renewed, "{rounds} rounds");
        }
    }

    fn sample(wall_ns: u64) -> Sample {
        Sample { wall_ns, cpu_ns: wall_ns, answer: 1 }
    }

    #[test]
    fn every_position_is_first_second_and_third_as_often_as_the_others() {
        for runner in [UPSTREAM, SINEW, AGAIN] {
            for place in 0..3 {
                assert_eq!((0..6).filter(|turn| order(*turn)[place] == runner).count(), 2);
            }
        }
    }

    #[test]
    fn all_positions_repeat_a_program_as_often_as_upstream_needs() {
        let mut asked = Vec::new();
        let ask = |runner, request: Request| {
            asked.push((runner, request.repeats));
            Ok(sample(30))
        };
        let rows = measure(&mut answers(ask), &[&catalogue::ALL[0]], PLAN);
        assert_eq!((asked.len(), asked[0]), (19, (UPSTREAM, 1)));
        assert!(asked[1..].iter().all(|(_, repeats)| *repeats == 3), "{asked:?}");
        assert!(rows[0].samples.iter().all(|samples| samples.len() == 6));
    }

    #[test]
    fn a_program_that_failed_is_not_asked_for_again_and_the_others_go_on() {
        let [first, second] = [&catalogue::ALL[0], &catalogue::ALL[1]];
        let ask = |runner, request: Request| {
            let fails = runner == SINEW && request.name == first.name;
            if fails { Err("hangs".to_owned()) } else { Ok(sample(200)) }
        };
        let rows = measure(&mut answers(ask), &[first, second], PLAN);
        assert_eq!(rows[0].fault, Some(Fault { runner: "sinew", why: "hangs".to_owned() }));
        assert!(rows[0].samples[UPSTREAM].len() <= 1 && rows[1].samples[SINEW].len() == 6);
    }

    #[test]
    fn bursts_run_without_rayon_as_well_and_other_loops_if_they_are_asked_for() {
        use Kind::{Burst, Chain, Join, Plain};
        let cases = [(Burst, false, 6), (Chain, false, 0), (Chain, true, 6), (Plain, true, 6)];
        for (kind, loops, expected) in cases.into_iter().chain([(Join, true, 0)]) {
            let entry = catalogue::ALL.iter().find(|entry| entry.kind == kind).expect("every kind");
            let mut serial = 0;
            let ask = |_, request: Request| {
                serial += usize::from(request.verb == "serial");
                Ok(sample(200))
            };
            let rows = measure(&mut answers(ask), &[entry], Plan { loops, ..PLAN });
            assert_eq!((rows[0].serial.len(), serial), (expected, expected), "{kind:?}");
        }
    }
}
