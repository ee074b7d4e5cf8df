//! Counts the words of the files below a folder, as a bag over ranks. A unit is a folder or a file;
//! paths travel, so all ranks must reach the same files.
//!
//! ```text
//! cargo run --release -p sinew-dist --example wordcount -- crates --threads 4
//! ```

mod ranks;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sinew_dist::World;
use sinew_dist::bag::Out;

type Words = BTreeMap<String, u64>;

fn main() {
    let (ranks, folder) = ranks::arguments("src");
    if !Path::new(&folder).exists() {
        ranks::usage::<()>("a folder that exists");
    }
    ranks::run(ranks, |world| count(world, Path::new(&folder)));
}

fn count(world: &World, folder: &Path) {
    let roots = (world.rank() == 0).then(|| folder.to_owned());
    let unit = |path: PathBuf, out: &mut Out<'_, PathBuf>, words: &mut Words| {
        out.extend(read(&path, words));
    };
    let (words, counts) = world.bag(roots).run_counted(unit, merge);
    if world.rank() == 0 {
        let moved: u64 = counts.iter().map(|one| one.units_taken).sum();
        assert_eq!(words, serial(folder), "another count than one thread has");
        let all: u64 = words.values().sum();
        let ranks = world.size();
        println!("{all} words, {} different; {ranks} ranks, {moved} paths moved", words.len());
    }
}

/// Adds the words of a file. Returns what is in a folder.
fn read(path: &Path, words: &mut Words) -> Vec<PathBuf> {
    if path.is_symlink() {
        return Vec::new();
    }
    if let Ok(entries) = fs::read_dir(path) {
        return entries.flatten().map(|entry| entry.path()).collect();
    }
    // Bytes that are no text have no words.
    let text = fs::read_to_string(path).unwrap_or_default();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *words.entry(word.to_owned()).or_default() += 1;
    }
    Vec::new()
}

fn merge(a: Words, b: Words) -> Words {
    let (mut large, small) = if a.len() < b.len() { (b, a) } else { (a, b) };
    for (word, count) in small {
        *large.entry(word).or_default() += count;
    }
    large
}

fn serial(folder: &Path) -> Words {
    let (mut words, mut paths) = (Words::new(), vec![folder.to_owned()]);
    while let Some(path) = paths.pop() {
        paths.extend(read(&path, &mut words));
    }
    words
}
