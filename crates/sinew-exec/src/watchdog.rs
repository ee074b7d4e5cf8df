//! The watchdog: the process that restores the command if the share agent dies.
//!
//! It forks the share agent and waits for it. If the share agent ends before the command, the
//! command's threads get back the mask that they began with, and teams their size.
//!
//! The watchdog also owns the open files of the library, the page and the pipe. The path in
//! `LD_PRELOAD` must be valid as long as a process of the command may start another program. So the
//! watchdog stays until the last of these processes has ended. It searches for them once a second,
//! and ends after two searches a quarter of a second apart that find none. The second search only
//! reads new processes.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::process::exit;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use sinew_coord::ProcessId;
use sinew_preload::layout;

use crate::descendants::MarkSearch;
use crate::page::Page;
use crate::share_agent::{self, Held};
use crate::share_source::{Job, ShareSource};
use crate::sys::{Side, SingleThreaded, close_inherited, disable_backtraces, fork, fork_apart};

/// The time between two searches for processes of the command.
const SEARCH_EVERY: Duration = Duration::from_secs(1);
/// The time between two searches that find none: long beside the start of a program.
const SEARCH_AGAIN: Duration = Duration::from_millis(250);

/// The highest nice value of a process.
const LOWEST_PRIORITY: i32 = 19;

/// The longest wait for the share agent, which itself may have to wait for the table's lock for
/// some seconds. A share agent that is stopped, or hangs, keeps no command from running.
const TIMEOUT: Duration = Duration::from_secs(8);

/// Open files that the command's processes reach through the watchdog.
#[derive(Debug)]
pub(crate) struct HeldFiles {
    pub(crate) page: Page,
    /// The library, if one is preloaded.
    pub(crate) library: Option<File>,
    pub(crate) registrations: PipeReader,
    pub(crate) register: Held,
}

impl HeldFiles {
    /// The value of [`layout::VARIABLE`], with the watchdog's number.
    pub(crate) fn address(&self, watchdog: u32) -> String {
        format!("{watchdog} {} {}", self.page.number(), self.register.as_raw_fd())
    }

    /// The path of the library.
    pub(crate) fn library_path(&self, watchdog: u32) -> Option<String> {
        self.library.as_ref().map(|file| format!("/proc/{watchdog}/fd/{}", file.as_raw_fd()))
    }
}

/// The share agent's report to the process that becomes the command. It follows the command, or a
/// warning says why not. One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) warning: Option<String>,
}

/// The end of a report.
const END: char = '\n';

impl Report {
    /// Sends the report. Returns whether it was received: a command that has waited for too long
    /// runs without a share.
    fn send(&self, mut to: PipeWriter) -> bool {
        let warning = self.warning.as_deref().unwrap_or_default();
        to.write_all(format!("{warning}{END}").as_bytes()).is_ok()
    }

    /// Parses a report; `None` if the share agent ended before it sent all of it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let warning = text.strip_suffix(END)?;
        Some(Self { warning: (!warning.is_empty()).then(|| warning.to_owned()) })
    }
}

/// The files that watchdog and share agent inherit from the process that becomes the command.
struct Inherited {
    files: HeldFiles,
    report: PipeWriter,
    /// The reading end. Only the command's process keeps it open, so the share agent notices when
    /// no process waits for its report any more.
    report_reader: PipeReader,
    /// `/dev/null`.
    dev_null: Option<File>,
}

/// Runs the watchdog. It is no child of the command, so no process has to wait for it. The command
/// waits for the share agent, so that is forked before any step that may block.
fn run_watchdog(
    one: &SingleThreaded,
    job: &Job,
    inherited: Inherited,
    join: impl FnOnce(&Job) -> Result<Arc<dyn ShareSource>, String>,
) -> ! {
    let watchdog = std::process::id();
    let Inherited { files, report, report_reader, dev_null } = inherited;
    drop(report_reader);
    detach(dev_null);
    let mark = format!("{}={}", layout::VARIABLE, files.address(watchdog));
    match fork(one) {
        Ok(Side::Child) => run_share_agent(job, files, join, mark.as_bytes(), report),
        Ok(Side::Parent(agent)) => {
            drop(report);
            leave_folder();
            if !ended_well(agent) {
                share_agent::restore_masks(job, &files.page, mark.as_bytes());
            }
        }
        Err(error) => {
            Report { warning: Some(error.to_string()) }.send(report);
        }
    }
    lower_priority();
    wait_for_last_process(job.program, mark.as_bytes());
    exit(0)
}

/// Closes all files of the command's, its terminal among them. The streams lead to `dev_null`.
fn detach(dev_null: Option<File>) {
    disable_backtraces();
    close_inherited();
    if let Some(dev_null) = dev_null {
        let _ = (dup2_stdin(&dev_null), dup2_stdout(&dev_null), dup2_stderr(&dev_null));
    }
}

/// Leaves the folder, so that its file system can be unmounted. Only after the share agent has
/// joined: folders may be given relative to this one.
fn leave_folder() {
    let _ = rustix::process::chdir("/");
}

/// Runs the share agent.
fn run_share_agent(
    job: &Job,
    files: HeldFiles,
    join: impl FnOnce(&Job) -> Result<Arc<dyn ShareSource>, String>,
    mark: &[u8],
    report: PipeWriter,
) -> ! {
    let shares = match join(job) {
        Ok(shares) => shares,
        Err(warning) => {
            Report { warning: Some(warning) }.send(report);
            exit(0)
        }
    };
    leave_folder();
    let ready = |error: Option<&io::Error>| {
        let warning = error.map(|error| format!("the command cannot be watched: {error}"));
        Report { warning }.send(report)
    };
    match share_agent::follow(job, &files.page, files.registrations, &shares, mark, ready) {
        Ok(()) => exit(0),
        Err(_) => exit(1),
    }
}

/// Waits for the share agent. Returns whether it ended with the command.
fn ended_well(agent: i32) -> bool {
    let agent = Pid::from_raw(agent);
    loop {
        match waitpid(agent, WaitOptions::empty()) {
            Ok(Some((_, status))) => return status.exit_status() == Some(0),
            Err(rustix::io::Errno::INTR) | Ok(None) => {}
            Err(_) => return false,
        }
    }
}

/// Waits until no process of the command can need the library. A process that becomes another
/// program has no environment for a moment, so two searches must find none.
fn wait_for_last_process(command: ProcessId, mark: &[u8]) {
    let mut search = MarkSearch::new(mark);
    let mut empty_searches = 0;
    loop {
        empty_searches = if command.is_alive() || search.find() { 0 } else { empty_searches + 1 };
        match empty_searches {
            0 => thread::sleep(SEARCH_EVERY),
            1 => thread::sleep(SEARCH_AGAIN),
            _ => return,
        }
    }
}

/// Lowers the priority, because no process waits for this one any more. Some kernels schedule each
/// session as one program; then the session gets the lower priority. This is not the kernel's
/// policy for idle work: with that, the process would stay for minutes on a busy machine.
fn lower_priority() {
    let _ = rustix::process::nice(LOWEST_PRIORITY);
    let _ = std::fs::write("/proc/self/autogroup", LOWEST_PRIORITY.to_string());
}

/// Reads until a report is complete or the other side closes the pipe.
///
/// # Errors
///
/// Neither happens within `time`.
fn read_within(mut pipe: PipeReader, time: Duration) -> io::Result<String> {
    let (began, mut text, mut part) = (Instant::now(), Vec::new(), [0; 512]);
    loop {
        let left = Timespec::try_from(time.saturating_sub(began.elapsed())).ok();
        match poll(&mut [PollFd::new(&pipe, PollFlags::IN)], left.as_ref()) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
            Ok(0) => return Err(io::Error::other("the share agent does not respond")),
            Ok(_) => {}
        }
        let length = pipe.read(&mut part)?;
        text.extend_from_slice(&part[..length]);
        if length == 0 || text.ends_with(&[END as u8]) {
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
    }
}

/// A command with a watchdog, and the report of its share agent.
pub(crate) struct Started {
    pub(crate) watchdog: u32,
    pub(crate) report: Report,
    pub(crate) files: HeldFiles,
}

/// Starts the watchdog, and waits until the share agent is ready.
///
/// # Errors
///
/// The system has no process left, or the share agent ends before it is ready, or is not ready in
/// time.
///
/// # Blocking
///
/// For [`TIMEOUT`] at most.
pub(crate) fn start(
    one: &SingleThreaded,
    job: &Job,
    files: HeldFiles,
    join: impl FnOnce(&Job) -> Result<Arc<dyn ShareSource>, String>,
) -> io::Result<Started> {
    let (report_reader, report) = io::pipe()?;
    let dev_null = File::options().read(true).write(true).open("/dev/null").ok();
    let inherited = Inherited { files, report, report_reader, dev_null };
    let (watchdog, inherited) =
        fork_apart(one, inherited, |one, inherited| run_watchdog(&one, job, inherited, join))?;
    let Inherited { files, report, report_reader, .. } = inherited;
    drop(report);
    let text = read_within(report_reader, TIMEOUT)?;
    let ended = || io::Error::other("the share agent ended at once");
    Ok(Started { watchdog, report: Report::parse(&text).ok_or_else(ended)?, files })
}

#[cfg(test)]
mod tests {
    //! Blind to: several processes; `tests/` checks those.
    use super::*;

    /// Blind to: a warning of several lines, which this crate never writes.
    #[test]
    fn a_report_is_read_as_it_was_sent() {
        for warning in [None, Some("no table".to_owned())] {
            let (report_reader, pipe) = io::pipe().unwrap();
            Report { warning: warning.clone() }.send(pipe);
            let text = read_within(report_reader, TIMEOUT).unwrap();
            assert_eq!(Report::parse(&text), Some(Report { warning }));
        }
        assert!(Report::parse("").is_none() && Report::parse("x").is_none());
    }

    /// Waits for the process on another thread. Returns whether it was alive when the wait ended.
    fn was_alive_after(program: ProcessId) -> bool {
        let (tell, told) = std::sync::mpsc::channel();
        thread::spawn(move || {
            wait_for_last_process(program, b"SINEW_EXEC=the mark of no process");
            tell.send(program.is_alive())
        });
        told.recv_timeout(Duration::from_secs(60)).expect("the wait ends")
    }

    /// Catches: a watchdog that stays because another process has the number of its command.
    #[test]
    fn a_later_process_of_the_commands_number_is_not_waited_for() {
        let this = ProcessId::current();
        for started in [0, this.started - 1, this.started + 1] {
            assert!(!was_alive_after(ProcessId { started, ..this }));
        }
    }

    /// Catches: a watchdog that ends before its command.
    #[test]
    fn the_command_is_waited_for() {
        let mut command = std::process::Command::new("sleep").arg("0.1").spawn().unwrap();
        let program = ProcessId::of(command.id()).expect("it is not waited for yet");
        assert!(!was_alive_after(program));
        command.wait().unwrap();
    }
}
