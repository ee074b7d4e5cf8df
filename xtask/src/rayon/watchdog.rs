//! Running a command that may hang.
//!
//! The command gets a process group of its own, so that what it started ends with it. An interrupt
//! from the keyboard then reaches this program only. So the group begins with a *reaper*: a shell
//! that waits for the end of a pipe which this program holds, and then kills the group. However
//! this program ends, the kernel closes the pipe.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Interval between two looks at a running command.
const PERIOD: Duration = Duration::from_millis(20);

/// The outcome of a command.
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

/// The destination of a command's output.
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
        let err =
            out.try_clone().map_err(|error| format!("cannot write {}: {error}", log.display()))?;
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
pub(super) fn run(
    command: &mut Command,
    outputs: Outputs,
    limit: Duration,
) -> Result<Ending, String> {
    command.stdin(Stdio::null()).stdout(outputs.out).stderr(outputs.err);
    let group = Group::new()?;
    group.take_in(command);
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
    let start = Instant::now();
    loop {
        let ended = child.try_wait().map_err(|error| format!("cannot wait for {name}: {error}"))?;
        if let Some(status) = ended {
            return Ok(Ending::Exited(status));
        }
        if start.elapsed() >= limit {
            group.kill(&mut child);
            return Ok(Ending::Killed);
        }
        std::thread::sleep(PERIOD);
    }
}

/// A process group that ends with this program, where there are process groups.
struct Group {
    reaper: Option<Child>,
}

impl Group {
    /// # Errors
    ///
    /// There is no shell.
    fn new() -> Result<Self, String> {
        if !cfg!(unix) {
            return Ok(Self { reaper: None });
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", "read end; kill -s KILL 0"]);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        put_into(&mut shell, 0);
        let reaper = shell.spawn().map_err(|error| format!("cannot start sh: {error}"))?;
        Ok(Self { reaper: Some(reaper) })
    }

    /// Lets `command` start in the group.
    fn take_in(&self, command: &mut Command) {
        if let Some(reaper) = &self.reaper {
            put_into(command, reaper.id());
        }
    }

    /// Ends the child and everything that it started.
    fn kill(&self, child: &mut Child) {
        if let Some(reaper) = &self.reaper {
            let mut group = Command::new("kill");
            // A process that cannot be killed has ended already; the wait below tells.
            let _ = group
                .args(["-KILL", "--", &format!("-{}", reaper.id())])
                .stderr(Stdio::null())
                .status();
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The pipe is still open, so the reaper has not killed any process.
        if let Some(reaper) = &mut self.reaper {
            let _ = reaper.kill();
            let _ = reaper.wait();
        }
    }
}

#[cfg(unix)]
fn put_into(command: &mut Command, group: u32) {
    std::os::unix::process::CommandExt::process_group(command, group.cast_signed());
}

#[cfg(not(unix))]
fn put_into(_: &mut Command, _: u32) {}

#[cfg(all(test, unix))]
mod tests {
    //! Blind to: a child that leaves its group.
    use super::*;
    use std::io::{BufRead, BufReader, Read};

    fn shell(script: &str, limit: Duration) -> (Ending, String) {
        let log = std::env::temp_dir().join(format!(
            "xtask-watchdog-{}-{}",
            std::process::id(),
            script.len()
        ));
        let outputs = Outputs::together(&log).expect("the log can be written");
        let ending =
            run(Command::new("sh").args(["-c", script]), outputs, limit).expect("a shell starts");
        let text = std::fs::read_to_string(&log).expect("the log can be read");
        std::fs::remove_file(&log).expect("the log can be removed");
        (ending, text)
    }

    #[test]
    fn both_streams_arrive_in_order_with_the_status() {
        let (ending, text) =
            shell("echo one; echo two >&2; echo three; exit 3", Duration::from_secs(60));
        assert_eq!(text, "one\ntwo\nthree\n");
        assert!(
            matches!(ending, Ending::Exited(status) if status.code() == Some(3))
                && !ending.is_success()
        );
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_what_it_started() {
        let start = Instant::now();
        // The shell waits for the sleeper, so both must go for this to return soon.
        let (ending, text) =
            shell("echo before; sleep 600 & wait; echo after", Duration::from_millis(200));
        assert_eq!((ending, text.as_str()), (Ending::Killed, "before\n"));
        assert!(start.elapsed() < Duration::from_secs(300));
    }

    /// Catches: a command that runs on when this program is interrupted, or killed.
    #[test]
    fn a_command_ends_with_the_program_that_watches_it() {
        let name = "rayon::watchdog::tests::a_command_ends_with_the_program_that_watches_it";
        if let Some(fifo) = std::env::var_os("XTASK_TEST_FIFO") {
            // Both hold the pipe open until they end, and one that lives on says so.
            let script = format!(
                "exec 3>'{}'; echo begun >&3; (sleep 600; echo over >&3) & wait",
                fifo.display()
            );
            let outputs =
                Outputs::together(Path::new("/dev/null")).expect("nothing can be written");
            let _ =
                run(Command::new("sh").args(["-c", &script]), outputs, Duration::from_secs(600));
            return;
        }
        for signal in ["-TERM", "-KILL"] {
            let fifo =
                std::env::temp_dir().join(format!("xtask-watchdog-{}{signal}", std::process::id()));
            let made = Command::new("mkfifo").arg(&fifo).status().expect("mkfifo starts");
            assert!(made.success());
            let mut watching =
                Command::new(std::env::current_exe().expect("this program has a path"));
            watching.args([name, "--exact"]).env("XTASK_TEST_FIFO", &fifo).stdout(Stdio::null());
            let mut watching = watching.spawn().expect("this program starts");
            let mut held = BufReader::new(File::open(&fifo).expect("the command opens its end"));
            let mut line = String::new();
            held.read_line(&mut line).expect("the command writes");
            assert_eq!(line, "begun\n");
            let sent = Command::new("kill").args([signal, &watching.id().to_string()]).status();
            assert!(sent.expect("kill starts").success());
            watching.wait().expect("it ends");
            let rest = held
                .read_to_end(&mut Vec::new())
                .expect("the pipe ends with the last of its holders");
            assert_eq!(rest, 0);
            std::fs::remove_file(&fifo).expect("the pipe can be removed");
        }
    }
}
