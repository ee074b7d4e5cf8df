//! `sinew coordinator --machines` over MPI. Two coordinators on this machine have a table each, so
//! they take it for two machines. Prints `skipped: …` where there is no MPI, or one core.
#![cfg(all(target_os = "linux", feature = "mpi"))]

mod common;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{kill, runs, until};
use sinew_coord::{
    Coordinator, Error, FOLDER_VARIABLE, Member, Offer, OwnSettings, Policy, Script, Table,
};

/// Whether this machine can run the tests.
fn can_run() -> bool {
    let has_mpi = Command::new("mpirun").arg("--version").output().is_ok();
    let has_cores = sinew_coord::layout().cores().len() > 1;
    if !(has_mpi && has_cores) {
        println!("skipped: no MPI, or one core");
    }
    has_mpi && has_cores
}

/// Starts both, with the tables `0` and `1` in `folder`.
fn start(folder: &Path) -> Child {
    let (sinew, folder) = (env!("CARGO_BIN_EXE_sinew"), folder.display());
    let line = format!(
        "{FOLDER_VARIABLE}={folder}/${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} exec {sinew} coordinator \
         --machines --interval-ms 20"
    );
    let mut command = Command::new("mpirun");
    command.args(["-n", "2", "sh", "-c", &line]);
    for (name, value) in [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "yes"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
        // A test that fails leaves no coordinators behind.
        ("MPIEXEC_TIMEOUT", "300"),
    ] {
        command.env(name, value);
    }
    command.stdout(Stdio::null()).spawn().expect("mpirun starts")
}

fn join(table: &Table, name: &str, job: u64) -> Member {
    let two = table.layout().cores().iter().take(2).collect();
    let offer = Offer::on(name, two, 2).own_settings(OwnSettings { job, ..OwnSettings::default() });
    Member::join(table, offer).expect("a row")
}

fn assigned(table: &Table) -> Vec<u32> {
    table.read().iter().map(|row| row.assigned).collect()
}

/// The process of the table's coordinator.
fn coordinator_of(table: &Table) -> u32 {
    match Coordinator::start(table, Policy::Equal, Script::default()) {
        Err(Error::Coordinated(process)) => process,
        other => panic!("the table has a coordinator: {other:?}"),
    }
}

/// Two ranks of a job have the same work, and each machine has two cores. On the second machine
/// another program has one of them, so the rank on the first one waits if it has both. Once it has
/// one, the coordinator of the second machine gets the signal. Returns whether both succeed.
fn end_one_by(signal: &str) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let table = |machine| Table::open(&folder.path().join(machine)).expect("a table");
    let tables = ["0", "1"].map(table);
    let (first, second) = (join(&tables[0], "first", 9), join(&tables[1], "second", 9));
    let _other = join(&tables[1], "other", 0);
    let mut job = start(folder.path());
    let mut last_ns = tables[0].now_ns();
    until("a decision for both machines", || {
        let now_ns = tables[0].now_ns();
        let passed = now_ns - std::mem::replace(&mut last_ns, now_ns);
        let (ours, theirs) = (first.share().threads, second.share().threads);
        let waited = f64::from(ours.saturating_sub(theirs)) / f64::from(ours);
        first.report_wait(Duration::from_nanos((passed as f64 * waited) as u64));
        tables.each_ref().map(assigned) == [vec![1], vec![1, 1]]
    });
    kill(signal, coordinator_of(&tables[1]));
    until("the end of mpirun", || !runs(job.id()));
    until("the end of all that was assigned", || {
        tables.iter().all(|table| assigned(table).iter().all(|cores| *cores == 0))
    });
    job.wait().expect("its end").success()
}

/// Catches: machines that decide by themselves, and coordinators that go on when one ends.
#[test]
fn when_one_coordinator_ends_all_end() {
    if can_run() {
        assert!(end_one_by("TERM"));
    }
}

/// Catches: cores that stay assigned after the coordinators have died.
#[test]
fn when_one_coordinator_is_killed_each_machine_decides_by_itself() {
    if can_run() {
        assert!(!end_one_by("KILL"));
    }
}
