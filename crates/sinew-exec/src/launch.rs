//! The steps from the command line to the command.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, memfd_create};
use sinew_preload::layout;

use crate::failure::Failure;
use crate::library;
use crate::limit_mark;
use crate::page::{Page, check_size};
use crate::plan::{Facts, Plan};
use crate::program::{self, Program};
use crate::share_source::{Command, Job, ShareSource};
use crate::start::Start;
use crate::sys::this_process;
use crate::watchdog::{self, HeldFiles, Started};

/// Becomes the command; returns only if that fails. `join` is called in another process, the share
/// agent, and returns the source of the command's shares. If it fails, its error is a warning, and
/// the command runs without a share.
///
/// The calling process must have one thread only.
///
/// # Errors
///
/// The returned failure is one line, and the exit status that shells return.
///
/// # Cost
///
/// Two copies of this process, and the cost of `join`: two milliseconds in all where it was
/// measured.
pub fn exec(
    command: &Command,
    join: impl FnOnce(&Job) -> Result<Arc<dyn ShareSource>, String>,
) -> Failure {
    let program = match program::find(&command.program, std::env::var_os("PATH").as_deref()) {
        Ok(program) => program,
        Err(failure) => return failure,
    };
    let mut child = process::Command::new(&program.path);
    child.arg0(&command.program).args(&command.arguments);
    if std::env::var_os(layout::VARIABLE).is_some() {
        explain_lines(
            command.verbose,
            &["within another sinew exec, which this one is a part of".to_owned()],
        );
    } else {
        prepare(command, &program, &mut child, join);
    }
    Failure::of(&program.path, &child.exec())
}

/// Sets the environment, and starts watchdog and share agent.
fn prepare(
    command: &Command,
    program: &Program,
    child: &mut process::Command,
    join: impl FnOnce(&Job) -> Result<Arc<dyn ShareSource>, String>,
) {
    let start = Start::read();
    let plan = plan(command, program, &start);
    warn(&plan.refused);
    child.envs(plan.set.iter().map(|(name, value)| (name, value)));
    match follow(command, program, &start, &plan, join) {
        Ok(Started { watchdog, report, files }) => {
            let warning =
                report.warning.map(|why| format!("{why}; the command runs without a share"));
            warn(warning.as_slice());
            child.env(layout::VARIABLE, files.address(watchdog));
            if let Some(path) = files.library_path(watchdog) {
                child.env("LD_PRELOAD", in_front(&path, std::env::var_os("LD_PRELOAD")));
            }
        }
        Err(error) => warn(&[format!("{error}; the command runs without a share")]),
    }
    explain(command, &plan);
}

/// Starts watchdog and share agent.
fn follow(
    command: &Command,
    program: &Program,
    start: &Start,
    plan: &Plan,
    join: impl FnOnce(&Job) -> Result<Arc<dyn ShareSource>, String>,
) -> io::Result<Started> {
    let (process, one) = this_process()?;
    let job = Job {
        program: process,
        name: file_name(&program.path).to_string_lossy().into_owned(),
        share_request: command.share_request,
        cpus: start.cpus.clone(),
        threads: start.threads.min(command.max.filter(|_| plan.narrow).unwrap_or(usize::MAX)),
        follows: plan.narrow,
        lowers: plan.lower,
    };
    let files = files(command, plan, &job)?;
    let started = watchdog::start(&one, &job, files, join)?;
    // Not before the fork: share agent and watchdog are none of the command's processes.
    if job.follows {
        limit_mark::set(process);
    }
    Ok(started)
}

fn plan(command: &Command, program: &Program, start: &Start) -> Plan {
    let library = if command.library.is_some() { Ok(()) } else { library::built_in().map(|_| ()) };
    let facts = Facts {
        cpus: start.cpus.len(),
        cores: start.cores,
        threads: start.threads,
        narrowed: start.narrowed,
        memory_bound: start.memory_bound,
        name: file_name(&program.path),
        kind: program.kind,
        malleable: command.malleable,
        min: command.share_request.min,
        max: command.max,
        library,
    };
    Plan::new(&facts, &|name| std::env::var_os(name))
}

fn file_name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or(path.as_os_str())
}

/// The files that the watchdog holds.
fn files(command: &Command, plan: &Plan, job: &Job) -> io::Result<HeldFiles> {
    let flags = [
        (plan.lower, layout::MALLEABLE),
        (command.verbose, layout::VERBOSE),
        (plan.sets("GOMP_SPINCOUNT"), layout::SHORT_WAITS),
        (plan.narrow, layout::FOLLOWS),
    ];
    let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag);
    let page = Page::new(&job.cpus, flags)?;
    let (registrations, register) = io::pipe()?;
    let library = plan.preload.then(|| preloaded(command)).transpose()?;
    Ok(HeldFiles { page, library, registrations, register })
}

/// The library as a file without a name.
fn preloaded(command: &Command) -> io::Result<File> {
    let mut file = File::from(executable_memory()?);
    match &command.library {
        Some(path) => {
            let mut library = File::open(path)?;
            check_size(library.metadata()?.len())?;
            io::copy(&mut library, &mut file).map(|_| ())?;
        }
        None => {
            let library = library::built_in().map_err(io::Error::other)?;
            check_size(library.len() as u64)?;
            file.write_all(library)?;
        }
    }
    Ok(file)
}

/// Some kernels require the flag, and older ones refuse it.
fn executable_memory() -> rustix::io::Result<rustix::fd::OwnedFd> {
    let create = |flags| memfd_create("sinew-preload", flags);
    create(MemfdFlags::CLOEXEC | MemfdFlags::EXEC).or_else(|_| create(MemfdFlags::CLOEXEC))
}

/// `LD_PRELOAD` with this library in front.
fn in_front(path: &str, others: Option<OsString>) -> OsString {
    let mut list = OsString::from(path);
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

fn warn(lines: &[String]) {
    for line in lines {
        say(&format!("warning: {line}"));
    }
}

fn explain(command: &Command, plan: &Plan) {
    let set = plan.set.iter().map(|(name, value)| format!("set: {name}={value:?}"));
    let left = plan.left.iter().map(|line| format!("left alone: {line}"));
    let mut does = vec![
        if plan.narrow {
            "cores: the command's share, as it changes"
        } else {
            "cores: as they are"
        }
        .to_owned(),
    ];
    if plan.lower {
        does.push(
            "teams: lowered to the share, unless the program sets or asks for the number of threads"
                .to_owned(),
        );
    }
    explain_lines(command.verbose, &does.into_iter().chain(set).chain(left).collect::<Vec<_>>());
}

fn explain_lines(verbose: bool, lines: &[String]) {
    if verbose {
        lines.iter().for_each(|line| say(line));
    }
}

/// Prints a line to standard error, and ignores a closed one.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "sinew: {line}");
}
