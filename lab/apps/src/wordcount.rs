//! Counts the occurrences of each word in all source files below a folder.
//!
//! The text is read once, before the clock starts, and cut into pieces at the ends of words. A loop
//! over the pieces reduces them: a piece next to a map is counted right into it, so there are only
//! as many maps to merge as workers' runs of pieces. A word is as long a run as possible of ASCII
//! letters, digits, underscores and bytes beyond ASCII; case matters.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use sinew::iter::ParIter;
use sinew::{Schedule, Worker};

use crate::app::App;
use crate::loops::{LoopSchedule, Scheduled};
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use crate::text::{self, Text};

const SIZES: &str = "at most 1 to 4000000000 bytes of text";

const NUMBERS: Numbers = Numbers {
    app: "wordcount",
    sizes: SIZES,
    tiny: 200_000,
    small: 8_000_000,
    full: 256_000_000,
    range: 1..=4_000_000_000,
};

pub(crate) const APP: App = App {
    name: "wordcount",
    about: "words of all source files below a folder: a loop that merges maps",
    sizes: SIZES,
    demo: "64_000_000",
    loops: true,
    reads_files: true,
    has_worklist: false,
    prepare,
};

/// Pieces are about this long, shorter where there would be fewer than [`PIECES`].
const PIECE: usize = 1 << 20;
const PIECES: usize = 64;

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let limit = NUMBERS.pick(&options.size)?;
    let folder = options.path.clone().map_or_else(text::registry_sources, Ok)?;
    let text = text::read(&folder, limit)?;
    let pieces = cut(&text.bytes, (text.bytes.len() / PIECES).clamp(1, PIECE));
    let schedule = options.schedule_or(Schedule::Stealing);
    Ok(problem(WordCount { text, pieces, schedule }))
}

struct WordCount {
    text: Text,
    pieces: Vec<Range<usize>>,
    schedule: LoopSchedule,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Cuts at the ends of words: pieces of at least `length` bytes, except for the last.
fn cut(text: &[u8], length: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let least = text.len().min(start + length);
        let rest = text[least..].iter().position(|&byte| !is_word(byte));
        let end = rest.map_or(text.len(), |rest| least + rest);
        pieces.push(start..end);
        start = end;
    }
    pieces
}

/// Words and how often they occur.
#[derive(Debug, Clone, Default, PartialEq)]
struct Counts(HashMap<Box<[u8]>, u64>);

impl Counts {
    fn of(text: &[u8]) -> Self {
        let mut counts = Self::default();
        counts.add_all(text);
        counts
    }

    fn add_all(&mut self, text: &[u8]) {
        for word in text.split(|&byte| !is_word(byte)).filter(|word| !word.is_empty()) {
            self.add(word);
        }
    }

    /// Only a word's first occurrence allocates.
    fn add(&mut self, word: &[u8]) {
        match self.0.get_mut(word) {
            Some(count) => *count += 1,
            None => {
                self.0.insert(word.into(), 1);
            }
        }
    }

    fn merge(self, other: Self) -> Self {
        let (mut large, small) =
            if self.0.len() < other.0.len() { (other, self) } else { (self, other) };
        for (word, count) in small.0 {
            *large.0.entry(word).or_default() += count;
        }
        large
    }

    fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// The most frequent word; of equally frequent ones the first in the alphabet.
    fn top(&self) -> Option<(&[u8], u64)> {
        let most = self.0.iter().max_by(|(a, m), (b, n)| m.cmp(n).then(b.cmp(a)));
        most.map(|(word, &count)| (&**word, count))
    }
}

/// A part of the text: counted, or not yet.
#[derive(Default)]
struct Part<'t> {
    counts: Counts,
    uncounted: &'t [u8],
}

impl Part<'_> {
    fn and(self, other: Self) -> Self {
        let mut counts = self.counts.merge(other.counts);
        counts.add_all(self.uncounted);
        counts.add_all(other.uncounted);
        Self { counts, uncounted: &[] }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} words, {} different", self.total(), self.0.len())?;
        match self.top() {
            Some((word, count)) => write!(f, ", `{}` {count} times", String::from_utf8_lossy(word)),
            None => Ok(()),
        }
    }
}

impl Solve for WordCount {
    type Input = ();
    type Answer = Counts;

    fn size(&self) -> String {
        let Text { bytes, files, unreadable } = &self.text;
        let size = format!("{files} files, {:.1} MB", bytes.len() as f64 / 1e6);
        if *unreadable == 0 { size } else { format!("{size} ({unreadable} unreadable)") }
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Counts {
        Counts::of(&self.text.bytes)
    }

    fn parallel(&self, _: &Worker, (): ()) -> Counts {
        let part = |piece: &Range<usize>| Part {
            uncounted: &self.text.bytes[piece.clone()],
            ..Part::default()
        };
        let parts = sinew::over(&self.pieces).scheduled(self.schedule).map(part);
        let all = parts.reduce(Part::default, Part::and);
        all.and(Part::default()).counts
    }

    /// The sum of all counts is the number of places where a word begins.
    fn check(&self, counts: &Counts) -> Result<(), Wrong> {
        let mut inside = false;
        let begins = |&&byte: &&u8| !std::mem::replace(&mut inside, is_word(byte)) && is_word(byte);
        let words = self.text.bytes.iter().filter(begins).count() as u64;
        Wrong::unless(counts.total() == words, || {
            format!("there are {words} words, not {}", counts.total())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "let x_1 = f(x_1, \"żółw\"); // Let it be, let it be\n";

    fn count(counts: &Counts, word: &str) -> u64 {
        counts.0.get(word.as_bytes()).copied().unwrap_or(0)
    }

    #[test]
    fn words_are_runs_of_letters_digits_and_underscores() {
        let counts = Counts::of(TEXT.as_bytes());
        for (word, times) in
            [("let", 2), ("Let", 1), ("x_1", 2), ("żółw", 1), ("it", 2), ("x", 0), ("", 0)]
        {
            assert_eq!(count(&counts, word), times, "{word}");
        }
        assert_eq!(counts.to_string(), "11 words, 7 different, `be` 2 times");
    }

    #[test]
    fn any_cut_leaves_the_counts_as_they_are() {
        let text = TEXT.repeat(3);
        let whole = Counts::of(text.as_bytes());
        for length in 1..=text.len() {
            let pieces = cut(text.as_bytes(), length);
            let parts = pieces.iter().map(|piece| Counts::of(&text.as_bytes()[piece.clone()]));
            assert_eq!(parts.fold(Counts::default(), Counts::merge), whole, "pieces of {length}");
            let parts = pieces.iter().map(|piece| Part {
                uncounted: &text.as_bytes()[piece.clone()],
                ..Part::default()
            });
            assert_eq!(
                parts.reduce(Part::and).unwrap().and(Part::default()).counts,
                whole,
                "pieces of {length}"
            );
        }
    }

    #[test]
    fn pieces_cover_a_text_without_any_end_of_word() {
        assert_eq!(cut(b"abcdefgh", 3), vec![0..8; 1]);
        assert!(cut(b"", 3).is_empty());
    }

    #[test]
    fn a_lost_word_is_noticed() {
        let text = Text { bytes: TEXT.into(), files: 1, unreadable: 0 };
        let problem = WordCount { text, pieces: Vec::new(), schedule: Schedule::Static.into() };
        let mut counts = problem.serial(());
        problem.check(&counts).unwrap();
        counts.0.remove("be".as_bytes());
        assert!(problem.check(&counts).is_err());
    }
}
