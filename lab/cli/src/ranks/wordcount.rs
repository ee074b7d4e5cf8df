//! The words of all files below a folder. A unit is a folder or a file; paths travel, so all ranks
//! must reach the same files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use sinew_console::Failure;
use sinew_dist::World;
use sinew_dist::bag::{BagCounts, Out};

use super::program::{Program, SHOWN_EVERY, units};
use crate::run::RunArgs;

struct WordCount {
    folder: PathBuf,
}

/// The folder of `--path`, which is needed.
pub(super) fn program(args: &RunArgs) -> Result<impl Program<Answer = Words>, Failure> {
    let folder = args.path.clone().filter(|folder| folder.exists());
    let folder = folder.ok_or_else(|| {
        Failure::Usage("wordcount over ranks needs --path with a folder that exists".to_owned())
    })?;
    if args.size != "full" {
        let size = &args.size;
        return Err(Failure::Usage(format!(
            "wordcount over ranks has no size `{size}`: it counts the whole folder"
        )));
    }
    Ok(WordCount { folder })
}

#[derive(PartialEq)]
pub(super) struct Words(BTreeMap<String, u64>);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} words, {} different", self.0.values().sum::<u64>(), self.0.len())
    }
}

/// Adds the words of a file. Returns what is in a folder.
fn read(path: &Path, words: &mut BTreeMap<String, u64>) -> Vec<PathBuf> {
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

fn merge(a: BTreeMap<String, u64>, b: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let (mut large, small) = if a.len() < b.len() { (b, a) } else { (a, b) };
    for (word, count) in small {
        *large.entry(word).or_default() += count;
    }
    large
}

impl Program for WordCount {
    type Answer = Words;

    fn size(&self) -> String {
        self.folder.display().to_string()
    }

    fn serial(&self) -> Words {
        let (mut words, mut paths) = (BTreeMap::new(), vec![self.folder.clone()]);
        while let Some(path) = paths.pop() {
            paths.extend(read(&path, &mut words));
        }
        Words(words)
    }

    fn over(&self, world: &World, see: &dyn Fn(&str)) -> (Words, Vec<BagCounts>) {
        let roots = (world.rank() == 0).then(|| self.folder.clone());
        let unit = |path: PathBuf, out: &mut Out<'_, PathBuf>, words: &mut BTreeMap<_, _>| {
            out.extend(read(&path, words));
        };
        let bag = world.bag(roots).progress(SHOWN_EVERY, |run| see(&units(run, world)));
        let (words, counts) = bag.run_counted(unit, merge);
        (Words(words), counts)
    }
}
