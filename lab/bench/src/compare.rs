//! One problem at one size: every contender once a round, round after round.
//!
//! Rounds are what makes figures from a shared machine worth reading. Within a round all contenders
//! meet the same neighbours, so ratios are taken within rounds and the median is taken of those.
//! Sinew on all threads runs twice in a round, as two contenders: what differs between those two is
//! noise, and no smaller difference means anything.

use crate::problem::{Case, Form, Problem, Running, Runtime, Sample, Scale, Team};
use crate::work;
use std::time::{Duration, Instant};

/// The name of the row that measures Sinew a second time.
pub(crate) const AGAIN: &str = "sinew again";

/// The parameters of a comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// Threads of the teams beside those of one.
    pub(crate) threads: usize,
    pub(crate) rounds: usize,
    /// Warm-up time of a runtime that has just been started.
    pub(crate) warm_up: Duration,
}

impl Options {
    pub(crate) fn new(threads: usize, rounds: usize, scale: Scale) -> Self {
        // A new thread starts on its parent's core; it takes the system a tick or two to move it to
        // an idle one.
        Self { threads, rounds, warm_up: Duration::from_millis(scale.pick(10, 0)) }
    }
}

/// A form with its team.
#[derive(Debug)]
struct Contender<'f> {
    form: &'f Form,
    name: &'static str,
    team: Team,
    threads: usize,
}

/// The times of one contender.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) runtime: Runtime,
    pub(crate) team: Team,
    pub(crate) threads: usize,
    /// One time per round.
    pub(crate) ns: Vec<u64>,
    /// The error, if there was one; the times are worthless then.
    pub(crate) fault: Option<Fault>,
}

/// Why a contender has no times.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Its result differed from the serial program's.
    Wrong { answer: u64, expected: u64 },
    /// It could not be started, or it stopped answering.
    Broken(String),
}

/// The times of all contenders at one size.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) problem: &'static Problem,
    pub(crate) case: Case,
    pub(crate) series: Vec<Series>,
}

impl Comparison {
    /// Runs `case` of `problem` in every form, with teams of one and of all threads.
    pub(crate) fn run(
        problem: &'static Problem,
        case: Case,
        forms: &[Form],
        options: Options,
    ) -> Self {
        let contenders = contenders(forms, options.threads);
        let mut series: Vec<Series> = contenders.iter().map(Series::empty).collect();
        let warm = (problem.warm)(&case);
        let expected = [(problem.serial)(&warm), (problem.serial)(&case)];
        for round in 0..options.rounds {
            for index in order(contenders.len(), round) {
                if series[index].fault.is_none() {
                    let sample =
                        sample(&contenders[index], [&warm, &case], expected, options.warm_up);
                    series[index].add(sample);
                }
            }
        }
        Self { problem, case, series }
    }

    /// The series of a row, if it has times.
    pub(crate) fn find(&self, name: &str, team: Team) -> Option<&Series> {
        // On a single thread, the team of all is the team of one.
        let found = |team| self.series.iter().find(move |row| row.name == name && row.team == team);
        found(team).or_else(|| found(Team::One)).filter(|row| row.fault.is_none())
    }

    /// The times by which others with this team are divided.
    pub(crate) fn baseline(&self, team: Team) -> Option<&Series> {
        let ours = self.series.iter().find(|row| row.runtime == Runtime::Sinew)?;
        self.find(ours.name, team)
    }
}

impl Series {
    fn empty(contender: &Contender<'_>) -> Self {
        let Contender { form, name, team, threads } = *contender;
        Self { name, runtime: form.runtime, team, threads, ns: Vec::new(), fault: None }
    }

    fn add(&mut self, sample: Result<Sample, Fault>) {
        match sample {
            Ok(sample) => self.ns.push(sample.ns),
            Err(fault) => self.fault = Some(fault),
        }
    }
}

/// The ladder: serial, all runtimes on one thread, all on all threads, and ours on all once more.
fn contenders(forms: &[Form], threads: usize) -> Vec<Contender<'_>> {
    let row = |form, team, threads| Contender { form, name: form.name, team, threads };
    let mut rows = Vec::new();
    for form in forms {
        rows.push(row(form, Team::One, 1));
        if form.runtime != Runtime::Serial && threads > 1 {
            rows.push(row(form, Team::All, threads));
        }
    }
    if let Some(ours) = forms.iter().position(|form| form.runtime == Runtime::Sinew) {
        let after = rows.iter().rposition(|row| row.form.runtime == Runtime::Sinew).unwrap_or(ours);
        rows.insert(after + 1, Contender { name: AGAIN, ..row(&forms[ours], Team::All, threads) });
    }
    rows
}

/// The order of `count` contenders in a round: shuffled in each round, so that no contender always
/// runs after the same neighbour, and the same in every run of this program.
pub(crate) fn order(count: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|index| work::hash((round * count + index) as u64));
    order
}

/// Starts a contender, warms it up with the first case, measures the second, stops it; checks all
/// results.
fn sample(
    contender: &Contender<'_>,
    cases: [&Case; 2],
    expected: [u64; 2],
    warm_up: Duration,
) -> Result<Sample, Fault> {
    let mut running = contender.form.start(contender.threads).map_err(Fault::Broken)?;
    // Rivals in other processes warm up there.
    let time = if contender.form.runtime.is_here() { warm_up } else { Duration::ZERO };
    warmed(&mut running, cases[0], expected[0], time)?;
    checked(&mut running, cases[1], expected[1])
}

fn checked(running: &mut Running, case: &Case, expected: u64) -> Result<Sample, Fault> {
    let sample = running(case).map_err(Fault::Broken)?;
    let answer = sample.answer;
    if answer == expected { Ok(sample) } else { Err(Fault::Wrong { answer, expected }) }
}

/// Runs a short case, at least once, until its runtime has worked for this time.
pub(crate) fn warmed(
    running: &mut Running,
    case: &Case,
    expected: u64,
    time: Duration,
) -> Result<(), Fault> {
    let start = Instant::now();
    checked(running, case, expected)?;
    while start.elapsed() < time {
        checked(running, case, expected)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    //! Blind to: noise that follows the rounds' own rhythm.
    use super::*;
    use crate::problem::Scale;
    use crate::problems;

    #[test]
    fn every_round_visits_every_contender_once_in_changing_order() {
        for count in 1..9 {
            for round in 0..20 {
                let mut seen = order(count, round);
                seen.sort_unstable();
                assert_eq!(seen, (0..count).collect::<Vec<_>>());
            }
        }
        assert_ne!(order(9, 0), order(9, 1));
    }

    fn constant(runtime: Runtime, name: &'static str, answer: u64) -> Form {
        Form::new(runtime, name, move |_| {
            Ok(Box::new(move |_: &Case| Ok(Sample { ns: 7, answer })))
        })
    }

    fn compare(forms: &[Form], threads: usize) -> Comparison {
        let problem = &problems::ALL[0];
        let case = (problem.cases)(Scale::Tiny)[0];
        Comparison::run(
            problem,
            Case { size: 2, ..case },
            forms,
            Options::new(threads, 3, Scale::Tiny),
        )
    }

    #[test]
    fn a_wrong_answer_takes_the_row_out_of_the_race() {
        // fib 2 is 1.
        let forms = [constant(Runtime::Rayon, "right", 1), constant(Runtime::Chili, "wrong", 5)];
        let comparison = compare(&forms, 2);
        assert_eq!(comparison.find("right", Team::All).map(|row| row.ns.len()), Some(3));
        assert!(comparison.find("wrong", Team::All).is_none());
        let fault = comparison.series.iter().find_map(|row| row.fault.as_ref());
        assert!(matches!(fault, Some(Fault::Wrong { answer: 5, expected: 1 })), "{fault:?}");
    }

    #[test]
    fn a_runtime_that_does_not_start_is_reported_and_not_tried_again() {
        let broken = Form::new(Runtime::Rayon, "broken", |_| Err("no threads".to_owned()));
        let comparison = compare(&[broken], 1);
        let fault = comparison.series[0].fault.as_ref();
        assert!(
            matches!(fault, Some(Fault::Broken(why)) if why.contains("no threads")),
            "{fault:?}"
        );
    }

    #[test]
    fn ours_runs_twice_and_on_one_thread_once() {
        let forms = [constant(Runtime::Serial, "serial", 1), constant(Runtime::Sinew, "sinew", 1)];
        let rows = |threads| {
            let comparison = compare(&forms, threads);
            comparison.series.iter().map(|row| (row.name, row.threads)).collect::<Vec<_>>()
        };
        assert_eq!(rows(4), [("serial", 1), ("sinew", 1), ("sinew", 4), (AGAIN, 4)]);
        assert_eq!(rows(1), [("serial", 1), ("sinew", 1), (AGAIN, 1)]);
    }
}
