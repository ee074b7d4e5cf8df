//! Everything a change must pass, step by step, with the time each step took.
//!
//! The first failure ends the run; `cargo xtask ci STEP` repeats one step alone. A step that cannot
//! run on this machine prints `skipped: reason`. So does one that would begin after as many minutes
//! as the variable `SINEW_CI_MINUTES` says: on a slow machine the first steps count.

use crate::{bench, checkers, command, doors, growth, numa, ranks, rayon, tbb, tidy};
use sinew_console::Table;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The end of a step that does not fail.
enum Outcome {
    Passed,
    Skipped(String),
}

use Outcome::{Passed, Skipped};

struct Step {
    name: &'static str,
    run: fn() -> Result<Outcome, String>,
}

/// In order: steps that fail fast come first.
const STEPS: [Step; 27] = [
    Step { name: "fmt", run: fmt },
    Step {
        name: "tidy",
        run: || tidy::run(&command::root(), &tidy::Options::default()).map(|()| Passed),
    },
    Step { name: "clippy", run: clippy },
    Step { name: "features", run: features },
    // Exactly what the README tells a newcomer to type.
    Step { name: "test", run: || pass(command::cargo(&["test"])) },
    Step { name: "examples", run: examples },
    Step { name: "overflow", run: overflow },
    Step { name: "compat", run: compat },
    Step { name: "doors", run: || doors::in_ci().map(skipped_for) },
    Step { name: "fuzz", run: fuzz },
    Step { name: "rayon", run: || rayon::tests().map(|()| Passed) },
    Step { name: "tbb", run: || tbb::run().map(skipped_for) },
    Step { name: "dist", run: dist },
    Step { name: "oldest-rust", run: oldest_rust },
    Step { name: "doc", run: doc },
    Step { name: "package", run: package },
    Step { name: "semver", run: semver },
    Step { name: "loom", run: || checkers::loom(checkers::Depth::default()).map(|()| Passed) },
    Step {
        name: "shuttle",
        run: || checkers::shuttle(checkers::Depth::default()).map(|()| Passed),
    },
    Step { name: "aarch64", run: || check_for("aarch64-unknown-linux-gnu") },
    Step { name: "windows", run: || check_for("x86_64-pc-windows-msvc") },
    Step { name: "numa-guest", run: numa_guest },
    Step { name: "bench", run: || benchmarks(&["--tiny"]) },
    Step { name: "stamp", run: || benchmarks(&["stamp", "--size", "tiny"]) },
    Step { name: "programs", run: || benchmarks(&["programs", "--tiny"]) },
    Step { name: "measure", run: measure },
    // The longest one that no other needs.
    Step {
        name: "python",
        run: || doors::python(&doors::PythonOptions::default()).map(skipped_for),
    },
];

/// The names of the steps, for the command line.
pub(crate) fn step_names() -> Vec<&'static str> {
    STEPS.iter().map(|step| step.name).collect()
}

/// Runs the steps called `wanted`, or all of them.
///
/// # Errors
///
/// The first step that failed.
pub(crate) fn run(wanted: &[String]) -> Result<(), String> {
    let start = Instant::now();
    let chosen = |step: &&Step| wanted.is_empty() || wanted.iter().any(|name| name == step.name);
    let mut times = Vec::new();
    let minutes = std::env::var("SINEW_CI_MINUTES").ok();
    let minutes = minutes.map(|text| text.parse::<u64>()).transpose();
    let minutes = minutes.map_err(|error| format!("SINEW_CI_MINUTES is no number: {error}"))?;
    for step in STEPS.iter().filter(chosen) {
        let late = minutes.filter(|minutes| start.elapsed().as_secs() >= 60 * minutes);
        let (outcome, took) = match late {
            Some(minutes) => too_late(step, minutes),
            None => timed(step)?,
        };
        times.push((step.name, outcome, took));
    }
    times.push(("all", Passed, start.elapsed()));
    let mut table = Table::new(&["step", "seconds", ""]);
    for (name, outcome, took) in times {
        let note = if let Skipped(_) = outcome { "skipped" } else { "" };
        table.row([name, &format!("{:.1}", took.as_secs_f64()), note].map(str::to_owned).into());
    }
    print!("\n{}", table.render());
    Ok(())
}

fn too_late(step: &Step, minutes: u64) -> (Outcome, Duration) {
    let reason = format!("{minutes} minutes are over: `cargo xtask ci {}` runs it", step.name);
    println!("\n== {}\nskipped: {reason}", step.name);
    (Skipped(reason), Duration::ZERO)
}

fn timed(step: &Step) -> Result<(Outcome, Duration), String> {
    println!("\n== {}", step.name);
    let start = Instant::now();
    let outcome = (step.run)().map_err(|why| {
        format!("step {} failed after {:.1} s: {why}", step.name, start.elapsed().as_secs_f64())
    })?;
    match &outcome {
        Skipped(reason) => println!("skipped: {reason}"),
        Passed => println!("== {}: passed in {:.1} s", step.name, start.elapsed().as_secs_f64()),
    }
    Ok((outcome, start.elapsed()))
}

fn pass(mut command: Command) -> Result<Outcome, String> {
    command::run(&mut command).map(|()| Passed)
}

/// `cargo fmt` does not look into macros. One declares the modules of the applications, so their
/// files are named here.
fn fmt() -> Result<Outcome, String> {
    let mut fmt = command::cargo(&["fmt", "--all", "--", "--check"]);
    fmt.args(tidy::rust_files(&command::root(), "lab/apps/src")?);
    pass(fmt)
}

fn clippy() -> Result<Outcome, String> {
    pass(command::cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
}

/// Runs the examples of `sinew`, each of which checks its results.
fn examples() -> Result<Outcome, String> {
    let folder = command::root().join("crates/sinew/examples");
    let entries =
        std::fs::read_dir(&folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let mut names: Vec<_> = entries
        .map_err(|error| format!("{}: {error}", folder.display()))?
        .iter()
        .filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    for name in names {
        let run = ["run", "--quiet", "-p", "sinew", "--features", "transactions", "--example"];
        let mut cargo = command::cargo(&run);
        cargo.arg(name);
        pass(cargo)?;
    }
    Ok(Passed)
}

/// The ranks' tests and examples over MPI, where it is installed, plain MPI programs of the same
/// problems, `sinew-lab run --ranks`, and `sinew coordinator --machines`. The tests start `mpirun`
/// at 1, 2, 3, 4 and 7 ranks.
fn dist() -> Result<Outcome, String> {
    if Command::new("mpirun").arg("--version").output().is_err() {
        return Ok(Skipped(
            "no MPI (Debian: libopenmpi-dev, openmpi-bin, libclang-dev)".to_owned(),
        ));
    }
    let mpi = ["--package", "sinew-dist", "--features", "mpi"];
    let mut clippy = command::cargo(&["clippy", "--all-targets"]);
    clippy.args(mpi).args(["--", "--deny", "warnings"]);
    pass(clippy)?;
    // Builds the examples as well.
    let mut test = command::cargo(&["test"]);
    test.args(mpi);
    pass(test)?;
    ranks::examples()?;
    ranks::trees()?;
    let lab = ["test", "--package", "sinew-lab", "--features", "mpi", "--test", "command"];
    let mut lab = command::cargo(&lab);
    lab.arg("ranks");
    pass(lab)?;
    let cli = ["--package", "sinew-cli", "--features", "mpi"];
    let mut clippy = command::cargo(&["clippy", "--all-targets"]);
    clippy.args(cli).args(["--", "--deny", "warnings"]);
    pass(clippy)?;
    let mut coordinators = command::cargo(&["test"]);
    coordinators.args(cli).args(["--test", "machines", "--test", "cli"]);
    pass(coordinators)
}

/// The crates that compute with lengths.
const LENGTHS: [&str; 7] = [
    "sinew-cpus",
    "sinew-topology",
    "sinew-deque",
    "sinew-policy",
    "sinew-core",
    "sinew-loops",
    "sinew-locality",
];

/// The tests of all that computes with lengths, in release and with overflow checks: an index that
/// wraps there would be visited twice, or not at all.
fn overflow() -> Result<Outcome, String> {
    let checked = ["test", "--profile", "checked"];
    let mut library = command::cargo(&checked);
    library.args(LENGTHS.iter().flat_map(|name| ["-p", name])).arg("--lib");
    pass(library)?;
    let mut containers = command::cargo(&checked);
    containers.args(["-p", "sinew-stm", "--test", "containers"]);
    pass(containers)?;
    let mut skeletons = command::cargo(&checked);
    skeletons.args(["-p", "sinew", "--test", "skeletons", "--test", "blocks", "--test", "stencil"]);
    pass(skeletons)?;
    // Endless loops that an optimiser may delete, and tests that count aborts.
    let mut calls = command::cargo(&checked);
    calls.args(["-p", "sinew-core", "--test", "calls"]);
    pass(calls)?;
    let mut waiting = command::cargo(&checked);
    waiting.args(["-p", "sinew", "--test", "waiting"]);
    pass(waiting)
}

fn doc() -> Result<Outcome, String> {
    let mut cargo = command::cargo(&["doc", "--workspace", "--no-deps"]);
    cargo.env("RUSTDOCFLAGS", "--deny warnings");
    pass(cargo)
}

/// Checks everything with the oldest compiler that the manifest promises, where it is installed.
fn oldest_rust() -> Result<Outcome, String> {
    let manifest = command::root().join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest)
        .map_err(|error| format!("{}: {error}", manifest.display()))?;
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'))
        .ok_or_else(|| format!("{}: no line `rust-version = \"…\"`", manifest.display()))?;
    let toolchain = format!("{version}.0");
    let mut installed = Command::new("rustup");
    installed.args(["run", &toolchain, "rustc", "--version"]);
    if !installed.output().is_ok_and(|output| output.status.success()) {
        let install = format!("rustup toolchain install {toolchain} --profile minimal");
        return Ok(Skipped(format!("Rust {toolchain} is not installed: `{install}`")));
    }
    let mut cargo = Command::new("rustup");
    cargo.args(["run", &toolchain, "cargo", "check", "--workspace", "--all-targets"]);
    cargo.current_dir(command::root());
    cargo.env("CARGO_TARGET_DIR", command::target_dir("oldest-rust"));
    pass(cargo)
}

/// Packages what users get, as `cargo publish` would, and builds each package by itself. The
/// drop-in's package cannot be built before the crates that it depends on are published.
fn package() -> Result<Outcome, String> {
    forget_packages();
    let mut cargo = command::cargo(&["package", "--workspace", "--allow-dirty", "--quiet"]);
    for name in PRIVATE {
        cargo.args(["--exclude", name]);
    }
    pass(cargo)?;
    let whole = ["package", "--no-verify", "--exclude-lockfile", "--allow-dirty", "--quiet"];
    pass(command::nested(command::DROP_IN, &whole))
}

/// Compares the public API of what users get with that of the last release, where the checker is
/// installed: a change that breaks users needs another version.
fn semver() -> Result<Outcome, String> {
    let mut installed = command::cargo(&["semver-checks", "--version"]);
    if !installed.output().is_ok_and(|output| output.status.success()) {
        let install = "cargo install --locked cargo-semver-checks";
        return Ok(Skipped(format!("cargo-semver-checks is not installed: `{install}`")));
    }
    let mut last = Command::new("git");
    last.args(["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]);
    last.current_dir(command::root());
    let Ok(tag) = command::output(&mut last) else {
        return Ok(Skipped("no release has a tag `v…`".to_owned()));
    };
    let mut cargo = command::cargo(&["semver-checks", "--workspace", "--baseline-rev"]);
    cargo.arg(tag.trim());
    for name in PRIVATE {
        cargo.args(["--exclude", name]);
    }
    pass(cargo)
}

/// Removes what cargo has unpacked of earlier packages of this workspace: it keeps them by name and
/// version, and would verify the new ones against them.
fn forget_packages() {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let entries = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let begins = |path: &Path, with: &str| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(with))
    };
    // A registry that exists for one command has no host in its name.
    let registries = home.iter().flat_map(|home| entries(&home.join("registry/src")));
    let packages = registries.filter(|path| begins(path, "-")).flat_map(|path| entries(&path));
    // One that cannot be removed is found by the verification.
    packages
        .filter(|path| begins(path, "sinew"))
        .for_each(|path| drop(std::fs::remove_dir_all(path)));
}

/// The packages of this workspace that are not published.
const PRIVATE: [&str; 9] = [
    "bench",
    "numa-guest",
    "numa-protocol",
    "sinew-apps",
    "sinew-lab",
    "sinew-report",
    "sinew-reproduce",
    "sinew-sim",
    "xtask",
];

/// Workspaces of their own, below the root: the drop-in, the programs that are measured with it and
/// without, and Sinew's iterators by rayon's names.
const NESTED: [&str; 3] = [command::DROP_IN, "lab/bench/rayon", "lab/bench/rayon/shim"];

/// For those nested in it what `fmt`, `clippy`, `test` and `doc` are for the workspace; and what
/// the drop-in leaves to others.
fn compat() -> Result<Outcome, String> {
    for place in NESTED {
        pass(command::nested(place, &["fmt", "--", "--check"]))?;
        pass(command::nested(place, &["clippy", "--all-targets", "--", "--deny", "warnings"]))?;
        // The measured programs check their results themselves, whenever they run.
        if place == command::DROP_IN {
            let all = ["clippy", "--all-targets", "--all-features", "--", "--deny", "warnings"];
            pass(command::nested(place, &all))?;
            pass(command::nested(place, &["test", "--all-features"]))?;
            let mut doc = command::nested(place, &["doc", "--no-deps", "--all-features"]);
            doc.env("RUSTDOCFLAGS", "--deny warnings");
            pass(doc)?;
        }
    }
    growth::check().map(|()| Passed)
}

/// The crates that programs depend on, without features and with each one alone: in a build of the
/// workspace they have all.
fn features() -> Result<Outcome, String> {
    const ALONE: [(&str, &[&str]); 7] = [
        ("sinew-policy", &["", "experiments", "graph", "lifelines", "share", "worklist"]),
        ("sinew-topology", &["", "json", "render", "synthetic"]),
        ("sinew-deque", &["", "experiments"]),
        ("sinew-core", &["", "coordinate", "experiments"]),
        ("sinew-loops", &["", "csv"]),
        ("sinew-c", &["", "coordinate"]),
        ("sinew", &["", "coordinate", "csv", "experiments", "locality", "profile", "transactions"]),
    ];
    for (package, features) in ALONE {
        for feature in features {
            let mut cargo = command::cargo(&["clippy", "--lib", "--package", package]);
            cargo.args(["--features", feature, "--", "--deny", "warnings"]);
            pass(cargo)?;
        }
    }
    Ok(Passed)
}

/// The fuzzer's targets are kept such that they build; without the fuzzer itself, which is C++.
fn fuzz() -> Result<Outcome, String> {
    let place = checkers::FUZZ;
    pass(command::nested(place, &["fmt", "--", "--check"]))?;
    pass(command::nested(
        place,
        &["clippy", "--all-targets", "--no-default-features", "--", "--deny", "warnings"],
    ))
}

/// Type-checks the workspace and the drop-in for another kind of machine.
fn check_for(target: &str) -> Result<Outcome, String> {
    if !installed_targets().iter().any(|installed| installed == target) {
        return Ok(Skipped(format!(
            "target {target} is not installed (rustup target add {target})"
        )));
    }
    pass(command::cargo(&["check", "--workspace", "--target", target]))?;
    pass(command::nested(command::DROP_IN, &["check", "--target", target]))
}

/// The output of `rustup`; empty without `rustup`.
fn installed_targets() -> Vec<String> {
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "list", "--installed"]);
    command::output(&mut rustup)
        .map_or_else(|_| Vec::new(), |list| list.lines().map(str::to_owned).collect())
}

/// Needs an emulator and a kernel, which few machines have installed.
fn numa_guest() -> Result<Outcome, String> {
    numa::in_ci().map(skipped_for)
}

fn skipped_for(reason: Option<String>) -> Outcome {
    reason.map_or(Passed, Skipped)
}

/// The measuring commands, each at its smallest.
fn measure() -> Result<Outcome, String> {
    benchmarks(&[
        "latency", "calls", "idle", "memory", "coord", "exec", "tbb", "arrivals", "plastic",
        "stencil", "auto", "--tiny",
    ])
}

fn benchmarks(arguments: &[&str]) -> Result<Outcome, String> {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    bench::run(&arguments).map(|()| Passed)
}

#[cfg(test)]
mod tests {
    //! Blind to: whether a step does what its name says.
    use super::*;

    #[test]
    fn every_step_has_a_name_of_its_own() {
        let mut names = step_names();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), STEPS.len());
    }

    #[test]
    fn a_failing_step_is_named_with_its_reason() {
        let step = Step { name: "glass", run: || Err("it broke".to_owned()) };
        let why = timed(&step).err().expect("the step fails");
        assert!(
            why.starts_with("step glass failed after ") && why.ends_with(": it broke"),
            "{why}"
        );
    }

    #[test]
    fn a_target_nobody_installed_is_skipped_with_its_name() {
        match check_for("pdp11-unknown-none") {
            Ok(Skipped(reason)) => assert!(reason.contains("pdp11-unknown-none"), "{reason}"),
            _ => panic!("a target that does not exist cannot be checked"),
        }
    }
}
