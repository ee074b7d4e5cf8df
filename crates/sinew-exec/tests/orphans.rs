//! Processes that have left the command's family and its environment get their processors back, and
//! a process with another number in its own namespace is not taken for another process.
//!
//! Blind to: a process that sets its own limit on real-time computing.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::compile::build;
use common::{
    Script, helpers_of, kill, mask_of, runs, status_line, two_cpus, unshare, until, words,
};

/// A command with a child that starts an orphan: a process in a session of its own and without
/// environment. The child prints the orphan's number, and waits.
struct Left {
    command: Child,
    grants: File,
    /// The child. The orphan descends from the command as long as the child runs.
    between: u32,
    left: u32,
}

impl Left {
    fn start(script: &Script, first: usize) -> Self {
        let between = "setsid env -i sleep 1000 <&- >&- 2>&- & echo $$ $!; exec cat <&3";
        let shell = format!("exec 3<&0; sh -c '{between}' & cat; wait");
        let mut command = script.command(&[], &words(&["sh", "-c", &shell]));
        let mut command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the script's program");
        let grants = script.writer_from(&format!("{first} 1"));
        let mut line = String::new();
        BufReader::new(command.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let numbers: Vec<u32> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let [between, left] = numbers[..] else { panic!("{line}") };
        until("a process that has left", || {
            let environment = std::fs::read(format!("/proc/{left}/environ"));
            let is_sleeping =
                || std::fs::read(format!("/proc/{left}/comm")).is_ok_and(|name| name == b"sleep\n");
            environment.is_ok_and(|environment| environment.is_empty()) && is_sleeping()
        });
        assert_eq!(mask_of(left), Some(first.to_string()), "it has inherited this");
        Self { command, grants, between, left }
    }

    /// Ends the child, so that nothing leads from the command to the orphan any more.
    fn leave(&self) {
        kill("KILL", self.between);
        until("an orphan", || {
            let parent = status_line(Path::new(&format!("/proc/{}/status", self.left)), "PPid:");
            parent.is_some_and(|parent| parent != self.between.to_string())
        });
    }

    fn has_the_whole_mask(&self) -> bool {
        mask_of(self.left) == mask_of(std::process::id())
    }

    fn end(mut self) {
        drop(self.command.stdin.take());
        self.command.wait().unwrap();
        until("the processors given back", || self.has_the_whole_mask());
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        let _ = self.command.kill();
        let _ = Command::new("kill").args(["-s", "KILL", &self.left.to_string()]).status();
    }
}

fn switches_of(pid: u32) -> u64 {
    let line = status_line(Path::new(&format!("/proc/{pid}/status")), "voluntary_ctxt_switches:");
    line.and_then(|line| line.parse().ok()).unwrap_or(0)
}

/// Catches: an orphan that was never moved and keeps the mask that it has inherited.
#[test]
fn a_process_that_has_left_gets_back_what_it_has_inherited() {
    let Some([first, _]) = two_cpus() else { return };
    let script = Script::new();
    let left = Left::start(&script, first);
    until("share agent and watchdog", || helpers_of(&left.command).is_some());
    let (agent, _) = helpers_of(&left.command).unwrap();
    // The share agent has nothing else to wake for: after two wake-ups one search is over.
    let before = switches_of(agent);
    until("a look at the family", || switches_of(agent) > before + 1);
    left.leave();
    left.end();
}

/// Catches: an orphan that is not found because its parent has ended before the share agent looked.
/// The search by parents is one that the share agent makes each second.
#[test]
fn a_process_gets_its_processors_back_whenever_its_parent_ends() {
    let Some([first, _]) = two_cpus() else { return };
    for lifetime in ["0", "0.05", "0.3", "0.8"] {
        let script = Script::new();
        let shell =
            format!("setsid env -i sleep 1000 <&- >&- 2>&- & echo $!; exec sleep {lifetime}");
        let mut command = script.command(&[], &words(&["sh", "-c", &shell]));
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let _grants = script.writer_from(&format!("{first} 1"));
        let output = command.wait_with_output().unwrap();
        let left: u32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        until(&format!("the processors given back after {lifetime} s"), || {
            mask_of(left) == mask_of(std::process::id())
        });
        kill("KILL", left);
    }
}

/// Catches: a command that runs under a limit that its user has not set, or without one that its
/// user has set; and a share agent that is marked as a process of the command.
#[test]
fn the_mark_replaces_no_limit_of_the_users() {
    let limits = |outer: &str| {
        let script = Script::new();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec {outer} \"$@\""), "sh"]);
        let inner = script.command(&[], &words(&["cat", "/proc/self/limits"]));
        command.arg(inner.get_program()).args(inner.get_args());
        let command = command.env_remove("SINEW_EXEC").stdin(Stdio::null());
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        let _grants = script.writer();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (real_time, others): (Vec<String>, Vec<String>) =
            text.lines().map(str::to_owned).partition(|line| line.contains("realtime timeout"));
        let words: Vec<String> =
            real_time[0].split_whitespace().skip(3).map(str::to_owned).collect();
        (words, others)
    };
    let plain = std::fs::read_to_string("/proc/self/limits").unwrap();
    let (mark, others) = limits("");
    assert!(others.iter().all(|line| plain.lines().any(|own| own == line)), "{others:?}");
    assert!(mark[0].parse::<u64>().is_ok_and(|limit| limit >= 1 << 62), "{mark:?}");
    assert_eq!(mark[1], "unlimited");
    let Ok(found) = Command::new("prlimit").arg("--version").output() else {
        println!("skipped: there is no prlimit here");
        return;
    };
    assert!(found.status.success());
    assert_eq!(limits("prlimit --rttime=5000000:6000000").0[..2], ["5000000", "6000000"]);
}

/// Catches: an orphan that stays where it was when the share changes, as long as the command runs.
#[test]
fn a_process_that_has_left_follows_the_share() {
    let Some([first, second]) = two_cpus() else { return };
    let script = Script::new();
    let mut left = Left::start(&script, first);
    left.leave();
    writeln!(left.grants, "{second} 1").unwrap();
    until("the process on the other CPU", || mask_of(left.left) == Some(second.to_string()));
    left.end();
}

/// Catches: a watchdog that only restores processes that the environment or the family leads to.
#[test]
fn a_process_that_has_left_gets_its_processors_back_though_the_agent_dies() {
    let Some([first, second]) = two_cpus() else { return };
    for signal in ["KILL", "TERM"] {
        let script = Script::new();
        let mut left = Left::start(&script, first);
        writeln!(left.grants, "{second} 1").unwrap();
        until("the process on the other CPU", || mask_of(left.left) == Some(second.to_string()));
        left.leave();
        until("share agent and watchdog", || helpers_of(&left.command).is_some());
        let (agent, _) = helpers_of(&left.command).unwrap();
        kill(signal, agent);
        until("no agent", || !runs(agent));
        until(&format!("the processors given back after {signal}"), || left.has_the_whole_mask());
        left.end();
    }
}

/// Options of `unshare` for a namespace of process numbers.
fn namespaces() -> Option<&'static [&'static str]> {
    unshare("a namespace of process numbers", &[&["-pf"], &["-Urpf"]])
}

/// A number that no process has here, and that a process in a new namespace soon gets.
fn free_number() -> Option<u32> {
    (5..400).find(|number| !Path::new(&format!("/proc/{number}")).exists())
}

const ENDLESS: &str = "int main(void) { for (;;) {
#pragma omp parallel
__asm__ volatile(\"\");
} }";

/// Catches: a process that is taken for the one with its number outside of its namespace. Then it
/// gets no piece of the share, and the other process's threads are moved.
#[test]
fn a_process_in_a_namespace_of_its_own_is_moved_as_itself() {
    let Some([first, second]) = two_cpus() else { return };
    let (Some(options), Some(number)) = (namespaces(), free_number()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = build("gcc", folder.path(), ENDLESS, "endless", &[]) else {
        println!("skipped: gcc cannot build OpenMP programs here");
        return;
    };
    let path = program.display();
    // It gets that number, which no process outside has.
    let inner =
        format!("i=2; while [ $i -lt {number} ]; do i=$((i+1)); /bin/true; done; {path} & wait");
    let options = options.join(" ");
    let shell = format!("{path} & unshare {options} --kill-child sh -c '{inner}' & wait");
    let script = Script::new();
    let mut command = script.command(&[OsStr::new("--malleable")], &words(&["sh", "-c", &shell]));
    let mut command = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let grants = script.writer_from(&format!("{first},{second} 2"));
    let is_ours = |pid: &u32| {
        std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|file| file == program)
    };
    let ours = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        numbers.filter(is_ours).collect::<Vec<u32>>()
    };
    let masks = || {
        let mut masks: Vec<String> = ours().into_iter().filter_map(mask_of).collect();
        masks.sort();
        masks
    };
    until("a processor for each of the two", || masks() == [first.to_string(), second.to_string()]);
    ours().into_iter().for_each(|pid| kill("KILL", pid));
    command.wait().unwrap();
    drop(grants);
}

/// Catches: a share agent that looks for the command, and its own files, by numbers of another
/// namespace.
#[test]
fn under_a_foreign_proc_the_command_runs_with_one_warning() {
    let Some(options) = namespaces() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(options).args([common::EXEC, "table", "sh", "-c", "echo ran; wait"]);
    command.env("SINEW_TABLE_DIR", folder.path().join("table")).env_remove("SINEW_EXEC");
    let output = command.env_remove("LD_PRELOAD").stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && output.stdout == b"ran\n", "{output:?}");
    assert!(said.lines().count() == 1 && said.contains("another namespace"), "{said}");
}
