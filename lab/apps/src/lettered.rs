//! Sizes of numbers with letters, such as `x48-y48-z3-n64` for a grid and paths through it.
//!
//! The STAMP suite names its inputs like this: the name of a file without the words around it is a
//! size here.

use std::ops::RangeInclusive;

use crate::options::{Error, Size};

/// A number of a size.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) name: char,
    pub(crate) tiny: f64,
    pub(crate) small: f64,
    /// Also stands for the number where an exact size leaves it out.
    pub(crate) full: f64,
    pub(crate) range: RangeInclusive<f64>,
    /// Whether it may have a fraction.
    pub(crate) fraction: bool,
}

/// Named sizes, and exact ones with the ranges of their numbers.
#[derive(Debug)]
pub(crate) struct Lettered<const N: usize> {
    pub(crate) app: &'static str,
    pub(crate) sizes: &'static str,
    /// Names of exact sizes.
    pub(crate) named: &'static [(&'static str, &'static str)],
    pub(crate) letters: [Letter; N],
}

/// The exact size that a name stands for, or the text itself.
pub(crate) fn named<'a>(names: &[(&str, &'a str)], text: &'a str) -> &'a str {
    names.iter().find(|(name, _)| *name == text).map_or(text, |(_, size)| size)
}

impl<const N: usize> Lettered<N> {
    /// The numbers a size stands for, in the order of the letters; digits may be grouped with `_`.
    pub(crate) fn pick(&self, size: &Size) -> Result<[f64; N], Error> {
        match size {
            Size::Tiny => Ok(self.letters.each_ref().map(|letter| letter.tiny)),
            Size::Small => Ok(self.letters.each_ref().map(|letter| letter.small)),
            Size::Full => Ok(self.letters.each_ref().map(|letter| letter.full)),
            Size::Exact(text) => {
                self.parse(named(self.named, text)).ok_or_else(|| self.impossible(text.clone()))
            }
        }
    }

    /// There is no such size.
    pub(crate) fn impossible(&self, given: String) -> Error {
        Error::Size { app: self.app, given, sizes: self.sizes }
    }

    fn parse(&self, text: &str) -> Option<[f64; N]> {
        let mut numbers = self.letters.each_ref().map(|letter| letter.full);
        for part in text.split('-') {
            let at = self.letters.iter().position(|letter| part.starts_with(letter.name))?;
            numbers[at] = self.letters[at].number(part)?;
        }
        Some(numbers)
    }
}

impl Letter {
    /// The number behind the letter.
    fn number(&self, part: &str) -> Option<f64> {
        let digits = part.strip_prefix(self.name)?.replace('_', "");
        let number: f64 = digits.parse().ok()?;
        let possible = self.range.contains(&number) && (self.fraction || number.fract() == 0.0);
        possible.then_some(number)
    }
}

/// A number without a fraction, with its `[tiny, small, full]` values.
pub(crate) const fn whole(name: char, named: [f64; 3], range: RangeInclusive<f64>) -> Letter {
    let [tiny, small, full] = named;
    Letter { name, tiny, small, full, range, fraction: false }
}

/// A number that may have a fraction.
pub(crate) const fn fraction(name: char, named: [f64; 3], range: RangeInclusive<f64>) -> Letter {
    Letter { fraction: true, ..whole(name, named, range) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: &str = "n10-t0.5";

    const LETTERED: Lettered<2> = Lettered {
        app: "x",
        sizes: SIZES,
        named: &[("large", "n9_000")],
        letters: [
            whole('n', [1.0, 2.0, 3.0], 1.0..=20_000.0),
            fraction('t', [0.1, 0.2, 0.3], 0.0..=1.0),
        ],
    };

    fn pick(text: &str) -> Result<[f64; 2], Error> {
        LETTERED.pick(&text.parse().unwrap())
    }

    /// Catches: a number that is read into the wrong place.
    #[test]
    fn sizes_have_names_and_letters_in_any_order() {
        let sizes = [
            ("tiny", [1.0, 0.1]),
            ("small", [2.0, 0.2]),
            ("full", [3.0, 0.3]),
            ("n7-t0.05", [7.0, 0.05]),
            ("t1-n20_000", [20_000.0, 1.0]),
            ("n7", [7.0, 0.3]),
            ("large", [9_000.0, 0.3]),
        ];
        for (text, numbers) in sizes {
            assert_eq!(pick(text).unwrap(), numbers, "{text}");
        }
    }

    /// Catches: a number beyond its range, with a fraction that it cannot have, or that belongs
    /// to nothing.
    #[test]
    fn an_impossible_size_is_named_in_one_line_with_the_way_out() {
        for text in
            ["", "7", "n", "n0", "n20001", "n1.5", "t-1", "tNaN", "n7-", "n7-z3", "n7 t1", "huge"]
        {
            let message = pick(text).unwrap_err().to_string();
            assert!(message.contains(&format!("`{text}`")) && message.contains(SIZES), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
