//! Examples of `sinew-dist` over ranks that are threads and over MPI, beside plain MPI programs of
//! the same problems (`lab/bench/rivals/mpi`). All of them check or print the same result.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;

/// An example and its argument. Each has a plain MPI program of the same name.
const EXAMPLES: [(&str, &str); 2] = [("jacobi", "61"), ("mandelbrot", "61")];

const RANKS: [&str; 4] = ["1", "2", "3", "4"];

/// Settings under which Open MPI starts more ranks than there are cores, and as any user.
const OPEN_MPI: [(&str, &str); 4] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "yes"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
];

/// Runs the examples, which are built, and the plain programs.
///
/// # Errors
///
/// A program that failed, or one with another result.
pub(crate) fn examples() -> Result<(), String> {
    let plain = has_mpicc();
    if !plain {
        println!("no plain MPI programs: mpicc is not installed");
    }
    for (name, size) in EXAMPLES {
        let example = command::output_folder("debug/examples").join(name);
        let expected = result(Command::new(&example).arg(size).args(["--threads", "1"]))?;
        let mut programs = vec![("sinew-dist", example.clone())];
        if plain {
            programs.push(("plain MPI", build(name)?));
        }
        for ranks in RANKS {
            let threads = result(Command::new(&example).arg(size).args(["--threads", ranks]))?;
            let mut results = vec![("threads", threads)];
            for (kind, program) in &programs {
                results.push((kind, result(&mut over_mpi(program, ranks, size))?));
            }
            for (kind, result) in results {
                if result != expected {
                    return Err(format!("{name} on {ranks} ranks, {kind}: {result}"));
                }
            }
        }
        println!("{name}: the same result on 1, 2, 3 and 4 ranks");
    }
    Ok(())
}

/// Runs the plain search of unbalanced trees, whose status says whether the counts are those that
/// were published. A test does the same for the example `uts`.
///
/// # Errors
///
/// As for [`examples`].
pub(crate) fn trees() -> Result<(), String> {
    if !has_mpicc() {
        return Ok(());
    }
    let program = build("uts")?;
    for tree in ["T1", "T3"] {
        for ranks in ["1", "2", "3"] {
            command::run(&mut over_mpi(&program, ranks, tree))?;
        }
    }
    Ok(())
}

fn has_mpicc() -> bool {
    Command::new("mpicc").arg("--version").output().is_ok()
}

fn build(name: &str) -> Result<PathBuf, String> {
    let folder = command::output_folder("mpi");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let program = folder.join(name);
    let source = command::root().join("lab/bench/rivals/mpi").join(name).with_extension("c");
    let options = ["-O3", "-Wall", "-Wextra", "-Werror", "-o"];
    command::run(Command::new("mpicc").args(options).arg(&program).arg(source).arg("-lm"))?;
    Ok(program)
}

fn over_mpi(program: &Path, ranks: &str, size: &str) -> Command {
    let mut mpirun = Command::new("mpirun");
    mpirun.args(["-n", ranks]).arg(program).arg(size).envs(OPEN_MPI);
    mpirun
}

/// The word after `result` in what a program prints.
fn result(program: &mut Command) -> Result<String, String> {
    let output = program.output().map_err(|error| format!("{program:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program:?} ended with {}: {text}{why}", output.status));
    }
    let words = text.split_once("result ").and_then(|(_, rest)| rest.split([';', '\n']).next());
    words.map(str::to_owned).ok_or_else(|| format!("{program:?} printed no result: {text}"))
}
