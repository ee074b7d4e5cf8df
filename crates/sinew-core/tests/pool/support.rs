//! Shared parts of the tests: pools, a watchdog, payloads, child processes.

use std::any::Any;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, mpsc};
use std::time::{Duration, Instant};

use sinew_core::{Fences, Pool, PoolBuilder, StackKind, Wait};
use sinew_loops::loops::{Options, for_each};
use sinew_topology::{CpuSet, ThreadRef};

/// How long anything may take before it counts as hanging. Generous: the machine may be busy with
/// other tests.
const LIMIT: Duration = Duration::from_secs(120);

/// A pool of `threads` workers.
pub(crate) fn pool(threads: usize) -> Pool {
    Pool::builder().threads(threads).build().unwrap()
}

/// A pool with a thread at each of its `threads` slots.
pub(crate) fn full_pool(threads: usize) -> Pool {
    Pool::builder().threads(threads).external_slot(false).build().unwrap()
}

/// A builder of a pool without external threads, whose threads say when they leave.
pub(crate) fn telling(threads: usize) -> (PoolBuilder, mpsc::Receiver<usize>) {
    let (exit, exits) = mpsc::channel();
    let exit = Mutex::new(exit);
    let hook = move |slot| exit.lock().unwrap().send(slot).unwrap();
    (Pool::builder().threads(threads).external_slot(false).on_exit(hook), exits)
}

/// The slots whose threads have left, once all have.
pub(crate) fn all_left(exits: &mpsc::Receiver<usize>) -> Vec<usize> {
    let mut slots: Vec<_> = exits.iter().collect();
    slots.sort_unstable();
    slots
}

/// Gives others the core for so many milliseconds.
pub(crate) fn linger(ms: u64) {
    let until = Instant::now() + Duration::from_millis(ms);
    while Instant::now() < until {
        std::thread::yield_now();
    }
}

/// The wait policies.
pub(crate) const WAITS: [Wait; 5] =
    [Wait::Leapfrog, Wait::Any, Wait::Descendants, Wait::Transitive, Wait::Block];

/// Task stacks, and the fences of their owners.
const STACKS: [(StackKind, Fences); 3] = [
    (StackKind::Split, Fences::Auto),
    (StackKind::Split, Fences::Full),
    (StackKind::TwoField, Fences::Auto),
];

/// Calls `test` with a pool of `threads` workers and no external threads for each way of waiting.
pub(crate) fn with_each_full_pool(threads: usize, test: impl Fn(&Pool)) {
    for wait in WAITS {
        test(&Pool::builder().threads(threads).external_slot(false).wait(wait).build().unwrap());
    }
}

/// Calls `test` with a pool of `threads` workers for each combination of stacks and waiting.
pub(crate) fn with_each_pool(threads: usize, test: impl Fn(&Pool)) {
    for (stack, fences) in STACKS {
        for wait in WAITS {
            let builder = Pool::builder().threads(threads).stack(stack).fences(fences).wait(wait);
            test(&builder.build().unwrap());
        }
    }
}

/// Runs `test` on a thread of its own. A test that hangs ends the process with its name instead of
/// hanging the whole run.
pub(crate) fn ends<R: Send + 'static>(test: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, result) = mpsc::channel();
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let thread = std::thread::spawn(move || done.send(test()).is_ok());
    match result.recv_timeout(LIMIT) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().unwrap_err())
        }
        Err(mpsc::RecvTimeoutError::Timeout) => hangs(&name),
    }
}

/// Calls `test` on this thread. It says before each of its cases which one it is. If a case hangs,
/// the process ends with these words instead of hanging the whole run.
pub(crate) fn watched<R>(test: impl FnOnce(&dyn Fn(&str)) -> R) -> R {
    let (begins, begun) = mpsc::channel::<String>();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            let mut case = String::new();
            loop {
                match begun.recv_timeout(LIMIT) {
                    Ok(next) => case = next,
                    Err(mpsc::RecvTimeoutError::Disconnected) => return,
                    Err(mpsc::RecvTimeoutError::Timeout) => hangs(&case),
                }
            }
        });
        test(&move |case| begins.send(case.to_owned()).expect("the watchdog listens"))
    })
}

fn hangs(name: &str) -> ! {
    // Past the harness, which would keep what it has captured to itself.
    let _ = writeln!(std::io::stderr(), "{name} hangs");
    std::process::abort();
}

/// A loop of so many items, and how many chunks it was claimed in.
pub(crate) fn chunks(
    pool: &Pool,
    items: usize,
    options: &Options<'_>,
    body: impl Fn(usize) + Sync,
) -> u64 {
    let before = pool.counters().chunks;
    let done = AtomicUsize::new(0);
    let ended = pool.run(|w| {
        for_each(w, 0..items, options, |item| {
            body(item);
            done.fetch_add(1, Ordering::Relaxed);
        })
    });
    assert_eq!((ended, done.into_inner()), (Ok(()), items));
    pool.counters().chunks - before
}

/// Counts one.
pub(crate) fn add(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::SeqCst);
}

/// Waits for the others at `barrier`.
pub(crate) fn meet(barrier: &Barrier) {
    barrier.wait();
}

/// The payload with which `f` panics.
pub(crate) fn payload_of<R>(f: impl FnOnce() -> R) -> Box<dyn Any + Send> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => panic!("no panic"),
        Err(payload) => payload,
    }
}

/// The text with which `f` panics.
pub(crate) fn message_of<R>(f: impl FnOnce() -> R) -> &'static str {
    payload_of(f).downcast_ref::<&'static str>().copied().expect("a payload that is a literal")
}

/// Counts how often its children are dropped.
#[derive(Debug, Default)]
pub(crate) struct Drops(AtomicUsize);

impl Drops {
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn child(&self) -> Dropped<'_> {
        Dropped(self)
    }
}

/// A value whose drop is counted.
#[derive(Debug)]
pub(crate) struct Dropped<'a>(&'a Drops);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A payload that panics when it is dropped.
pub(crate) struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a payload was dropped");
    }
}

/// Whether this process is the child that [`child`] started.
pub(crate) fn is_child() -> bool {
    std::env::var_os("SINEW_TEST_CHILD").is_some()
}

/// The test `name` (with its module) once more, alone in a process of its own, where [`is_child`]
/// is true.
pub(crate) fn child(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]).env("SINEW_TEST_CHILD", "1");
    command.stdin(Stdio::null());
    for variable in ["THREADS", "MAPPING", "WAIT", "VICTIMS", "FENCES", "SPIN_US"] {
        command.env_remove(format!("SINEW_{variable}"));
    }
    command
}

/// The standard error of a finished child.
pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts that the child passed, and that its test ran at all.
pub(crate) fn assert_passed(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{}", errors(output));
}

/// Asserts that the child aborted.
pub(crate) fn assert_aborted(output: &Output) {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{}", errors(output));
    }
    assert!(!output.status.success());
}

/// Asserts that the child wrote one line of ours to standard error, and that it contains `part`.
pub(crate) fn assert_one_line(output: &Output, part: &str) {
    let text = errors(output);
    let ours: Vec<_> = text.lines().filter(|line| line.starts_with("sinew: ")).collect();
    assert!(ours.len() == 1 && ours[0].contains(part), "no single line with `{part}`: {text}");
}

/// The calling thread's mask.
pub(crate) fn own_mask() -> CpuSet {
    ThreadRef::current().and_then(ThreadRef::affinity).unwrap()
}

/// Binds the calling thread to `cpu`, as a program does that knows nothing of the pool.
pub(crate) fn bind_to(cpu: usize) {
    let (me, mask) = (ThreadRef::current().unwrap(), own_mask());
    let mut wide = mask.clone();
    wide.insert(cpu);
    if wide != mask {
        me.restore_affinity(cpu, &wide);
    }
    for other in wide.iter().filter(|other| *other != cpu) {
        assert!(me.exclude_cpu(other, &own_mask()));
    }
    assert_eq!(own_mask(), CpuSet::from_iter([cpu]));
}
