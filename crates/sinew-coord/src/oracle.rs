//! The checks that every image of a table must pass: for tests, and for the fuzzer in `fuzz/`.
//!
//! An image is bytes. The first byte says whether the others are the words of a table or changes to
//! an honest table, and whether the checksum is corrected, as a forger would do. The decoded table
//! is then shared out, as the next change of it would do. Each word is also read as a last loop,
//! which programs write beside the table.

use sinew_cpus::CpuSet;
use sinew_policy::chunk::Schedule;
use sinew_policy::share::{Curve, Grant, LastLoop, Layout, Request};

use crate::decision::Reason;
use crate::process::ProcessId;
use crate::row::OwnSettings;
use crate::row::{Name, PEERS, Peer, Row};
use crate::table_state::TableState;
use crate::words::checksum;

/// CPUs of the machine.
pub(crate) const CPUS: usize = 4;

/// Bit of an image's first byte: the checksum is corrected.
pub(crate) const CHECKSUM_FITS: u8 = 1;
/// Bit of an image's first byte: the other bytes are changes to an honest table, ten bytes each, a
/// position and a word.
pub(crate) const CHANGES: u8 = 2;

/// Reads an image as a program that opens the table would, and checks the result against the
/// invariants of tables.
///
/// # Panics
///
/// If an invariant does not hold.
// Not track_caller: the line names the invariant.
pub fn check_image(image: &[u8]) {
    let Some((&how, rest)) = image.split_first() else { return };
    let mut words = if how & CHANGES == 0 { words_of(rest) } else { changed(rest) };
    words.iter().for_each(|&word| check_last_loop(word));
    if how & CHECKSUM_FITS != 0 {
        fit_checksum(&mut words);
    }
    if let Some(state) = TableState::decode(&words) {
        check(state);
    }
}

fn words_of(bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    bytes.chunks(8).map(word).collect()
}

fn changed(bytes: &[u8]) -> Vec<u64> {
    let mut words = honest().encode();
    for change in bytes.chunks_exact(10) {
        let (place, word) = change.split_at(2);
        let at = usize::from(place[0]) | usize::from(place[1]) << 8;
        let length = words.len();
        words[at % length] = words_of(word)[0];
    }
    words
}

/// A table of three programs that uses every part of the format.
pub(crate) fn honest() -> TableState {
    let mut state = TableState::default();
    for slot in 0..3 {
        state.insert(row(slot));
    }
    state.compute_shares(&Layout::flat(CPUS));
    let subject = state.rows[0].clone();
    state.watts.learn(5, 30.0);
    state.log_decision(7, 100, Reason::Arrived, Some(&subject), 3);
    state.memory.push((subject.name, subject.curve));
    state
}

/// A row of that table.
pub(crate) fn row(slot: u32) -> Row {
    let mut curve = Curve::default();
    curve.learn(2, 1e6);
    let request = Request {
        threads: Some(2),
        cores: Some(CpuSet::first(2)),
        schedule: Some(Schedule::Static),
    };
    Row {
        slot,
        program: ProcessId { pid: 100 + slot, started: 7 },
        watchdog: (slot == 2).then_some(ProcessId { pid: 99, started: 6 }),
        name: Name::new("honest"),
        min: 1,
        max: CPUS as u32,
        assigned: if slot == 0 { 2 } else { 0 },
        weight: 1.0,
        mask: CpuSet::first(CPUS),
        own_settings: OwnSettings {
            schedule: (slot == 1).then_some(Schedule::Static),
            cores: CpuSet::new(),
            job: 3,
        },
        grant: Grant::default(),
        schedule: None,
        epoch: 0,
        joined_ns: 5,
        demand: CPUS as u32,
        stopped: slot == 1,
        progress: 0,
        waited_ns: 0,
        idled_ns: 0,
        last_loop: None,
        curve,
        request: (slot == 0).then_some(request),
        peers: [Peer { name: 1, change: -0.5 }; PEERS],
    }
}

/// Writes the right length and checksum, as a forger can.
pub(crate) fn fit_checksum(words: &mut [u64]) {
    if words.len() > 2 {
        words[0] = words.len() as u64;
        words[1] = checksum(&words[2..]);
    }
}

/// Checks all invariants of grants.
pub(crate) fn check(mut state: TableState) {
    let layout = Layout::flat(CPUS);
    state.compute_shares(&layout);
    let all = layout.cores();
    let on_machine = |row: &&Row| !row.usable().intersection(&all).is_empty();
    for row in state.rows.iter().filter(on_machine) {
        assert!(row.grant.cores.is_subset(&all) && row.grant.cores.is_subset(&row.usable()));
        assert!(row.grant.threads >= 1 && row.grant.threads as usize <= CPUS);
    }
    check_sum(
        state.rows.iter().filter(on_machine).filter(|row| row.demand > 0 && !row.stopped),
        &all,
    );
    let encoded = state.encode();
    assert_eq!(TableState::decode(&encoded).map(|again| again.encode()), Some(encoded));
}

/// Checks that an accepted word is one that a loop has, and that its schedule can be printed and
/// parsed again.
pub(crate) fn check_last_loop(word: u64) {
    let Some(last) = LastLoop::from_word(word) else { return };
    assert_eq!(last.to_word(), word);
    assert_eq!(last.schedule.check(), Ok(last.schedule));
    assert_eq!(last.schedule.to_string().parse(), Ok(last.schedule));
}

/// Checks that programs with work share no core, so that they have no more cores than the machine.
/// A program with one thread on all of its mask has no core of its own.
fn check_sum<'s>(at_work: impl Iterator<Item = &'s Row>, all: &CpuSet) {
    let mut taken = CpuSet::new();
    for row in at_work {
        let Grant { threads, cores } = &row.grant;
        if (*threads, cores) != (1, &row.usable().intersection(all)) {
            assert_eq!(cores.len(), *threads as usize);
            assert!(cores.intersection(&taken).is_empty(), "{cores} of {taken}");
            taken = taken.union(cores);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: an honest table that is refused. Then every change to it would be refused, too, and
    /// nothing would be checked.
    #[test]
    fn an_honest_image_is_read() {
        let state = honest();
        let mut words = changed(&[]);
        assert_eq!(TableState::decode(&words), Some(state));
        // The policy; there are seven.
        words = changed(&[3, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        fit_checksum(&mut words);
        assert_eq!((words[3], TableState::decode(&words)), (9, None));
    }

    /// Catches: an image of which no word is checked as a last loop.
    #[test]
    fn words_of_loops_are_among_those_that_are_checked() {
        let last = LastLoop { schedule: Schedule::Dynamic { chunk: 7 }, named: true };
        let words = words_of(&last.to_word().to_le_bytes());
        assert_eq!(words.iter().find_map(|&word| LastLoop::from_word(word)), Some(last));
        check_image(&[&[0], &last.to_word().to_le_bytes()[..]].concat());
    }
}
