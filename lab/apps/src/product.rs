//! Sizes of several numbers, such as `12x1024` for a tree of height 12 that is worked on 1024
//! times.
//!
//! Kernels of some microseconds are published with a number of repetitions, one behind the other,
//! which is the second number of their size. [`repeat`] runs them.

use std::hint::black_box;
use std::ops::RangeInclusive;

use crate::options::{Error, Size};

/// Named sizes and the ranges of exact ones: numbers with `x` between them, of which the last may
/// be left out.
#[derive(Debug)]
pub(crate) struct Product<const N: usize> {
    pub(crate) app: &'static str,
    pub(crate) sizes: &'static str,
    pub(crate) tiny: [u64; N],
    pub(crate) small: [u64; N],
    pub(crate) full: [u64; N],
    pub(crate) ranges: [RangeInclusive<u64>; N],
    /// The defaults of omitted numbers; the first number is always given.
    pub(crate) absent: [u64; N],
}

impl<const N: usize> Product<N> {
    /// The numbers a size stands for; digits may be grouped with `_`.
    pub(crate) fn pick(&self, size: &Size) -> Result<[u64; N], Error> {
        match size {
            Size::Tiny => Ok(self.tiny),
            Size::Small => Ok(self.small),
            Size::Full => Ok(self.full),
            Size::Exact(text) => self.parse(text).ok_or_else(|| Error::Size {
                app: self.app,
                given: text.clone(),
                sizes: self.sizes,
            }),
        }
    }

    fn parse(&self, text: &str) -> Option<[u64; N]> {
        let mut numbers = self.absent;
        for (at, part) in text.split('x').enumerate() {
            let number = part.replace('_', "").parse().ok()?;
            let range = self.ranges.get(at)?;
            numbers[at] = range.contains(&number).then_some(number)?;
        }
        Some(numbers)
    }
}

/// The result of the last of `times` runs of a kernel, none of which the compiler may omit.
pub(crate) fn repeat<T>(times: u64, kernel: impl Fn() -> T) -> T {
    for _ in 1..times {
        drop(black_box(black_box(&kernel)()));
    }
    kernel()
}

/// A size that is repeated, in words.
pub(crate) fn times(size: &str, times: u64) -> String {
    if times == 1 { size.to_owned() } else { format!("{size}, {times} times") }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const SIZES: &str = "1 to 20, and `x` 1 to 100 times";

    const PRODUCT: Product<2> = Product {
        app: "x",
        sizes: SIZES,
        tiny: [1, 2],
        small: [3, 4],
        full: [5, 6],
        ranges: [1..=20, 1..=100],
        absent: [0, 1],
    };

    /// Catches: a number that is read into the wrong place.
    #[test]
    fn sizes_have_names_and_one_or_two_numbers() {
        let sizes = [
            ("tiny", [1, 2]),
            ("small", [3, 4]),
            ("full", [5, 6]),
            ("7", [7, 1]),
            ("8x1_00", [8, 100]),
        ];
        for (text, numbers) in sizes {
            assert_eq!(PRODUCT.pick(&text.parse().unwrap()).unwrap(), numbers, "{text}");
        }
    }

    /// Catches: a number beyond its range, or one too many, that is taken for something else.
    #[test]
    fn an_impossible_size_is_named_in_one_line_with_the_way_out() {
        for text in ["0", "21", "7x", "x7", "7x0", "7x101", "7x1x1", "7 x 1", "-1", "huge", ""] {
            let message = PRODUCT.pick(&text.parse().unwrap()).unwrap_err().to_string();
            assert!(message.contains(&format!("`{text}`")) && message.contains(SIZES), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }

    /// Catches: a repetition too many or too few.
    #[test]
    fn a_kernel_runs_as_often_as_it_is_to_be_repeated() {
        let runs = Cell::new(0);
        let count = || {
            runs.set(runs.get() + 1);
            runs.get()
        };
        assert_eq!((repeat(1, count), repeat(5, count)), (1, 6));
    }
}
