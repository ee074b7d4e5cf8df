//! What is held against an image of a table that nobody honest has written: for tests, and for the
//! fuzzer in `fuzz/`.
//!
//! An image is bytes. The first says what the others are: whole words of a table, or changes to an
//! honest one; and whether the sum is made to fit, as a forger would. What is decoded is then
//! shared out, as whoever changes the table next would do. Each word is also read as one that a
//! program writes beside the table: its last loop.

use sinew_policy::chunk::Schedule;
use sinew_policy::share::{Ask, CoreSet, Curve, Grant, LastLoop, Layout};

use crate::decision::Reason;
use crate::process::ProcessId;
use crate::row::OwnSettings;
use crate::row::{Name, PEERS, Peer, Row};
use crate::table_state::TableState;
use crate::words::checksum;

/// The machine has so many.
pub(crate) const CPUS: usize = 4;

/// In an image's first byte: the sum is made to fit.
pub(crate) const CHECKSUM_FITS: u8 = 1;
/// In an image's first byte: what follows is changes, of ten bytes each, to an honest table: a
/// place and a word.
pub(crate) const CHANGES: u8 = 2;

/// Reads an image as whoever opens the table would, and holds what comes of it against all that is
/// said of tables.
///
/// # Panics
///
/// If something of that does not hold.
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

/// A table of three programs, with something in every part of it.
pub(crate) fn honest() -> TableState {
    let mut state = TableState::default();
    for slot in 0..3 {
        state.insert(row(slot));
    }
    state.compute_shares(&Layout::flat(CPUS));
    let subject = state.rows[0].clone();
    state.log_decision(7, 100, Reason::Arrived, Some(&subject), 3);
    state.memory.push((subject.name, subject.curve));
    state
}

/// A row of that table.
pub(crate) fn row(slot: u32) -> Row {
    let mut curve = Curve::default();
    curve.learn(2, 1e6);
    let ask =
        Ask { threads: Some(2), cores: Some(CoreSet::first(2)), schedule: Some(Schedule::Static) };
    Row {
        slot,
        program: ProcessId { pid: 100 + slot, started: 7 },
        watchdog: (slot == 2).then_some(ProcessId { pid: 99, started: 6 }),
        name: Name::new("honest"),
        min: 1,
        max: CPUS as u32,
        weight: 1.0,
        mask: CoreSet::first(CPUS),
        own_settings: OwnSettings {
            schedule: (slot == 1).then_some(Schedule::Static),
            cores: CoreSet::EMPTY,
        },
        grant: Grant::default(),
        schedule: None,
        epoch: 0,
        joined_ns: 5,
        demand: CPUS as u32,
        stopped: slot == 1,
        progress: 0,
        last_loop: None,
        curve,
        ask: (slot == 0).then_some(ask),
        peers: [Peer { name: 1, change: -0.5 }; PEERS],
    }
}

/// Whoever forges a table knows how to sum it.
pub(crate) fn fit_checksum(words: &mut [u64]) {
    if words.len() > 2 {
        words[0] = words.len() as u64;
        words[1] = checksum(&words[2..]);
    }
}

/// All that is said of grants, whatever is in the table.
pub(crate) fn check(mut state: TableState) {
    let layout = Layout::flat(CPUS);
    state.compute_shares(&layout);
    let all = layout.cores();
    let on_machine = |row: &&Row| !row.usable().and(&all).is_empty();
    for row in state.rows.iter().filter(on_machine) {
        assert!(row.grant.cores.is_within(&all) && row.grant.cores.is_within(&row.usable()));
        assert!(row.grant.threads >= 1 && row.grant.threads as usize <= CPUS);
    }
    check_sum(
        state.rows.iter().filter(on_machine).filter(|row| row.demand > 0 && !row.stopped),
        &all,
    );
    let encoded = state.encode();
    assert_eq!(TableState::decode(&encoded).map(|again| again.encode()), Some(encoded));
}

/// A word that is believed is one that a loop has, and its schedule can be printed and read again.
pub(crate) fn check_last_loop(word: u64) {
    let Some(last) = LastLoop::from_word(word) else { return };
    assert_eq!(last.to_word(), word);
    assert_eq!(last.schedule.check(), Ok(last.schedule));
    assert_eq!(last.schedule.to_string().parse(), Ok(last.schedule));
}

/// Cores of programs at work are theirs alone, and so together no more than there are. Who has one
/// thread on all of its mask has none.
fn check_sum<'s>(at_work: impl Iterator<Item = &'s Row>, all: &CoreSet) {
    let mut taken = CoreSet::EMPTY;
    for row in at_work {
        let Grant { threads, cores } = row.grant;
        if (threads, cores) != (1, row.usable().and(all)) {
            assert_eq!(cores.len(), threads as usize);
            assert!(cores.and(&taken).is_empty(), "{cores} of {taken}");
            taken = taken.or(&cores);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: an honest table that is refused, so that every change to it is refused, too, and
    /// nothing is checked.
    #[test]
    fn an_honest_image_is_read() {
        let state = honest();
        let mut words = changed(&[]);
        assert_eq!(TableState::decode(&words), Some(state));
        // The policy, of which there are six.
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
