//! The checks of `ranks`, and failures, over MPI. This program starts itself by `mpirun` as 1, 2,
//! 3, 4 and 7 ranks. It prints `skipped: no MPI` where there is no `mpirun`, and in builds without
//! the feature `mpi`.
//!
//! | failure | what rank 1 does |
//! |---|---|
//! | `panic` | panics |
//! | `leave` | returns while the others wait for it |
//! | `kill` | ends by a signal that it cannot catch |
//! | `stop` | stops answering |
//!
//! Catches: ranks that are left waiting for one that is gone, and a status of 0.

mod checks;

use std::process::{Command, ExitCode, Output};

use sinew_dist::World;

const FAILURE: &str = "SINEW_DIST_TEST_FAILURE";

fn main() -> ExitCode {
    if std::env::var_os("SINEW_DIST_TEST_RANK").is_some() {
        be_a_rank();
        return ExitCode::SUCCESS;
    }
    let installed = Command::new("mpirun").arg("--version").output().is_ok();
    if !cfg!(feature = "mpi") || !installed {
        println!("skipped: no MPI");
        return ExitCode::SUCCESS;
    }
    for size in [1, 2, 3, 4, 7] {
        let output = start(size, "");
        assert!(output.status.success(), "{size} ranks: {}", text(&output));
        println!("{size} ranks agree");
    }
    for (failure, line) in [
        ("panic", "sinew-dist: rank 1 of 4: panicked: a rank was asked to panic"),
        ("leave", "rank 1 has ended, and does not take part in `all_reduce`"),
        // MPICH's launcher names the process instead of the rank.
        ("kill", if is_mpich() { "Killed (signal 9)" } else { "rank 1 " }),
        ("stop", "sinew-dist: rank 1 of 4: gave no sign of life"),
    ] {
        let output = start(4, failure);
        assert!(!output.status.success(), "{failure}: {}", text(&output));
        assert!(text(&output).contains(line), "{failure}: {}", text(&output));
        println!("{failure}: the job ended and named the rank");
    }
    ExitCode::SUCCESS
}

/// Whether `mpirun` is MPICH's.
fn is_mpich() -> bool {
    let version = Command::new("mpirun").arg("--version").output().expect("mpirun starts");
    text(&version).contains("HYDRA")
}

fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{out}{err}")
}

/// Runs this program as `size` ranks, also where there are fewer cores, and as any user.
fn start(size: u32, failure: &str) -> Output {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new("mpirun");
    command.arg("-n").arg(size.to_string()).arg(program);
    command.env("SINEW_DIST_TEST_RANK", "1").env(FAILURE, failure);
    for (name, value) in [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "yes"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ] {
        command.env(name, value);
    }
    command.output().expect("mpirun starts")
}

fn be_a_rank() {
    let world = sinew_dist::init().expect("mpirun has started this rank");
    match std::env::var(FAILURE) {
        Ok(failure) if !failure.is_empty() => fail(&world, &failure),
        _ => checks::CHECKS.iter().for_each(|(_, check)| check(&world)),
    }
}

fn fail(world: &World, failure: &str) {
    world.barrier();
    match failure {
        _ if world.rank() != 1 => {}
        "panic" => panic!("a rank was asked to panic"),
        "leave" => return,
        "kill" => signal("-KILL"),
        _ => signal("-STOP"),
    }
    world.barrier();
}

/// Sends a signal to this process.
fn signal(name: &str) {
    let sent = Command::new("kill").arg(name).arg(std::process::id().to_string()).status();
    assert!(sent.is_ok_and(|status| status.success()), "no signal was sent");
}
