//! A program of the same user that disturbs the table, for tests.
//!
//! `neighbour FOLDER halt POINT` stops at the fail point POINT, such as `Writing`, in the middle of
//! a change of the table, while it holds the table's lock. `neighbour FOLDER forge SEED` writes
//! into the table at random, with the lock and without, until it is killed. It writes bytes, rows
//! in the names of running programs, versions and claims of the lock, and it holds the lock for a
//! while. Both print `begun` first.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use sinew_coord::{CpuSet, FailPoint, Forger, Member, Offer, ProcessId, Table, at_fail_point};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [folder, "halt", point] => halt(folder.as_ref(), point),
        [folder, "forge", seed] => forge(folder.as_ref(), seed.parse().expect("a number")),
        _ => {
            eprintln!("usage: neighbour FOLDER halt POINT | neighbour FOLDER forge SEED");
            std::process::exit(2);
        }
    }
}

/// Flushed at once: a killed process does not flush.
fn say(line: &str) {
    let _ = std::io::stdout().write_all(format!("{line}\n").as_bytes());
    let _ = std::io::stdout().flush();
}

fn halt(folder: &Path, name: &str) {
    let table = Table::open(folder).expect("a table");
    let member = Member::join(&table, Offer::new("neighbour")).expect("a row");
    let point = FailPoint::ALL.into_iter().find(|point| format!("{point:?}") == name);
    at_fail_point(point.expect("a fail point"), || {
        say("begun");
        loop {
            thread::park();
        }
    });
    member.set_demand(1);
    panic!("{name} was not reached: there are no neighbours");
}

/// Words at the beginning of the file, before the rows.
const HEAD: u64 = 5;

/// The longest time to hold the lock.
static LONGEST: OnceLock<Duration> = OnceLock::new();

fn forge(folder: &Path, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let most_ms = if std::env::var_os("SINEW_DEEP").is_some() { 300 } else { 30 };
    LONGEST.get_or_init(|| Duration::from_millis(most_ms));
    say("begun");
    loop {
        // Fail points of the last program to leave have no table.
        if let Ok(table) = Table::open(folder) {
            strike(&table, &mut random);
        }
        thread::park_timeout(Duration::from_micros(random.u64(0..2_000)));
    }
}

/// One random action on the current table.
fn strike(table: &Table, random: &mut fastrand::Rng) {
    let rows = table.read();
    let there = rows.iter().flat_map(|row| [Some(row.program), row.watchdog]).flatten();
    let claimed = there.chain([ProcessId::current()]).chain(ProcessId::of(1)).collect();
    let mut forger = Forger::new(random.u64(..), claimed);
    let file = || File::options().write(true).open(table.path());
    match random.u32(0..8) {
        0 | 1 => forger.publish_forged(table),
        2 => (0..random.u32(1..100)).for_each(|_| forger.overwrite_word(table)),
        3 => write_anywhere(file(), random),
        4 => write_head(file(), random),
        5 => forger.publish_rows(table, rows.into_iter().filter(|_| random.bool()).collect()),
        6 => keep_lock(table, random),
        _ => cut(file(), random),
    }
}

fn write_anywhere(file: std::io::Result<File>, random: &mut fastrand::Rng) {
    let Ok(file) = file else { return };
    let length = file.metadata().map_or(1, |file| file.len().max(1));
    let bytes: Vec<u8> = (0..random.usize(1..256)).map(|_| random.u8(..)).collect();
    let at = random.u64(..length).min(length.saturating_sub(bytes.len() as u64));
    let _ = file.write_all_at(&bytes, at);
}

/// Writes a version, a claim of the lock, or another word of the header: a small number, a process
/// id, or any number.
fn write_head(file: std::io::Result<File>, random: &mut fastrand::Rng) {
    let Ok(file) = file else { return };
    let words = [0, 1, u64::from(std::process::id()), 1 << 63, u64::MAX, random.u64(..)];
    let word = words[random.usize(..words.len())];
    let _ = file.write_all_at(&word.to_ne_bytes(), 8 * random.u64(..HEAD));
}

/// Changes the table slowly, so that the lock is held while others write.
fn keep_lock(table: &Table, random: &mut fastrand::Rng) {
    at_fail_point(FailPoint::ALL[random.usize(..FailPoint::ALL.len())], || {
        let longest = LONGEST.get().map_or(0, |longest| longest.as_micros() as u64);
        thread::sleep(Duration::from_micros(fastrand::u64(..=longest)));
    });
    let offer = Offer::on("forger", CpuSet::first(1 + random.usize(..8)), 1 + random.u32(..64));
    // Only a member can lock the table.
    if let Ok(member) = Member::join(table, offer) {
        member.set_demand(1);
    }
    at_fail_point(FailPoint::Locked, || {});
}

/// Truncates the file, rarely: programs that have it mapped then create another one.
fn cut(file: std::io::Result<File>, random: &mut fastrand::Rng) {
    if random.u32(..10) == 0
        && let Ok(file) = file
    {
        let _ = file.set_len(random.u64(..20_000));
    }
}
