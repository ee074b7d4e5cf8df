//! The checks of `ranks`, two published trees, and failures, over MPI. This program starts itself
//! by `mpirun` as 1, 2, 3, 4 and 7 ranks. It prints `skipped: no MPI` where there is no `mpirun`,
//! and in builds without the feature `mpi`. Arguments choose: `ranks` for the checks, or a failure:
//!
//! | failure | what happens |
//! |---|---|
//! | `panic` | rank 1 panics |
//! | `leave` | rank 1 returns while the others wait for it |
//! | `kill` | rank 1 ends by a signal that it cannot catch |
//! | `stop` | rank 1 stops answering |
//! | `lend` | rank 1 is killed while it lends its cores |
//! | `hang` | a message is lost, so all ranks wait |
//! | `refuse` | a bag is to survive losses where `mpirun` does not allow it |
//! | `survive kill`, `survive stop` | rank 1 is lost in a bag that survives it |
//! | `caught` | rank 1 catches a panic that left a call |
//! | `rest`, `grow` | no failure: ranks rest and come back, or are started |
//! | `rest kill` | rank 3 is killed while it rests |
//! | `full` | no failure: `grow` returns an error, as `mpirun` has no slots; the job goes on |
//!
//! Catches: ranks that are left waiting for one that is gone, a status of 0, two lines for one
//! failure, and a result without the units of a lost rank. Rows in the table that keep the cores of
//! a rank that is gone.

mod checks;
mod phases;

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use sinew_apps::uts::{Found, Node, by_name};
use sinew_coord::{FOLDER_VARIABLE, Member, Offer, Row, Table};
use sinew_dist::bag::Out;
use sinew_dist::link::{Link, Message, State, Tag};
use sinew_dist::{Shrunk, World, threads};

const FAILURE: &str = "SINEW_DIST_TEST_FAILURE";
const PATIENCE: &str = "SINEW_DIST_PATIENCE_MS";

/// With it Open MPI's `mpirun` starts more processes than it has slots.
const OVERSUBSCRIBE: &str = "OMPI_MCA_rmaps_base_oversubscribe";

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
    println!("hang over threads: the report names every rank");
    check_report(&text(&start_alone("hang over threads")));
    for (failure, line) in [
        ("panic", "sinew-dist: rank 1 of 4: panicked: a rank was asked to panic"),
        ("caught", "rank 1 has caught a panic that left `all_reduce`, its call 2"),
        ("rest kill", killed("rank 3 ")),
        ("leave", "rank 1 has ended, and does not take part in `all_reduce`"),
        ("kill", killed("rank 1 ")),
        ("stop", "sinew-dist: rank 1 of 4: gave no sign of life"),
        ("refuse", "`bag` cannot survive the loss of a rank"),
        ("hang", "a hang was planted; the job ends"),
    ] {
        if !wanted(failure) {
            continue;
        }
        let output = start(4, failure);
        let (text, own) = (text(&output), own_lines(&output));
        assert!(!output.status.success(), "{failure}: {text}");
        assert!(text.contains(line), "{failure}: {text}");
        assert!(own <= 1, "{own} lines for one failure: {text}");
        if failure == "hang" {
            check_report(&text);
        }
        println!("{failure}: the job ended and named the rank");
    }
    for (size, kind) in [(4, "rest"), (1, "grow"), (3, "grow")] {
        if !wanted(kind) {
            continue;
        }
        let output = start(size, kind);
        if let Some((_, why)) = text(&output).split_once("no rank was started: MPICH") {
            println!("skipped: {kind}: MPICH{}", why.lines().next().unwrap_or_default());
            continue;
        }
        assert!(output.status.success(), "{kind}: {}", text(&output));
        let phases = 1 + steps(kind).len();
        assert!(text(&output).contains(&format!("rank 0 took part in {phases} phases")));
        println!("{kind} from {size} ranks: all phases are right");
    }
    if wanted("lend") {
        kill_a_lender();
        println!("lend: the job ended, and its cores are free");
    }
    if wanted("survive") {
        survive();
    }
    if wanted("full") {
        fill();
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
    let mut started = ranks_of(&[], 4, "lend", &place).spawn().expect("mpirun starts");
    let lender = loop {
        let told = std::fs::read_to_string(place.with_file_name(LENDER));
        let is_lender =
            |row: &Row| told.as_ref().is_ok_and(|pid| *pid == row.program.pid.to_string());
        let job = |row: &Row| Some(row.own_settings.job).filter(|job| *job != 0);
        if let Some(row) = ranks().iter().find(|row| is_lender(row) && row.demand == 0)
            && job(row).is_some()
        {
            assert!(ranks().iter().filter_map(job).all(|other| Some(other) == job(row)));
            break row.program.pid;
        }
        assert!(
            started.try_wait().expect("its state").is_none(),
            "lend: no rank has lent its cores"
        );
        std::thread::yield_now();
    };
    signal("-KILL", lender);
    let output = started.wait_with_output().expect("mpirun ends");
    assert!(!output.status.success(), "lend: {}", text(&output));
    assert!(text(&output).contains(killed("rank 1 ")), "lend: {}", text(&output));
    let ended = Instant::now();
    while !ranks().is_empty() {
        assert!(ended.elapsed() < Duration::from_secs(180), "lend: rows stay: {:?}", ranks());
        std::thread::yield_now();
    }
}

/// The number of lines with which the job ends.
fn own_lines(output: &Output) -> usize {
    text(output).lines().filter(|line| line.ends_with("the job ends")).count()
}

fn check_report(text: &str) {
    for rank in 0..4 {
        let line = format!("sinew-dist:   rank {rank} waits in `bag`, its call 1");
        assert!(text.contains(&line), "{text}");
    }
}

/// With Open MPI's recovery.
fn survive() {
    let version = Command::new("mpirun").arg("--version").output().expect("mpirun starts");
    if !text(&version).contains("Open MPI") {
        return println!("skipped: this MPI ends all ranks when one dies");
    }
    for failure in ["survive kill", "survive stop"] {
        let output = start_with(&["--enable-recovery"], 4, failure);
        assert!(output.status.success(), "{failure}: {}", text(&output));
        let line = "4 trees have 8192 units; lost [1]";
        assert!(text(&output).contains(line), "{failure}: {}", text(&output));
        println!("{failure}: the others have the whole result");
    }
    let output = start_with(&["--enable-recovery"], 4, "kill");
    assert!(!output.status.success(), "kill with recovery: {}", text(&output));
    assert_eq!(own_lines(&output), 1, "{}", text(&output));
    println!("kill with recovery: the job ended and named the rank");
}

/// Two ranks, and a slot for a third one.
fn fill() {
    if is_mpich() {
        return println!("skipped: full: this MPI has no slots");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("table");
    let mut command = ranks_of(&["--host", "localhost:3"], 2, "full", &table);
    command.env_remove(OVERSUBSCRIBE).env("MPIEXEC_TIMEOUT", "60");
    let output = command.output().expect("mpirun starts");
    let text = text(&output);
    assert!(output.status.success(), "full: {text}");
    for refused in
        ["2 more were asked for, and 1 of the 3 slots", "1 more were asked for, and 0 of"]
    {
        let line = format!("rank 0: no rank was started: {refused}");
        assert!(text.contains(&line), "full: {text}");
    }
    println!("full: a job without slots goes on");
}

/// The words of the launcher for a killed rank. MPICH's names the process instead.
fn killed(rank: &str) -> &str {
    if is_mpich() { "Killed (signal 9)" } else { rank }
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
    start_with(&[], size, failure)
}

fn start_alone(failure: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.env("SINEW_DIST_TEST_RANK", "1").env(FAILURE, failure).env(PATIENCE, "300");
    command.output().expect("this program starts")
}

fn start_with(options: &[&str], size: u32, failure: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("table");
    ranks_of(options, size, failure, &table).output().expect("mpirun starts")
}

/// They share the table in this folder.
fn ranks_of(options: &[&str], size: u32, failure: &str, table: &Path) -> Command {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new("mpirun");
    if failure == "hang" {
        command.env(PATIENCE, "300");
    }
    command.args(options).arg("-n").arg(size.to_string()).arg(program);
    command.env("SINEW_DIST_TEST_RANK", "1").env(FAILURE, failure);
    for (name, value) in [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        (OVERSUBSCRIBE, "yes"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
        // A job whose ranks wait for each other ends.
        ("MPIEXEC_TIMEOUT", "300"),
    ] {
        command.env(name, value);
    }
    command.env(FOLDER_VARIABLE, table).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn be_a_rank() {
    let failure = std::env::var(FAILURE).unwrap_or_default();
    match failure.as_str() {
        "hang over threads" => return hang_over_threads(),
        #[cfg(feature = "mpi")]
        "hang" => {
            let link = sinew_dist::mpi::Mpi::start().expect("mpirun has started this rank");
            return hang(&World::over(Box::new(Losing::new(link))));
        }
        _ => {}
    }
    let world = sinew_dist::init().expect("mpirun has started this rank");
    match failure.as_str() {
        "" => {
            checks::CHECKS.iter().for_each(|(_, check)| check(&world));
            ["T1", "T3"].iter().for_each(|name| search(&world, name));
        }
        "rest" | "grow" => {
            let took_part = phases::run(&world, steps(&failure), |world| {
                checks::CHECKS.iter().take(2).for_each(|(_, check)| check(world));
            });
            println!("rank {} took part in {took_part} phases", world.rank());
        }
        "full" => grow_until_full(&world),
        "refuse" => drop(trees(&world, "")),
        "survive kill" => report(&world, trees(&world, "-KILL")),
        "survive stop" => report(&world, trees(&world, "-STOP")),
        _ => fail(&world, &failure),
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

/// The changes of the number of ranks. `rest` needs no new ones.
fn steps(kind: &str) -> &'static [i32] {
    if kind == "grow" { &[1, 2, -2, 1, 2, -3] } else { &[-2, 1, 1, -3, 3] }
}

/// Two ranks grow to three, which are all that fit, with one that rests in between.
fn grow_until_full(world: &World) {
    let all = |size: u32| assert_eq!(world.all_reduce(1, |a, b| a + b), size);
    // The same on all ranks.
    let refused = |more| {
        let error = world.grow(more).unwrap_err().to_string();
        assert!(world.all_gather(&error).iter().all(|other| *other == error));
        println!("rank {}: {error}", world.rank());
    };
    if !world.joined() {
        refused(2);
        all(2);
        world.grow(1).expect("a slot");
    }
    all(3);
    refused(1);
    match world.shrink(1) {
        Shrunk::Stayed => {
            refused(2);
            all(2);
            world.grow(1).expect("a rank that rests");
        }
        Shrunk::Returned => {}
        Shrunk::Over => panic!("no rank is called back"),
    }
    all(3);
}

fn fail(world: &World, failure: &str) {
    if failure == "lend" {
        lend(world);
    }
    world.barrier();
    if failure == "caught" {
        let add = |(), ()| assert!(world.rank() != 1, "no more paper");
        let _ = std::panic::catch_unwind(AssertUnwindSafe(|| world.all_reduce((), add)));
        return world.barrier();
    }
    if failure == "rest kill" {
        // The rank that rests is killed by another, which knows its process.
        let processes = world.all_gather(&std::process::id());
        if world.shrink(1) == Shrunk::Stayed && world.rank() == 0 {
            signal("-KILL", processes[3]);
        }
        return world.barrier();
    }
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

/// The number of units of a tree that begins at each rank. Rank 1 gets a signal at its tenth unit.
fn trees(world: &World, name: &str) -> u64 {
    let (own, units) = (world.rank(), AtomicU64::new(0));
    let bag = world.bag([12_u32]).survive_losses();
    bag.run(
        |height, out, count: &mut u64| {
            if own == 1 && units.fetch_add(1, Relaxed) == 9 {
                signal(name, std::process::id());
            }
            *count += 1;
            out.extend(1..height);
        },
        |a, b| a + b,
    )
}

fn report(world: &World, units: u64) {
    assert_eq!(world.all_reduce(1, |a, b| a + b), 3);
    if world.rank() == 0 {
        println!("4 trees have {units} units; lost {:?}", world.lost());
    }
}

/// A network that loses the first wave of a bag, so that no rank learns that all are done. The job
/// ends once that was reported.
struct Losing<L> {
    link: L,
    lost: bool,
    reported: bool,
}

impl<L> Losing<L> {
    fn new(link: L) -> Self {
        Self { link, lost: false, reported: false }
    }
}

impl<L: Link> Link for Losing<L> {
    fn rank(&self) -> u32 {
        self.link.rank()
    }

    fn size(&self) -> u32 {
        self.link.size()
    }

    fn send(&mut self, to: u32, tag: Tag, bytes: Vec<u8>) {
        // One byte is a whole wave.
        if bytes == [5] && !self.lost {
            self.lost = true;
        } else {
            self.link.send(to, tag, bytes);
        }
    }

    fn poll(&mut self) -> Option<Message> {
        self.link.poll()
    }

    fn wait(&mut self, most: Duration) {
        if self.reported {
            self.abort("a hang was planted");
        }
        self.link.wait(most);
    }

    fn abort(&mut self, why: &str) -> ! {
        self.link.abort(why)
    }

    fn note(&mut self, state: State) {
        self.link.note(state);
    }

    fn states(&mut self, within: Duration) -> Vec<Option<String>> {
        let states = self.link.states(within);
        self.reported |= !states.is_empty();
        states
    }
}

fn hang(world: &World) {
    world.barrier();
    world.bag([1_u32]).run(|_, _, _: &mut ()| (), |(), ()| ());
}

fn hang_over_threads() {
    std::thread::scope(|scope| {
        for link in threads::links(4, &threads::Faults::default()) {
            scope.spawn(|| hang(&World::over(Box::new(Losing::new(link)))));
        }
    });
}

/// Sends a signal to a process.
fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").arg(name).arg(process.to_string()).status();
    assert!(sent.is_ok_and(|status| status.success()), "no signal was sent");
}
