//! Summarises a log line by line, in order: `cargo run --example log_summary FILE`; without a file
//! it makes one up.
//!
//! Shows: a pipeline with a parallel stage between a serial source and a serial end. Lines are
//! parsed by all threads; the end sees them in order, so it needs no lock.

use sinew::prelude::*;
use std::fs::File;
use std::io::{BufRead, BufReader};

struct Entry {
    error: bool,
    millis: u64,
}

/// A line such as `2026-11-26T10:00:00 ERROR 250 message`.
fn parse(line: &str) -> Option<Entry> {
    let mut words = line.split_whitespace().skip(1);
    let error = words.next()? == "ERROR";
    Some(Entry { error, millis: words.next()?.parse().ok()? })
}

#[derive(Debug, Default, PartialEq)]
struct Summary {
    lines: usize,
    unreadable: usize,
    errors: usize,
    longest_run_of_errors: usize,
    millis: u64,
}

fn summarise(lines: impl Iterator<Item = String> + Send) -> Summary {
    let (mut summary, mut run) = (Summary::default(), 0);
    pipeline(lines).parallel(|line: String| parse(&line)).for_each(|entry| {
        summary.lines += 1;
        let Some(entry) = entry else {
            summary.unreadable += 1;
            return;
        };
        summary.millis += entry.millis;
        summary.errors += usize::from(entry.error);
        run = if entry.error { run + 1 } else { 0 };
        summary.longest_run_of_errors = summary.longest_run_of_errors.max(run);
    });
    summary
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Some(path) = std::env::args().nth(1) {
        let file = File::open(&path).map_err(|error| format!("{path}: {error}"))?;
        println!("{:#?}", summarise(BufReader::new(file).lines().map_while(Result::ok)));
        return Ok(());
    }
    let level = |i: u64| if i % 10 < 3 { "ERROR" } else { "INFO" };
    let line = |i: u64| format!("2026-11-26T10:00:00 {} {} request", level(i), i % 4);
    let summary = summarise((0..100_000).map(line));
    println!("{summary:#?}");
    let (errors, millis) = (30_000, 150_000);
    let lines = 100_000;
    let rest = Summary { longest_run_of_errors: 3, ..Summary::default() };
    assert_eq!(summary, Summary { lines, errors, millis, ..rest });
    Ok(())
}
