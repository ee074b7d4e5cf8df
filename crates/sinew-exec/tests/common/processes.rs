//! Processes as the system describes them, and waits with a time limit.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The longest wait of a test. A hang is a failure; a slow machine is none.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(180);

/// Runs a command without input to its end.
pub(crate) fn end(command: &mut Command) -> Output {
    command.env_remove("SINEW_EXEC").env_remove("LD_PRELOAD");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    output_of(child.expect("the command starts"), &format!("{command:?}"))
}

/// The output of a process that was begun with pipes.
pub(crate) fn output_of(child: Child, what: &str) -> Output {
    let pid = child.id().to_string();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(child.wait_with_output().expect("its output")));
    told.recv_timeout(TIMEOUT).unwrap_or_else(|_| {
        let _ = Command::new("kill").args(["-s", "KILL", &pid]).status();
        panic!("never ends: {what}");
    })
}

/// Waits until `what` holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < TIMEOUT, "never: {what}");
        thread::park_timeout(Duration::from_millis(1));
    }
}

/// A process's mask as the kernel writes it.
pub(crate) fn mask_of(pid: u32) -> Option<String> {
    status_line(Path::new(&format!("/proc/{pid}/status")), "Cpus_allowed_list:")
}

/// The masks of all threads of a process.
pub(crate) fn masks_of(pid: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| status_line(&thread.path().join("status"), "Cpus_allowed_list:"))
        .collect()
}

pub(crate) fn status_line(path: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned())
}

/// The share agent and the watchdog of a command: processes of its name in sessions of their own,
/// the share agent a child of the watchdog.
pub(crate) fn helpers_of(child: &Child) -> Option<(u32, u32)> {
    let environment = fs::read(format!("/proc/{}/environ", child.id())).ok()?;
    let variable = environment
        .split(|&byte| byte == 0)
        .find_map(|variable| variable.strip_prefix(b"SINEW_EXEC="))?;
    let watchdog: u32 = std::str::from_utf8(variable).ok()?.split(' ').next()?.parse().ok()?;
    let of = |pid: u32| {
        status_line(Path::new(&format!("/proc/{pid}/status")), "PPid:")?.parse::<u32>().ok()
    };
    let all = fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let agent = all.into_iter().find(|pid| of(*pid) == Some(watchdog))?;
    Some((agent, watchdog))
}

/// A process and its children.
pub(crate) fn family_of(pid: u32) -> Vec<u32> {
    let children = Command::new("pgrep").args(["-P", &pid.to_string()]).output().expect("pgrep");
    let children = String::from_utf8_lossy(&children.stdout)
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect::<Vec<u32>>();
    std::iter::once(pid).chain(children).collect()
}

/// Whether a process is stopped.
pub(crate) fn is_stopped(pid: u32) -> bool {
    let state = status_line(Path::new(&format!("/proc/{pid}/status")), "State:");
    state.is_some_and(|state| state.starts_with('T'))
}

/// Whether a process exists and has not ended.
pub(crate) fn runs(pid: u32) -> bool {
    status_line(Path::new(&format!("/proc/{pid}/status")), "State:")
        .is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// Sends a signal by its name.
pub(crate) fn kill(signal: &str, pid: u32) {
    let kill = Command::new("kill").args(["-s", signal, &pid.to_string()]).status();
    assert!(kill.expect("kill").success());
}

/// The first of these options with which `unshare` makes `what`. Prints a reason and returns `None`
/// if it cannot.
pub(crate) fn unshare<'a>(what: &str, options: &[&'a [&'a str]]) -> Option<&'a [&'a str]> {
    let is_allowed = |options: &&&[&str]| {
        let status =
            Command::new("unshare").args(**options).arg("true").stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let found = options.iter().find(is_allowed).copied();
    if found.is_none() {
        println!("skipped: {what} cannot be made here");
    }
    found
}
