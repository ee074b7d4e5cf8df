//! Shared parts of the tests: pools, a watchdog, child processes.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

/// How long anything may take before it counts as hanging. Generous: the machine may be busy with
/// other tests.
const LIMIT: Duration = Duration::from_secs(120);

/// A pool of `threads` threads.
pub(crate) fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// A sum of joins.
pub(crate) fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon_core::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Needs more stack than threads have by default. Never part of a caller's frame, which may lie on
/// another thread.
#[inline(never)]
pub(crate) fn use_much_stack() {
    assert_eq!(std::hint::black_box([1u8; 4 << 20]).len(), 4 << 20);
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

/// The text with which `f` panics.
pub(crate) fn message_of<R>(f: impl FnOnce() -> R) -> &'static str {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => panic!("no panic"),
        Err(payload) => {
            payload.downcast_ref::<&'static str>().copied().expect("a payload that is a literal")
        }
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
    for variable in [
        "THREADS",
        "MAPPING",
        "WAIT",
        "VICTIMS",
        "FENCES",
        "SPIN_US",
        "STACK",
        "COORDINATE",
        "PROFILE",
    ] {
        command.env_remove(format!("SINEW_{variable}"));
    }
    command.env_remove("RAYON_NUM_THREADS").env_remove("RAYON_RS_NUM_CPUS");
    command
}

/// Runs `test` in a child process with `variables`, and asserts that it passes. Returns what the
/// child wrote, unless this is the child.
pub(crate) fn alone(name: &str, variables: &[(&str, &str)], test: impl FnOnce()) -> Option<Output> {
    if is_child() {
        test();
        return None;
    }
    let output = child(name).envs(variables.iter().copied()).output().unwrap();
    assert_passed(&output);
    Some(output)
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

/// Asserts that the child aborted, and wrote one line of ours to standard error, which contains
/// `part`.
pub(crate) fn assert_aborted(output: &Output, part: &str) {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{}", errors(output));
    }
    assert!(!output.status.success());
    assert_one_line(output, part);
}

/// Asserts that the child wrote one line of ours to standard error, and that it contains `part`.
pub(crate) fn assert_one_line(output: &Output, part: &str) {
    let text = errors(output);
    let ours: Vec<_> = text.lines().filter(|line| line.starts_with("sinew: ")).collect();
    assert!(ours.len() == 1 && ours[0].contains(part), "no single line with `{part}`: {text}");
}
