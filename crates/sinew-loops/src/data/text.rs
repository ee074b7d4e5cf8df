//! The characters of a text, and the parts between characters of some kind.
//!
//! Positions are bytes. A range of bytes has the items that start in it.

use std::iter::Copied;
use std::ops::Range;

use super::cuts::Cut;
use super::items::{Items, ReadItems};

/// A pattern that a text is searched for: a character, one of several, or one for which a function
/// returns true.
pub trait Pattern: Send + Sync {
    /// Whether it is this character.
    fn matches(&self, character: char) -> bool;

    /// The place of the first match in `text`.
    #[inline]
    fn find_in(&self, text: &str) -> Option<Range<usize>> {
        let (start, found) = text.char_indices().find(|&(_, character)| self.matches(character))?;
        Some(start..start + found.len_utf8())
    }
}

impl Pattern for char {
    #[inline]
    fn matches(&self, character: char) -> bool {
        *self == character
    }

    #[inline]
    fn find_in(&self, text: &str) -> Option<Range<usize>> {
        let start = text.find(*self)?;
        Some(start..start + self.len_utf8())
    }
}

impl Pattern for &[char] {
    #[inline]
    fn matches(&self, character: char) -> bool {
        self.contains(&character)
    }
}

impl<const N: usize> Pattern for [char; N] {
    #[inline]
    fn matches(&self, character: char) -> bool {
        self.contains(&character)
    }
}

impl<const N: usize> Pattern for &[char; N] {
    #[inline]
    fn matches(&self, character: char) -> bool {
        self.contains(&character)
    }
}

/// White space, as [`char::is_whitespace`] knows it.
#[derive(Debug, Clone, Copy)]
pub struct Whitespace;

impl Pattern for Whitespace {
    #[inline]
    fn matches(&self, character: char) -> bool {
        character.is_whitespace()
    }
}

/// ASCII white space.
#[derive(Debug, Clone, Copy)]
pub struct AsciiWhitespace;

impl Pattern for AsciiWhitespace {
    #[inline]
    fn matches(&self, character: char) -> bool {
        character.is_ascii_whitespace()
    }
}

impl<F: Fn(char) -> bool + Send + Sync> Pattern for F {
    #[inline]
    fn matches(&self, character: char) -> bool {
        self(character)
    }
}

/// The parts of a text that a [`SplitText`] has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextParts {
    /// Those between matches.
    Between,
    /// Those with a match at their end, and the rest unless it is empty.
    WithMatch,
    /// Those before a match, and the rest unless it is empty.
    Before,
    /// Those before a match, without a carriage return before it, and the rest unless it is empty.
    Lines,
    /// Those between matches that are not empty.
    Words,
}

/// The parts of a text.
#[derive(Debug)]
pub struct SplitText<'a, P> {
    text: &'a str,
    pattern: P,
    parts: TextParts,
}

impl<'a, P: Pattern> SplitText<'a, P> {
    /// The parts of `text` by the matches of `pattern`.
    pub fn new(text: &'a str, pattern: P, parts: TextParts) -> Self {
        Self { text, pattern, parts }
    }

    /// The first position from `start` on at which a part starts, if it is below `end`. A part or a
    /// match starts at `start`.
    #[inline]
    fn part_from(&self, start: usize, end: usize) -> Option<usize> {
        if start >= end || self.parts != TextParts::Words {
            return (start < end).then_some(start);
        }
        let mut rest = self.text[start..].char_indices();
        let (at, _) = rest.find(|&(_, next)| !self.pattern.matches(next))?;
        Some(start + at).filter(|next| *next < end)
    }
}

impl<'a, P: Pattern> Cut for SplitText<'a, P> {
    type Item = &'a str;

    #[inline]
    fn positions(&self) -> usize {
        // An empty part may be at the end.
        self.text.len() + usize::from(self.parts == TextParts::Between)
    }

    #[inline]
    fn first(&self, range: Range<usize>) -> Option<usize> {
        if range.start == 0 {
            return self.part_from(0, range.end);
        }
        // The characters that end in the range.
        let start = floor_boundary(self.text, range.start - 1);
        let end = floor_boundary(self.text, range.end - 1);
        let found = self.pattern.find_in(&self.text[start..end])?;
        self.part_from(start + found.end, range.end)
    }

    #[inline]
    fn item(&self, start: usize, end: usize) -> (&'a str, Option<usize>) {
        let rest = &self.text[start..];
        let Some(found) = self.pattern.find_in(rest) else { return (rest, None) };
        let before = &rest[..found.start];
        let item = match self.parts {
            TextParts::WithMatch => &rest[..found.end],
            TextParts::Lines => before.strip_suffix('\r').unwrap_or(before),
            TextParts::Between | TextParts::Before | TextParts::Words => before,
        };
        (item, self.part_from(start + found.end, end))
    }
}

/// The matches in a text, with their positions.
#[derive(Debug)]
pub struct MatchIndices<'a, P> {
    text: &'a str,
    pattern: P,
}

impl<'a, P: Pattern> MatchIndices<'a, P> {
    /// The matches of `pattern` in `text`.
    pub fn new(text: &'a str, pattern: P) -> Self {
        Self { text, pattern }
    }
}

impl<'a, P: Pattern> Cut for MatchIndices<'a, P> {
    type Item = (usize, &'a str);

    #[inline]
    fn positions(&self) -> usize {
        self.text.len()
    }

    #[inline]
    fn first(&self, range: Range<usize>) -> Option<usize> {
        let range = starting_in(self.text, &range);
        Some(range.start + self.pattern.find_in(&self.text[range])?.start)
    }

    #[inline]
    fn item(&self, start: usize, end: usize) -> (Self::Item, Option<usize>) {
        let after = ceil_boundary(self.text, start + 1);
        let next = if after < end { self.first(after..end) } else { None };
        ((start, &self.text[start..after]), next)
    }
}

/// The matches in a text.
#[derive(Debug)]
pub struct Matches<'a, P>(MatchIndices<'a, P>);

impl<'a, P: Pattern> Matches<'a, P> {
    /// The matches of `pattern` in `text`.
    pub fn new(text: &'a str, pattern: P) -> Self {
        Self(MatchIndices::new(text, pattern))
    }
}

impl<'a, P: Pattern> Cut for Matches<'a, P> {
    type Item = &'a str;

    #[inline]
    fn positions(&self) -> usize {
        self.0.positions()
    }

    #[inline]
    fn first(&self, range: Range<usize>) -> Option<usize> {
        self.0.first(range)
    }

    #[inline]
    fn item(&self, start: usize, end: usize) -> (&'a str, Option<usize>) {
        let ((_, text), next) = self.0.item(start, end);
        (text, next)
    }
}

/// The bytes of the characters that start in `range`.
#[inline]
fn starting_in(text: &str, range: &Range<usize>) -> Range<usize> {
    ceil_boundary(text, range.start)..ceil_boundary(text, range.end)
}

/// Items that a text is read as, character by character.
macro_rules! texts {
    ($(
        $(#[$doc:meta])*
        $name:ident: $item:ty, $piece:ty, $exact:literal,
        |$text:ident, $range:ident| $made:expr;
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name<'a>(&'a str);

        impl<'a> From<&'a str> for $name<'a> {
            #[inline]
            fn from(text: &'a str) -> Self {
                Self(text)
            }
        }

        // SAFETY: any thread may read a shared text at any time.
        unsafe impl<'a> Items for $name<'a> {
            type Item = $item;
            type Piece = $piece;

            const EXACT: bool = $exact;

            #[inline]
            fn length(&self) -> usize {
                self.0.len()
            }

            #[inline]
            unsafe fn piece(&self, $range: Range<usize>) -> Self::Piece {
                let $text = self.0;
                $made
            }
        }

        // SAFETY: as above.
        unsafe impl ReadItems for $name<'_> {}
    )*};
}

texts! {
    /// The characters of a text.
    Chars: char, std::str::Chars<'a>, false, |text, range| text[starting_in(text, &range)].chars();
    /// The characters of a text, with their positions.
    CharIndices: (usize, char), CharIndicesPiece<'a>, false, |text, range| {
        let range = starting_in(text, &range);
        CharIndicesPiece { start: range.start, left: text[range].char_indices() }
    };
    /// The bytes of a text.
    Bytes: u8, Copied<std::slice::Iter<'a, u8>>, true, |text, range| {
        text.as_bytes()[range].iter().copied()
    };
    /// A text encoded as UTF-16.
    EncodeUtf16: u16, std::str::EncodeUtf16<'a>, false, |text, range| {
        text[starting_in(text, &range)].encode_utf16()
    };
}

/// Some of the characters of a text, with their positions.
#[derive(Debug, Clone)]
pub struct CharIndicesPiece<'a> {
    start: usize,
    left: std::str::CharIndices<'a>,
}

impl Iterator for CharIndicesPiece<'_> {
    type Item = (usize, char);

    #[inline]
    fn next(&mut self) -> Option<(usize, char)> {
        let (at, character) = self.left.next()?;
        Some((self.start + at, character))
    }
}

/// The last boundary of characters at or before `index`.
fn floor_boundary(text: &str, index: usize) -> usize {
    let mut at = index.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The first boundary of characters at or after `index`, or the end.
fn ceil_boundary(text: &str, index: usize) -> usize {
    let mut at = index.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
