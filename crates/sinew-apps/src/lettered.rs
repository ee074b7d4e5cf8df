//! Sizes of several numbers with a letter each, such as `a10-l16-n4096-s1`: the options of the programs of the STAMP suite, in one word.

use std::ops::RangeInclusive;

use crate::options::{Error, Size};

/// Names that stand for sizes, and what exact ones may say: every letter once, in any order.
#[derive(Debug)]
pub(crate) struct Lettered<const N: usize> {
    pub(crate) app: &'static str,
    pub(crate) sizes: &'static str,
    pub(crate) letters: [char; N],
    pub(crate) ranges: [RangeInclusive<u64>; N],
    pub(crate) tiny: [u64; N],
    pub(crate) small: [u64; N],
    pub(crate) full: [u64; N],
    /// Further names.
    pub(crate) named: &'static [(&'static str, [u64; N])],
}

impl<const N: usize> Lettered<N> {
    /// The numbers a size stands for, in the order of the letters; digits may be grouped with `_`.
    pub(crate) fn pick(&self, size: &Size) -> Result<[u64; N], Error> {
        match size {
            Size::Tiny => Ok(self.tiny),
            Size::Small => Ok(self.small),
            Size::Full => Ok(self.full),
            Size::Exact(text) => {
                self.named(text).or_else(|| self.parse(text)).ok_or_else(|| self.error(text))
            }
        }
    }

    fn named(&self, text: &str) -> Option<[u64; N]> {
        self.named.iter().find(|(name, _)| *name == text).map(|&(_, numbers)| numbers)
    }

    fn parse(&self, text: &str) -> Option<[u64; N]> {
        let mut numbers = [None; N];
        for part in text.split('-') {
            let letter = part.chars().next()?;
            let at = self.letters.iter().position(|&known| known == letter)?;
            let number = part[letter.len_utf8()..].replace('_', "").parse().ok()?;
            let first = numbers[at].replace(number).is_none();
            (first && self.ranges[at].contains(&number)).then_some(())?;
        }
        numbers.iter().all(Option::is_some).then(|| numbers.map(Option::unwrap_or_default))
    }

    /// What is said about a size that there is not.
    pub(crate) fn error(&self, given: &str) -> Error {
        Error::Size { app: self.app, given: given.to_owned(), sizes: self.sizes }
    }

    /// Numbers as a size.
    pub(crate) fn show(&self, numbers: [u64; N]) -> String {
        let parts = self.letters.iter().zip(numbers).map(|(letter, number)| format!("{letter}{number}"));
        parts.collect::<Vec<_>>().join("-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: &str = "`a1-b20`, a from 0 to 9, b from 1 to 100, or `large`";

    const LETTERED: Lettered<2> = Lettered {
        app: "x",
        sizes: SIZES,
        letters: ['a', 'b'],
        ranges: [0..=9, 1..=100],
        tiny: [1, 2],
        small: [3, 4],
        full: [5, 6],
        named: &[("large", [7, 8])],
    };

    /// Would miss: a number that is read into the wrong place.
    #[test]
    fn sizes_have_names_and_numbers_in_any_order() {
        let sizes = [
            ("tiny", [1, 2]),
            ("small", [3, 4]),
            ("full", [5, 6]),
            ("large", [7, 8]),
            ("a0-b1_00", [0, 100]),
            ("b7-a9", [9, 7]),
        ];
        for (text, numbers) in sizes {
            assert_eq!(LETTERED.pick(&text.parse().unwrap()).unwrap(), numbers, "{text}");
        }
        assert_eq!(LETTERED.show([9, 7]), "a9-b7");
    }

    /// Would miss: a number beyond its range, a letter twice, one that is missing or that nobody knows.
    #[test]
    fn an_impossible_size_is_named_in_one_line_with_the_way_out() {
        for text in
            ["", "a1", "a1-a1", "a1-b2-a1", "a10-b1", "a1-b0", "a1-c1", "a-b", "a1-b1-", "ä1-b1", "9-9"]
        {
            let message = LETTERED.pick(&text.parse().unwrap()).unwrap_err().to_string();
            assert!(message.contains(&format!("`{text}`")) && message.contains(SIZES), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
