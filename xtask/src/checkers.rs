//! The concurrency checkers: loom, shuttle, and stress with real threads; and the fuzzer.
//!
//! Models live beside the code they check, in the library tests of the crates below; their names
//! start with `loom_` or `shuttle_`, so that each checker runs its own and nothing else. A checker
//! that finds none of its tests fails: a run of nothing proves nothing.

use crate::command;
use clap::Args;
use std::process::Command;

/// The crates that have models. Those of the last four are for shuttle alone.
const CRATES: [&str; 9] = [
    "sinew-core",
    "sinew-deque",
    "sinew-loops",
    "sinew-stm",
    "sinew-sync",
    "sinew",
    "sinew-locality",
    "sinew-observe",
    "sinew-dist",
];

fn crates(checker: &str) -> &'static [&'static str] {
    if checker == "shuttle" { &CRATES } else { &CRATES[..5] }
}

/// The depth of a checker's search.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct Depth {
    /// Look further: more preemptions, more schedules, the larger models. Takes minutes to hours.
    #[arg(long)]
    pub(crate) deep: bool,
    /// Schedules per shuttle test, or preemptions per loom model (default: by depth).
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
}

/// Runs the loom models.
///
/// # Errors
///
/// A model failed or does not build, or there is none.
pub(crate) fn loom(depth: Depth) -> Result<(), String> {
    check("loom", depth, |tests| {
        // Without a bound of their own, models take this one.
        tests.env(
            "LOOM_MAX_PREEMPTIONS",
            depth.limit.unwrap_or(if depth.deep { 3 } else { 2 }).to_string(),
        );
    })
}

/// Runs the shuttle tests.
///
/// # Errors
///
/// A schedule failed (the test prints its seed), the tests do not build, or there is none.
pub(crate) fn shuttle(depth: Depth) -> Result<(), String> {
    check("shuttle", depth, |tests| {
        let schedules = depth.limit.unwrap_or(if depth.deep { 100_000 } else { 1_000 });
        tests.env("SINEW_SHUTTLE_ITERATIONS", schedules.to_string());
    })
}

/// Runs every test of the workspace and of the drop-in with `seconds` for each stress test. Tests
/// with a `deep` run, such as a million changes of loops and skeletons, do that as well.
///
/// # Errors
///
/// A test failed or does not build.
pub(crate) fn stress(seconds: u32, deep: bool) -> Result<(), String> {
    let workspace = command::cargo(&["test", "--release", "--workspace"]);
    for mut cargo in [workspace, command::nested(command::DROP_IN, &["test", "--release"])] {
        if deep {
            cargo.env("SINEW_DEEP", "1");
        }
        command::run(cargo.env("SINEW_STRESS_SECONDS", seconds.to_string()))?;
    }
    Ok(())
}

/// The folder of the fuzzer's targets, a workspace of its own.
pub(crate) const FUZZ: &str = "fuzz";

/// Flags with which the compiler tells the fuzzer which paths a program takes, as `cargo fuzz`
/// does; that needs a nightly compiler for its sanitizers, which safe code does not need.
const COVERAGE: &str = "--cfg fuzzing -C debug-assertions -C passes=sancov-module \
-C codegen-units=1 \
-C llvm-args=-sanitizer-coverage-level=4 -C llvm-args=-sanitizer-coverage-inline-8bit-counters \
-C llvm-args=-sanitizer-coverage-pc-table -C llvm-args=-sanitizer-coverage-trace-compares";

/// Runs the fuzzer for `seconds`. The next run finds again the inputs that it has found worth
/// keeping.
///
/// # Errors
///
/// It has found something, which it prints and keeps; or there is no C++ compiler, which it needs.
pub(crate) fn fuzz(seconds: u32) -> Result<(), String> {
    if command::cpp_compiler().is_none() {
        return Err("the fuzzer is C++: it needs a compiler (c++)".to_owned());
    }
    let corpus = command::output_folder("fuzz-corpus");
    std::fs::create_dir_all(&corpus)
        .map_err(|error| format!("cannot make {}: {error}", corpus.display()))?;
    // Naming the machine keeps the flags away from build scripts.
    let mut cargo =
        command::cargo(&["run", "--release", "--bin", "table", "--target", &host()?, "--"]);
    cargo.current_dir(command::root().join(FUZZ)).arg(&corpus);
    cargo.args([
        format!("-max_total_time={seconds}"),
        "-max_len=4000".into(),
        "-print_final_stats=1".into(),
    ]);
    cargo.env("RUSTFLAGS", COVERAGE).env("CARGO_TARGET_DIR", command::output_folder("fuzz"));
    command::run(&mut cargo)
}

/// The compiler's name of this kind of machine.
fn host() -> Result<String, String> {
    let version = command::output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not say for which machine it is".to_owned())
}

fn check(checker: &str, depth: Depth, configure: impl Fn(&mut Command)) -> Result<(), String> {
    let filter = format!("{checker}_");
    let listed = command::output(tests(checker).args([&filter, "--", "--list"]))?;
    if !listed.lines().any(|line| line.ends_with(": test")) {
        return Err(format!(
            "no test named {filter}… in {}: nothing was checked",
            crates(checker).join(" and ")
        ));
    }
    let mut tests = tests(checker);
    configure(&mut tests);
    if depth.deep {
        tests.env("SINEW_DEEP", "1");
    }
    command::run(tests.arg(filter))
}

/// `cargo test` of the crates with models, built for `checker`.
fn tests(checker: &str) -> Command {
    let mut cargo = command::cargo(&["test", "--release", "--lib", "--features", checker]);
    for name in crates(checker) {
        cargo.args(["--package", name]);
    }
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    cargo.env("RUSTFLAGS", format!("{flags} --cfg {checker}"));
    cargo.env("CARGO_TARGET_DIR", command::target_dir(checker));
    cargo
}
