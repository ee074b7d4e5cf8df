//! Every query that a program can make of its OpenMP runtime, outside and inside of regions, by
//! every way to the function, in a narrow share and without this project. The results must be the
//! same, apart from the size of a team that was lowered.
//!
//! Each run asks at the places that differ most; `SINEW_DEEP=1` asks at all of them.
//!
//! Blind to: queries about the mask itself (`omp_capture_affinity`), which return the mask that is
//! in force.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::compile::{MODES, build, compilers, is_deep, plain, text};
use common::{Script, two_cpus, words};

const QUERIES: &str = include_str!("openmp/queries.c");

/// Functions that take nothing and return a number.
const QUERY_NAMES: [&str; 28] = [
    "omp_get_num_threads",
    "omp_get_max_threads",
    "omp_get_thread_num",
    "omp_get_num_procs",
    "omp_in_parallel",
    "omp_get_dynamic",
    "omp_get_nested",
    "omp_get_thread_limit",
    "omp_get_max_active_levels",
    "omp_get_supported_active_levels",
    "omp_get_level",
    "omp_get_active_level",
    "omp_in_final",
    "omp_get_cancellation",
    "omp_get_num_places",
    "omp_get_place_num",
    "omp_get_partition_num_places",
    "omp_get_proc_bind",
    "omp_get_default_device",
    "omp_get_num_devices",
    "omp_get_device_num",
    "omp_get_num_teams",
    "omp_get_team_num",
    "omp_is_initial_device",
    "omp_get_initial_device",
    "omp_get_max_task_priority",
    "omp_get_max_teams",
    "omp_get_teams_thread_limit",
];

/// Functions that take a level, or a place.
const OF_A_LEVEL: [&str; 3] =
    ["omp_get_team_size", "omp_get_ancestor_thread_num", "omp_get_place_num_procs"];

/// Functions that are left out, with reasons.
const LEFT_OUT: [(&str, &str); 13] = [
    ("omp_get_wtime", "a clock"),
    ("omp_get_wtick", "a clock"),
    ("omp_get_schedule", "says what the program or its environment has set"),
    ("omp_get_affinity_format", "says what the program or its environment has set"),
    ("omp_get_default_allocator", "says what the program or its environment has set"),
    ("omp_get_place_proc_ids", "asked by the program itself, for it fills an array"),
    (
        "omp_get_partition_place_nums",
        "numbers of places, as many as `omp_get_partition_num_places` says",
    ),
    ("omp_get_mapped_ptr", "about devices"),
    ("omp_get_interop_int", "about devices"),
    ("omp_get_interop_ptr", "about devices"),
    ("omp_get_interop_str", "about devices"),
    ("omp_get_interop_name", "about devices"),
    ("omp_get_num_interop_properties", "about devices"),
];

/// Writes the generated parts of the program.
fn write_queries(folder: &Path) {
    let mut asked = String::new();
    for name in QUERY_NAMES {
        writeln!(asked, "Q({name})\nF({name}_)").unwrap();
    }
    for (name, level) in OF_A_LEVEL.iter().flat_map(|name| [-1, 0, 1, 2].map(|level| (name, level)))
    {
        writeln!(asked, "L({name}, {level})").unwrap();
    }
    fs::write(folder.join("asked.h"), &asked).unwrap();
    let declared = |line: &&str| !line.starts_with('L') || line.ends_with(" 0)");
    let declarations: Vec<&str> = asked.lines().filter(declared).collect();
    fs::write(folder.join("declarations.h"), declarations.join("\n")).unwrap();
}

/// Runs a program in a share of one CPU.
fn narrow(mode: &[&str], program: &Path, arguments: &[&OsStr], cpu: usize) -> Output {
    let script = Script::new();
    let all: Vec<&OsStr> =
        std::iter::once(program.as_os_str()).chain(arguments.iter().copied()).collect();
    let child = script
        .command(&words(mode), &all)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _grants = script.writer_from(&format!("{cpu} 1"));
    child.wait_with_output().unwrap()
}

/// The results in the order of the queries: the size of the team, which may differ, and all results
/// that may not.
fn results(output: &str) -> (Option<&str>, Vec<&str>) {
    let (mut team, mut rest) = (None, Vec::new());
    for line in output.lines() {
        if line.starts_with("omp_get_num_threads(0) team ") {
            team = line.rsplit(' ').next();
        } else if !line.starts_with("omp_get_num_threads")
            && !line.starts_with("omp_get_team_size(1)")
        {
            rest.push(line);
        }
    }
    (team, rest)
}

/// Makes the queries at `places` of the program, and compares with a run without `sinew exec`.
fn compare(
    compiler: &str,
    program: &Path,
    places: &[(&str, Option<&str>)],
    more: &[&OsStr],
    cpu: usize,
) {
    for (place, lowered) in places {
        let arguments: Vec<&OsStr> =
            std::iter::once(OsStr::new(*place)).chain(more.iter().copied()).collect();
        let alone = plain(program, &arguments);
        let (_, expected) = results(&alone);
        assert!(expected.len() > 3 * QUERY_NAMES.len(), "{compiler} {place}: {alone}");
        for mode in MODES {
            let output = text(&narrow(mode, program, &arguments, cpu), place);
            let (team, found) = results(&output);
            for (expected, found) in expected.iter().zip(&found) {
                assert_eq!(expected, found, "{compiler} {mode:?} {place}");
            }
            assert_eq!(expected.len(), found.len(), "{compiler} {mode:?} {place}");
            if let Some(lowered) = lowered.filter(|_| mode == MODES[1]) {
                assert_eq!(
                    team,
                    Some(lowered),
                    "{compiler} {place}: there is nothing to see in a team as large as ever"
                );
            }
        }
    }
}

fn program(compiler: &str, folder: &Path, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let include = format!("-I{}", folder.display());
    let flags: Vec<&str> = [include.as_str()].into_iter().chain(flags.iter().copied()).collect();
    build(compiler, folder, QUERIES, name, &flags)
}

#[test]
fn every_query_returns_the_same_outside_and_inside_of_lowered_regions() {
    let Some([cpu, _]) = two_cpus() else { return };
    for compiler in compilers() {
        let folder = tempfile::tempdir().unwrap();
        write_queries(folder.path());
        let program = program(compiler, folder.path(), "ask", &[]).expect("a program");
        let places = [
            ("deep", Some("2")),
            ("outside", None),
            ("inside", Some("1")),
            ("nested", Some("1")),
            ("task", Some("1")),
            ("after", None),
        ];
        compare(compiler, &program, &places[..if is_deep() { 6 } else { 2 }], &[], cpu);
    }
}

/// Catches: a function that was looked up and belongs to another runtime, or to none.
#[test]
fn a_program_that_looks_its_runtime_up_gets_the_same_results() {
    let Some([cpu, _]) = two_cpus() else { return };
    for compiler in compilers() {
        let folder = tempfile::tempdir().unwrap();
        write_queries(folder.path());
        let linked = program(compiler, folder.path(), "ask", &[]).expect("a program");
        let runtime = OsString::from(plain(&linked, &words(&["file"])));
        let stranger = program(compiler, folder.path(), "stranger", &["-DSTRANGER", "-fno-openmp"]);
        let stranger = stranger.expect("a program");
        compare(compiler, &stranger, &[("inside", Some("1")), ("outside", None)], &[&runtime], cpu);
    }
}

/// Catches: queries of later versions of OpenMP that are missing here.
#[test]
fn no_query_that_a_compiler_declares_is_missing_here() {
    for compiler in compilers() {
        let command = format!(
            "echo '#include <omp.h>' | {compiler} -fopenmp -E -P - | tr -c 'a-z_' '\\n' | sort -u"
        );
        let output = Command::new("sh").args(["-c", &command]).output().unwrap();
        let declared = text(&output, compiler);
        let is_query = |name: &&str| {
            ["omp_get_", "omp_in_", "omp_is_"].iter().any(|start| name.starts_with(start))
        };
        let mut queries =
            declared.lines().filter(is_query).filter(|name| !name.ends_with("_t")).peekable();
        assert!(queries.peek().is_some(), "{compiler}");
        for name in queries {
            let is_known = QUERY_NAMES.contains(&name)
                || OF_A_LEVEL.contains(&name)
                || LEFT_OUT.iter().any(|(left, _)| *left == name)
                || name.starts_with("omp_get_interop");
            assert!(is_known, "{compiler} declares {name}");
        }
    }
}

/// Catches: look-ups by an interpreter that differ from those of a compiled program.
#[test]
fn python_calls_by_ctypes_and_gets_the_same_results() {
    let Some([cpu, _]) = two_cpus() else { return };
    let code = "import ctypes, os
omp = ctypes.CDLL('libgomp.so.1')
libc = ctypes.CDLL(None)
print(omp.omp_get_max_threads(), omp.omp_get_num_procs())
print(libc.get_nprocs(), libc.sysconf(84), os.cpu_count())
print(hasattr(libc, 'omp_get_max_threads'), hasattr(libc, 'no_such_name'))";
    let python = ["python3", "-c", code];
    let alone = Command::new(python[0]).args(&python[1..]).env_remove("OMP_NUM_THREADS").output();
    let Some(alone) = alone.ok().filter(|output| output.status.success()) else {
        println!("skipped: python3 with ctypes and libgomp.so.1 are not here");
        return;
    };
    for mode in MODES {
        let output = narrow(mode, Path::new(python[0]), &words(&python[1..]), cpu);
        assert_eq!(text(&output, "python"), String::from_utf8_lossy(&alone.stdout), "{mode:?}");
    }
}
