//! A program that makes TBB's calls, under shares that change: it must find the manager, and be
//! told of each change.
//!
//! Blind to: TBB itself, which `tbb_programs` has.
#![cfg(target_os = "linux")]

mod common;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{Script, two_cpus, words};

const CLIENT: &str = include_str!("tbb/client.c");

/// Builds the client. Prints a reason and returns `None` if that is impossible.
fn client(folder: &Path, flags: &[&str]) -> Option<PathBuf> {
    let (source, program) = (folder.join("client.c"), folder.join("client"));
    std::fs::write(&source, CLIENT).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-Wall", "-Werror", "-o"]).arg(&program).arg(&source).args(flags).arg("-ldl");
    let output = gcc.output().ok();
    let Some(output) = output else {
        println!("skipped: no C compiler (gcc)");
        return None;
    };
    if !output.status.success() && !flags.is_empty() {
        println!("skipped: gcc cannot build OpenMP programs here");
        return None;
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

/// The client's lines, one after the other.
struct Lines(BufReader<std::process::ChildStdout>);

impl Lines {
    fn of(child: &mut Child) -> Self {
        Self(BufReader::new(child.stdout.take().expect("a pipe")))
    }

    fn next(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("the client writes text");
        line.trim_end().to_owned()
    }
}

/// Catches: a name that TBB does not find, a change that nobody is told of, a wrong number of
/// workers, and a forked child that is told that it has workers.
#[test]
fn a_client_is_told_the_share_less_one_whenever_that_changes() {
    let Some([first, second]) = two_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = client(folder.path(), &[]) else { return };
    for options in [&[][..], &["--malleable"]] {
        let script = Script::new();
        let mut command = words(&["0", "1", "0", "1"]);
        command.insert(0, program.as_os_str());
        let mut child =
            script.command(&words(options), &command).stdout(Stdio::piped()).spawn().unwrap();
        let mut grants = script.writer_from(&format!("{first} 1"));
        let mut lines = Lines::of(&mut child);
        for (grant, told) in [
            (None, "0 workers"),
            (Some(format!("{first},{second} 2")), "1 workers"),
            (Some(format!("{second} 1")), "0 workers"),
            (Some(format!("{first},{second} 2")), "1 workers"),
        ] {
            grant.into_iter().for_each(|grant| writeln!(grants, "{grant}").unwrap());
            assert_eq!(lines.next(), told);
        }
        assert_eq!(lines.next(), "done");
        assert!(child.wait().unwrap().success());
    }
}

/// Catches: workers that keep a share of nobody's after the share agent has died.
#[test]
fn a_client_has_all_workers_again_when_the_share_agent_dies() {
    let Some([first, _]) = two_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = client(folder.path(), &[]) else { return };
    let script = Script::new();
    let mut command = words(&["0", "1000"]);
    command.insert(0, program.as_os_str());
    let mut child = script.command(&[], &command).stdout(Stdio::piped()).spawn().unwrap();
    let _grants = script.writer_from(&format!("{first} 1"));
    let mut lines = Lines::of(&mut child);
    assert_eq!(lines.next(), "0 workers");
    let (agent, _) = common::helpers_of(&child).expect("a share agent");
    assert!(Command::new("kill").args(["-KILL", &agent.to_string()]).status().unwrap().success());
    assert_eq!((lines.next(), lines.next()), ("1000 workers".to_owned(), "done".to_owned()));
    assert!(child.wait().unwrap().success());
}

/// Catches: a manager for a command that does not follow its share.
#[test]
fn a_command_whose_affinity_is_left_alone_has_no_manager() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = client(folder.path(), &[]) else { return };
    for (options, expected) in [(&[][..], "none\n"), (&["--malleable"], "refused\n")] {
        let script = Script::new();
        let mut command = script.command(&words(options), &[program.as_os_str()]);
        let child = command.env("OMP_PROC_BIND", "true").stdout(Stdio::piped()).spawn().unwrap();
        let _grants = script.writer();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{options:?}");
    }
}

/// The process numbers in the slots of a command's page.
fn slots_of(child: &Child) -> Vec<u32> {
    let environment = std::fs::read(format!("/proc/{}/environ", child.id())).expect("it lives");
    let mark =
        environment.split(|&byte| byte == 0).find_map(|text| text.strip_prefix(b"SINEW_EXEC="));
    let mark = String::from_utf8(mark.expect("a mark").to_vec()).unwrap();
    let (watchdog, rest) = mark.split_once(' ').unwrap();
    let page = File::open(format!("/proc/{watchdog}/fd/{}", rest.split_once(' ').unwrap().0));
    let mut bytes = vec![0; 3072 - 64];
    page.expect("the page").read_exact_at(&mut bytes, 64).unwrap();
    let word = |slot: &[u8]| u32::from_ne_bytes(slot[..4].try_into().unwrap());
    bytes.chunks(8).map(word).filter(|pid| *pid != 0).collect()
}

/// Catches: two pieces of the share for one process, one a door.
#[test]
fn a_process_with_both_runtimes_has_one_slot() {
    let Some([first, second]) = two_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = client(folder.path(), &["-fopenmp"]) else { return };
    let script = Script::new();
    let mut command = words(&["0", "1"]);
    command.insert(0, program.as_os_str());
    let mut child =
        script.command(&words(&["--malleable"]), &command).stdout(Stdio::piped()).spawn().unwrap();
    let mut grants = script.writer_from(&format!("{first} 1"));
    let mut lines = Lines::of(&mut child);
    assert_eq!(lines.next(), "0 workers");
    assert_eq!(slots_of(&child), [child.id()]);
    writeln!(grants, "{first},{second} 2").unwrap();
    assert_eq!(lines.next(), "1 workers");
    let mut rest = String::new();
    lines.0.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success() && rest == "done\n", "{rest}");
}

/// Catches: a program that finds the manager outside of `sinew exec`.
#[test]
fn there_is_no_manager_without_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = client(folder.path(), &[]) else { return };
    let output = Command::new(program).env_remove("LD_PRELOAD").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said == "none\n" || said == "refused\n", "{said}");
}
