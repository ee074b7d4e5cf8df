//! Blocks in turn until the time is over; every answer is compared.

use super::processes::{Failure, Run};
use super::results::{Cell, Measured, Taken};
use super::schedule::{self, Block};
use super::subject::{Contender, Place, Subject};
use crate::compare::order;
use std::collections::HashMap;

/// The time while cells run.
pub(super) trait Clock {
    /// Nanoseconds since the run began.
    fn now_ns(&self) -> u64;
}

/// All subjects, with what is known of each.
pub(super) struct Runner {
    subjects: Vec<Running>,
    budget_ns: u64,
    /// Rounds of each subject at most.
    rounds: u32,
}

/// A subject that is being measured.
struct Running {
    subject: Subject,
    /// A contender for each cell.
    contenders: Vec<Contender>,
    measured: Measured,
    block: Block,
    /// The answers that cells must have, by the number of threads where the answer depends on it.
    answers: HashMap<usize, u64>,
}

/// In place of a number of threads: the answer is the same for all.
const ALL_TEAMS: usize = 0;

impl Runner {
    pub(super) fn new(subjects: Vec<Subject>, levels: &[usize], budget_ns: u64) -> Self {
        let subjects = subjects.into_iter().map(|subject| Running::new(subject, levels)).collect();
        Self { subjects, budget_ns, rounds: u32::MAX }
    }

    /// Ends after so many rounds of each subject.
    pub(super) fn at_most(mut self, rounds: u32) -> Self {
        self.rounds = rounds;
        self
    }

    /// Runs the next block. `None` when none fits into the time that is left.
    pub(super) fn step<R: Run + Clock>(&mut self, run: &mut R) -> Option<&Measured> {
        let left_ns = self.budget_ns.checked_sub(run.now_ns())?;
        let blocks: Vec<Block> = self.subjects.iter().map(|running| running.block).collect();
        let at = schedule::next(&blocks, left_ns)?;
        let running = &mut self.subjects[at];
        running.round(run, self.budget_ns);
        running.block.is_over |= running.block.rounds >= self.rounds;
        Some(&running.measured)
    }

    /// The measurements so far.
    pub(super) fn measured(&self) -> impl Iterator<Item = &Measured> {
        self.subjects.iter().map(|running| &running.measured)
    }

    pub(super) fn into_measured(self) -> Vec<Measured> {
        self.subjects.into_iter().map(|running| running.measured).collect()
    }
}

impl Running {
    fn new(subject: Subject, levels: &[usize]) -> Self {
        let mut contenders = Vec::new();
        let mut cells = Vec::new();
        for contender in &subject.contenders {
            for threads in contender.teams.among(levels) {
                contenders.push(*contender);
                let name = contender.name;
                cells.push(Cell { contender: name, threads, samples: Vec::new(), fault: None });
            }
        }
        let cost_ns = subject.cell_ms * 1_000_000 * cells.len() as u64;
        let measured = Measured {
            group: subject.group.name(),
            name: subject.name.clone(),
            unit: subject.unit,
            operations: subject.case.operations,
            rounds: 0,
            cells,
        };
        let is_over = contenders.is_empty();
        let block = Block { cost_ns, rounds: 0, weight: subject.weight, is_over };
        let answers = subject.known.map(|known| (ALL_TEAMS, known)).into_iter().collect();
        Self { subject, contenders, measured, block, answers }
    }

    /// Every cell once, in another order each time. In the first round the order is that of the
    /// contenders, so that the serial answer is known first. Cells that the end of the time would
    /// cut are left out.
    fn round<R: Run + Clock>(&mut self, run: &mut R, budget_ns: u64) {
        let round = self.block.rounds;
        let count = self.contenders.len();
        let order = if round == 0 { (0..count).collect() } else { order(count, round as usize) };
        let began_ns = run.now_ns();
        for at in order {
            if self.measured.cells[at].fault.is_none() && run.now_ns() < budget_ns {
                self.cell(run, at);
            }
        }
        self.block.rounds += 1;
        self.measured.rounds += 1;
        let took_ns = run.now_ns().saturating_sub(began_ns);
        self.block.cost_ns = if round == 0 { took_ns } else { took_ns.max(self.block.cost_ns) };
        self.block.is_over = self.measured.cells.iter().all(|cell| cell.fault.is_some());
    }

    fn cell(&mut self, run: &mut impl Run, at: usize) {
        let threads = self.measured.cells[at].threads;
        let sample = run.run(&self.subject, &self.contenders[at], threads);
        let sample = sample.and_then(|sample| {
            // A rayon program may count what each thread did.
            let is_program = matches!(self.contenders[at].place, Place::Program { .. });
            let team = if is_program { threads } else { ALL_TEAMS };
            let expected = *self.answers.entry(team).or_insert(sample.answer);
            if sample.answer == expected {
                return Ok(sample);
            }
            let why = format!("WRONG ANSWER: {}, expected {expected}", sample.answer);
            Err(Failure { why, of_all_teams: false })
        });
        match sample {
            Ok(sample) => {
                let round = self.block.rounds;
                self.measured.cells[at].samples.push(Taken { round, ns: sample.ns });
            }
            Err(failure) => self.fail(at, &failure),
        }
    }

    /// A cell that failed is not asked again.
    fn fail(&mut self, at: usize, failure: &Failure) {
        let name = self.measured.cells[at].contender;
        let cells = self.measured.cells.iter_mut().enumerate();
        let failed = cells.filter(|(other, cell)| {
            *other == at || (failure.of_all_teams && cell.contender == name)
        });
        failed.for_each(|(_, cell)| cell.fault = Some(failure.why.clone()));
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a machine on which cells take many times as long as estimated.
    use super::super::subject::levels;
    use super::super::subjects;
    use super::*;
    use crate::problem::{Sample, Scale};

    const SECOND: u64 = 1_000_000_000;

    /// A machine in virtual time, on which cells take 0.3 to 2 times as long as estimated.
    struct Machine<F> {
        now_ns: u64,
        longest_ns: u64,
        random: fastrand::Rng,
        answer: F,
    }

    impl<F> Clock for Machine<F> {
        fn now_ns(&self) -> u64 {
            self.now_ns
        }
    }

    impl<F: FnMut(&Subject, &Contender, usize) -> Result<u64, String>> Run for Machine<F> {
        fn run(
            &mut self,
            subject: &Subject,
            contender: &Contender,
            threads: usize,
        ) -> Result<Sample, Failure> {
            let ns = subject.cell_ms * self.random.u64(300_000..2_000_000);
            self.now_ns += ns;
            self.longest_ns = self.longest_ns.max(ns);
            let answer = (self.answer)(subject, contender, threads)?;
            Ok(Sample { ns, answer })
        }
    }

    fn right(subject: &Subject, _: &Contender, _: usize) -> Result<u64, String> {
        Ok(subject.known.unwrap_or(7))
    }

    fn machine<F>(answer: F) -> Machine<F> {
        Machine { now_ns: 0, longest_ns: 0, random: fastrand::Rng::with_seed(4), answer }
    }

    fn whole<F>(
        scale: Scale,
        threads: usize,
        seconds: u64,
        answer: F,
    ) -> (Vec<Measured>, Machine<F>)
    where
        F: FnMut(&Subject, &Contender, usize) -> Result<u64, String>,
    {
        let mut machine = machine(answer);
        let subjects = subjects::all(scale, 100);
        let mut runner = Runner::new(subjects, &levels(threads), seconds * SECOND);
        while runner.step(&mut machine).is_some() {}
        (runner.into_measured(), machine)
    }

    /// Catches: a run that takes much longer than it may, one that leaves subjects out although
    /// there is time, and cells that are left out because there are many threads.
    #[test]
    fn a_run_fits_its_time_on_2_16_and_256_threads() {
        for (threads, least) in [(2, 4), (16, 2), (256, 1)] {
            let (measured, machine) = whole(Scale::Full, threads, 510, right);
            let over = machine.now_ns.saturating_sub(510 * SECOND);
            assert!(over <= machine.longest_ns, "{threads}: {over} ns too late");
            for one in &measured {
                assert!(one.rounds >= 1, "{threads}: {} has no round", one.name);
                if one.group == "tasks" {
                    assert!(one.rounds >= least, "{threads}: {} rounds", one.rounds);
                    assert!(one.cells.iter().all(|cell| !cell.samples.is_empty()));
                }
            }
        }
    }

    /// Catches: a wrong answer that is not noticed, of any subject, and one that loses others.
    #[test]
    fn a_wrong_answer_of_any_subject_is_a_fault_of_that_cell_alone() {
        let wrong = |subject: &Subject, contender: &Contender, threads: usize| {
            let right = subject.known.unwrap_or(7);
            let last = subject.contenders.last().map(|last| last.name);
            let is_last = last == Some(contender.name) && threads != 1;
            Ok(right + u64::from(is_last))
        };
        let (measured, _) = whole(Scale::Tiny, 2, 60, wrong);
        for one in &measured {
            let faults: Vec<_> = one.cells.iter().filter(|cell| cell.fault.is_some()).collect();
            assert!(!faults.is_empty(), "{}: the wrong answer is not noticed", one.name);
            for cell in faults {
                let why = cell.fault.as_ref().unwrap();
                assert!(
                    why.starts_with("WRONG ANSWER") && cell.threads == 2,
                    "{}: {why}",
                    one.name
                );
            }
        }
    }

    /// Catches: a program whose answer counts threads, and a wrong one among such.
    #[test]
    fn answers_of_programs_may_depend_on_the_number_of_threads() {
        let counts = |subject: &Subject, contender: &Contender, threads: usize| {
            let is_wrong =
                (subject.name.as_str(), contender.name, threads) == ("install", "sinew", 4);
            let is_program = matches!(contender.place, Place::Program { .. });
            let count = if is_program { 300 * threads as u64 } else { 7 };
            Ok(subject.known.unwrap_or(count) + u64::from(is_wrong))
        };
        let (measured, _) = whole(Scale::Tiny, 4, 100, counts);
        let faults = measured.iter().flat_map(|one| &one.cells).filter(|cell| cell.fault.is_some());
        assert_eq!(faults.count(), 1);
    }

    /// Catches: a hang that is waited for again with each number of threads.
    #[test]
    fn a_hang_takes_the_contender_out_and_a_crash_one_cell() {
        let mut asked = 0;
        let fails = |subject: &Subject, contender: &Contender, threads: usize| match (
            subject.name.as_str(),
            contender.name,
            threads,
        ) {
            ("fib 16", "rayon", 1) => {
                asked += 1;
                Err("hangs: no answer within 60 s".to_owned())
            }
            ("fib 16", "rayon", _) => panic!("it would hang again"),
            ("fib 16", "chili", 2) => Err("crashed: signal 11".to_owned()),
            _ => right(subject, contender, threads),
        };
        let (measured, _) = whole(Scale::Tiny, 4, 100, fails);
        assert_eq!(asked, 1);
        let fib = measured.iter().find(|one| one.name == "fib 16").unwrap();
        let failed = |name| {
            fib.cells.iter().filter(move |cell| cell.contender == name && cell.fault.is_some())
        };
        assert_eq!((failed("rayon").count(), failed("chili").count()), (3, 1));
        assert!(fib.find("sinew", 4).is_some_and(|cell| cell.samples.len() > 1));
    }
}
