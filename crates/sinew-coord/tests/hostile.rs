//! A hostile program of the same user writes rows while members, a coordinator and unrelated
//! processes run.
//!
//! Such a program may take the others' cores, as any program in the table may. It must not move
//! their threads, end them, make them wait for ever, or leave them with less after its end.
//!
//! Blind to: attacks that need no table.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use sinew_coord::{Coordinator, CpuSet, Forger, Member, Offer, Policy, ProcessId, Table};
use sinew_policy::share::Layout;

/// A hang is a failure; a slow machine is none.
const TIMEOUT: Duration = Duration::from_secs(120);

const CPUS: usize = 4;

fn rounds() -> usize {
    if std::env::var_os("SINEW_DEEP").is_some() { 3_000 } else { 200 }
}

/// A process that has nothing to do with the table; killed at the end.
struct Stranger(Child);

impl Stranger {
    fn start() -> Self {
        Self(Command::new("sleep").arg("600").spawn().expect("sleep"))
    }

    fn process(&self) -> ProcessId {
        ProcessId::of(self.0.id()).expect("it runs")
    }

    /// Its mask, as the kernel writes it.
    fn mask(&self) -> String {
        let path = format!("/proc/{}/status", self.0.id());
        let status = std::fs::read_to_string(path).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.expect("a mask").trim().to_owned()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn offer() -> Offer {
    Offer::on("honest", CpuSet::first(CPUS), CPUS as u32)
}

/// Runs `action` on another thread, and fails if it never ends.
fn ends(action: impl FnOnce() + Send + 'static) {
    let (tell, told) = mpsc::channel();
    let thread = thread::spawn(move || {
        action();
        let _ = tell.send(());
    });
    match told.recv_timeout(TIMEOUT) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it never ends"),
        _ => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}

fn open(folder: &Path) -> Table {
    Table::open_on(folder, Layout::flat(CPUS)).expect("a table")
}

/// Catches: a change of the table that moves threads because a row names them.
#[test]
fn a_row_with_a_dead_watchdog_moves_no_thread() {
    ends(|| {
        let folder = tempfile::tempdir().unwrap();
        let table = open(&folder.path().join("shared"));
        let stranger = Stranger::start();
        let before = stranger.mask();
        let mut watchdog = Command::new("sleep").arg("600").spawn().unwrap();
        let member = Member::join(&table, offer()).unwrap();
        let row = offer().mask(&CpuSet::first(1)).on_behalf_of(stranger.process());
        let forged = Member::join(&table, row).unwrap();
        let mut rows = table.read();
        // No thread serves the row from here on.
        drop(forged);
        let row = rows.iter_mut().find(|row| row.program == stranger.process());
        row.unwrap().watchdog = ProcessId::of(watchdog.id());
        watchdog.kill().unwrap();
        watchdog.wait().unwrap();
        Forger::new(0, Vec::new()).publish_rows(&table, rows);
        let other = Member::join(&open(&folder.path().join("shared")), offer()).unwrap();
        assert!(
            table.read().iter().all(|row| row.program == ProcessId::current()),
            "the row is reaped"
        );
        assert_eq!(stranger.mask(), before);
        drop((member, other));
    });
}

/// Catches: members that panic, hang, or accept more than their offer; threads that move; and a
/// table that does not recover.
#[test]
fn forged_tables_move_no_thread_and_end_with_the_forger() {
    for policy in Policy::ALL {
        ends(move || forge_while_members_run(policy));
    }
}

fn forge_while_members_run(policy: Policy) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("shared");
    let table = open(&place);
    let join = |_| Member::join(&open(&place), offer()).unwrap();
    let members: Vec<Member> = (0..3).map(join).collect();
    let mut coordinator = Coordinator::start(&table, policy, Default::default()).unwrap();
    let strangers = [Stranger::start(), Stranger::start()];
    let before: Vec<String> = strangers.iter().map(Stranger::mask).collect();
    let claimed: Vec<ProcessId> = strangers.iter().map(Stranger::process).collect();
    let mut forger = Forger::new(policy.code(), claimed);
    for round in 0..rounds() / Policy::ALL.len() {
        forger.publish_forged(&table);
        if round % 8 == 0 {
            forger.overwrite_word(&table);
        }
        members[round % 3].set_demand(1 + round as u32 % 4);
        // A forger may take over the coordination while it runs.
        let _ = coordinator.step();
        for member in &members {
            let share = member.share();
            let is_offered = share.cores.is_subset(&CpuSet::first(CPUS));
            assert!((1..=CPUS as u32).contains(&share.threads) && is_offered, "{share:?}");
        }
        let now: Vec<String> = strangers.iter().map(Stranger::mask).collect();
        assert_eq!(now, before, "{policy} {round}");
    }
    drop(strangers);
    recover(&members, &place, &mut coordinator);
}

/// The forger and the processes it named have ended. Waits until all rows are honest again, one for
/// each member, and the members together have the machine. The table remembers speeds by name, so
/// forged ones may stay; by them some policies leave cores free.
fn recover(members: &[Member], place: &Path, coordinator: &mut Coordinator) {
    let began = Instant::now();
    loop {
        members.iter().for_each(|member| member.set_demand(CPUS as u32));
        let steps = coordinator.step().is_ok();
        let table = open(place);
        let rows = table.read();
        let are_ours = rows.iter().all(|row| row.program == ProcessId::current());
        let is_whole = are_ours && rows.len() == members.len();
        let given: u32 = members.iter().map(|member| member.share().threads).sum();
        let has_speeds = rows.iter().any(|row| !row.curve.points().is_empty());
        let fewest = if has_speeds { members.len() } else { CPUS };
        if steps && is_whole && (fewest..=CPUS).contains(&(given as usize)) {
            return;
        }
        assert!(began.elapsed() < TIMEOUT / 2, "{steps} {given} {rows:?} {members:?}");
        table.wait_change(table.version(), Duration::from_millis(100));
    }
}
