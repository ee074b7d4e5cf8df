//! The processes of a command: itself, and whatever descends from it.

use std::collections::HashMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::ops::Range;

/// `root` and all processes that descend from it now, `root` first. Those whose parent has ended
/// are not found.
///
/// # Cost
///
/// Reads a small file for every process of the machine, about 10 µs each. The lists of children
/// that the kernel keeps for each thread would be less to read, but who waits for a process that
/// ends had to wait up to 0.8 s longer on Linux 6.18 where they had been read: it computes in
/// `waitpid` until what is kept of the threads' folders is gone.
pub(crate) fn descendants(root: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in all() {
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(children.remove(&pid).unwrap_or_default());
        next += 1;
    }
    found
}

/// Processes whose environment says `mark`: descendants that nothing else leads to any more. Those
/// of other users are not found.
pub(crate) fn marked(mark: &[u8]) -> Vec<u32> {
    let mut room = room();
    all().filter(|pid| has_mark(*pid, mark, &mut room)).collect()
}

/// Whether a process is `root`, or was started by it or its descendants, as far as can be seen.
pub(crate) fn belongs(pid: u32, root: u32, mark: &[u8]) -> bool {
    pid == root || has_mark(pid, mark, &mut room()) || descendants(root).contains(&pid)
}

/// Every read of another process's environment costs as much as opening it: with room for nearly
/// all it takes two.
fn room() -> Vec<u8> {
    Vec::with_capacity(32 << 10)
}

fn has_mark(pid: u32, mark: &[u8], room: &mut Vec<u8>) -> bool {
    room.clear();
    let read =
        fs::File::open(format!("/proc/{pid}/environ")).and_then(|mut file| file.read_to_end(room));
    read.is_ok() && room.split(|&byte| byte == 0).any(|variable| variable == mark)
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Seconds of processor time that these processes have used, and those of their children that have
/// ended and were waited for. In steps of a hundredth.
///
/// # Cost
///
/// About 10 µs a process.
pub(crate) fn processor_time(pids: &[u32]) -> f64 {
    let ticks: u64 = pids.iter().filter_map(|pid| fields(*pid, TIMES)).flatten().sum();
    ticks as f64 / TICKS_A_SECOND as f64
}

/// When a thread began, from when until when at the latest, in nanoseconds since the machine did;
/// `None` if it has ended, or the system does not tell.
pub(crate) fn start_of(thread: u32) -> Option<(u64, u64)> {
    const TICK_NS: u64 = 1_000_000_000 / TICKS_A_SECOND;
    let from = began(thread)?.saturating_mul(TICK_NS);
    Some((from, from.saturating_add(TICK_NS)))
}

fn parent_of(pid: u32) -> Option<u32> {
    fields(pid, PARENT)?.pop()?.try_into().ok()
}

/// When a process or thread of this number began; `None` if there is none.
pub(crate) fn began(number: u32) -> Option<u64> {
    fields(number, BEGAN)?.pop()
}

/// Numbers in `/proc/PID/stat`, counted behind the name: the parent; the time in the program, in
/// the kernel, and both of children; the start.
const PARENT: Range<usize> = 1..2;
const TIMES: Range<usize> = 11..15;
const BEGAN: Range<usize> = 19..20;

/// The kernel counts so for programs, whatever its own clock is.
const TICKS_A_SECOND: u64 = 100;

fn fields(pid: u32, which: Range<usize>) -> Option<Vec<u64>> {
    let mut text = [0; 512];
    let length = fs::File::open(format!("/proc/{pid}/stat"))
        .and_then(|mut file| read_once(&mut file, &mut text))
        .ok()?;
    // The name is in parentheses and may contain anything.
    let end = text[..length].iter().rposition(|&byte| byte == b')')?;
    let words = std::str::from_utf8(&text[end + 1..length]).ok()?.split_ascii_whitespace();
    words.skip(which.start).take(which.len()).map(|word| word.parse().ok()).collect()
}

fn read_once(file: &mut fs::File, into: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match file.read(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    //! What they would miss: processes that come and go meanwhile.
    use super::*;
    use std::process::{Child, Command, Stdio};
    use std::sync::mpsc;
    use std::thread;

    /// Would miss: a child's time that is lost when it ends, and fields that are another's.
    #[test]
    fn processor_time_grows_with_what_is_done_and_keeps_what_children_did() {
        let own = [std::process::id()];
        let before = processor_time(&own);
        let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", busy]).status().expect("a shell").success());
        let after = processor_time(&own);
        assert!(after > before && after - before < 600.0, "{before} {after}");
        assert_eq!(processor_time(&[]), 0.0);
    }

    /// A shell that ends when its input does, and has a child that runs; both with this mark, which
    /// nobody else has.
    fn shell_with_a_cat(mark: &str) -> Child {
        let mut shell = Command::new("sh")
            .args(["-c", "cat; :"])
            .env("SINEW_TEST_MARK", mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        // The cat answers when it runs, so it is a child of the shell by then.
        std::io::Write::write_all(shell.stdin.as_mut().unwrap(), b"!").unwrap();
        shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        shell
    }

    /// Would miss: names with odd characters, which `rposition` is for.
    #[test]
    fn children_are_found_by_descent_and_by_mark() {
        let mut shell = shell_with_a_cat("x y");
        let own = descendants(std::process::id());
        assert!(own[0] == std::process::id() && own.contains(&shell.id()), "{own:?}");
        assert_eq!(descendants(shell.id()).len(), 2, "the shell and its cat");
        assert_eq!(marked(b"SINEW_TEST_MARK=x y").len(), 2);
        assert!(marked(b"SINEW_TEST_MARK=x").is_empty());
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }

    /// Would miss: a child that another thread than the first has started, and a grandchild of it.
    #[test]
    fn children_of_every_thread_are_found() {
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let starter = thread::spawn(move || {
            let mut shell = shell_with_a_cat("a thread's");
            tell.send(shell.id()).unwrap();
            let _ = ended.recv();
            drop(shell.stdin.take());
            shell.wait().unwrap();
        });
        let shell = told.recv().unwrap();
        let (own, theirs) = (descendants(std::process::id()), descendants(shell));
        assert_eq!(theirs.len(), 2);
        assert!(theirs.iter().all(|pid| own.contains(pid)), "{theirs:?} of {own:?}");
        drop(end);
        starter.join().unwrap();
    }
}
