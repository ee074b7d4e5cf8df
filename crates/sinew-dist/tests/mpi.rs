//! The checks of `ranks`, two published trees, and failures, over MPI. This program starts itself
//! by `mpirun` as 1, 2, 3, 4 and 7 ranks. It prints `skipped: no MPI` where there is no `mpirun`,
//! and in builds without the feature `mpi`. Arguments choose: `ranks` for the checks, or a failure:
//!
//! | failure | what rank 1 does |
//! |---|---|
//! | `panic` | panics |
//! | `leave` | returns while the others wait for it |
//! | `kill` | ends by a signal that it cannot catch |
//! | `stop` | stops answering |
//! | `lend` | is killed while it lends its cores |
//!
//! Catches: ranks that are left waiting for one that is gone, and a status of 0; rows in the table
//! that keep the cores of a rank that is gone.

mod checks;

use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};

use sinew_apps::uts::{Found, Node, by_name};
use sinew_coord::{FOLDER_VARIABLE, Member, Offer, Row, Table};
use sinew_dist::World;
use sinew_dist::bag::Out;

const FAILURE: &str = "SINEW_DIST_TEST_FAILURE";

/// A file beside the table, in which rank 1 says which process it is.
const LENDER: &str = "lender";

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
    let names: Vec<String> = std::env::args().skip(1).filter(|one| !one.starts_with('-')).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|one| one == name);
    for size in [1, 2, 3, 4, 7].into_iter().filter(|_| wanted("ranks")) {
        let output = start(size, "");
        assert!(output.status.success(), "{size} ranks: {}", text(&output));
        println!("{size} ranks agree");
    }
    for (failure, line) in [
        ("panic", "sinew-dist: rank 1 of 4: panicked: a rank was asked to panic"),
        ("leave", "rank 1 has ended, and does not take part in `all_reduce`"),
        ("kill", "rank 1 "),
        ("stop", "sinew-dist: rank 1 of 4: gave no sign of life"),
    ] {
        if !wanted(failure) {
            continue;
        }
        let output = start(4, failure);
        assert!(!output.status.success(), "{failure}: {}", text(&output));
        assert!(text(&output).contains(line), "{failure}: {}", text(&output));
        println!("{failure}: the job ended and named the rank");
    }
    if wanted("lend") {
        kill_a_lender();
        println!("lend: the job ended, and its cores are free");
    }
    ExitCode::SUCCESS
}

/// Rank 1 waits, so it lends; the others work. Its process is killed then.
fn kill_a_lender() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("table");
    let table = Table::open(&place).expect("a table");
    let own = Member::join(&table, Offer::new("test").max(2)).expect("a row");
    let ranks = || {
        let rows = table.read().into_iter().filter(|row| row.program != own.program());
        rows.collect::<Vec<_>>()
    };
    let job = ranks_of(4, "lend", &place).spawn().expect("mpirun starts");
    let lender = loop {
        let told = std::fs::read_to_string(place.with_file_name(LENDER));
        let is_lender =
            |row: &Row| told.as_ref().is_ok_and(|pid| *pid == row.program.pid.to_string());
        if let Some(row) = ranks().iter().find(|row| is_lender(row) && row.demand == 0) {
            break row.program.pid;
        }
        std::thread::yield_now();
    };
    signal("-KILL", lender);
    let output = job.wait_with_output().expect("mpirun ends");
    assert!(!output.status.success(), "lend: {}", text(&output));
    assert!(text(&output).contains("rank 1 "), "lend: {}", text(&output));
    while !ranks().is_empty() {
        std::thread::yield_now();
    }
}

fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{out}{err}")
}

/// Runs this program as `size` ranks, also where there are fewer cores, and as any user.
fn start(size: u32, failure: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    ranks_of(size, failure, &folder.path().join("table")).output().expect("mpirun starts")
}

/// They share the table in this folder.
fn ranks_of(size: u32, failure: &str, table: &Path) -> Command {
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
    command.env(FOLDER_VARIABLE, table).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn be_a_rank() {
    let world = sinew_dist::init().expect("mpirun has started this rank");
    match std::env::var(FAILURE) {
        Ok(failure) if !failure.is_empty() => fail(&world, &failure),
        _ => {
            checks::CHECKS.iter().for_each(|(_, check)| check(&world));
            ["T1", "T3"].iter().for_each(|name| search(&world, name));
        }
    }
}

/// Counts the nodes of a tree whose counts are published.
fn search(world: &World, name: &str) {
    let search = by_name(name).expect("a tree");
    let tree = search.tree;
    let roots = (world.rank() == 0).then(|| tree.root().to_bytes());
    let unit = |bytes: [u8; 24], out: &mut Out<'_, [u8; 24]>, all: &mut (u64, u64, u32)| {
        let node = Node::from_bytes(&bytes);
        let children = tree.children(&node);
        let one = Found::at(&node, children);
        *all = (all.0 + one.nodes, all.1 + one.leaves, all.2.max(one.depth));
        out.extend((0..children).map(|child| node.child(child).to_bytes()));
    };
    let merge = |a: (u64, u64, u32), b: (u64, u64, u32)| (a.0 + b.0, a.1 + b.1, a.2.max(b.2));
    let (nodes, leaves, depth) = world.plain_bag(roots).run(unit, merge);
    assert_eq!(Some(Found { nodes, leaves, depth }), search.known, "{name}");
}

fn fail(world: &World, failure: &str) {
    if failure == "lend" {
        lend(world);
    }
    world.barrier();
    match failure {
        _ if world.rank() != 1 => {}
        "panic" => panic!("a rank was asked to panic"),
        "leave" => return,
        "kill" => signal("-KILL", std::process::id()),
        _ => signal("-STOP", std::process::id()),
    }
    world.barrier();
}

/// Rank 1 waits, and the others work for as long as it does.
fn lend(world: &World) {
    if world.rank() == 1 {
        let table = std::env::var_os(FOLDER_VARIABLE).expect("the table of this test");
        // The row of a pool that has worked once.
        world.pool().run(|w| w.join(|_| (), |_| ()));
        let own = std::process::id().to_string();
        std::fs::write(Path::new(&table).with_file_name(LENDER), own).expect("a file");
    }
    while world.rank() != 1 {
        world.pool().run(|w| w.join(|_| (), |_| ()));
    }
}

/// Sends a signal to a process.
fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").arg(name).arg(process.to_string()).status();
    assert!(sent.is_ok_and(|status| status.success()), "no signal was sent");
}
