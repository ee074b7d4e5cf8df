//! The command runs, with one line of warning that names the cause, whatever the system refuses.
//!
//! Blind to: limits that are reached only after the command has started.
#![cfg(target_os = "linux")]

mod common;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use common::{end, helpers_of, unshare, until};

/// Runs `echo ran` with a table of its own, from a shell that first does `setup`.
fn run(setup: &str) -> Output {
    run_words(setup, &["table", "/bin/echo", "ran"])
}

fn run_words(setup: &str, words: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{setup} && exec \"$@\""), "sh", common::EXEC]).args(words);
    end(shell.env("SINEW_TABLE_DIR", folder.path().join("table")))
}

fn warning_of(what: &str, output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && output.stdout == b"ran\n", "{what}: {output:?}");
    assert!(said.lines().count() <= 1, "{what}: {said}");
    said
}

/// Catches: a process that the system ends because it makes a file too long.
#[test]
fn a_small_limit_on_file_sizes_is_named_and_kills_nothing() {
    for limit in [0, 1, 8, 64, 140, 200] {
        let said = warning_of(&format!("{limit}"), &run(&format!("ulimit -f {limit}")));
        assert!(said.contains("ulimit -f"), "{limit}: {said}");
    }
}

/// Catches: a warning about a missing program, or about a process that ended, when descriptors are
/// too few.
#[test]
fn too_few_descriptors_are_named() {
    for limit in 4..24 {
        let said = warning_of(&format!("{limit}"), &run(&format!("ulimit -n {limit}")));
        assert!(said.is_empty() || said.contains("Too many open files"), "{limit}: {said}");
    }
}

/// Catches: a command that does not start with little memory.
#[test]
fn little_memory_is_no_reason_not_to_run() {
    for kilobytes in [6_000, 8_000, 10_000, 20_000] {
        warning_of(&format!("{kilobytes}"), &run(&format!("ulimit -v {kilobytes}")));
    }
}

/// Catches: a command that waits for ever for a share agent that hangs.
#[test]
fn an_agent_that_hangs_keeps_no_command_from_running() {
    let script = common::Script::new();
    // No process opens the other end of the pipe, so the share agent waits for it.
    let output = end(&mut script.command(&[], &common::words(&["/bin/echo", "ran"])));
    let said = warning_of("a pipe that no process opens", &output);
    assert!(said.contains("the share agent does not respond"), "{said}");
    // It ends when it finds that the command has begun, or ended, without it.
    script.let_go();
}

/// Catches: a crash with just enough memory for Rust's own runtime, and too little for the rest.
#[test]
fn a_command_runs_with_as_little_memory_as_the_runtime_begins_with() {
    let says_no_such_command = |kilobytes: &usize| {
        let output = run_words(&format!("ulimit -v {kilobytes}"), &["/dev/null", "/no/such"]);
        let said = String::from_utf8_lossy(&output.stderr);
        output.status.code() == Some(127) && said.contains("command not found")
    };
    let Some(least) = (1_000..200_000).step_by(100).find(says_no_such_command) else {
        panic!("no limit lets the runtime begin");
    };
    let mut warnings = 0;
    for kilobytes in (least..least + 1_000).step_by(8) {
        // Rust's runtime needs memory to print a backtrace.
        let setup = format!("export RUST_BACKTRACE=1; ulimit -v {kilobytes}");
        let said = warning_of(&format!("{kilobytes} kB"), &run(&setup));
        assert!(said.is_empty() || said.contains("the command runs without a share"), "{said}");
        warnings += usize::from(!said.is_empty());
    }
    assert!(warnings > 0, "somewhere there is too little for all of it");
}

/// A command prefix that runs as another user. Each limit gets a user of its own, so that no other
/// process counts for it. Prints a reason and returns `None` if this process may not become another
/// user.
fn another_user(user: u32) -> Option<Vec<String>> {
    let words = format!("setpriv --reuid {user} --regid {user} --clear-groups");
    let mut words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let mut probe = Command::new(&words[0]);
    probe.args(&words[1..]).args(["test", "-x", common::EXEC]).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        println!("skipped: no other user can run the programs of this build");
        return None;
    }
    words.push("prlimit".to_owned());
    Some(words)
}

/// Reads the bytes that a pipe holds now.
fn read_what_is_there(pipe: &ChildStderr, into: &mut [u8]) -> usize {
    // A second opening has flags of its own.
    let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let mut again = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).unwrap();
    again.read(into).unwrap_or(0)
}

/// The number of threads of a command's share agent.
fn threads_of_agent(child: &Child) -> usize {
    let agent = helpers_of(child).map(|(agent, _)| fs::read_dir(format!("/proc/{agent}/task")));
    agent.and_then(Result::ok).map_or(0, Iterator::count)
}

/// Catches: a command that is told that it has a share although its share agent could not start a
/// thread to follow it; and one that does not run, or waits, because the system has no process
/// left.
#[test]
fn too_few_processes_are_named_or_enough() {
    let mut enough = 0;
    for limit in 0..=16 {
        let user = 64_000 + limit;
        let Some(words) = another_user(user) else { return };
        let folder = tempfile::tempdir().unwrap();
        chown(folder.path(), Some(user), Some(user)).unwrap();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(format!("--nproc={limit}"));
        command.args([common::EXEC, "table", "cat"]).stderr(Stdio::piped());
        command.env("SINEW_TABLE_DIR", folder.path().join("table")).env_remove("SINEW_EXEC");
        command.env_remove("LD_PRELOAD").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"ran\n").unwrap();
        let mut line = [0; 4];
        child.stdout.as_mut().unwrap().read_exact(&mut line).expect("the command runs");
        // The warning is printed before the command runs.
        let mut said = vec![0; 1000];
        let length = read_what_is_there(child.stderr.as_ref().unwrap(), &mut said);
        let said = String::from_utf8_lossy(&said[..length]).into_owned();
        if said.is_empty() {
            // Its main thread, and two for the table.
            until(&format!("an agent at work, {limit}"), || threads_of_agent(&child) == 3);
            enough += 1;
        } else {
            let is_named = said.contains("Resource temporarily unavailable");
            assert!(said.lines().count() == 1 && is_named, "{limit}: {said}");
        }
        drop(input);
        assert!(child.wait().unwrap().success() && line == *b"ran\n", "{limit}");
    }
    assert!((1..17).contains(&enough), "{enough}");
}

/// Catches: a command that waits for a table which can be neither used nor replaced.
#[test]
fn attributes_of_the_table_keep_no_command_from_running() {
    let chattr = |attribute: &str, path: &Path| {
        let status = Command::new("chattr").arg(attribute).arg(path).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    for (attribute, remove) in [("+a", "-a"), ("+i", "-i")] {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("table");
        fs::create_dir(&place).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).unwrap();
        let run = || {
            let mut command = Command::new(common::EXEC);
            command.args(["table", "/bin/echo", "ran"]).env("SINEW_TABLE_DIR", &place);
            end(&mut command)
        };
        if !chattr("+a", &place) {
            println!("skipped: chattr is not possible here");
            return;
        }
        warning_of("a folder that keeps its files", &run());
        let file = || fs::read_dir(&place).unwrap().next().map(|file| file.unwrap().path());
        // The file stays, since the share agent cannot remove it.
        until("a table's file", || file().is_some());
        let file = file().unwrap();
        for subject in [&place, &file] {
            assert!(chattr(attribute, subject));
            let outputs = [(); 2].map(|()| run());
            // Share agents that are still running would remove the file.
            if (subject, remove) != (&place, "-a") {
                chattr(remove, subject);
            }
            for output in &outputs {
                let said = warning_of(&format!("{attribute} {}", subject.display()), output);
                assert!(said.is_empty() || said.contains("not permitted"), "{said}");
            }
        }
        chattr("-a", &place);
    }
}

/// Catches: a path below `/proc` that is used although it does not exist.
#[test]
fn a_missing_proc_is_named() {
    let allowed = Command::new("unshare").args(["-m", "true"]).stderr(Stdio::null()).status();
    if !allowed.is_ok_and(|status| status.success()) {
        println!("skipped: no mount namespace can be made here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args([
        "-m",
        "sh",
        "-c",
        "mount -t tmpfs none /proc && exec \"$@\"",
        "sh",
        common::EXEC,
    ]);
    command.args(["table", "/bin/echo", "ran"]).env("SINEW_TABLE_DIR", folder.path().join("table"));
    let said = warning_of("no /proc", &end(&mut command));
    assert!(said.contains("/proc"), "{said}");
}

/// Catches: a table whose blocks are missing when they are written to, which ends the command or
/// its share agent with SIGBUS.
#[test]
fn a_full_file_system_is_named_and_kills_nothing() {
    let namespaces = [&["-m"][..], &["-Urm"][..]];
    let Some(options) = unshare("a mount namespace", &namespaces) else { return };
    let run = |size: &str, fill: &str| {
        let folder = tempfile::tempdir().unwrap();
        let mount = format!("mount -t tmpfs -o size={size} none .{fill} && exec \"$@\"");
        let mut command = Command::new("unshare");
        command.args(options).args(["sh", "-c"]).arg(format!("cd \"$0\" && {mount}"));
        command.arg(folder.path()).args([common::EXEC, "table", "/bin/echo", "ran"]);
        command.env("SINEW_TABLE_DIR", folder.path().join("table"));
        warning_of(size, &end(&mut command))
    };
    let fill = " && cd \"$0\" && { head -c 2M /dev/zero > full 2> /dev/null; test -s full; }";
    for (size, fill) in [("4k", ""), ("64k", ""), ("300k", ""), ("484k", ""), ("1m", fill)] {
        let said = run(size, fill);
        assert!(said.contains("the command runs without a share"), "{size}: {said}");
        assert!(said.contains("No space left"), "{size}: {said}");
    }
    assert_eq!(run("1m", ""), "");
}
