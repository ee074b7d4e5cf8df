//! Running a command that may hang.
//!
//! The command gets a process group of its own, so that what it started ends with it. The price: an interrupt from
//! the keyboard reaches this program only, and the group then runs on until it ends by itself.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a running command is looked at.
const PERIOD: Duration = Duration::from_millis(20);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Exited(ExitStatus),
    /// It ran past its limit and was killed, with everything that it had started.
    Killed,
}

impl Ending {
    pub(super) fn is_success(self) -> bool {
        matches!(self, Ending::Exited(status) if status.success())
    }
}

/// Where the output of a command goes.
#[derive(Debug)]
pub(super) struct Outputs {
    out: File,
    err: File,
}

impl Outputs {
    /// Both streams into one file, in the order in which they were written.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn together(log: &Path) -> Result<Outputs, String> {
        let out = create(log)?;
        let err = out.try_clone().map_err(|error| format!("cannot write {}: {error}", log.display()))?;
        Ok(Outputs { out, err })
    }

    /// Each stream into a file of its own.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub(super) fn apart(out: &Path, err: &Path) -> Result<Outputs, String> {
        Ok(Outputs { out: create(out)?, err: create(err)? })
    }
}

fn create(path: &Path) -> Result<File, String> {
    let cannot = |error| format!("cannot write {}: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(cannot)?;
    }
    File::create(path).map_err(cannot)
}

/// Runs `command` for at most `limit`.
///
/// # Errors
///
/// The command cannot be started or waited for.
pub(super) fn run(command: &mut Command, outputs: Outputs, limit: Duration) -> Result<Ending, String> {
    command.stdin(Stdio::null()).stdout(outputs.out).stderr(outputs.err);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
    let start = Instant::now();
    loop {
        let ended = child.try_wait().map_err(|error| format!("cannot wait for {name}: {error}"))?;
        if let Some(status) = ended {
            return Ok(Ending::Exited(status));
        }
        if start.elapsed() >= limit {
            kill(&mut child);
            return Ok(Ending::Killed);
        }
        std::thread::sleep(PERIOD);
    }
}

/// Ends the child and, where there are process groups, everything that it started.
fn kill(child: &mut Child) {
    if cfg!(unix) {
        let mut group = Command::new("kill");
        // What cannot be killed has ended already; the wait below tells.
        let _ = group.args(["-KILL", "--", &format!("-{}", child.id())]).stderr(Stdio::null()).status();
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(all(test, unix))]
mod tests {
    //! What they would miss: a child that leaves its group.
    use super::*;

    fn shell(script: &str, limit: Duration) -> (Ending, String) {
        let log =
            std::env::temp_dir().join(format!("xtask-watchdog-{}-{}", std::process::id(), script.len()));
        let outputs = Outputs::together(&log).expect("the log can be written");
        let ending = run(Command::new("sh").args(["-c", script]), outputs, limit).expect("a shell starts");
        let text = std::fs::read_to_string(&log).expect("the log can be read");
        std::fs::remove_file(&log).expect("the log can be removed");
        (ending, text)
    }

    #[test]
    fn both_streams_arrive_in_order_with_the_status() {
        let (ending, text) = shell("echo one; echo two >&2; echo three; exit 3", Duration::from_secs(60));
        assert_eq!(text, "one\ntwo\nthree\n");
        assert!(matches!(ending, Ending::Exited(status) if status.code() == Some(3)) && !ending.is_success());
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_what_it_started() {
        let start = Instant::now();
        // The shell waits for the sleeper, so both must go for this to return soon.
        let (ending, text) = shell("echo before; sleep 600 & wait; echo after", Duration::from_millis(200));
        assert_eq!((ending, text.as_str()), (Ending::Killed, "before\n"));
        assert!(start.elapsed() < Duration::from_secs(300));
    }
}
