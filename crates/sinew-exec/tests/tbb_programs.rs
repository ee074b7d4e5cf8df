//! Real TBB programs, under shares that change every few milliseconds: they must find the manager,
//! print the same as without `sinew exec`, and follow the share.
//!
//! They need a oneTBB that asks for a manager. `SINEW_TBB` names a folder with its `include` and
//! `lib`; `cargo xtask tbb` fetches one.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::compile::{MODES, text};
use common::{Script, end, flapping, two_cpus, words};

const HUNT: &str = include_str!("tbb/hunt.cpp");

const CASES: [&str; 12] = [
    "sums",
    "sorts",
    "enqueued",
    "nested",
    "arenas",
    "limits",
    "graphs",
    "pipelines",
    "exceptions",
    "forks",
    "ends",
    "concurrency",
];

/// Builds the programs with this library. Prints a reason and returns `None` if that is impossible.
fn hunt(folder: &Path, library: &str) -> Option<PathBuf> {
    let Some(tbb) = std::env::var_os("SINEW_TBB").map(PathBuf::from) else {
        println!("skipped: no oneTBB (`cargo xtask tbb` fetches one and sets SINEW_TBB)");
        return None;
    };
    let (source, program) = (folder.join("hunt.cpp"), folder.join("hunt"));
    std::fs::write(&source, HUNT).unwrap();
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++17", "-O1", "-pthread", "-o"]).arg(&program).arg(&source);
    compiler.arg("-I").arg(tbb.join("include")).arg("-L").arg(tbb.join("lib"));
    compiler.arg(format!("-Wl,-rpath,{}", tbb.join("lib").display())).arg(library);
    let Ok(output) = compiler.output() else {
        println!("skipped: no C++ compiler (g++)");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

fn plain(program: &Path, case: &str) -> String {
    text(&end(Command::new(program).arg(case)), case)
}

/// Catches: an output that differs, and a program that waits for a worker that it never gets.
#[test]
fn results_are_the_same_with_and_without() {
    let Some(cpus) = two_cpus() else { return };
    // The second library checks itself: it aborts at an unexpected result of the manager.
    let modes: [(&str, &[&[&str]]); 2] = [("-ltbb", &MODES), ("-ltbb_debug", &MODES[..1])];
    for (library, modes) in modes {
        let folder = tempfile::tempdir().unwrap();
        let Some(program) = hunt(folder.path(), library) else { return };
        for case in CASES {
            let expected = plain(&program, case);
            for options in modes {
                let printed = flapping(&words(options), &program, &words(&[case]), cpus);
                assert_eq!(printed, expected, "{library} {case} {options:?}");
            }
        }
    }
}

/// Catches: TBB's own manager in place of this one, without anybody noticing.
#[test]
fn tbb_prints_the_name_of_its_manager() {
    let Some([first, _]) = two_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = hunt(folder.path(), "-ltbb") else { return };
    let script = Script::new();
    let mut command =
        script.command(&words(&["--verbose"]), &[program.as_os_str(), OsStr::new("concurrency")]);
    command.env("TBB_VERSION", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let _grants = script.writer_from(&format!("{first} 1"));
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("TCM: NAME\t\tSinew\n"), "{said}");
    let processors = std::thread::available_parallelism().unwrap();
    let counted = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(counted, format!("{processors} {processors}\n"), "of the machine, not of the share");
}

/// Catches: threads that do not follow the share, down or up.
#[test]
fn threads_at_work_follow_the_share() {
    let Some([first, second]) = two_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = hunt(folder.path(), "-ltbb") else { return };
    let script = Script::new();
    let mut all = words(&["counts", "1", "2", "1", "2"]);
    all.insert(0, program.as_os_str());
    let mut child = script.command(&[], &all).stdout(Stdio::piped()).spawn().unwrap();
    let mut grants = script.writer_from(&format!("{first} 1"));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let both = format!("{first},{second} 2");
    for (expected, next) in
        [("1 at once", &both), ("2 at once", &format!("{second} 1")), ("1 at once", &both)]
    {
        assert_eq!(lines.next().unwrap().unwrap(), expected);
        writeln!(grants, "{next}").unwrap();
    }
    assert_eq!(lines.next().unwrap().unwrap(), "2 at once");
    assert!(child.wait().unwrap().success());
}
