//! Running both builds of a program, and finding the differences of their results.
//!
//! A result is the exit status, the standard output, and every file in the folder afterwards.
//! Standard error is not compared: programs show times there.

use super::super::files;
use super::super::watchdog::{self, Ending, Outputs};
use super::table::{Order, Program, REPEATS, Run, THREADS};
use crate::command;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A run takes seconds; what takes this long hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// Names of files with their contents.
type Tree = BTreeMap<String, Vec<u8>>;

/// The outputs of a program for its inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer {
    ending: Ending,
    printed: Vec<u8>,
    files: Tree,
}

/// Runs both builds in all ways and returns the number of comparisons, and the differences.
///
/// # Errors
///
/// The reference fails, a program cannot be started, or its files cannot be written or read.
pub(super) fn all(
    program: &Program,
    reference: &Path,
    candidate: &Path,
    inputs: &Tree,
    work: &Path,
) -> Result<(usize, Vec<String>), String> {
    let mut compared = 0;
    let mut differences = Vec::new();
    for run in program.runs {
        for threads in THREADS {
            let wanted = answer(reference, run, threads, inputs, work)?;
            for _ in 0..REPEATS {
                let got = answer(candidate, run, threads, inputs, work)?;
                compared += 1;
                if let Some(difference) = difference(&wanted, &got) {
                    differences.push(format!(
                        "{difference} of `{}` on {threads} threads",
                        run.arguments.join(" ")
                    ));
                }
            }
        }
    }
    Ok((compared, differences))
}

/// Runs `binary` on a fresh copy of the inputs.
fn answer(
    binary: &Path,
    run: &Run,
    threads: usize,
    inputs: &Tree,
    work: &Path,
) -> Result<Answer, String> {
    let folder = work.join("files");
    files::clear(&folder)?;
    files::lay_out(&folder, inputs)?;
    let (out, err) = (work.join("out.txt"), work.join("err.txt"));
    let mut command = Command::new(binary);
    command.args(run.arguments).current_dir(&folder);
    command::without_settings(&mut command);
    command.env("RAYON_NUM_THREADS", threads.to_string()).env("LC_ALL", "C").env("NO_COLOR", "1");
    let ending = watchdog::run(&mut command, Outputs::apart(&out, &err)?, LIMIT)?;
    let printed =
        std::fs::read(&out).map_err(|error| format!("cannot read {}: {error}", out.display()))?;
    Ok(Answer { ending, printed: ordered(printed, run.order), files: files::tree(&folder)? })
}

fn ordered(printed: Vec<u8>, order: Order) -> Vec<u8> {
    if order == Order::Exact {
        return printed;
    }
    let mut lines: Vec<&[u8]> = printed.split(|&byte| byte == b'\n').collect();
    lines.sort_unstable();
    lines.join(&b'\n')
}

/// The first difference between two results.
fn difference(wanted: &Answer, got: &Answer) -> Option<String> {
    if wanted.ending != got.ending {
        return Some(format!("the end ({:?}, not {:?})", got.ending, wanted.ending));
    }
    if wanted.printed != got.printed {
        return Some("the output".to_owned());
    }
    let names = wanted.files.keys().chain(got.files.keys());
    let name = names.into_iter().find(|name| wanted.files.get(*name) != got.files.get(*name))?;
    Some(format!("the file {name}"))
}

#[cfg(test)]
mod tests {
    //! Blind to: what a program does outside its folder.
    use super::*;

    fn made(printed: &str, file: &str) -> Answer {
        let files = Tree::from([("a".to_owned(), file.as_bytes().to_vec())]);
        let ending = Ending::Exited(std::process::ExitStatus::default());
        Answer { ending, printed: printed.as_bytes().to_vec(), files }
    }

    #[test]
    fn equal_answers_do_not_differ() {
        assert_eq!(difference(&made("x", "y"), &made("x", "y")), None);
    }

    #[test]
    fn one_other_byte_is_found_wherever_it_is() {
        let wanted = made("x", "y");
        assert_eq!(difference(&wanted, &made("X", "y")).as_deref(), Some("the output"));
        assert_eq!(difference(&wanted, &made("x", "Y")).as_deref(), Some("the file a"));
        let hanging = Answer { ending: Ending::Killed, ..wanted.clone() };
        assert!(
            difference(&wanted, &hanging).is_some_and(|told| told.starts_with("the end (Killed"))
        );
    }

    #[test]
    fn a_file_too_many_or_too_few_is_found() {
        let wanted = made("x", "y");
        let mut more = wanted.clone();
        more.files.insert("b".to_owned(), Vec::new());
        assert_eq!(difference(&wanted, &more).as_deref(), Some("the file b"));
        assert_eq!(difference(&more, &wanted).as_deref(), Some("the file b"));
    }

    #[test]
    fn lines_that_come_as_they_come_are_sorted() {
        assert_eq!(ordered(b"b\na\n".to_vec(), Order::Lines), b"\na\nb");
        assert_eq!(ordered(b"b\na\n".to_vec(), Order::Exact), b"b\na\n");
    }
}
