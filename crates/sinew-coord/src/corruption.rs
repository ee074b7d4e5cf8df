//! Tables that no honest program has written.
//!
//! Blind to: a file that is truncated while it is mapped; `tests/system_failures.rs` checks that.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use proptest::prelude::*;
use sinew_cpus::CpuSet;
use sinew_policy::chunk::Schedule;
use sinew_policy::share::{LastLoop, Layout};

use crate::copies::FILE_WORDS;
use crate::oracle::{CPUS, check, check_image, check_last_loop, fit_checksum};
use crate::process::ProcessId;
use crate::row::Name;
use crate::table_state::TableState;
use crate::{Member, Offer, Table};

fn offer(name: &str) -> Offer {
    Offer::on(name, CpuSet::first(CPUS), CPUS as u32)
}

fn is_deep() -> bool {
    std::env::var_os("SINEW_DEEP").is_some()
}

fn images() -> u32 {
    if is_deep() { 1_000_000 } else { 100_000 }
}

/// A state as honest programs write it.
fn honest() -> TableState {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::open_on(&folder.path().join("shared"), Layout::flat(CPUS)).unwrap();
    let _members: Vec<Member> =
        ["one", "two", "three"].map(|name| Member::join(&table, offer(name)).unwrap()).into();
    table.snapshot()
}

/// A change to the words of a state.
#[derive(Debug, Clone)]
enum Corruption {
    Flip { at: usize, bits: u64 },
    Set { at: usize, to: u64 },
    Copy { from: usize, to: usize, count: usize },
    Cut { at: usize },
}

fn corruptions() -> impl Strategy<Value = Vec<Corruption>> {
    let at = || 0..600_usize;
    let value = prop_oneof![
        any::<u64>(),
        0..5_u64,
        Just(u64::MAX),
        Just(1 << 63),
        Just(f64::NAN.to_bits()),
        (0..64_u32).prop_map(|bit| 1 << bit)
    ];
    let corruption = prop_oneof![
        (at(), any::<u64>()).prop_map(|(at, bits)| Corruption::Flip { at, bits }),
        (at(), value).prop_map(|(at, to)| Corruption::Set { at, to }),
        (at(), at(), 1..120_usize).prop_map(|(from, to, count)| Corruption::Copy {
            from,
            to,
            count
        }),
        at().prop_map(|at| Corruption::Cut { at }),
    ];
    proptest::collection::vec(corruption, 1..6)
}

fn corrupt(words: &mut Vec<u64>, corruptions: &[Corruption]) {
    for corruption in corruptions {
        let length = words.len().max(1);
        match *corruption {
            Corruption::Flip { at, bits } => {
                words.get_mut(at % length).into_iter().for_each(|word| *word ^= bits);
            }
            Corruption::Set { at, to } => {
                words.get_mut(at % length).into_iter().for_each(|word| *word = to);
            }
            Corruption::Copy { from, to, count } => {
                let end = (from % length + count).min(words.len());
                let part = words[(from % length).min(end)..end].to_vec();
                words
                    .iter_mut()
                    .skip(to % length)
                    .zip(part)
                    .for_each(|(word, value)| *word = value);
            }
            Corruption::Cut { at } => words.truncate(at),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(images()))]

    /// Catches: a panic, a grant beyond the machine, and words that decode to something else the
    /// next time.
    #[test]
    fn forged_words_are_refused_or_harmless(corruptions in corruptions(), signed in any::<bool>()) {
        thread_local! { static HONEST: Vec<u64> = honest().encode(); }
        let mut words = HONEST.with(Clone::clone);
        corrupt(&mut words, &corruptions);
        if signed {
            fit_checksum(&mut words);
        }
        if let Some(state) = TableState::decode(&words) {
            check(state);
        }
    }

    /// Catches: the same for random words. They come from a seed: with a strategy for each word
    /// this test took minutes.
    #[test]
    fn random_words_are_refused_or_harmless(seed in any::<u64>(), length in 0..400_usize) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut word = || if random.bool() { random.u64(..) } else { random.u64(0..9) };
        let mut words: Vec<u64> = (0..length).map(|_| word()).collect();
        fit_checksum(&mut words);
        if let Some(state) = TableState::decode(&words) {
            check(state);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(images()))]

    /// Catches: an image that only the fuzzer would read, and bytes that end in the middle of a
    /// word or a change.
    #[test]
    fn images_in_bytes_are_refused_or_harmless(
        how in 0..4_u8,
        mut image in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        image.insert(0, how);
        check_image(&image);
    }

    /// Catches: a word beside the table that is accepted although no program writes it. A few bits
    /// of an honest word are changed, so that many words are nearly right.
    #[test]
    fn forged_last_loops_are_refused_or_harmless(
        code in 0..16_u8,
        number in prop_oneof![0..9_u64, any::<u64>()],
        named in any::<bool>(),
        corruption in prop_oneof![Just(0), (0..64_u32).prop_map(|bit| 1 << bit), any::<u64>()],
    ) {
        let honest = Schedule::from_code(code, number as usize)
            .map_or(number << 8 | u64::from(code), |schedule| {
                LastLoop { schedule, named }.to_word()
            });
        check_last_loop(honest);
        check_last_loop(honest ^ corruption);
    }
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

/// Catches: a table that stays broken, members that are lost with it, and a share beyond the offer.
#[test]
fn a_table_that_is_overwritten_while_it_is_used_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::open_on(&folder.path().join("shared"), Layout::flat(CPUS)).unwrap();
    let members = ["one", "two"].map(|name| Member::join(&table, offer(name)).unwrap());
    let mut random = fastrand::Rng::with_seed(7);
    let rounds = if is_deep() { 1_000 } else { 30 };
    for round in 0..rounds {
        let mut bytes = vec![0; random.usize(1..40_000)];
        random.fill(&mut bytes);
        let at = random.u64(0..FILE_WORDS as u64 * 8 - bytes.len() as u64);
        // Any of these words may make the file unusable, which is one more reason for a new file.
        overwrite(table.path(), at, &bytes);
        members.iter().for_each(|member| member.set_demand(1 + round % 4));
        let loops = table.read().into_iter().filter_map(|row| row.last_loop);
        loops.for_each(|last| check_last_loop(last.to_word()));
        for member in &members {
            let share = member.share();
            assert!(
                (1..=CPUS as u32).contains(&share.threads)
                    && share.cores.is_subset(&CpuSet::first(CPUS))
            );
        }
    }
    let newcomer = Member::join(&table, offer("three")).unwrap();
    let began = std::time::Instant::now();
    while newcomer.table().read().len() < 3 {
        assert!(began.elapsed().as_secs() < 60, "{:?}", newcomer.table().read());
        newcomer
            .table()
            .wait_change(newcomer.table().version(), std::time::Duration::from_millis(100));
    }
}

/// Catches: a name that cannot be printed, or that decodes to another one.
#[test]
fn names_are_cut_and_cleaned() {
    let long = Name::new("a very long name that nobody can remember, with an end");
    assert_eq!(long.as_str(), "a very long name that nobody can");
    assert_eq!(Name::new("a\nb\u{1b}").as_str(), "a?b?");
    assert_eq!(Name::new("ééééééééééééééééé").as_str().len(), 32);
    assert_ne!(ProcessId::current().started, 0);
}
