//! The processes of a command: itself, and all its descendants.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::time::{Duration, Instant};

/// `root` and all processes that descend from it now, `root` first. Descendants whose parent has
/// ended are not found.
///
/// # Cost
///
/// Reads a small file for every process of the machine, about 10 µs each. The kernel's lists of
/// children for each thread would be less to read. But on Linux 6.18, reading them made `waitpid`
/// for an ending process take up to 0.8 s longer: the kernel then removes its cached entries of the
/// threads' folders.
pub(crate) fn descendants(root: u32) -> Vec<u32> {
    Parents::default().descendants(root)
}

/// The parents of all processes, as far as they were read lately.
#[derive(Debug, Default)]
pub(crate) struct Parents {
    known: HashMap<u32, u32>,
    /// The time at which all were read.
    read: Option<Instant>,
}

/// For this long a parent that was read counts as valid. The process's number is not used again so
/// soon. If its parent has ended, it is still a descendant of that parent.
const CACHED_FOR: Duration = Duration::from_millis(50);

impl Parents {
    /// As [`descendants`]. Soon after another search, it only reads new processes.
    pub(crate) fn descendants(&mut self, root: u32) -> Vec<u32> {
        if self.read.is_none_or(|read| read.elapsed() > CACHED_FOR) {
            self.known.clear();
            self.read = Some(Instant::now());
        }
        let parent = |pid| Some((pid, self.known.get(&pid).copied().or_else(|| parent_of(pid))?));
        let known: HashMap<u32, u32> = all_processes().filter_map(parent).collect();
        self.known = known;
        family_of(root, &self.known)
    }
}

/// `root` and all processes that descend from it.
fn family_of(root: u32, parents: &HashMap<u32, u32>) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for (pid, parent) in parents {
        children.entry(*parent).or_default().push(*pid);
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(children.remove(&pid).unwrap_or_default());
        next += 1;
    }
    found
}

/// Processes with `mark` in their environment. It finds descendants whose parents have ended, but
/// no processes of other users.
pub(crate) fn marked(mark: &[u8]) -> Vec<u32> {
    let mut buffer = buffer();
    all_processes()
        .filter(|&pid| environment(pid, mark, &mut buffer) == Environment::Marked)
        .collect()
}

/// Whether a process is `root`, or was started by it or its descendants, as far as the system
/// tells.
pub(crate) fn belongs(pid: u32, root: u32, mark: &[u8]) -> bool {
    let is_marked = || environment(pid, mark, &mut buffer()) == Environment::Marked;
    pid == root || is_marked() || descendants(root).contains(&pid)
}

/// A buffer for nearly all environments: then two reads are enough. Each read of another process's
/// environment costs as much as opening it.
fn buffer() -> Vec<u8> {
    Vec::with_capacity(32 << 10)
}

/// The mark in a process's environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Environment {
    Marked,
    /// The mark is absent: the process is none of the command's, and starts none.
    Other,
    /// The environment is empty, as that of a process that is about to become another program, or
    /// the system does not tell.
    Unknown,
}

fn environment(pid: u32, mark: &[u8], buffer: &mut Vec<u8>) -> Environment {
    buffer.clear();
    let read = fs::File::open(format!("/proc/{pid}/environ"))
        .and_then(|mut file| file.read_to_end(buffer));
    match read {
        Err(_) | Ok(0) => Environment::Unknown,
        Ok(_) if buffer.split(|&byte| byte == 0).any(|variable| variable == mark) => {
            Environment::Marked
        }
        Ok(_) => Environment::Other,
    }
}

/// Searches repeatedly for a process with the mark.
///
/// # Cost
///
/// Reads a small file for every process of the machine, about 10 µs each. After a search that found
/// none, only processes that it could not decide are read. After a search that found a process,
/// only that process is read, as long as it is alive.
#[derive(Debug)]
pub(crate) struct MarkSearch<'m> {
    mark: &'m [u8],
    /// The process that the last search found.
    found: Option<u32>,
    /// Processes without the mark, since a process was last found. Their numbers are not used again
    /// between two searches, a quarter of a second apart.
    others: HashSet<u32>,
}

impl<'m> MarkSearch<'m> {
    pub(crate) fn new(mark: &'m [u8]) -> Self {
        Self { mark, found: None, others: HashSet::new() }
    }

    /// Whether a process with the mark exists.
    pub(crate) fn find(&mut self) -> bool {
        let mut buffer = buffer();
        let mut says = |pid| environment(pid, self.mark, &mut buffer);
        if self.found.is_none_or(|pid| says(pid) != Environment::Marked) {
            self.found = None;
            for pid in all_processes() {
                if self.others.contains(&pid) {
                    continue;
                }
                match says(pid) {
                    Environment::Marked => {
                        self.found = Some(pid);
                        break;
                    }
                    Environment::Other => drop(self.others.insert(pid)),
                    Environment::Unknown => {}
                }
            }
        }
        if self.found.is_some() {
            self.others.clear();
        }
        self.found.is_some()
    }
}

pub(crate) fn all_processes() -> impl Iterator<Item = u32> {
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

/// The earliest and latest start time of a thread, in nanoseconds since the machine started. `None`
/// if the thread has ended, or the system does not tell.
pub(crate) fn start_of(thread: u32) -> Option<(u64, u64)> {
    const TICK_NS: u64 = 1_000_000_000 / TICKS_A_SECOND;
    let from = start_ticks(thread)?.saturating_mul(TICK_NS);
    Some((from, from.saturating_add(TICK_NS)))
}

fn parent_of(pid: u32) -> Option<u32> {
    fields(pid, PARENT)?.pop()?.try_into().ok()
}

/// The start time of the process or thread of this number, in the kernel's ticks; `None` if it does
/// not exist.
pub(crate) fn start_ticks(number: u32) -> Option<u64> {
    fields(number, START)?.pop()
}

/// Fields of `/proc/PID/stat`, counted after the name: the parent; the processor time in the
/// program, in the kernel, and both of children; the number of threads; the start.
const PARENT: Range<usize> = 1..2;
const TIMES: Range<usize> = 11..15;
const THREADS: usize = 17;
const START: Range<usize> = 19..20;

/// The unit in which the kernel reports times to programs, whatever its own clock is.
const TICKS_A_SECOND: u64 = 100;

/// A process, as the system shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub(crate) pid: u32,
    pub(crate) threads: u64,
    pub(crate) start_ticks: u64,
}

/// This process, as `/proc` shows it.
pub(crate) fn own_stat() -> io::Result<ProcessStat> {
    let mut text = [0; 512];
    let text = stat("self", &mut text)?;
    let pid = text.split(|&byte| byte == b' ').next().unwrap_or_default();
    let pid = std::str::from_utf8(pid).ok().and_then(|pid| pid.parse().ok());
    let numbers = numbers(text, THREADS..START.end);
    let (Some(pid), Some([threads, _, start_ticks])) = (pid, numbers.as_deref()) else {
        return Err(ErrorKind::InvalidData.into());
    };
    Ok(ProcessStat { pid, threads: *threads, start_ticks: *start_ticks })
}

fn fields(pid: u32, which: Range<usize>) -> Option<Vec<u64>> {
    numbers(stat(&pid.to_string(), &mut [0; 512]).ok()?, which)
}

/// The beginning of `/proc/PROCESS/stat`, with all fields that are read here.
fn stat<'t>(process: &str, buffer: &'t mut [u8]) -> io::Result<&'t [u8]> {
    let mut file = fs::File::open(format!("/proc/{process}/stat"))?;
    let length = read_once(&mut file, buffer)?;
    Ok(&buffer[..length])
}

fn numbers(stat: &[u8], which: Range<usize>) -> Option<Vec<u64>> {
    // The name is in parentheses and may contain anything.
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let words = std::str::from_utf8(&stat[end + 1..]).ok()?.split_ascii_whitespace();
    words.skip(which.start).take(which.len()).map(|word| word.parse().ok()).collect()
}

fn read_once(file: &mut fs::File, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: processes that start and end meanwhile.
    use super::*;
    use std::process::{Child, Command, Stdio};
    use std::sync::mpsc;
    use std::thread;

    /// Catches: a child's time that is lost when it ends, and fields that are read at wrong
    /// positions.
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

    /// A shell that ends when its input does, and has a running child. Both have this mark, which
    /// no other process has.
    fn shell_with_a_cat(mark: &str) -> Child {
        let mut shell = Command::new("sh")
            .args(["-c", "cat; :"])
            .env("SINEW_TEST_MARK", mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        // The cat replies once it runs, so it is a child of the shell by then.
        std::io::Write::write_all(shell.stdin.as_mut().unwrap(), b"!").unwrap();
        shell.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        shell
    }

    /// Catches: a name with spaces or parentheses that shifts the fields, and a mark that is
    /// matched in part.
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

    /// Catches: a second search that reads everything again, one that misses a new process, and one
    /// that uses an old parent.
    #[test]
    fn a_look_soon_after_another_reads_only_who_is_new() {
        let own = std::process::id();
        let mut parents = Parents::default();
        let first = parents.descendants(own);
        let mut shell = shell_with_a_cat("looked for");
        assert!(!first.contains(&shell.id()) && parents.descendants(own).contains(&shell.id()));
        parents.known.insert(shell.id(), 0);
        parents.read = Some(Instant::now());
        let soon = parents.descendants(own).contains(&shell.id());
        // A busy machine may take longer.
        assert!(!soon || parents.read.is_some_and(|read| read.elapsed() > CACHED_FOR));
        parents.known.insert(shell.id(), 0);
        parents.read = Instant::now().checked_sub(2 * CACHED_FOR);
        assert!(parents.descendants(own).contains(&shell.id()));
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }

    /// Catches: a search that reads known processes again, and one that misses a process that is
    /// new or about to become another program.
    #[test]
    fn a_search_finds_who_comes_and_asks_once_who_is_none_of_them() {
        let mark = b"SINEW_TEST_MARK=searched";
        let mut search = MarkSearch::new(mark);
        assert!(!search.find() && search.others.contains(&std::process::id()));
        // Kernel threads have no environment.
        let empty = |pid: &u32| environment(*pid, mark, &mut buffer()) == Environment::Unknown;
        assert!(!search.others.iter().any(empty));
        search.others.insert(0);
        let mut shell = shell_with_a_cat("searched");
        assert!(search.find() && search.others.is_empty());
        let found = search.found;
        assert!(search.find() && search.found == found && search.others.is_empty());
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert!(!search.find() && !search.others.is_empty());
        // The second search reads no known process.
        let known = search.others.clone();
        assert!(!search.find() && known.is_subset(&search.others));
    }

    /// Catches: a child that another thread than the first has started, and its own child, that are
    /// missed.
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
