//! Wrong results: OpenMP programs of every kind, by both compilers, must print the same with and
//! without `sinew exec`, while their shares change every few milliseconds.
//!
//! Blind to: programs that go wrong once in a thousand runs, and kinds that are missing here.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::compile::{MODES, build, builds_openmp, compilers, plain, text};
use common::{Script, flapping, two_cpus, until, words};

const HUNT: &str = include_str!("openmp/hunt.c");
const PART: &str = include_str!("openmp/part.c");
const BOTH: &str = include_str!("openmp/both.c");

/// Weak names, as OpenBLAS has them.
const WEAK: &str = "int omp_in_parallel(void) __attribute__((weak));
int omp_get_max_threads(void) __attribute__((weak));
int omp_get_num_procs(void) __attribute__((weak));
void omp_set_num_threads(int) __attribute__((weak));
int printf(const char *, ...);
int main(void) {
    if (omp_set_num_threads) omp_set_num_threads(4);
    for (int i = 0; i < 3; i++)
        printf(\"%d %d %d\\n\", omp_in_parallel ? omp_in_parallel() : 0,
               omp_get_max_threads ? omp_get_max_threads() : 1,
               omp_get_num_procs ? omp_get_num_procs() : 1);
    return 0;
}
";

/// Counts processors as GNU's runtime does, or as TBB, and prints the number: twice, from a library
/// of the runtime's name and from the program.
const COUNTING: &str = "#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
int COUNT(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
#ifdef AS_TBB
    return sched_getaffinity(0, sizeof set, &set) ? -1 : CPU_COUNT(&set);
#else
    return pthread_getaffinity_np(pthread_self(), sizeof set, &set) ? -1 : CPU_COUNT(&set);
#endif
}
#ifndef LIBRARY
int runtime_counts(void);
int main(void) { return printf(\"%d %d\\n\", runtime_counts(), COUNT()) < 0; }
#endif
";

/// One short region after the other, until it is ended.
const ENDLESS: &str = "int main(void) { for (;;) {
#pragma omp parallel
__asm__ volatile(\"\");
} }";

/// Builds the endless program. Prints a reason and returns `None` if that is impossible.
fn endless(folder: &Path) -> Option<PathBuf> {
    let program = build("gcc", folder, ENDLESS, "endless", &[]);
    if program.is_none() {
        println!("skipped: gcc cannot build OpenMP programs here");
    }
    program
}

/// The cases in one program without data per thread.
const CASES: [&str; 18] = [
    "follow",
    "maximum",
    "looked_up",
    "processors",
    "online",
    "nprocs",
    "own_number",
    "clause",
    "fixed",
    "nested",
    "deep",
    "teams",
    "tasks",
    "reductions",
    "barriers",
    "constructs",
    "pthreads",
    "forks",
];

/// Catches: an output that differs. Blind to: a program whose wrong output is the same in all three
/// runs.
#[test]
fn results_are_the_same_with_and_without_in_both_modes() {
    let Some(cpus) = two_cpus() else { return };
    for compiler in compilers() {
        let folder = tempfile::tempdir().unwrap();
        let follower = build(compiler, folder.path(), HUNT, "hunt", &["-pthread"])
            .expect("the programs can be built");
        let private = build(compiler, folder.path(), HUNT, "private", &["-pthread", "-DPRIVATE"])
            .expect("with data per thread");
        let cases = CASES
            .iter()
            .map(|case| (&follower, *case))
            .chain([(&private, "threadprivate"), (&private, "follow")]);
        for (program, case) in cases {
            let expected = plain(program, &words(&[case]));
            for mode in MODES {
                assert_eq!(
                    flapping(&words(mode), program, &words(&[case]), cpus),
                    expected,
                    "{compiler} {case} {mode:?}"
                );
            }
        }
    }
}

/// Catches: teams that keep their size in malleable mode, and teams that are lowered in safe mode.
#[test]
fn teams_are_lowered_in_malleable_mode_and_never_in_safe_mode() {
    let Some([first, _]) = two_cpus() else { return };
    for compiler in compilers() {
        let folder = tempfile::tempdir().unwrap();
        let program = build(compiler, folder.path(), HUNT, "hunt", &["-pthread"])
            .expect("the programs can be built");
        let alone = plain(&program, &words(&["follow", "teams?"]));
        let largest = alone.lines().nth(1).expect("teams").to_owned();
        for (mode, expected) in [(MODES[0], largest.as_str()), (MODES[1], "1 1")] {
            let script = Script::new();
            let all = [program.as_os_str(), OsStr::new("follow"), OsStr::new("teams?")];
            let child = script.command(&words(mode), &all).stdout(Stdio::piped()).spawn().unwrap();
            let _grants = script.writer_from(&format!("{first} 1"));
            let output = child.wait_with_output().unwrap();
            let teams = String::from_utf8_lossy(&output.stdout).lines().nth(1).map(str::to_owned);
            assert_eq!(teams.as_deref(), Some(expected), "{compiler} {mode:?}");
        }
    }
}

/// Catches: a script's count that counts as one of `sinew exec`. Also a count of `sinew exec` that
/// counts as a script's, or has more in it than digits.
#[test]
fn a_count_that_a_script_sets_on_the_way_is_kept_and_ours_is_a_plain_number() {
    let Some([first, _]) = two_cpus() else { return };
    let compiler = compilers().into_iter().next();
    let folder = tempfile::tempdir().unwrap();
    let program =
        compiler.and_then(|compiler| build(compiler, folder.path(), HUNT, "hunt", &["-pthread"]));
    let Some(program) = program else {
        println!("skipped: nothing here builds OpenMP programs");
        return;
    };
    let is_strict =
        "case $OMP_NUM_THREADS$SINEW_THREADS in ''|*[!0-9]*) echo refused; exit;; esac; ";
    let run = "\"$0\" follow 'teams?'";
    for (set, expected) in [("", "1 1"), ("OMP_NUM_THREADS=3 ", "3 3")] {
        let script = Script::new();
        let shell = format!("{is_strict}{set}{run}");
        let all = [OsStr::new("sh"), OsStr::new("-c"), OsStr::new(&shell), program.as_os_str()];
        let child = script.command(&words(MODES[1]), &all).stdout(Stdio::piped()).spawn().unwrap();
        let _grants = script.writer_from(&format!("{first} 1"));
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text.lines().nth(1), Some(expected), "`{set}`: {text}");
    }
}

/// Catches: tests that do not notice a library that lowers every program.
#[test]
fn a_careless_library_is_caught() {
    let Some([first, _]) = two_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(careless) = careless_library(folder.path()) else { return };
    for compiler in compilers() {
        let program = build(compiler, folder.path(), HUNT, "hunt", &["-pthread"])
            .expect("the programs can be built");
        let script = Script::new();
        let options = [OsStr::new("--malleable"), OsStr::new("--library"), careless.as_os_str()];
        let mut command = script.command(&options, &[program.as_os_str(), OsStr::new("maximum")]);
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        let _grants = script.writer_from(&format!("{first} 1"));
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "wrong results exit with 0");
        let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_ne!(
            output_text,
            plain(&program, &words(&["maximum"])),
            "{compiler}: elements were left out without an error"
        );
    }
}

/// The library with a planted bug.
fn careless_library(folder: &Path) -> Option<PathBuf> {
    let library = folder.join("careless.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sinew-preload/src/lib.rs");
    let mut command =
        Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc")));
    command.args([
        "--edition",
        "2024",
        "--crate-name",
        "careless",
        "--crate-type",
        "cdylib",
        "--cfg",
        "sinew_preloaded",
    ]);
    command.args([
        "--cfg",
        "sinew_planted",
        "-C",
        "opt-level=s",
        "-C",
        "panic=abort",
        "-C",
        "lto=fat",
        "-C",
        "relro-level=partial",
    ]);
    let output = command.arg(source).arg("-o").arg(&library).output();
    let built = output.is_ok_and(|output| output.status.success());
    if !built {
        println!("skipped: rustc cannot build a library here");
    }
    built.then_some(library)
}

/// Blind to: runtimes that are unloaded again.
#[test]
fn two_runtimes_in_one_process_that_are_loaded_late_are_told_apart() {
    let Some(cpus) = two_cpus() else { return };
    let compilers = compilers();
    if compilers.len() < 2 {
        println!("skipped: two runtimes need two compilers");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut arguments: Vec<OsString> = Vec::new();
    for (index, compiler) in compilers.iter().enumerate() {
        let name = format!("part{index}");
        let flags = [format!("-DNAME={name}"), "-shared".to_owned(), "-fPIC".to_owned()];
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let library = build(compiler, folder.path(), PART, &name, &flags).expect("a library");
        arguments.extend([library.into(), name.into()]);
    }
    let both = folder.path().join("both.c");
    std::fs::write(&both, BOTH).unwrap();
    let program = folder.path().join("both");
    let built =
        Command::new("gcc").arg("-o").arg(&program).arg(&both).arg("-ldl").status().unwrap();
    assert!(built.success());
    // Each twice, so that the second call finds the call site remembered by the first.
    let twice: Vec<&OsStr> = arguments.iter().chain(&arguments).map(OsString::as_os_str).collect();
    let expected = plain(&program, &twice);
    assert_eq!(expected.lines().count(), 4);
    for mode in MODES {
        assert_eq!(flapping(&words(mode), &program, &twice, cpus), expected, "{mode:?}");
    }
}

/// A library with a sum and the size of a team.
const SUM_AND_TEAM: &str = "#include <omp.h>
long sum(void) {
    long sum = 0;
    for (int r = 0; r < 300; r++) {
#pragma omp parallel reduction(+ : sum)
        {
            int t = omp_get_thread_num(), n = omp_get_num_threads();
            for (int i = t * 1000 / n; i < (t + 1) * 1000 / n; i++) sum += i;
        }
    }
    return sum;
}
long team(void) {
    long team = 0;
#pragma omp parallel reduction(+ : team)
    team++;
    return team;
}
";

/// Calls both functions of two libraries by turns. With another word, it also prints whether the
/// two files are two runtimes in this process.
const BY_TURNS: &str = "#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
    void *libraries[2], *runtimes[2];
    for (int i = 0; i < 2; i++)
        if (!(libraries[i] = dlopen(words[i + 1], RTLD_NOW | RTLD_LOCAL)))
            return fprintf(stderr, \"%s\\n\", dlerror()), 1;
    for (int i = 0; i < 4; i++)
        printf(\"%ld\\n\", ((long (*)(void))dlsym(libraries[i % 2], \"sum\"))());
    if (count < 5) return 0;
    for (int i = 0; i < 2; i++) {
        printf(\"%ld\\n\", ((long (*)(void))dlsym(libraries[i], \"team\"))());
        runtimes[i] = dlopen(words[i + 3], RTLD_NOW | RTLD_NOLOAD);
    }
    puts(runtimes[0] && runtimes[1] && runtimes[0] != runtimes[1] ? \"two\" : \"one\");
    return 0;
}
";

/// GNU's runtime and a copy of another name, each with a library that uses it, and a program that
/// uses both. Prints a reason and returns `None` if they cannot be built.
fn two_of_gnu(folder: &Path) -> Option<(PathBuf, [OsString; 4])> {
    let found = Command::new("gcc").arg("-print-file-name=libgomp.so.1").output().ok();
    let path = found.and_then(|output| String::from_utf8(output.stdout).ok());
    let runtime = path.and_then(|path| std::fs::read(path.trim()).ok());
    let Some(mut runtime) = runtime.filter(|_| builds_openmp("gcc")) else {
        println!("skipped: gcc cannot build OpenMP programs with a shared runtime here");
        return None;
    };
    // The runtime's own name, which the dynamic linker goes by, gets another last digit.
    let name = b"libgomp.so.1\0";
    for at in 0..runtime.len() - name.len() {
        if runtime[at..].starts_with(name) {
            runtime[at + name.len() - 2] = b'2';
        }
    }
    let copy = folder.join("libgomp.so.2");
    std::fs::write(&copy, runtime).unwrap();
    let gcc = |words: &[&OsStr]| {
        let output = Command::new("gcc").current_dir(folder).args(words).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    std::fs::write(folder.join("part.c"), SUM_AND_TEAM).unwrap();
    std::fs::write(folder.join("turns.c"), BY_TURNS).unwrap();
    gcc(&words(&["-fopenmp", "-fPIC", "-O1", "-c", "part.c"]));
    gcc(&words(&["-o", "turns", "turns.c", "-ldl"]));
    gcc(&words(&["-shared", "-o", "first.so", "part.o", "-l:libgomp.so.1"]));
    let where_it_is = OsString::from(format!("-Wl,-rpath,{}", folder.display()));
    let second = words(&["-shared", "-o", "second.so", "part.o"]);
    gcc(&[&second[..], &[copy.as_os_str(), &where_it_is]].concat());
    let libraries = ["first.so", "second.so"].map(|name| folder.join(name).into());
    let [first, second] = libraries;
    Some((folder.join("turns"), [first, second, "libgomp.so.1".into(), copy.into()]))
}

/// Catches: a call of one runtime that goes to the other, and a second runtime whose teams are
/// never lowered. Blind to: runtimes of different makers.
#[test]
fn two_runtimes_of_one_maker_in_one_process_are_told_apart() {
    let Some(cpus) = two_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some((program, arguments)) = two_of_gnu(folder.path()) else { return };
    let arguments: Vec<&OsStr> = arguments.iter().map(OsString::as_os_str).collect();
    let all = plain(&program, &arguments);
    let threads = all.lines().nth(4).expect("the size of a team").to_owned();
    let sums = format!("{}\n", 499_500 * 300).repeat(4);
    assert_eq!(all, format!("{sums}{threads}\n{threads}\ntwo\n"));
    for mode in MODES {
        assert_eq!(flapping(&words(mode), &program, &arguments[..2], cpus), sums, "{mode:?}");
        let script = Script::new();
        let words_of_command = [&[program.as_os_str()], &arguments[..]].concat();
        let mut command = script.command(&words(mode), &words_of_command);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let _grants = script.writer_from(&format!("{} 1", cpus[0]));
        let printed = text(&child.wait_with_output().unwrap(), "two of a maker");
        let team = if mode.is_empty() { threads.as_str() } else { "1" };
        assert_eq!(printed, format!("{sums}{team}\n{team}\ntwo\n"), "{mode:?}");
    }
}

/// Catches: a runtime that counts the processors of a narrow share. Blind to: runtimes of other
/// names.
#[test]
fn a_runtime_counts_all_processors_under_a_narrow_share_and_the_program_its_own() {
    let Some([first, _]) = two_cpus() else { return };
    for (library, flag) in [("libgomp-copy.so", "-DAS_GNU"), ("libtbb.so.12", "-DAS_TBB")] {
        let folder = tempfile::tempdir().unwrap();
        let flags = ["-shared", "-fPIC", "-DLIBRARY", "-DCOUNT=runtime_counts", flag];
        let Some(library) = build("gcc", folder.path(), COUNTING, library, &flags) else {
            println!("skipped: gcc cannot build libraries here");
            return;
        };
        let where_it_is = format!("-Wl,-rpath,{}", folder.path().display());
        let flags = ["-DCOUNT=own_count", flag, library.to_str().unwrap(), &where_it_is];
        let program = build("gcc", folder.path(), COUNTING, "counting", &flags).expect("a program");
        let all = plain(&program, &[]);
        let all = all.split(' ').next().unwrap();
        for mode in MODES {
            let script = Script::new();
            let child = script
                .command(&words(mode), &[program.as_os_str()])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let _grants = script.writer_from(&format!("{first} 1"));
            let output = child.wait_with_output().unwrap();
            assert_eq!(text(&output, "counting"), format!("{all} 1\n"), "{flag} {mode:?}");
        }
    }
}

/// Catches: an idle team that is missing, that stays, or that is started although the user has set
/// how threads wait.
#[test]
fn a_team_in_a_smaller_share_is_beside_two_idle_threads_until_it_has_room() {
    let Some([first, second]) = two_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = endless(folder.path()) else { return };
    let team = std::thread::available_parallelism().unwrap().get();
    let all = common::mask_of(std::process::id()).unwrap();
    for (policy, idle) in [(None, 2), (Some("active"), 0)] {
        let script = Script::new();
        let mut command = script.command(&[], &[program.as_os_str()]);
        command
            .env_remove("OMP_WAIT_POLICY")
            .envs(policy.map(|policy| ("OMP_WAIT_POLICY", policy)));
        let mut child = command.spawn().unwrap();
        let mut grants = script.writer_from(&format!("{first} 1"));
        let has =
            |threads: usize| until("the threads", || common::masks_of(child.id()).len() == threads);
        has(team + idle);
        for (grant, threads) in
            [(format!("{all} {team}"), team), (format!("{second} 1"), team + idle)]
        {
            writeln!(grants, "{grant}").unwrap();
            has(threads);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Catches: a team that stays on one processor while other programs have theirs to themselves, one
/// that stays on all, and processes of one thread that are moved in vain.
#[test]
fn a_team_takes_turns_where_there_are_more_programs_than_processors() {
    let Some([first, second]) = two_cpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = endless(folder.path()) else { return };
    let both: sinew_topology::CpuSet = [first, second].into_iter().collect();
    let script = Script::new();
    let commands = format!("{} & sleep 1000", program.display());
    let mut child = script.command(&[], &words(&["sh", "-c", &commands])).spawn().unwrap();
    let mut grants = script.writer_from(&format!("{both} 1 0/3"));
    let shell = child.id();
    let team = || common::family_of(shell).into_iter().find(|pid| common::masks_of(*pid).len() > 1);
    until("a team", || team().is_some());
    let is_at = |cpus: String| common::masks_of(team().unwrap()).iter().all(|mask| *mask == cpus);
    for cpu in [first, second, first] {
        until("its turn", || is_at(cpu.to_string()));
    }
    assert_eq!(common::masks_of(shell), [both.to_string()], "the shell has one thread");
    writeln!(grants, "{both} 1 0/2").unwrap();
    until("processors enough", || is_at(both.to_string()));
    common::family_of(shell).into_iter().rev().for_each(|pid| common::kill("KILL", pid));
    child.wait().unwrap();
}

/// Blind to: names that are looked up by `dlsym`.
#[test]
fn a_program_that_can_do_without_a_runtime_still_can() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("weak.c");
    std::fs::write(&source, WEAK).unwrap();
    let program = folder.path().join("weak");
    if !Command::new("gcc")
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .status()
        .is_ok_and(|status| status.success())
    {
        println!("skipped: gcc cannot build programs here");
        return;
    }
    for mode in MODES {
        let output =
            Command::new(common::EXEC).args(mode).arg("/dev/null").arg(&program).output().unwrap();
        assert_eq!(text(&output, "weak"), plain(&program, &[]), "{mode:?}");
    }
}

/// Blind to: static programs of other languages.
#[test]
fn a_static_program_runs_and_malleable_says_that_it_has_no_effect() {
    let folder = tempfile::tempdir().unwrap();
    if !builds_openmp("gcc") {
        println!("skipped: gcc cannot build OpenMP programs here");
        return;
    }
    let Some(program) =
        build("gcc", folder.path(), HUNT, "hunt", &["-pthread", "-static", "-Wl,-w"])
    else {
        println!("skipped: gcc cannot link statically here");
        return;
    };
    let expected = plain(&program, &words(&["maximum"]));
    for (options, says) in [(vec![], ""), (vec!["--malleable"], "linked statically")] {
        let output = Command::new(common::EXEC)
            .args(options)
            .arg("/dev/null")
            .arg(&program)
            .arg("maximum")
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            error.contains(says) && error.lines().count() == usize::from(!says.is_empty()),
            "{error}"
        );
    }
}

/// Blind to: programs that find OpenBLAS in other places.
#[test]
fn a_numerical_python_program_prints_the_same() {
    let Some(cpus) = two_cpus() else { return };
    let code = "import numpy as np
a = np.arange(250000.0).reshape(500, 500) % 7
for _ in range(5): b = a @ a
print(int(b.sum()))";
    let python = ["python3", "-c", code];
    let alone = Command::new(python[0]).args(&python[1..]).output();
    let Some(alone) = alone.ok().filter(|output| output.status.success()) else {
        println!("skipped: python3 has no numpy");
        return;
    };
    for mode in MODES {
        let script = Script::new();
        let output = script.run_flapping(&mut script.command(&words(mode), &words(&python)), cpus);
        assert_eq!(text(&output, "python"), String::from_utf8_lossy(&alone.stdout));
    }
}
