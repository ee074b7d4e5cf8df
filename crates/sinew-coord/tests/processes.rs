//! Real processes that join, leave, are killed and are stopped.
//!
//! Blind to: more than some dozens of programs, and times; `bench -- coord` measures those.
//! `SINEW_DEEP=1` stops programs more often, and for ten seconds.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use sinew_coord::{CpuSet, FailPoint, Member, Offer, ProcessId, Reason, Row, Table};
use sinew_policy::share::Layout;

const TIMEOUT: Duration = Duration::from_secs(60);

fn is_deep() -> bool {
    std::env::var_os("SINEW_DEEP").is_some()
}

/// A folder with a table of its own.
struct TableFolder(tempfile::TempDir);

impl TableFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("shared")
    }

    fn table(&self, cpus: usize) -> Table {
        Table::open_on(&self.folder(), Layout::flat(cpus)).unwrap()
    }

    fn is_empty(&self) -> bool {
        std::fs::read_dir(self.folder()).is_ok_and(|mut files| files.next().is_none())
    }
}

/// Another program in the table; killed at the end.
struct Program {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Program {
    fn start(folder: &Path, name: &str, cpus: usize, what: &str) -> Self {
        Self::start_with(folder, name, cpus, &[what])
    }

    /// Starts it with more arguments.
    fn start_with(folder: &Path, name: &str, cpus: usize, what: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_member"));
        command.arg(folder).args([name, &cpus.to_string()]).args(what);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("it starts");
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Waits until the program has done its action; returns its child, if it has one.
    fn child(&mut self) -> Option<OtherChild> {
        let line = self.line();
        let child: u32 =
            line.strip_prefix("done ").and_then(|number| number.parse().ok()).expect("a number");
        (child != self.child.id()).then(|| OtherChild(child))
    }

    fn leave(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A child of another program; killed at the end.
struct OtherChild(u32);

impl OtherChild {
    fn is_alive(&self) -> bool {
        ProcessId::of(self.0).is_some()
    }
}

impl Drop for OtherChild {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-KILL", &self.0.to_string()]).status();
    }
}

fn offer(cpus: usize) -> Offer {
    Offer::on("test", CpuSet::first(cpus), cpus as u32)
}

fn wait_for_threads(member: &Member, threads: u32) {
    let began = Instant::now();
    let mut share = member.share();
    while share.threads != threads {
        assert!(began.elapsed() < TIMEOUT, "{share:?}, not {threads} threads");
        share = member.wait_change(share.epoch, TIMEOUT);
    }
}

fn wait_for_rows(member: &Member, is_so: impl Fn(&[Row]) -> bool) {
    let (table, began) = (member.table(), Instant::now());
    loop {
        let version = table.version();
        if is_so(&table.read()) {
            return;
        }
        assert!(began.elapsed() < TIMEOUT, "{:?}", table.read());
        table.wait_change(version, Duration::from_secs(1));
    }
}

/// A program that knows nothing of the table, and the member that holds a row for it.
fn program_with_a_watchdog(table: &Table) -> (Child, ProcessId, Member) {
    let command = Command::new("sleep").arg("600").spawn().unwrap();
    let program = ProcessId::of(command.id()).unwrap();
    let watchdog = Member::join(table, offer(4).on_behalf_of(program)).unwrap();
    (command, program, watchdog)
}

/// Waits until the rows of killed programs are gone.
fn wait_until_alone(member: &Member) {
    wait_for_rows(member, |rows| rows.len() == 1);
}

/// Catches: a program that is not told of another one, cores that are not given back, and a file
/// that is left behind.
#[test]
fn programs_share_while_both_run() {
    let place = TableFolder::new();
    let member = Member::join(&place.table(4), offer(4)).unwrap();
    assert_eq!((member.share().threads, member.share().neighbours), (4, 0));
    let mut other = Program::start(&place.folder(), "other", 4, "stay");
    assert_eq!(other.line().split(' ').nth(1), Some("2"));
    wait_for_threads(&member, 2);
    assert_eq!(member.share().neighbours, 1);
    other.leave();
    wait_for_threads(&member, 4);
    assert_eq!(member.table().read().len(), 1);
    drop(member);
    assert!(place.is_empty());
}

/// Catches: a death that no program sees, and one that only the next program in the table sees.
#[test]
fn the_cores_of_a_killed_program_go_to_the_others() {
    let place = TableFolder::new();
    let member = Member::join(&place.table(4), offer(4)).unwrap();
    for killed in 1..=3 {
        let mut others: Vec<Program> =
            (0..3).map(|_| Program::start(&place.folder(), "other", 4, "stay")).collect();
        others.iter_mut().for_each(|other| drop(other.line()));
        wait_for_threads(&member, 1);
        others.drain(..killed).for_each(|other| other.signal("-KILL"));
        others.into_iter().for_each(Program::leave);
        wait_for_threads(&member, 4);
    }
    let died =
        member.table().log().iter().filter(|decision| decision.reason == Reason::Died).count();
    assert_eq!(died, 6);
}

/// Catches: a lock that is never freed, a copy that is half written, and rows that stay, at any
/// time at which a program is killed.
#[test]
fn a_program_may_be_killed_at_any_time() {
    let place = TableFolder::new();
    let member = Member::join(&place.table(3), offer(3)).unwrap();
    for round in 0..1_000 {
        let mut churner = Program::start(&place.folder(), "churner", 3, "churn");
        assert_eq!(churner.line(), "begun");
        for _ in 0..fastrand::Rng::with_seed(round).u32(1..20) {
            member.set_demand(2);
            member.set_demand(3);
        }
        churner.signal("-KILL");
        drop(churner);
        wait_until_alone(&member);
        wait_for_threads(&member, 3);
    }
}

/// Catches: a program that waits for a stopped holder of the lock, and one that continues in
/// another table than the others.
#[test]
fn no_program_waits_for_a_stopped_one() {
    let place = TableFolder::new();
    let member = Member::join(&place.table(3), offer(3)).unwrap();
    for round in 0..if is_deep() { 200 } else { 10 } {
        let mut churner = Program::start(&place.folder(), "churner", 3, "churn");
        churner.line();
        for _ in 0..fastrand::Rng::with_seed(round).u32(1..10) {
            member.set_demand(2);
            member.set_demand(3);
        }
        churner.signal("-STOP");
        let began = Instant::now();
        let newcomer = Member::join(&place.table(3), offer(3)).unwrap();
        assert!(newcomer.table().read().len() <= 3);
        drop(newcomer);
        assert!(began.elapsed() < TIMEOUT);
        churner.signal("-CONT");
        churner.signal("-KILL");
        drop(churner);
        wait_until_alone(&member);
        wait_for_threads(&member, 3);
    }
}

/// Runs the test with every action and every fail point at which a program can die.
fn at_each_fail_point(mut test: impl FnMut(&str, FailPoint)) {
    for what in ["halt", "fork", "spawn"] {
        FailPoint::ALL.into_iter().for_each(|point| test(what, point));
    }
}

/// Catches, at every step of a change: a lock that a dead program keeps, or its child, forked or
/// started there, so that others make a new table. Also a half-written copy that is in force, and a
/// change of which no program is told.
#[test]
fn a_program_may_be_killed_at_each_step_of_a_change() {
    at_each_fail_point(|what, point| {
        let place = TableFolder::new();
        let member = Member::join(&place.table(4), offer(4)).unwrap();
        let mut other =
            Program::start_with(&place.folder(), "other", 4, &[what, &format!("{point:?}")]);
        let child = other.child();
        let before = member.table().read();
        assert_eq!(before.len(), 2, "{what} {point:?}");
        other.signal("-KILL");
        drop(other);
        wait_until_alone(&member);
        wait_for_threads(&member, 4);
        let newcomer = Member::join(&place.table(4), offer(4)).unwrap();
        wait_for_threads(&member, 2);
        drop(newcomer);
        assert!(child.is_none_or(|child| child.is_alive()), "{what} {point:?}");
        let log = member.table().log();
        let told = |reason| log.iter().filter(|decision| decision.reason == reason).count();
        // The copy in force was whole all the time, so nothing was repaired. The table is the same
        // one: a new one would not have this log.
        assert_eq!(
            (told(Reason::Died), told(Reason::Repaired)),
            (1, 0),
            "{what} {point:?} {log:?}"
        );
        drop(member);
        assert!(place.is_empty(), "{what} {point:?}");
    });
}

/// Catches: a program that waits for one that was stopped in the middle of a change, and one that
/// finds no table, or an old one, when it continues.
#[test]
fn a_program_may_be_stopped_at_each_step_of_a_change() {
    for point in FailPoint::ALL {
        let place = TableFolder::new();
        let member = Member::join(&place.table(4), offer(4)).unwrap();
        let mut other =
            Program::start_with(&place.folder(), "other", 4, &["halt", &format!("{point:?}")]);
        other.child();
        other.signal("-STOP");
        let newcomer = Member::join(&place.table(4), offer(4)).unwrap();
        // The member has joined the new table, too.
        wait_for_rows(&newcomer, |rows| {
            rows.iter().filter(|row| row.program == ProcessId::current()).count() == 2
        });
        other.signal("-CONT");
        other.signal("-KILL");
        drop(other);
        wait_for_rows(&newcomer, |rows| rows.len() == 2);
        wait_for_threads(&newcomer, 2);
        drop(newcomer);
        wait_until_alone(&member);
        drop(member);
        assert!(place.is_empty(), "{point:?}");
    }
}

/// Catches: a row, a lock or cores that stay with the child of a killed program, be it forked or
/// another program.
#[test]
fn a_child_keeps_no_row_lock_or_cores_of_its_parent() {
    for what in ["fork", "spawn"] {
        let place = TableFolder::new();
        let member = Member::join(&place.table(4), offer(4)).unwrap();
        let mut other = Program::start(&place.folder(), "other", 4, what);
        let child = other.child().expect("a child");
        wait_for_threads(&member, 2);
        other.signal("-KILL");
        drop(other);
        wait_for_threads(&member, 4);
        assert!(child.is_alive() && member.table().read().len() == 1, "{what}");
        drop(member);
        assert!(place.is_empty(), "{what}");
    }
}

/// Joins and leaves for this time, and returns how often. A program that waited for another one
/// would do so rarely.
fn join_and_leave(place: &TableFolder, cpus: usize, time: Duration) -> u32 {
    let (began, mut times) = (Instant::now(), 0);
    while began.elapsed() < time {
        drop(Member::join(&place.table(cpus), offer(cpus)).unwrap());
        times += 1;
    }
    times
}

/// Catches: idle cores of a stopped program, a program that waits for it, and one that continues
/// with less or more than its share.
#[test]
fn the_cores_of_a_stopped_program_are_the_others_until_it_goes_on() {
    let time = if is_deep() { Duration::from_secs(10) } else { Duration::from_millis(100) };
    let place = TableFolder::new();
    let member = Member::join(&place.table(4), offer(4)).unwrap();
    let mut other = Program::start(&place.folder(), "other", 4, "stay");
    other.line();
    for _ in 0..3 {
        wait_for_threads(&member, 2);
        // After the other program's last change: if it were stopped with the lock, it would lose
        // the table and its mark.
        member.table().set_weight(ProcessId::current().pid, 1.0).unwrap();
        other.signal("-STOP");
        wait_for_threads(&member, 4);
        let row =
            |stopped| member.table().read().into_iter().find(|row| row.stopped == stopped).unwrap();
        assert_eq!((row(true).name.as_str(), row(false).grant.cores.len()), ("other", 4));
        assert!(join_and_leave(&place, 4, time) > 0);
        other.signal("-CONT");
        wait_for_rows(&member, |rows| {
            rows.iter().all(|row| row.grant.threads == 2 && !row.stopped)
        });
    }
    other.leave();
    wait_for_threads(&member, 4);
    let reasons = member.table().log();
    let told = |reason| reasons.iter().filter(|decision| decision.reason == reason).count() > 0;
    assert!(told(Reason::Continued) || reasons.len() == 64, "{reasons:?}");
}

/// Catches: a stopped program, as by a shell's Ctrl-Z, that is missed because its watchdog runs.
#[test]
fn a_row_for_another_program_follows_its_stops() {
    let place = TableFolder::new();
    let table = place.table(4);
    let member = Member::join(&table, offer(4)).unwrap();
    let (mut command, _, watchdog) = program_with_a_watchdog(&table);
    wait_for_threads(&member, 2);
    let signal = |signal: &str| {
        assert!(
            Command::new("kill")
                .args([signal, &command.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
    };
    signal("-STOP");
    wait_for_threads(&member, 4);
    signal("-CONT");
    wait_for_threads(&member, 2);
    drop(watchdog);
    command.kill().unwrap();
    command.wait().unwrap();
}

/// Catches: rows that are lost when many programs join at once, and programs without a core.
#[test]
fn many_programs_come_at_once() {
    let programs = 64;
    let place = TableFolder::new();
    let member = Member::join(&place.table(programs + 1), offer(programs + 1)).unwrap();
    let mut others: Vec<Program> = (0..programs)
        .map(|_| Program::start(&place.folder(), "other", programs + 1, "stay"))
        .collect();
    others.iter_mut().for_each(|other| drop(other.line()));
    wait_for_threads(&member, 1);
    let rows = member.table().read();
    assert_eq!(rows.len(), programs + 1);
    let mut taken = CpuSet::new();
    for row in &rows {
        assert!(row.grant.cores.intersection(&taken).is_empty() && row.grant.threads == 1);
        taken = taken.union(&row.grant.cores);
    }
    others.into_iter().for_each(Program::leave);
    wait_for_threads(&member, programs as u32 + 1);
}

/// Catches: a row that outlives its program or its watchdog.
#[test]
fn a_row_for_another_program_ends_with_it() {
    let place = TableFolder::new();
    let table = place.table(4);
    let member = Member::join(&table, offer(4)).unwrap();
    let (mut command, program, watchdog) = program_with_a_watchdog(&table);
    wait_for_threads(&member, 2);
    let row = table.read().into_iter().find(|row| row.program == program).unwrap();
    assert_eq!(row.watchdog, Some(ProcessId::current()));
    command.kill().unwrap();
    wait_for_threads(&member, 4);
    command.wait().unwrap();
    drop(watchdog);
    assert_eq!(table.read().len(), 1);
}

/// Catches: a file or folder that other users can open, and a link that is followed.
#[test]
fn others_cannot_look_in() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = TableFolder::new();
    let member = Member::join(&place.table(2), offer(2)).unwrap();
    let path = member.table().path().to_owned();
    let mode = |path: &Path| std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place.folder()), mode(&path)), (0o700, 0o600));
    drop(member);
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    set(&place.folder(), 0o750);
    let refused = |what: &str| {
        let error = Table::open(&place.folder()).unwrap_err().to_string();
        assert!(error.contains(what) && error.contains("SINEW_TABLE_DIR"), "{error}");
    };
    refused("is open to other users");
    set(&place.folder(), 0o700);
    std::fs::write(&path, "").unwrap();
    set(&path, 0o644);
    refused("is open to other users");
    std::fs::remove_file(&path).unwrap();
    symlink("/etc/passwd", &path).unwrap();
    refused("is a link");
    std::fs::remove_dir_all(place.folder()).unwrap();
    symlink("/tmp", place.folder()).unwrap();
    refused("is a link");
}

/// Catches: members that stay with a file that was removed or truncated.
#[test]
fn a_table_that_is_taken_away_is_made_anew() {
    let place = TableFolder::new();
    let table = place.table(2);
    let members: Vec<Member> = (0..2).map(|_| Member::join(&table, offer(2)).unwrap()).collect();
    wait_for_threads(&members[0], 1);
    std::fs::remove_file(table.path()).unwrap();
    let newcomer = Member::join(&place.table(2), offer(2)).unwrap();
    let began = Instant::now();
    while newcomer.table().read().len() < 3 {
        assert!(began.elapsed() < TIMEOUT);
        newcomer.table().wait_change(newcomer.table().version(), Duration::from_millis(200));
    }
}

/// Catches: a table of another layout that is read, changed or removed.
#[test]
fn programs_of_another_layout_do_not_meet() {
    let place = TableFolder::new();
    let path = place.table(2).path().to_owned();
    let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
    let mut parts = name.splitn(3, '-');
    let (word, layout, namespace) =
        (parts.next(), parts.next(), parts.next().expect("a namespace"));
    let layout: u64 = layout.and_then(|text| text.parse().ok()).expect("a layout");
    assert_eq!(word, Some("table"));
    let others = [layout - 2, layout - 1, layout + 1].map(|layout| {
        let path = path.with_file_name(format!("table-{layout}-{namespace}"));
        std::fs::write(&path, [layout as u8; 4096]).expect("a file");
        (path, vec![layout as u8; 4096])
    });
    let member = Member::join(&place.table(2), offer(2)).expect("a row");
    assert_eq!((member.table().read().len(), member.share().neighbours), (1, 0));
    drop(member);
    for (path, bytes) in others {
        assert_eq!(std::fs::read(&path).expect("the file"), bytes, "{}", path.display());
        std::fs::remove_file(path).expect("its end");
    }
    assert!(!path.exists());
}
