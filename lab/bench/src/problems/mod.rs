//! The problems, one folder each: `mod` says what is computed, and every other file is one
//! runtime's way. `searches` has two problems.
//!
//! To add a problem: a folder with the same files, a line in [`ALL`], and its functions in
//! `rivals/*.cpp`, if it has them.

pub(crate) mod fib;
pub(crate) mod irregular;
pub(crate) mod loops;
pub(crate) mod matmul;
pub(crate) mod nqueens;
pub(crate) mod regions;
mod searches;
pub(crate) mod skynet;
pub(crate) mod sort;
pub(crate) mod sweeps;

use crate::problem::Problem;

/// Every problem, in the order of the report.
pub(crate) const ALL: [Problem; 11] = [
    fib::PROBLEM,
    nqueens::PROBLEM,
    skynet::PROBLEM,
    matmul::PROBLEM,
    loops::PROBLEM,
    regions::PROBLEM,
    irregular::PROBLEM,
    sweeps::PROBLEM,
    sort::PROBLEM,
    searches::BFS,
    searches::SSSP,
];

#[cfg(test)]
mod tests {
    //! Blind to: forms that are wrong only at full size; every run checks its results.
    use super::*;
    use crate::problem::Scale;

    #[test]
    fn every_form_gives_the_serial_answer_on_one_thread_and_on_several() {
        for problem in &ALL {
            for case in (problem.cases)(Scale::Tiny) {
                let (warm, expected) = ((problem.warm)(&case), (problem.serial)(&case));
                for form in (problem.forms)() {
                    for threads in [1, 2, 4] {
                        let mut running = form.start(threads).expect("a pool");
                        let checked = running(&warm).expect("an answer").answer;
                        assert_eq!(
                            checked,
                            (problem.serial)(&warm),
                            "{} warm, {form:?}",
                            problem.name
                        );
                        let answer = running(&case).expect("an answer").answer;
                        assert_eq!(
                            answer, expected,
                            "{} {}, {form:?}, {threads}",
                            problem.name, case.label
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn rivals_in_other_processes_give_the_serial_answer() {
        use crate::problem::Runtime;
        use crate::runtimes::process::Rival;
        use std::{cell::RefCell, rc::Rc};
        for runtime in [Runtime::OpenMp, Runtime::Tbb, Runtime::Libsinew] {
            let rival = match Rival::start(runtime) {
                Ok(rival) => Rc::new(RefCell::new(rival)),
                Err(why) => {
                    println!("skipped: {runtime:?}: {why}");
                    continue;
                }
            };
            for problem in ALL.iter().filter(|problem| problem.in_processes) {
                let form = Rival::form(&rival, problem.name);
                for case in (problem.cases)(Scale::Tiny) {
                    for case in [(problem.warm)(&case), case] {
                        let answer =
                            form.start(2).expect("it runs")(&case).expect("an answer").answer;
                        assert_eq!(
                            answer,
                            (problem.serial)(&case),
                            "{} {}, {form:?}",
                            problem.name,
                            case.label
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn bars_name_rows_and_cases_that_exist() {
        use crate::problem::{Measure, Row};
        // Rivals may be missing from a build, so their names come from the list of rivals.
        let mut rivals = crate::problem::Runtime::RIVALS.map(|(name, _)| name).to_vec();
        rivals.extend(crate::runtimes::lace::PROGRAMS.map(|(name, _)| name));
        for problem in &ALL {
            let forms = (problem.forms)();
            let known = |Row(name, _): Row| {
                name == "serial"
                    || rivals.contains(&name)
                    || forms.iter().any(|form| form.name == name)
            };
            for bar in problem.bars {
                let named = match bar.measure {
                    Measure::Ratio(of, by) => known(of) && known(by),
                    Measure::PerOperation(of) => known(of),
                };
                let cases = (problem.cases)(Scale::Full);
                let placed = bar.case.is_empty() || cases.iter().any(|case| case.label == bar.case);
                assert!(named && placed, "{}: {bar:?}", problem.name);
            }
        }
    }
}
