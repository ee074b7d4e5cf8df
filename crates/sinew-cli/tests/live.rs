//! A hostile program of the same user writes into the table at random, while commands start and
//! end, a pool coordinates, a coordinator runs and `sinew top` reads.
//!
//! Twenty rounds; `SINEW_DEEP=1` runs 600, `SINEW_SEED` repeats one.
//!
//! Blind to: the shares of the commands meanwhile. A hostile program may take cores.
#![cfg(target_os = "linux")]

mod common;

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::thread;
use std::time::Duration;

use common::compile::{build, is_deep};
use common::{Program, end, sinew, until};
use serde_json::Value;
use sinew_coord::Table;

/// The folder of the table, and a program with teams if one can be built.
struct Place {
    folder: PathBuf,
    teams: Option<PathBuf>,
}

/// An action of a round, which checks its own result.
type Deed = (&'static str, fn(&Place, u64));

const DEEDS: [Deed; 7] = [
    ("a command", |place, number| command(place, number, &[])),
    ("a malleable command", |place, number| command(place, number, &["--malleable"])),
    ("commands in a row", |place, number| (0..3).for_each(|k| command(place, number + k, &[]))),
    ("a program with teams", teams),
    ("a pool", pool),
    ("a coordinator", coordinate),
    ("top", top),
];

/// Computes the same sum in many regions.
const SUMS: &str = "#include <stdio.h>
int main(void) {
    long sum = 0;
    for (int r = 0; r < 300; r++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 1000; i++) sum += i;
    }
    return printf(\"%ld\\n\", sum) < 0;
}
";

/// A command prints at most one warning to standard error.
fn warning(what: &str, output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    let is_warning = |line: &str| line.starts_with("sinew: warning: ");
    assert!(said.lines().count() <= 1 && said.lines().all(is_warning), "{what}: {output:?}");
}

fn command(place: &Place, number: u64, options: &[&str]) {
    let shell = format!("read line < /dev/null; echo {number}; exit {}", number % 200);
    let words: Vec<&str> =
        ["exec"].iter().chain(options).chain(&["sh", "-c", &shell]).copied().collect();
    let output = end(&mut sinew(&place.folder, &words));
    let printed = String::from_utf8_lossy(&output.stdout);
    let expected = (Some((number % 200) as i32), format!("{number}\n"));
    assert_eq!((output.status.code(), printed.into_owned()), expected, "{output:?}");
    warning("a command", &output);
}

fn teams(place: &Place, number: u64) {
    let Some(program) = &place.teams else { return };
    let words = ["exec", "--malleable", program.to_str().expect("a name in UTF-8")];
    let words: Vec<&str> = words
        .into_iter()
        .filter(|word| number.is_multiple_of(2) || *word != "--malleable")
        .collect();
    let output = end(sinew(&place.folder, &words).env("GOMP_SPINCOUNT", "1000"));
    assert!(output.status.success() && output.stdout == b"149850000\n", "{output:?}");
    warning("a program with teams", &output);
}

fn pool(place: &Place, _: u64) {
    let output = end(&mut common::pool(&place.folder, 3));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), common::SUM);
}

/// The hostile program may take the coordinator's row, or the table: then the coordinator ends with
/// a line.
fn coordinate(place: &Place, number: u64) {
    let policies = ["equal", "proportional", "priority", "efficiency", "contention"];
    let policy = policies[number as usize % policies.len()];
    let words = ["coordinator", "--policy", policy, "--interval-ms", "5"];
    let mut program = Program::start(sinew(&place.folder, &words).stderr(Stdio::piped()));
    let first = program.line();
    thread::park_timeout(Duration::from_millis(100));
    let output = program.output_by("TERM");
    let said = String::from_utf8_lossy(&output.stderr);
    is_plain(&output);
    match output.status.code() {
        Some(0) => assert!(first.starts_with("policy") && said.is_empty(), "{first} {said}"),
        Some(1) => assert!(said.lines().count() == 1 && said.starts_with("sinew: "), "{said}"),
        _ => panic!("{output:?}"),
    }
}

/// Only printable characters of a name reach the terminal.
fn is_plain(output: &Output) {
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    let is_odd = |letter: char| letter.is_control() && letter != '\n';
    assert!(!text.contains(is_odd), "{text:?}");
}

fn top(place: &Place, number: u64) {
    let json = number.is_multiple_of(2);
    let words = ["top", "--once", "--interval-ms", "1", "--json"];
    let output = end(&mut sinew(&place.folder, &words[..words.len() - usize::from(!json)]));
    assert!(output.status.success(), "{output:?}");
    is_plain(&output);
    if json {
        let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(shown["programs"].is_array(), "{shown}");
    }
}

fn seed() -> u64 {
    let given = std::env::var("SINEW_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| fastrand::u64(..1 << 32))
}

/// Catches: a crash, a hang, a wrong status or a wrong output of a program that uses the table; a
/// table that does not recover.
#[test]
fn all_run_while_a_hostile_program_writes_into_the_table() {
    let seed = seed();
    println!("SINEW_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let teams = build("gcc", folder.path(), SUMS, "sums", &[]);
    if teams.is_none() {
        println!("skipped: programs with teams, which gcc cannot build here");
    }
    let place = Place { folder: folder.path().join("shared"), teams };
    for round in 0..if is_deep() { 600 } else { 20 } {
        let stays = Program::waiting(&place.folder);
        let forger = Program::neighbour(&place.folder, &["forge", &random.u64(..).to_string()]);
        let deeds: Vec<(usize, u64)> =
            (0..3).map(|_| (random.usize(..DEEDS.len()), random.u64(..1 << 32))).collect();
        thread::scope(|scope| {
            for &(deed, number) in &deeds {
                let (place, (what, act)) = (&place, DEEDS[deed]);
                scope.spawn(move || {
                    println!("round {round}: {what} {number}");
                    act(place, number);
                });
            }
        });
        assert!(!forger.end_by("KILL").success());
        assert_eq!(stays.end().code(), Some(3), "round {round}");
    }
    let last = Program::waiting(&place.folder);
    // A forged row stays while the process that it names is running, such as process 1.
    until("a table of the last command and of processes that live", || {
        let rows = Table::open(&place.folder).expect("a table").read();
        let is_there = rows.iter().any(|row| row.program.pid == last.id());
        is_there && rows.iter().all(|row| row.program.is_alive())
    });
    assert_eq!(last.end().code(), Some(3));
}
