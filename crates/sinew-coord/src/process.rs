//! Whether a process is there, and whether it is stopped.

use std::fs::{self, File};
use std::io::Read;

use crate::row::Who;
use crate::sys;

impl Who {
    /// The calling process.
    pub fn this() -> Self {
        let pid = std::process::id();
        Self { pid, started: start_of(pid).unwrap_or(0) }
    }

    /// The process of this number, if there is one.
    pub fn of(pid: u32) -> Option<Self> {
        start_of(pid).map(|started| Self { pid, started }).filter(|who| !has_ended(who.pid))
    }

    /// Whether the process is still there; one that has ended is not, though its parent may not have asked yet.
    ///
    /// # Cost
    ///
    /// Some 15 µs.
    pub fn is_there(&self) -> bool {
        !has_ended(self.pid) && start_of(self.pid) == Some(self.started)
    }

    /// Whether it is stopped, as by SIGSTOP or a debugger.
    ///
    /// # Cost
    ///
    /// Some 15 µs.
    pub fn is_stopped(&self) -> bool {
        field(self.pid, STATE).is_some_and(|state| state == "T" || state == "t")
    }
}

fn has_ended(pid: u32) -> bool {
    match sys::Process::open(pid) {
        Ok(process) => process.has_ended(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// In `/proc/PID/stat`, counted after the name: what it does, and when it began.
const STATE: usize = 0;
const START: usize = 19;

fn start_of(pid: u32) -> Option<u64> {
    field(pid, START)?.parse().ok()
}

fn field(pid: u32, index: usize) -> Option<String> {
    // The fields up to there are far shorter, and the kernel hands out all of them at once.
    let mut room = [0; 1024];
    let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut room).ok()?;
    // The name may contain anything: parentheses and spaces, and no text.
    let end = room[..length].iter().rposition(|&byte| byte == b')')?;
    let after_name = std::str::from_utf8(&room[end + 1..length]).ok()?;
    after_name.split_ascii_whitespace().nth(index).map(str::to_owned)
}

/// The threads of a process.
pub(crate) fn threads_of(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would miss: a process that is mistaken for another, or a dead one for a living.
    #[test]
    fn a_process_is_there_until_it_has_ended() {
        let me = Who::this();
        assert!(me.is_there() && !me.is_stopped());
        assert!(!Who { started: me.started + 1, ..me }.is_there());
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let who = Who::of(child.id()).unwrap();
        assert!(who.is_there());
        let process = sys::Process::open(who.pid).unwrap();
        child.kill().unwrap();
        sys::first_ready(&[&process], None, -1);
        // Nobody has waited for it yet.
        assert!(!who.is_there() && Who::of(who.pid).is_none());
        child.wait().unwrap();
        assert!(!who.is_there());
    }

    /// Would miss: a program whose name the system has cut in the middle of a letter, and that everybody takes for dead.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_is_there_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        // Fifteen bytes are kept.
        let shell = folder.path().join("fourteen-bytesé");
        std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
        let mut shell = std::process::Command::new(shell);
        shell.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = shell.args(["-c", "echo; read line; :"]).spawn().unwrap();
        // It runs under its name when it says something.
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let name = fs::read(format!("/proc/{}/comm", child.id())).unwrap();
        assert!(std::str::from_utf8(&name).is_err(), "{name:?}");
        assert!(Who::of(child.id()).is_some_and(|who| who.is_there()));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
