//! A shell with job control in a terminal of its own.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcgetpgrp, tcsetattr};

use super::{TIMEOUT, until};

/// The keys of a terminal that send signals, and the end of the input.
pub(crate) const STOP: &str = "\x1a";
pub(crate) const INTERRUPT: &str = "\x03";
pub(crate) const END: &str = "\x04";

/// A variable in the environment of all processes in the terminal.
const MARK: &str = "SINEW_TEST_TERMINAL";

/// A terminal, and the shell that runs a script in it.
pub(crate) struct Terminal {
    keys: Arc<File>,
    shell: Child,
    output: Receiver<Vec<u8>>,
    /// All output so far, and the length of the part that was waited for.
    printed: String,
    seen: usize,
    folder: tempfile::TempDir,
}

impl Terminal {
    /// Runs `script`. In it, `$RUN` stands in front of commands and expands to `prefix`.
    pub(crate) fn start(prefix: &str, script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (keys, screen) = pair();
        let streams = [0; 3].map(|_| Stdio::from(screen.try_clone().expect("a descriptor")));
        drop(screen);
        let [input, output, error] = streams;
        let mut command = Command::new("setsid");
        // Tests that run in the background of a shell have signals ignored.
        command
            .args(["-c", "env", "--default-signal", "sh", "-m", "-c", script])
            .stdin(input)
            .stdout(output)
            .stderr(error);
        command.env("RUN", prefix).env(MARK, folder.path()).env("FOLDER", folder.path());
        command.env("SINEW_TABLE_DIR", folder.path().join("table"));
        for name in ["SINEW_EXEC", "LD_PRELOAD", "ENV"] {
            command.env_remove(name);
        }
        let shell = command.spawn().expect("setsid and a shell");
        let output = read(Arc::downgrade(&keys));
        Self { keys, shell, output, printed: String::new(), seen: 0, folder }
    }

    /// Sends keys as if a user typed them.
    pub(crate) fn type_in(&mut self, keys: &str) {
        (&*self.keys).write_all(keys.as_bytes()).expect("a terminal");
    }

    /// Waits for a line of output that starts with `start`, and returns the rest of that line.
    pub(crate) fn line(&mut self, start: &str) -> String {
        let began = Instant::now();
        loop {
            while let Some(length) = self.printed[self.seen..].find('\n') {
                let line = self.printed[self.seen..self.seen + length].trim_end().to_owned();
                self.seen += length + 1;
                if let Some(rest) = line.strip_prefix(start) {
                    return rest.trim().to_owned();
                }
            }
            let is_there = self.receive(Duration::from_millis(100));
            assert!(is_there && began.elapsed() < TIMEOUT, "no `{start}` in {:?}", self.printed);
        }
    }

    /// The number in the line that starts with `number`.
    pub(crate) fn number(&mut self) -> u32 {
        self.line("number ").parse().expect("a number")
    }

    /// Whether a line was printed, even if it was waited for before.
    pub(crate) fn has(&mut self, line: &str) -> bool {
        while self.receive(Duration::ZERO) {
            if self.printed.lines().any(|printed| printed == line) {
                return true;
            }
        }
        false
    }

    /// Takes the next part of the output. Returns whether there may be more.
    fn receive(&mut self, time: Duration) -> bool {
        match self.output.recv_timeout(time) {
            Ok(part) => self.printed.push_str(&String::from_utf8_lossy(&part)),
            Err(RecvTimeoutError::Timeout) => return time > Duration::ZERO,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        true
    }

    /// The process group that reads the terminal and gets its keys' signals.
    pub(crate) fn foreground(&self) -> u32 {
        tcgetpgrp(&*self.keys).map_or(0, |group| group.as_raw_nonzero().get().cast_unsigned())
    }

    pub(crate) fn shell(&self) -> u32 {
        self.shell.id()
    }

    /// Takes the terminal away from the processes that run in it.
    pub(crate) fn hang_up(mut self) {
        // The terminal ends when the reader has seen that this was the last one.
        self.keys = Arc::new(File::open("/dev/null").expect("a file"));
        let _ = self.shell.wait();
        self.nothing_is_left();
    }

    /// Waits for the end of the script and of all processes that it has started. Returns the
    /// output, except for process numbers.
    pub(crate) fn end(mut self) -> String {
        while self.receive(TIMEOUT) {}
        self.shell.wait().expect("the shell's end");
        self.nothing_is_left();
        let lines = self.printed.lines().filter(|line| !line.starts_with("number "));
        lines.map(|line| format!("{line}\n")).collect()
    }

    fn nothing_is_left(&self) {
        until("nothing left in the terminal", || self.members().is_empty());
    }

    /// The processes that were started in the terminal, whatever session they are in now.
    pub(crate) fn members(&self) -> Vec<u32> {
        let mark = format!("{MARK}={}", self.folder.path().display());
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_marked = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
        };
        numbers.filter(is_marked).collect()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        for pid in self.members() {
            let _ = Command::new("kill").args(["-s", "KILL", &pid.to_string()]).status();
        }
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// A terminal's two sides: the user's and the programs'. It does not echo, and loses no output when
/// a key sends a signal.
fn pair() -> (Arc<File>, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let keys = openpt(flags).expect("a pseudo-terminal");
    grantpt(&keys).and_then(|()| unlockpt(&keys)).expect("a pseudo-terminal");
    let screen = ioctl_tiocgptpeer(&keys, flags).expect("its other side");
    let mut modes = tcgetattr(&screen).expect("modes");
    modes.local_modes &= !LocalModes::ECHO;
    modes.local_modes |= LocalModes::NOFLSH;
    tcsetattr(&screen, OptionalActions::Now, &modes).expect("modes");
    (Arc::new(File::from(keys)), screen)
}

/// Reads the output until the last program has closed the terminal, or the user's side is closed.
fn read(output: Weak<File>) -> Receiver<Vec<u8>> {
    let (tell, told) = mpsc::channel();
    let step = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
    thread::spawn(move || {
        let mut part = [0; 4096];
        while let Some(file) = output.upgrade() {
            if poll(&mut [PollFd::new(&*file, PollFlags::IN)], Some(&step)) != Ok(1) {
                continue;
            }
            match (&*file).read(&mut part) {
                Ok(length @ 1..) if tell.send(part[..length].to_vec()).is_ok() => {}
                _ => return,
            }
        }
    });
    told
}
