//! A process that is spoken to by lines: programs that are measured beside others run in one each.
//!
//! It reads its standard input and writes its standard output, line by line. Standard error is the
//! caller's.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The process. Dropping it ends it at once.
#[derive(Debug)]
pub struct Spoken {
    name: String,
    child: Child,
    /// `None` once it has been closed.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Spoken {
    /// Starts `command`; complaints call it `name`.
    ///
    /// # Errors
    ///
    /// One line: the process cannot be started.
    pub fn start(name: &str, command: &mut Command) -> Result<Self, String> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or_else(|| format!("{name} has no output"))?;
        Ok(Self { name: name.to_owned(), child, input, output: BufReader::new(output) })
    }

    /// Says a line.
    ///
    /// # Errors
    ///
    /// An error of one line: the reader has gone.
    pub fn say(&mut self, line: impl fmt::Display) -> Result<(), String> {
        let Self { name, input, .. } = self;
        let input = input.as_mut().ok_or_else(|| format!("{name} has no input"))?;
        let said = input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush());
        said.map_err(|error| format!("{name} does not listen: {error}"))
    }

    /// Waits for a line, and returns it without its end.
    ///
    /// # Errors
    ///
    /// One line: the process has ended.
    ///
    /// # Blocking
    ///
    /// As said.
    pub fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err(format!("{} has ended without an answer", self.name)),
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(error) => Err(format!("{} cannot be heard: {error}", self.name)),
        }
    }

    /// Sends a line and waits for the answer.
    ///
    /// # Errors
    ///
    /// As [`say`](Self::say) and [`line`](Self::line).
    pub fn ask(&mut self, line: impl fmt::Display) -> Result<String, String> {
        self.say(line)?;
        self.line()
    }

    /// Closes its input, which ends it, and waits for that.
    ///
    /// # Errors
    ///
    /// One line: the process has failed.
    pub fn end(mut self) -> Result<(), String> {
        drop(self.input.take());
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{} has ended badly: {status}", self.name)),
            Err(error) => Err(format!("{} cannot be waited for: {error}", self.name)),
        }
    }

    /// Kills the process.
    pub fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
    }
}

impl Drop for Spoken {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Spoken {
        Spoken::start("the shell", Command::new("sh").args(["-c", script])).unwrap()
    }

    /// Catches: lines that are joined or cut, and an end that is read as a line.
    #[test]
    fn lines_are_answered_by_lines_until_the_process_ends() {
        let mut twice = shell("while read line; do echo \"$line $line\"; done");
        assert_eq!(
            (twice.ask(1), twice.ask("two")),
            (Ok("1 1".to_owned()), Ok("two two".to_owned()))
        );
        assert_eq!(twice.end(), Ok(()));
        let mut silent = shell("exit 3");
        assert!(silent.line().unwrap_err().starts_with("the shell has ended without"));
        assert!(silent.end().unwrap_err().contains('3'));
        let refused = Spoken::start("nothing", &mut Command::new("/no/such/program")).unwrap_err();
        assert!(
            refused.starts_with("cannot start nothing") && !refused.contains('\n'),
            "{refused}"
        );
    }
}
