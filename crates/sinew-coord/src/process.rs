//! Whether a process is alive, and whether it is stopped: by `/proc`, so on Linux only.
//!
//! The system may refuse to tell (no descriptors left, no `/proc`). A refusal does not prove that a
//! process has ended: such a process counts as running, and the next program that can look finds
//! out.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::error::Error;
use crate::sys;

/// A process, distinct from later processes of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessId {
    /// The process number.
    pub pid: u32,
    /// The start time, in the kernel's ticks since the machine started.
    pub started: u64,
}

impl ProcessId {
    /// The calling process. Its start time is 0 if the system does not tell it.
    pub fn current() -> Self {
        Self::find_current().unwrap_or(Self { pid: std::process::id(), started: 0 })
    }

    /// The calling process, or the reason why it cannot be told from a later process of its number.
    ///
    /// `/proc` may show another namespace's processes (`unshare -pf` without `--mount-proc`). Then
    /// its numbers are those of other processes, and so is every number in the table.
    pub(crate) fn find_current() -> Result<Self, Error> {
        let pid = std::process::id();
        let fail = |error| Error::system("read", Path::new("/proc/self/stat"), error);
        let text = stat("self").map_err(fail)?;
        if number_in(&text) != Some(pid) {
            let why = "it shows another namespace's processes: mount one (unshare --mount-proc)";
            let (place, why) = (Path::new("/proc"), io::Error::other(why));
            return Err(Error::system("find this process in", place, why));
        }
        Ok(Self { pid, started: start_in(&text).map_err(fail)? })
    }

    /// The process of this number, if it exists.
    pub fn of(pid: u32) -> Option<Self> {
        Self::find(pid).ok()
    }

    /// The process of this number.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`] if no such process exists; [`Error::System`] if the system does not tell.
    pub fn find(pid: u32) -> Result<Self, Error> {
        if has_ended(pid) {
            return Err(Error::Gone);
        }
        match start_of(pid) {
            Ok(started) => Ok(Self { pid, started }),
            Err(_) if has_ended(pid) => Err(Error::Gone),
            Err(error) => {
                Err(Error::system("read", Path::new(&format!("/proc/{pid}/stat")), error))
            }
        }
    }

    /// Whether the process is alive. A process that has ended is not, even if its parent has not
    /// waited for it yet.
    ///
    /// # Cost
    ///
    /// Some 15 µs.
    pub fn is_alive(&self) -> bool {
        !has_ended(self.pid) && start_of(self.pid).map_or(true, |started| started == self.started)
    }

    /// Whether the process is stopped, for example by SIGSTOP or a debugger.
    ///
    /// # Cost
    ///
    /// Some 15 µs.
    pub fn is_stopped(&self) -> bool {
        field(self.pid, STATE).is_ok_and(|state| state == "T" || state == "t")
    }
}

fn has_ended(pid: u32) -> bool {
    match sys::PidFd::open(pid) {
        Ok(process) => process.has_ended(),
        Err(error) => error.kind() == ErrorKind::NotFound || !sys::exists(pid),
    }
}

/// Fields of `/proc/PID/stat`, counted after the name: the state and the start time.
const STATE: usize = 0;
const START: usize = 19;

fn start_of(pid: u32) -> io::Result<u64> {
    start_in(&stat(&pid.to_string())?)
}

fn field(pid: u32, index: usize) -> io::Result<String> {
    after_name(&stat(&pid.to_string())?, index).ok_or_else(|| ErrorKind::InvalidData.into())
}

/// The beginning of `/proc/PROCESS/stat`, with all fields that are read here.
fn stat(process: &str) -> io::Result<Vec<u8>> {
    // The fields up to the start time are far shorter, and the kernel returns all of them in one
    // read.
    let mut room = vec![0; 1024];
    let length = File::open(format!("/proc/{process}/stat"))?.read(&mut room)?;
    room.truncate(length);
    Ok(room)
}

/// The process's number, the first field.
fn number_in(stat: &[u8]) -> Option<u32> {
    std::str::from_utf8(stat.split(|&byte| byte == b' ').next()?).ok()?.parse().ok()
}

fn start_in(stat: &[u8]) -> io::Result<u64> {
    let start = after_name(stat, START).and_then(|field| field.parse().ok());
    start.ok_or_else(|| ErrorKind::InvalidData.into())
}

fn after_name(text: &[u8], index: usize) -> Option<String> {
    // The name may contain parentheses, spaces, and bytes that are not UTF-8.
    let end = text.iter().rposition(|&byte| byte == b')')?;
    let after_name = std::str::from_utf8(&text[end + 1..]).ok()?;
    after_name.split_ascii_whitespace().nth(index).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a process that is taken for another one, or a dead process for a living one.
    #[test]
    fn a_process_is_alive_until_it_has_ended() {
        let me = ProcessId::current();
        assert!(me.is_alive() && !me.is_stopped());
        assert!(!ProcessId { started: me.started + 1, ..me }.is_alive());
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let id = ProcessId::of(child.id()).unwrap();
        assert!(id.is_alive());
        let ended = sys::PidFd::open(id.pid).unwrap();
        child.kill().unwrap();
        sys::first_ready(&[&ended], None, -1);
        // Its parent has not waited for it yet.
        assert!(!id.is_alive() && ProcessId::of(id.pid).is_none());
        child.wait().unwrap();
        assert!(!id.is_alive());
    }

    /// Catches: a program that counts as dead because the system has cut its name in the middle of
    /// a character.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_is_alive_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        // The system keeps fifteen bytes.
        let shell = folder.path().join("fourteen-bytesé");
        std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
        let mut shell = std::process::Command::new(shell);
        shell.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = shell.args(["-c", "echo; read line; :"]).spawn().unwrap();
        // The shell runs under its name once it prints.
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let name = std::fs::read(format!("/proc/{}/comm", child.id())).unwrap();
        assert!(std::str::from_utf8(&name).is_err(), "{name:?}");
        assert!(ProcessId::of(child.id()).is_some_and(|id| id.is_alive()));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
