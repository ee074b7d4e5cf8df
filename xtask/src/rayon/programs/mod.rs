//! Programs that use rayon, built with either rayon-core, their outputs compared byte for byte.
//!
//! | file | contents |
//! |---|---|
//! | [`table`] | the programs, how each is run, and on what |
//! | [`build`] | fetching and building a program with the rayon-core of one side |
//! | [`inputs`], [`png`] | input files, the same for both builds |
//! | [`compare`] | running both, and finding where they differ |
//!
//! Each program runs with several sizes of the pool, and every result of ours is compared with that
//! of the published rayon-core at the same size. A program that this machine cannot fetch or build
//! is skipped with its reason; if all are skipped, nothing was checked, and that is a failure.

mod build;
mod compare;
mod inputs;
mod png;
mod table;

use super::side::{RAYON_CORE, Side, folder};
use super::upstream::{self, Sources};
use sinew_console::Table;
use std::time::Instant;
use table::{PROGRAMS, Program};

/// The names of the programs, for the command line.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|program| program.name)
}

/// The outcome of a program.
enum Outcome {
    Same { runs: usize },
    Different(Vec<String>),
    Skipped(String),
}

/// Compares the programs called `only`, or all of them: the published rayon-core beside that of
/// `side`.
///
/// # Errors
///
/// A program's results differ, a program is built with the wrong rayon-core, or all programs were
/// skipped.
pub(super) fn run(side: Side, only: &[String]) -> Result<(), String> {
    let chosen: Vec<&Program> = PROGRAMS
        .iter()
        .filter(|program| only.is_empty() || only.iter().any(|name| name == program.name))
        .collect();
    if chosen.is_empty() {
        return Ok(());
    }
    let sources = upstream::sources()?;
    let version = upstream::version(side)?;
    println!(
        "programs with rayon-core {version} ({}) beside {} (upstream)",
        side.name(),
        RAYON_CORE
    );
    let mut ended = Vec::new();
    for program in chosen {
        let outcome = check(program, side, &version, &sources)?;
        ended.push((program, outcome));
    }
    summary(&ended);
    verdict(&ended)
}

fn check(
    program: &Program,
    side: Side,
    version: &str,
    sources: &Sources,
) -> Result<Outcome, String> {
    let start = Instant::now();
    let reference = match build::program(program, Side::Upstream, RAYON_CORE, sources)? {
        build::Built::Program(binary) => binary,
        build::Built::Not(reason) => return Ok(Outcome::Skipped(reason)),
    };
    // Programs that build with the published rayon-core must build with ours.
    let candidate = match build::program(program, side, version, sources)? {
        build::Built::Program(binary) => binary,
        build::Built::Not(reason) => {
            return Ok(Outcome::Different(vec![format!("with our rayon-core: {reason}")]));
        }
    };
    println!("{:<10} built in {:.1} s", program.name, start.elapsed().as_secs_f64());
    let inputs = inputs::make(program.inputs);
    let (runs, differences) =
        compare::all(program, &reference, &candidate, &inputs, &folder().join("programs/work"))?;
    Ok(if differences.is_empty() {
        Outcome::Same { runs }
    } else {
        Outcome::Different(differences)
    })
}

fn summary(ended: &[(&Program, Outcome)]) {
    let mut table = Table::new(&["program", "version", "inputs", "runs", "outputs"]);
    for (program, outcome) in ended {
        let (runs, told) = match outcome {
            Outcome::Same { runs } => (runs.to_string(), "same".to_owned()),
            Outcome::Different(where_) => {
                ("-".to_owned(), format!("DIFFERENT: {}", where_.join("; ")))
            }
            Outcome::Skipped(reason) => ("-".to_owned(), format!("skipped: {reason}")),
        };
        let [name, version] = [program.name, program.version].map(str::to_owned);
        table.row(vec![name, version, program.inputs.describe().to_owned(), runs, told]);
    }
    print!("\n{}", table.render());
}

fn verdict(ended: &[(&Program, Outcome)]) -> Result<(), String> {
    let different: Vec<&str> = ended
        .iter()
        .filter(|(_, outcome)| matches!(outcome, Outcome::Different(_)))
        .map(|(program, _)| program.name)
        .collect();
    if !different.is_empty() {
        return Err(format!(
            "rayon programs: {} do not do what they do with the published one",
            different.join(", ")
        ));
    }
    if ended.iter().all(|(_, outcome)| matches!(outcome, Outcome::Skipped(_))) {
        return Err("rayon programs: all were skipped, nothing was checked".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    //! Blind to: a comparison that never looks, which a planted difference in
    //! [`compare`] shows.
    use super::*;

    fn ended(outcome: Outcome) -> (&'static Program, Outcome) {
        (&PROGRAMS[0], outcome)
    }

    #[test]
    fn one_difference_fails_the_run_and_one_skipped_program_does_not() {
        let same = || ended(Outcome::Same { runs: 3 });
        let skipped = || ended(Outcome::Skipped("no compiler".to_owned()));
        assert_eq!(verdict(&[same(), skipped()]), Ok(()));
        let why = verdict(&[same(), ended(Outcome::Different(vec!["stdout".to_owned()]))])
            .expect_err("differs");
        assert!(why.contains(PROGRAMS[0].name), "{why}");
    }

    #[test]
    fn a_run_of_nothing_proves_nothing() {
        let skipped = || ended(Outcome::Skipped("no network".to_owned()));
        let why = verdict(&[skipped(), skipped()]).expect_err("nothing ran");
        assert!(why.contains("nothing was checked"), "{why}");
    }
}
