//! Substring finder: for each position of a string, from which other position the longest identical
//! substring starts.
//!
//! The string is a Fibonacci string, s(n) = s(n − 1) s(n − 2), which repeats itself at every scale.
//! A position is compared with all others, byte by byte. Faster algorithms exist, but the purpose
//! is a loop over some hundred positions of a few microseconds each, entered repeatedly. Source: an
//! example of Intel's Threading Building Blocks, in the form of Karl-Filip Faxén and John Ardelius,
//! *Manycore work stealing*, 2011.
//!
//! # Cost
//!
//! Quadratic in the length, which is the Fibonacci number after n: 233 for 12, 1597 for 16.

use std::fmt;

use sinew::iter::ParIter;
use sinew::{Schedule, Worker};

use crate::app::App;
use crate::loops::{LoopSchedule, Scheduled};
use crate::options::{Error, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use crate::product::{Product, repeat, times};

const SIZES: &str = "a Fibonacci string of number 4 to 22, then `x` repetitions, such as 12x16384";

const NUMBERS: Product<2> = Product {
    app: "ssf",
    sizes: SIZES,
    tiny: [8, 3],
    small: [12, 64],
    full: [12, 16_384],
    ranges: [4..=22, 1..=1 << 32],
    absent: [0, 1],
};

pub(crate) const APP: App = App {
    name: "ssf",
    about: "longest substrings that occur twice in a Fibonacci string: a short loop, again and \
        again",
    sizes: SIZES,
    demo: "12x1024",
    loops: true,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let [number, repetitions] = NUMBERS.pick(&options.size)?;
    let schedule = options.schedule_or(Schedule::Stealing);
    Ok(problem(Finder { text: fibonacci(number), number, repetitions, schedule }))
}

/// s(0) = a, s(1) = b.
fn fibonacci(number: u64) -> Vec<u8> {
    let next = |(before, last): (Vec<u8>, Vec<u8>), _| {
        let both = [&last[..], &before].concat();
        (last, both)
    };
    (0..number).fold((b"a".to_vec(), b"b".to_vec()), next).0
}

struct Finder {
    text: Vec<u8>,
    number: u64,
    repetitions: u64,
    schedule: LoopSchedule,
}

/// For each position where the longest match begins, the first of several.
#[derive(Debug, Clone, PartialEq)]
struct Matches(Vec<u32>);

impl fmt::Display for Matches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum: u64 = self.0.iter().map(|&at| u64::from(at)).sum();
        write!(
            f,
            "{} positions, matches at {:.2} on average",
            self.0.len(),
            sum as f64 / self.0.len() as f64
        )
    }
}

/// Length of the common prefix of two texts.
fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The start of the longest match of the text at `at`; 0 if there is none.
fn longest(text: &[u8], at: usize) -> u32 {
    let (mut length, mut start) = (0, 0);
    for other in (0..text.len()).filter(|&other| other != at) {
        let found = common(&text[at..], &text[other..]);
        if found > length {
            (length, start) = (found, other as u32);
        }
    }
    start
}

/// The same for all positions, from the lengths of all matches: those of one row follow from the
/// row below.
fn by_table(text: &[u8]) -> Vec<u32> {
    let mut lengths = vec![0_u32; text.len() + 1];
    let row = |at: usize| {
        for other in 0..text.len() {
            lengths[other] = if text[at] == text[other] { lengths[other + 1] + 1 } else { 0 };
        }
        // The match of a position with itself does not count.
        let others = lengths[..text.len()].iter().enumerate().filter(|&(other, _)| other != at);
        let best = others.rev().max_by_key(|&(_, length)| length);
        best.map_or(0, |(other, &length)| if length == 0 { 0 } else { other as u32 })
    };
    let mut rows: Vec<u32> = (0..text.len()).rev().map(row).collect();
    rows.reverse();
    rows
}

impl Solve for Finder {
    type Input = ();
    type Answer = Matches;

    fn size(&self) -> String {
        times(&format!("{} ({} bytes)", self.number, self.text.len()), self.repetitions)
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Matches {
        repeat(self.repetitions, || {
            Matches((0..self.text.len()).map(|position| longest(&self.text, position)).collect())
        })
    }

    fn parallel(&self, _: &Worker, (): ()) -> Matches {
        repeat(self.repetitions, || {
            let positions = sinew::over(0..self.text.len()).scheduled(self.schedule);
            let matches = positions.map_array(&self.text, |position, text| longest(text, position));
            Matches(matches.collect())
        })
    }

    /// Against a table of all matches.
    fn check(&self, answer: &Matches) -> Result<(), Wrong> {
        let known = by_table(&self.text);
        Wrong::unless(answer.0.len() == known.len(), || {
            format!("there are {} positions, not {}", known.len(), answer.0.len())
        })?;
        let wrong = answer.0.iter().zip(&known).position(|(found, known)| found != known);
        wrong.map_or(Ok(()), |at| {
            Err(Wrong(format!(
                "the match of position {at} begins at {}, not {}",
                known[at], answer.0[at]
            )))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a recursion with wrong first texts, or one that appends in the wrong order.
    #[test]
    fn fibonacci_strings_are_those_of_the_source() {
        for (number, text) in
            [(0, "a"), (1, "b"), (2, "ba"), (3, "bab"), (4, "babba"), (5, "babbabab")]
        {
            assert_eq!(fibonacci(number), text.as_bytes());
        }
        assert_eq!((fibonacci(12).len(), fibonacci(16).len()), (233, 1597));
    }

    /// Catches: a match with itself, or one of several that is not the first.
    #[test]
    fn matches_by_hand() {
        let starts = |text: &[u8]| (0..text.len()).map(|at| longest(text, at)).collect::<Vec<_>>();
        // babba: "ba" again at 3, "a" at 4, "b" first at 0, "ba" first at 0, "a" first at 1.
        assert_eq!(starts(b"babba"), [3, 4, 0, 0, 1]);
        assert_eq!(starts(b"abc"), [0, 0, 0]);
    }

    /// Catches: a search and a table that agree only on the strings of the tests above.
    #[test]
    fn the_search_and_the_table_agree_on_any_text() {
        let mut rng = fastrand::Rng::with_seed(7);
        for length in 1..60 {
            let text: Vec<u8> = (0..length).map(|_| rng.u8(b'a'..=b'c')).collect();
            let search: Vec<u32> = (0..length).map(|at| longest(&text, at)).collect();
            assert_eq!(search, by_table(&text), "{text:?}");
        }
    }

    /// Catches: a check that accepts anything.
    #[test]
    fn a_shorter_match_and_a_missing_position_are_noticed() {
        let finder = Finder {
            text: fibonacci(8),
            number: 8,
            repetitions: 1,
            schedule: Schedule::Static.into(),
        };
        let right = finder.serial(());
        finder.check(&right).unwrap();
        let mut wrong = right.clone();
        wrong.0[5] += 1;
        assert!(finder.check(&wrong).is_err());
        assert!(finder.check(&Matches(right.0[1..].to_vec())).is_err());
    }
}
