//! The command is a process as it would be without `sinew exec`: status, signals, streams; and its
//! threads go where they are granted to.
//!
//! Blind to: terminals and job control; `terminal.rs` checks those.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use common::{
    Script, family_of, helpers_of, kill, mask_of, masks_of, runs, two_cpus, until, words,
};

/// A command with an empty file of grants: it keeps its mask.
fn quietly(command: &[&str]) -> Command {
    let mut exec = Command::new(common::EXEC);
    exec.arg("/dev/null").args(command);
    exec
}

/// Starts a command that waits for its input to end, under a script; returns the pipe of grants
/// with it.
fn waiting(script: &Script, shell: &str) -> (Child, fs::File) {
    let mut command = script.command(&[], &words(&["sh", "-c", shell]));
    let child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the script's program");
    let grants = script.writer();
    (child, grants)
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
}

/// Blind to: statuses that the shell itself changes.
#[test]
fn the_exit_status_is_the_commands() {
    for status in [0, 1, 7, 125, 255] {
        let shell = format!("exit {status}");
        assert_eq!(quietly(&["sh", "-c", &shell]).status().unwrap().code(), Some(status));
    }
}

/// Blind to: a signal that the shell survives.
#[test]
fn death_by_a_signal_is_death_by_that_signal() {
    for (name, number) in [("TERM", 15), ("KILL", 9), ("ABRT", 6)] {
        let status = quietly(&["sh", "-c", &format!("kill -s {name} $$")]).status().unwrap();
        assert_eq!(status.signal(), Some(number), "{name}");
    }
}

/// Blind to: a process number that is used again.
#[test]
fn the_command_is_the_process_that_was_started() {
    let child = quietly(&["sh", "-c", "echo $$ $PPID"]).stdout(Stdio::piped()).spawn().unwrap();
    let own = format!("{} {}\n", child.id(), std::process::id());
    assert_eq!(String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap(), own);
}

/// Blind to: a stream that is held open for a short time only.
#[test]
fn streams_pass_through_and_end_with_the_command() {
    let mut child = quietly(&["sh", "-c", "cat; echo error >&2; exec sleep 1000 >&- 2>&-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"in and out").unwrap();
    let (mut out, mut error) = (String::new(), String::new());
    // Both end although the command runs on, so no other process holds them.
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert_eq!((out.as_str(), error.as_str()), ("in and out", "error\n"));
    kill("TERM", child.id());
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

/// Catches: a lock that is held, or a pipe that does not end, when the command has closed its
/// descriptor or has ended.
#[test]
fn no_helper_holds_a_descriptor_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lock");
    let shell = format!("exec 7> {}; exec \"$@\"", file.display());
    let mut command = Command::new("sh");
    let words = ["-c", &shell, "sh", common::EXEC, "/dev/null", "sleep", "1000"];
    let mut child = command.args(words).env_remove("SINEW_EXEC").spawn().unwrap();
    until("share agent and watchdog", || helpers_of(&child).is_some());
    let (agent, watchdog) = helpers_of(&child).unwrap();
    let has = |pid: u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
        files.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|open| open == file)
    };
    let held = [child.id(), agent, watchdog].map(has);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(held, [true, false, false]);
}

/// Blind to: files above those that a shell shows.
#[test]
fn the_command_inherits_no_files_and_no_ignored_signals() {
    let list = |command: &mut Command| {
        // The shell becomes the second program: while it starts one it blocks signals.
        let shell =
            command.args(["-c", "ls /proc/$$/fd; exec grep -E 'SigIgn|SigBlk' /proc/self/status"]);
        String::from_utf8(shell.stdin(Stdio::null()).output().unwrap().stdout).unwrap()
    };
    assert_eq!(list(&mut quietly(&["sh"])), list(&mut Command::new("sh")));
}

/// Catches: a failure of several lines, without a cause, or with another status.
#[test]
fn what_cannot_be_run_is_one_line_and_the_shells_status() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    fs::write(&text, "words").unwrap();
    for (command, status, says) in [
        ("no-such-command-here", 127, "command not found"),
        ("/no/such/command", 127, "command not found"),
        (text.to_str().unwrap(), 126, "permission denied"),
        ("/", 126, "directory"),
        ("", 127, "the name of the command is empty"),
    ] {
        let output = quietly(&[command]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{command}");
        assert!(error.lines().count() == 1 && error.contains(says), "{command}: {error}");
    }
}

/// Catches: a command that does not run without a table, or runs without a warning. Blind to: a
/// damaged table.
#[test]
fn without_a_table_the_command_runs_with_a_warning() {
    let output =
        Command::new(common::EXEC).args(["/no/such/grants", "echo", "ran"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.stdout, b"ran\n");
    assert!(
        error.lines().count() == 1
            && error.starts_with("sinew: warning: cannot read /no/such/grants"),
        "{error}"
    );
}

/// Blind to: threads that end before they can be looked at.
#[test]
fn command_and_descendants_follow_the_grants() {
    let Some([first, second]) = two_cpus() else { return };
    let script = Script::new();
    let (child, mut grants) = waiting(&script, "exec 3<&0; cat <&3 & cat; wait");
    let both = mask_of(std::process::id()).unwrap();
    for (grant, mask) in [
        (first.to_string(), first.to_string()),
        (both.clone(), both),
        (second.to_string(), second.to_string()),
    ] {
        writeln!(grants, "{grant} 1").unwrap();
        until(&format!("all processes on {mask}"), || {
            family_of(child.id()).iter().all(|pid| masks_of(*pid).iter().all(|seen| *seen == mask))
        });
    }
    end(child);
}

/// Blind to: a binding to exactly the mask that is granted at that moment.
#[test]
fn a_process_that_binds_itself_is_left_alone() {
    let Some([first, second]) = two_cpus() else { return };
    let script = Script::new();
    let shell = format!("exec 3<&0; taskset -c {second} sh -c 'echo bound; cat' <&3 & cat; wait");
    let mut command = script.command(&[], &words(&["sh", "-c", &shell]));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut grants = script.writer();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).expect("it is bound");
    writeln!(grants, "{first} 1").unwrap();
    until("the command on one CPU", || mask_of(child.id()) == Some(first.to_string()));
    let bound: Vec<String> = family_of(child.id()).into_iter().filter_map(mask_of).collect();
    assert!(bound.contains(&second.to_string()), "{bound:?}");
    end(child);
}

/// Blind to: a watchdog that is killed in the same moment.
#[test]
fn killing_the_agent_gives_the_command_its_cpus_back() {
    let Some([first, _]) = two_cpus() else { return };
    for signal in ["KILL", "TERM", "ABRT"] {
        let script = Script::new();
        let (child, mut grants) = waiting(&script, "exec 3<&0; cat <&3 & cat; wait");
        writeln!(grants, "{first} 1").unwrap();
        until("the command on one CPU", || mask_of(child.id()) == Some(first.to_string()));
        until("share agent and watchdog", || helpers_of(&child).is_some());
        let (agent, _) = helpers_of(&child).unwrap();
        kill(signal, agent);
        let whole = mask_of(std::process::id()).unwrap();
        until("the command on all CPUs", || {
            family_of(child.id()).iter().all(|pid| mask_of(*pid).as_ref() == Some(&whole))
        });
        end(child);
    }
}

/// Catches: a share agent or a watchdog that stays after the command.
#[test]
fn share_agent_and_watchdog_end_with_the_command() {
    let script = Script::new();
    let (child, grants) = waiting(&script, "cat");
    until("share agent and watchdog", || helpers_of(&child).is_some());
    let (agent, watchdog) = helpers_of(&child).unwrap();
    end(child);
    until("no share agent and no watchdog", || !runs(agent) && !runs(watchdog));
    drop(grants);
}

/// Blind to: other ways to need the library for longer.
#[test]
fn a_daemon_that_outlives_the_command_still_finds_the_library() {
    let script = Script::new();
    // The daemon starts another program when it is told to, long after the command has ended.
    let shell = "(cat > /dev/null; ls / > /dev/null) 2>&1 &";
    let mut command =
        script.command(&[], &words(&["sh", "-c", &format!("exec 3<&0; {{ {shell} }} <&3")]));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let grants = script.writer();
    let input = child.stdin.take();
    assert!(child.wait().unwrap().success());
    drop(input);
    let mut complaints = String::new();
    child.stdout.take().unwrap().read_to_string(&mut complaints).unwrap();
    assert_eq!(complaints, "", "the dynamic linker says so if the library is gone");
    drop(grants);
}

/// Blind to: an inner command that is not started by `exec` directly.
#[test]
fn an_exec_within_an_exec_is_a_part_of_it() {
    let script = Script::new();
    let mut command =
        script.command(&[], &words(&[common::EXEC, "--verbose", "/no/such/grants", "true"]));
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    let grants = script.writer();
    let output = child.wait_with_output().unwrap();
    drop(grants);
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "sinew: within another sinew exec, which this one is a part of\n"
    );
}
