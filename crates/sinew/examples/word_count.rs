//! Counts the words of a file, or of a text that it makes: `cargo run --example word_count FILE`.
//!
//! Shows: `par_lines`, `fold` and `reduce` with maps.

use sinew::prelude::*;
use std::collections::HashMap;

type Counts = HashMap<String, usize>;

fn add(mut counts: Counts, line: &str) -> Counts {
    for word in line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    counts
}

fn merge(mut counts: Counts, others: Counts) -> Counts {
    if counts.len() < others.len() {
        return merge(others, counts);
    }
    for (word, count) in others {
        *counts.entry(word).or_default() += count;
    }
    counts
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = match std::env::args().nth(1) {
        Some(path) => std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?,
        None => (0..20_000_u32).map(|i| format!("line {} of {}, \n", i % 100, i % 7)).collect(),
    };
    let counts = text.par_lines().fold(Counts::new, add).reduce(Counts::new, merge);
    assert_eq!(counts, text.lines().fold(Counts::new(), add));

    let mut frequent: Vec<_> = counts.iter().collect();
    frequent.par_sort_unstable_by_key(|(word, count)| (usize::MAX - **count, word.as_str()));
    for (word, count) in frequent.iter().take(5) {
        println!("{count:8} {word}");
    }
    Ok(())
}
