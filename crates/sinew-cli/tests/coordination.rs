//! `sinew coordinator` and `sinew top`, started like a user does, beside a program in the table.
//!
//! Blind to: `top` on a terminal; its own tests draw it.
#![cfg(target_os = "linux")]

mod common;

use std::fs::File;
use std::io::{PipeReader, PipeWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use common::{Program, coordinator, sinew};
use serde_json::Value;
use sinew::Schedule;
use sinew_coord::{CpuSet, Member, Offer, OwnSettings, Table};

const LIMIT: Duration = Duration::from_secs(60);

fn output(folder: &Path, words: &[&str]) -> Output {
    sinew(folder, words).output().expect("the command starts")
}

/// Catches: a program that is not shown, a decision without a reason, a policy that stays after the
/// coordinator has ended, and a file that is left.
#[test]
fn a_coordinator_says_why_and_goes_without_a_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("shared");
    let mut coordinator = coordinator(&place, &["--policy", "efficiency"]);
    let table = Table::open(&place).expect("a table");
    let own = OwnSettings { schedule: Some(Schedule::Static), cores: CpuSet::first(1), job: 0 };
    let member = Member::join(&table, Offer::on("solver", CpuSet::first(1), 1).own_settings(own))
        .expect("a row");
    assert!(coordinator.line_with("arrived").contains("solver"));
    assert!(coordinator.line_with("solver").contains("1 on 0"));
    let out = output(&place, &["top", "--once", "--json", "--interval-ms", "10"]);
    let shown: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(
        (&shown["policy"], &shown["programs"][0]["program"]),
        (&"efficiency".into(), &"solver".into())
    );
    let own = (&shown["programs"][0]["own_schedule"], &shown["programs"][0]["own_cores"]);
    assert_eq!(own, (&"static".into(), &serde_json::json!([0])));
    let text = output(&place, &["top", "--once", "--interval-ms", "10"]).stdout;
    assert!(String::from_utf8_lossy(&text).contains("solver"));
    let second = output(&place, &["coordinator"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("runs a coordinator already"));
    assert!(coordinator.end_by("INT").success());
    assert_eq!(table.policy().name(), "equal");
    drop(member);
    assert_eq!(std::fs::read_dir(&place).map_or(0, Iterator::count), 0);
}

/// A coordinator with a script, and a program with the settings of the script.
fn solver_under_a_script(place: &Path) -> (Program, Member) {
    let path = place.with_extension("script");
    std::fs::write(&path, "when solver joins solver threads 1 schedule dynamic:7\n")
        .expect("a script");
    let coordinator = coordinator(place, &["--script", path.to_str().expect("a name in UTF-8")]);
    let table = Table::open(place).expect("a table");
    let member =
        Member::join(&table, Offer::on("solver", table.layout().cores(), 64)).expect("a row");
    wait_for_schedule(&member, true);
    (coordinator, member)
}

fn wait_for_schedule(member: &Member, is_there: bool) {
    let (mut share, began) = (member.share(), Instant::now());
    while share.schedule.is_some() != is_there {
        assert!(began.elapsed() < LIMIT, "{share:?}");
        share = member.wait_change(share.epoch, LIMIT);
    }
}

/// Catches: a coordinator whose policy and settings stay in force after its death until another
/// program changes the table.
#[test]
fn a_killed_coordinators_policy_ends_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (coordinator, member) = solver_under_a_script(&folder.path().join("shared"));
    let table = member.table();
    assert_eq!(table.policy().name(), "script");
    assert!(!coordinator.end_by("KILL").success());
    wait_for_schedule(&member, false);
    assert_eq!((table.policy().name(), table.read()[0].request.clone()), ("equal", None));
    assert_eq!(table.log().last().map(|decision| decision.reason.name()), Some("policy set"));
}

/// Catches: a coordinator that SIGTERM kills, and that leaves a table behind.
#[test]
fn a_coordinator_that_is_terminated_ends_as_if_interrupted() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("shared");
    assert!(coordinator(&place, &[]).end_by("TERM").success());
    assert_eq!(std::fs::read_dir(&place).map_or(0, Iterator::count), 0);
}

/// A full pipe.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    // Opened once more, it has flags of its own.
    let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
    let mut again = File::options();
    let mut again = again.write(true).custom_flags(libc::O_NONBLOCK).open(path).expect("the pipe");
    for size in [4096, 1] {
        while again.write(&vec![b'.'; size]).is_ok() {}
    }
    (reader, writer)
}

/// Catches: a coordinator that blocks in a write to a full pipe and ignores its signals.
#[test]
fn a_full_pipe_keeps_no_coordinator_from_coordinating_or_from_its_end() {
    for signal in ["-TERM", "-INT"] {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("shared");
        let (reader, writer) = full_pipe();
        let table = Table::open(&place).expect("a table");
        // A minute between two measurements: a signal does not wait for that either.
        let words = ["coordinator", "--policy", "efficiency", "--interval-ms", "60000"];
        let mut command = sinew(&place, &words);
        let mut child = command.stdout(writer).spawn().expect("the command starts");
        let until = |what: &str, child: &mut Child, holds: &mut dyn FnMut(&mut Child) -> bool| {
            let began = Instant::now();
            while !holds(child) {
                if began.elapsed() > LIMIT {
                    let _ = child.kill();
                    panic!("{signal}: never {what}");
                }
                std::thread::yield_now();
            }
        };
        until("at work", &mut child, &mut |_| table.policy().name() == "efficiency");
        let row = Member::join(&table, Offer::on("solver", CpuSet::first(1), 1)).expect("a row");
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("kill").success());
        let mut status = None;
        until("over", &mut child, &mut |child| {
            status = child.try_wait().expect("its end");
            status.is_some()
        });
        assert!(status.is_some_and(|status| status.success()), "{signal}: {status:?}");
        assert_eq!(table.policy().name(), "equal");
        drop((row, reader));
    }
}

/// Catches: a script that is read and not followed.
#[test]
fn a_script_is_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("shared");
    let (coordinator, member) = solver_under_a_script(&place);
    let share = member.share();
    assert_eq!(
        (share.threads, share.schedule.map(|schedule| schedule.to_string())),
        (1, Some("dynamic:7".into()))
    );
    assert!(coordinator.end_by("INT").success());
}

/// Catches: a policy by energy that is in force where no energy is counted.
#[test]
fn a_coordinator_without_energy_counters_says_so_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("shared");
    for policy in ["energy", "energy-delay", "energy:30"] {
        let out = output(&place, &["coordinator", "--policy", policy, "--powercap", "/nowhere"]);
        let errors = String::from_utf8_lossy(&out.stderr);
        assert_eq!((out.status.code(), errors.lines().count()), (Some(1), 1), "{errors}");
        assert!(errors.contains("no energy counter in /nowhere") && !place.exists(), "{errors}");
    }
}

/// Catches: a reader that leaves a table or its folder, and one that fails because there is no
/// table.
#[test]
fn a_reader_creates_no_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("shared");
    let out = output(&place, &["top", "--once", "--json", "--interval-ms", "1"]);
    let shown: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!((&shown["policy"], &shown["programs"]), (&"equal".into(), &serde_json::json!([])));
    assert!(out.status.success() && !place.exists());
}

/// Catches: invalid input that is accepted, explained in several lines, or not named.
#[test]
fn bad_input_is_one_line_and_status_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("shared");
    let script = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a script");
        path.to_str().expect("a name in UTF-8").to_owned()
    };
    let wrong = script("wrong", "at noon solver threads 1\n");
    let numbers = script("numbers", "at 0 solver free\nat 1 solver cores 0\n");
    for (words, says) in [
        (&["coordinator", "--policy", "fair"][..], "fair"),
        (&["coordinator", "--script", "/nowhere"], "/nowhere"),
        (&["coordinator", "--script", &wrong], "noon"),
        (&["coordinator", "--policy", "equal", "--script", &numbers], "`--policy equal`"),
        (&["coordinator", "--interval-ms", "0"], "interval"),
        (&["top"], "--once"),
        (&["top", "--json"], "--once"),
    ] {
        let out = output(&place, words);
        let errors = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{words:?}: {errors}");
        assert!(errors.lines().count() == 1 && errors.contains(says), "{words:?}: {errors}");
    }
}
