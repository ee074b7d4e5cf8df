//! The concurrency checkers: loom, shuttle, and stress with real threads.
//!
//! Models live beside the code they check, in the library tests of the crates below; their names start with `loom_` or
//! `shuttle_`, so that each checker runs its own and nothing else. A checker that finds none of its tests fails: a run
//! of nothing proves nothing.

use crate::command;
use clap::Args;
use std::process::Command;

/// The crates that have models.
const CRATES: [&str; 3] = ["sinew-core", "sinew-stm", "sinew-sync"];

/// How far a checker looks.
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
        tests.env("LOOM_MAX_PREEMPTIONS", depth.limit.unwrap_or(if depth.deep { 3 } else { 2 }).to_string());
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

/// Runs every test of the workspace with `seconds` for each stress test.
///
/// # Errors
///
/// A test failed or does not build.
pub(crate) fn stress(seconds: u32) -> Result<(), String> {
    let mut cargo = command::cargo(&["test", "--release", "--workspace"]);
    command::run(cargo.env("SINEW_STRESS_SECONDS", seconds.to_string()))
}

fn check(checker: &str, depth: Depth, configure: impl Fn(&mut Command)) -> Result<(), String> {
    let filter = format!("{checker}_");
    let listed = command::output(tests(checker).args([&filter, "--", "--list"]))?;
    if !listed.lines().any(|line| line.ends_with(": test")) {
        return Err(format!("no test named {filter}… in {}: nothing was checked", CRATES.join(" and ")));
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
    for name in CRATES {
        cargo.args(["--package", name]);
    }
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    cargo.env("RUSTFLAGS", format!("{flags} --cfg {checker}"));
    cargo.env("CARGO_TARGET_DIR", command::target_dir(checker));
    cargo
}
