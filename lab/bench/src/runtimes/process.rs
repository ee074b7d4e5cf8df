//! Rivals in C++ (and C, see `lace`): compiled when needed, one process each, spoken to by lines.
//!
//! A process waits on its standard input, so it sleeps while others are measured. A line names a
//! problem, a number of threads and the three numbers of a case; the reply is a line with
//! nanoseconds and a result:
//!
//! ```text
//! → fib 2 30 0 1
//! ← 12345678 832040
//! ```

use crate::problem::{Case, Form, Problem, Runtime, Sample};
use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

use sinew_reproduce::process::Spoken;

const COMMON: &str = include_str!("../../rivals/rival.hpp");

/// A rival's name, its source and what the compiler needs for it.
struct Recipe {
    name: &'static str,
    source: &'static str,
    flags: &'static [&'static str],
}

fn recipe(runtime: Runtime) -> Option<Recipe> {
    match runtime {
        Runtime::OpenMp => Some(Recipe {
            name: "openmp",
            source: include_str!("../../rivals/openmp.cpp"),
            flags: &["-fopenmp"],
        }),
        Runtime::Tbb => Some(Recipe {
            name: "tbb",
            source: include_str!("../../rivals/tbb.cpp"),
            flags: &["-ltbb", "-pthread"],
        }),
        Runtime::Libsinew => Some(Recipe {
            name: "libsinew",
            source: include_str!("../../rivals/sinew.cpp"),
            flags: &["-pthread"],
        }),
        _ => None,
    }
}

/// A rival's process. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Rival {
    runtime: Runtime,
    name: &'static str,
    process: Spoken,
}

impl Rival {
    /// Compiles the rival that `runtime` names and starts it.
    ///
    /// # Errors
    ///
    /// One line: no compiler, or what it is missing.
    pub(crate) fn start(runtime: Runtime) -> Result<Self, String> {
        let recipe = recipe(runtime).ok_or(NO_PROCESS)?;
        let folder =
            tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
        let program = folder.path().join(recipe.name);
        let installed = if runtime == Runtime::Libsinew { libsinew()? } else { Vec::new() };
        let flags: Vec<&str> = installed.iter().map(String::as_str).collect();
        compile(&recipe, folder.path(), &program, &flags)?;
        // The folder goes now; a running program keeps its file.
        Self::run(runtime, recipe.name, &program)
    }

    /// Starts the program of a rival.
    ///
    /// # Errors
    ///
    /// One line: it does not start.
    pub(crate) fn run(
        runtime: Runtime,
        name: &'static str,
        program: &Path,
    ) -> Result<Self, String> {
        let process = Spoken::start(name, &mut Command::new(program))?;
        Ok(Self { runtime, name, process })
    }

    /// Whether its program solves this problem.
    pub(crate) fn solves(&self, problem: &Problem) -> bool {
        problem.in_processes && (self.runtime != Runtime::Lace || problem.name == "fib")
    }

    /// A form of `problem` that runs in this process.
    pub(crate) fn form(rival: &Rc<RefCell<Self>>, problem: &'static str) -> Form {
        let (name, runtime) = (rival.borrow().name, rival.borrow().runtime);
        let rival = Rc::clone(rival);
        Form::new(runtime, name, move |threads| {
            let rival = Rc::clone(&rival);
            Ok(Box::new(move |case: &Case| rival.borrow_mut().ask(problem, threads, case)))
        })
    }

    fn ask(&mut self, problem: &str, threads: usize, case: &Case) -> Result<Sample, String> {
        let line = format!("{problem} {threads} {} {} {}", case.size, case.kind, case.repeats);
        let reply = self.process.ask(&line)?;
        parse(&reply)
            .ok_or_else(|| format!("the {} process answered {reply:?} to {line:?}", self.name))
    }
}

fn parse(reply: &str) -> Option<Sample> {
    let (ns, answer) = reply.trim().split_once(' ')?;
    Some(Sample { ns: ns.parse().ok()?, answer: answer.parse().ok()? })
}

/// The flags by which a program finds the library for C, which the command that builds this program
/// installs beside it.
fn libsinew() -> Result<Vec<String>, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    // In `target/release`, or for tests in `target/debug/deps`.
    let above = own.ancestors().skip(2).take(2).map(|folder| folder.join("doors"));
    let prefix = above.into_iter().find(|prefix| prefix.join("lib/libsinew.so.0").exists());
    let prefix = prefix.ok_or("not installed: cargo xtask install-c --prefix target/doors")?;
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    let (include, lib) = (include.display(), lib.display());
    Ok(vec![
        format!("-I{include}"),
        format!("-L{lib}"),
        "-lsinew".to_owned(),
        format!("-Wl,-rpath,{lib}"),
    ])
}

const NO_PROCESS: &str = "it does not run in a process of its own";

/// Compiles the rival that `runtime` names to `program`, with these flags.
///
/// # Errors
///
/// As [`Rival::start`].
pub(crate) fn build(
    runtime: Runtime,
    folder: &Path,
    program: &Path,
    flags: &[&str],
) -> Result<(), String> {
    compile(&recipe(runtime).ok_or(NO_PROCESS)?, folder, program, flags)
}

fn compile(recipe: &Recipe, folder: &Path, program: &Path, flags: &[&str]) -> Result<(), String> {
    let source = folder.join(format!("{}.cpp", recipe.name));
    for (path, text) in [(&source, recipe.source), (&folder.join("rival.hpp"), COMMON)] {
        fs::write(path, text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let output = Command::new("c++")
        .args(["-std=c++17", "-O3", "-o"])
        .args([program, &source])
        .args(recipe.flags)
        .args(flags)
        .output()
        .map_err(|error| format!("no C++ compiler (c++): {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(first_error("c++", &output.stderr))
}

/// The first error among a compiler's messages, as one line.
pub(crate) fn first_error(compiler: &str, messages: &[u8]) -> String {
    let messages = String::from_utf8_lossy(messages);
    let first =
        messages.lines().find(|line| line.contains("error") || line.contains("cannot find"));
    format!("{compiler} cannot build it: {}", first.unwrap_or("no message").trim())
}

#[cfg(test)]
mod tests {
    //! Blind to: a rival that computes something else; every run compares its results.
    use super::*;

    #[test]
    fn a_reply_is_a_time_and_an_answer() {
        let sample = parse("12345 832040\n").expect("a good reply");
        assert_eq!((sample.ns, sample.answer), (12345, 832_040));
        assert!(parse("").is_none() && parse("12345\n").is_none() && parse("fast 1\n").is_none());
    }

    #[test]
    fn a_source_that_does_not_compile_is_one_line_of_reason() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let recipe = Recipe { name: "broken", source: "int main( {", flags: &[] };
        let why = compile(&recipe, folder.path(), &folder.path().join("broken"), &[]).unwrap_err();
        assert!(!why.contains('\n') && why.contains("c++"), "{why}");
    }
}
