//! A process that is spoken to by lines, and that may hang or crash: every wait has a limit.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// A running process. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Process {
    /// Starts `command`.
    ///
    /// # Errors
    ///
    /// One line: it cannot be started.
    pub(crate) fn start(command: &mut Command) -> Result<Self, String> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().map_err(|error| {
            format!("cannot start {}: {error}", command.get_program().to_string_lossy())
        })?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = input.zip(output).ok_or("a process without input or output")?;
        Ok(Self { child, input, lines: lines_of(output) })
    }

    /// Sends a line, and waits for the reply at most `limit`.
    ///
    /// # Errors
    ///
    /// One line: it hangs, or has crashed.
    pub(crate) fn ask(&mut self, line: &str, limit: Duration) -> Result<String, String> {
        let sent = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
        if let Err(error) = sent {
            return Err(self.child.try_wait().ok().flatten().map_or_else(
                || format!("the process is gone: {error}"),
                |status| format!("crashed: {status}"),
            ));
        }
        self.line(limit)
    }

    /// Waits for a line.
    ///
    /// # Errors
    ///
    /// As [`ask`](Self::ask).
    pub(crate) fn line(&mut self, limit: Duration) -> Result<String, String> {
        self.lines.recv_timeout(limit).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                format!("hangs: no answer within {} s", limit.as_secs())
            }
            RecvTimeoutError::Disconnected => match self.child.wait() {
                Ok(status) => format!("crashed: {status}"),
                Err(error) => format!("crashed: {error}"),
            },
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Errors here mean that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines of `output` as they come. Read by a thread, since a pipe cannot be waited for with a
/// limit.
fn lines_of(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        Process::start(Command::new("sh").args(["-c", script])).expect("there is a shell")
    }

    /// Catches: a crash that is taken for a hang, or that is waited for until the limit.
    #[test]
    fn a_crash_is_told_from_a_hang() {
        let long = Duration::from_secs(60);
        let crashed = shell("read line; exit 3").ask("x", long).unwrap_err();
        assert!(crashed.starts_with("crashed") && crashed.contains('3'), "{crashed}");
        let mut silent = shell("while read line; do :; done");
        let hangs = silent.ask("x", Duration::from_millis(1)).unwrap_err();
        assert!(hangs.starts_with("hangs"), "{hangs}");
    }
}
