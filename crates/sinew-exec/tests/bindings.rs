//! Threads that a user has bound stay where they are, and only the command's threads are moved.
//!
//! Blind to: a binding to exactly the mask that the thread has at that moment, and one that is made
//! in the microsecond between reading a mask and changing it.
#![cfg(target_os = "linux")]

mod common;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::compile::{MODES, build, is_deep};
use common::{Script, helpers_of, mask_of, two_cpus, until, words};
use sinew_preload::layout;

const BOUND: &str = include_str!("openmp/bound.c");

/// Whether the share agent sleeps, because it has nothing to do.
fn is_idle(child: &Child) -> bool {
    let path = |pid| format!("/proc/{pid}/status");
    let state = |pid| common::status_line(Path::new(&path(pid)), "State:");
    let state = helpers_of(child).and_then(|(agent, _)| state(agent));
    state.is_some_and(|state| state.starts_with('S'))
}

/// Returns how often a program was off the mask that its user had bound it to with `shell`. `shell`
/// gets one line of input when `first` was granted before, and not at that moment.
fn looks_off_its_mask(shell: &str, mode: &[&str], [first, second]: [usize; 2]) -> String {
    let script = Script::new();
    let mut command = script.command(&words(mode), &words(&["sh", "-c", shell]));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut grants = script.writer();
    let both = mask_of(std::process::id()).unwrap();
    for grant in [first.to_string(), both] {
        writeln!(grants, "{grant} 1").unwrap();
        until("the command there", || mask_of(child.id()).as_ref() == Some(&grant));
        until("an agent that has done its work", || is_idle(&child));
    }
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"begin\n").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "bound");
    for round in 0..if is_deep() { 500 } else { 20 } {
        for grant in [format!("{second} 1"), format!("{first},{second} 2"), format!("{first} 1")] {
            writeln!(grants, "{grant}").unwrap();
            let cpus = grant.split(' ').next().unwrap().parse::<sinew_topology::CpuSet>().unwrap();
            // A grant that takes a while to come into force must not hide the next one.
            until(&format!("round {round}"), || mask_of(child.id()) == Some(cpus.to_string()));
        }
    }
    drop(input);
    let off = lines.next().unwrap().unwrap();
    assert!(child.wait().unwrap().success());
    off
}

/// Catches: a binding that counts as a share, because the same processors were granted at another
/// time.
#[test]
fn a_binding_to_what_was_granted_at_another_time_stays() {
    let Some(cpus) = two_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = build("gcc", folder.path(), BOUND, "bound", &["-pthread"]) else {
        println!("skipped: gcc cannot build this program here");
        return;
    };
    let (program, first) = (program.display(), cpus[0]);
    // The share agent knows the process before it binds anything: only the thread is new.
    let thread = format!("{program} thread {first} & wait");
    for shell in [
        format!("read line; {program} self {first} <&3 & wait"),
        format!("read line; taskset -c {first} {program} given {first} <&3 & wait"),
        thread.replace(" &", " <&3 &"),
    ] {
        for mode in MODES {
            let off = looks_off_its_mask(&format!("exec 3<&0; {shell}"), mode, cpus);
            assert_eq!(off, "0", "{mode:?} {shell}");
        }
    }
}

/// Catches: a process that is moved because a slot claims that it is one of the command's.
#[test]
fn a_stranger_in_a_slot_is_left_alone() {
    let Some([first, _]) = two_cpus() else { return };
    let script = Script::new();
    let mut command = script.command(&[], &words(&["cat"]));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut grants = script.writer();
    until("share agent and watchdog", || helpers_of(&child).is_some());
    let mut stranger = Command::new("sleep").arg("600").spawn().unwrap();
    let before = mask_of(stranger.id());
    let environment = fs::read(format!("/proc/{}/environ", child.id())).unwrap();
    let mut variables = environment.split(|&byte| byte == 0);
    let address = variables.find_map(|variable| variable.strip_prefix(b"SINEW_EXEC=")).unwrap();
    let [watchdog, page, pipe] = layout::parse(address).unwrap();
    let open = |file| File::options().write(true).open(format!("/proc/{watchdog}/fd/{file}"));
    let (page, mut pipe) = (open(page).unwrap(), open(pipe).unwrap());
    page.write_all_at(&stranger.id().to_ne_bytes(), layout::pid_at(5) as u64).unwrap();
    pipe.write_all(&[5]).unwrap();
    writeln!(grants, "{first} 1").unwrap();
    until("the command on one CPU", || mask_of(child.id()) == Some(first.to_string()));
    let read = |at| {
        let mut word = [0; 4];
        File::open(format!("/proc/{watchdog}/fd/{}", layout::parse(address).unwrap()[1]))
            .and_then(|page| page.read_exact_at(&mut word, at as u64))
            .unwrap();
        u32::from_ne_bytes(word)
    };
    until("a free slot", || read(layout::pid_at(5)) == 0);
    assert_eq!(mask_of(stranger.id()), before);
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
