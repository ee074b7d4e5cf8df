//! Instructions per operation, counted by callgrind: figures that repeat where times do not.
//!
//! A child of this program runs one form on one thread under valgrind, at two sizes. The difference
//! of the two counts belongs to the difference of the two sizes alone: starting the program and its
//! pool is in both.

use crate::output::say;
use crate::problem::{Case, Form, Problem, Runtime};
use crate::problems;
use serde::Serialize;
use std::process::Command;

/// Instructions of one form.
#[derive(Debug, Serialize)]
pub(crate) struct Count {
    pub(crate) problem: &'static str,
    pub(crate) form: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) per_operation: f64,
}

/// Counts and prints every form that runs in this process, of the problems that `wanted` accepts.
///
/// # Errors
///
/// One line: valgrind is missing, or a child failed under it.
pub(crate) fn count(
    wanted: impl Fn(&Problem) -> bool,
    rivals: impl Fn(Runtime) -> bool,
) -> Result<Vec<Count>, String> {
    let mut counts = Vec::new();
    say!("\ninstructions per operation on one thread (callgrind)");
    for problem in problems::ALL.iter().filter(|problem| wanted(problem)) {
        let Some(cases) = problem.counted else { continue };
        let mut forms = vec![Form::serial("serial", problem.serial)];
        forms.extend((problem.forms)().into_iter().filter(|form| rivals(form.runtime)));
        for form in forms {
            let per_operation = per_operation(problem, form.name, cases())?;
            say!("  {:<10}{:<18}{per_operation:>12.1} a {}", problem.name, form.name, problem.unit);
            counts.push(Count {
                problem: problem.name,
                form: form.name,
                unit: problem.unit,
                per_operation,
            });
        }
    }
    Ok(counts)
}

fn per_operation(problem: &Problem, form: &str, cases: [Case; 2]) -> Result<f64, String> {
    let count =
        |index: usize| under_callgrind(problem.name, form, index, (problem.serial)(&cases[index]));
    let (few, many, [small, large]) = (count(0)?, count(1)?, cases);
    let operations = large.operations.saturating_sub(small.operations).max(1);
    Ok((many as f64 - few as f64) / operations as f64)
}

/// The number of instructions of a child that runs the problem's counted case number `index`, whose
/// result is `expected`.
fn under_callgrind(problem: &str, form: &str, index: usize, expected: u64) -> Result<u64, String> {
    let program =
        std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["--child", problem, form, &index.to_string(), &expected.to_string()])
        .output()
        .map_err(|error| format!("no valgrind: {error}"))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    let collected = messages.lines().find_map(collected).filter(|_| output.status.success());
    collected
        .ok_or_else(|| format!("{problem} by {form} failed under valgrind ({})", output.status))
}

/// The number in callgrind's line `==1234== Collected : 56789`.
pub(crate) fn collected(line: &str) -> Option<u64> {
    line.split_once("Collected :")?.1.trim().parse().ok()
}

/// The work of the child: one form, one counted case, one thread. The result is compared with the
/// one that the parent computed: a computation of its own would be counted.
///
/// # Errors
///
/// One line: an unknown name, or a wrong result.
pub(crate) fn child(arguments: &[String]) -> Result<(), String> {
    let [problem, form, index, expected] = arguments else {
        return Err("--child takes four values".to_owned());
    };
    let problem =
        problems::ALL.iter().find(|known| known.name == problem).ok_or("no such problem")?;
    let cases = problem.counted.ok_or("nothing to count in this problem")?();
    let case =
        index.parse().ok().and_then(|index: usize| cases.get(index)).ok_or("no such case")?;
    let mut forms = vec![Form::serial("serial", problem.serial)];
    forms.extend((problem.forms)());
    let form = forms.iter().find(|known| known.name == form).ok_or("no such form")?;
    let answer = form.start(1)?(case)?.answer;
    if answer.to_string() == *expected {
        Ok(())
    } else {
        Err(format!("wrong answer {answer}, expected {expected}"))
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: instructions that only some threads execute; one thread is all that is
    //! counted.
    use super::*;

    #[test]
    fn the_count_is_read_from_callgrinds_last_words() {
        assert_eq!(collected("==12== Collected : 123456"), Some(123_456));
        assert_eq!(collected("==12== Events    : Ir"), None);
    }

    #[test]
    fn a_child_runs_each_form_that_can_be_counted_and_refuses_what_it_does_not_know() {
        let call = |words: [&str; 4]| child(&words.map(str::to_owned));
        for problem in &problems::ALL {
            let Some(cases) = problem.counted else { continue };
            let [small, large] = cases().map(|case| (problem.serial)(&case).to_string());
            assert_eq!(call([problem.name, "serial", "0", &small]), Ok(()));
            assert_eq!(call([problem.name, "sinew", "1", &large]), Ok(()));
        }
        let wrong = call(["fib", "sinew", "0", "1"]);
        assert_eq!(wrong, Err("wrong answer 2584, expected 1".to_owned()));
        assert_eq!(call(["fib", "sinew", "2", "1"]), Err("no such case".to_owned()));
        assert_eq!(call(["fib", "nobody", "0", "1"]), Err("no such form".to_owned()));
    }

    #[test]
    fn counted_cases_differ_in_operations() {
        for problem in &problems::ALL {
            let Some(cases) = problem.counted else { continue };
            let [small, large] = cases();
            assert!(small.operations < large.operations, "{}", problem.name);
        }
    }
}
