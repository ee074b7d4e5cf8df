//! The characters of a text, and the parts between characters of some kind.
//!
//! Positions are bytes. A range of bytes has the items that start in it.

use std::iter::Copied;
use std::marker::PhantomData;
use std::ops::{ControlFlow, Range};

use super::bytes::{blank_in, byte_in};
use super::cuts::Cut;
use super::items::{Items, ReadItems};

/// A pattern that a text is searched for: a character, one of several, or one for which a function
/// returns true.
pub trait Pattern: Send + Sync {
    /// Whether it is this character.
    fn matches(&self, character: char) -> bool;

    /// The start of the first match in `text`.
    #[inline]
    fn find_in(&self, text: &str) -> Option<usize> {
        find_character(text, |character| self.matches(character))
    }
}

impl Pattern for char {
    #[inline]
    fn matches(&self, character: char) -> bool {
        *self == character
    }

    #[inline]
    fn find_in(&self, text: &str) -> Option<usize> {
        if self.is_ascii() { byte_in(text.as_bytes(), *self as u8) } else { text.find(*self) }
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

    #[inline]
    fn find_in(&self, text: &str) -> Option<usize> {
        find_blank(text, |character| self.matches(character))
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

    #[inline]
    fn find_in(&self, text: &str) -> Option<usize> {
        find_blank(text, |character| self.matches(character))
    }
}

impl<F: Fn(char) -> bool + Send + Sync> Pattern for F {
    #[inline]
    fn matches(&self, character: char) -> bool {
        self(character)
    }
}

/// The parts of a text that a [`SplitText`] has.
pub trait TextParts: Send + Sync {
    /// Whether the last part may be empty.
    const ENDS_EMPTY: bool = false;
    /// Whether parts in the middle are not empty.
    const SKIPS_EMPTY: bool = false;

    /// The part at the start of `rest` whose match is at `found`.
    #[inline]
    fn part<'a>(rest: &'a str, found: &Range<usize>) -> &'a str {
        &rest[..found.start]
    }
}

/// The parts between matches.
#[derive(Debug)]
pub enum Between {}

/// The parts with a match at their end, and the rest unless it is empty.
#[derive(Debug)]
pub enum WithMatch {}

/// The parts before a match, and the rest unless it is empty.
#[derive(Debug)]
pub enum Before {}

/// The parts before a match, without a carriage return before it, and the rest unless it is empty.
#[derive(Debug)]
pub enum Lines {}

/// The parts between matches that are not empty.
#[derive(Debug)]
pub enum Words {}

impl TextParts for Between {
    const ENDS_EMPTY: bool = true;
}

impl TextParts for WithMatch {
    #[inline]
    fn part<'a>(rest: &'a str, found: &Range<usize>) -> &'a str {
        &rest[..found.end]
    }
}

impl TextParts for Before {}

impl TextParts for Lines {
    #[inline]
    fn part<'a>(rest: &'a str, found: &Range<usize>) -> &'a str {
        let before = &rest[..found.start];
        before.strip_suffix('\r').unwrap_or(before)
    }
}

impl TextParts for Words {
    const SKIPS_EMPTY: bool = true;
}

/// The parts of a text. Which parts is a type, so that a loop over them does not decide it again
/// and again.
#[derive(Debug)]
pub struct SplitText<'a, P, K> {
    text: &'a str,
    pattern: P,
    parts: PhantomData<fn() -> K>,
}

impl<'a, P: Pattern, K: TextParts> SplitText<'a, P, K> {
    /// The parts of `text` by the matches of `pattern`.
    pub fn new(text: &'a str, pattern: P) -> Self {
        Self { text, pattern, parts: PhantomData }
    }

    /// The first position from `start` on at which a part starts, if it is below `end`. A part or a
    /// match starts at `start`.
    #[inline]
    fn part_from(&self, start: usize, end: usize) -> Option<usize> {
        if start >= end || !K::SKIPS_EMPTY {
            return (start < end).then_some(start);
        }
        let next = find_character(&self.text[start..], |next| !self.pattern.matches(next))?;
        Some(start + next).filter(|next| *next < end)
    }
}

impl<'a, P: Pattern, K: TextParts> Cut for SplitText<'a, P, K> {
    type Item = &'a str;

    #[inline]
    fn positions(&self) -> usize {
        self.text.len() + usize::from(K::ENDS_EMPTY)
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
        self.part_from(ceil_boundary(self.text, start + found + 1), range.end)
    }

    #[inline]
    fn item(&self, start: usize, end: usize) -> (&'a str, Option<usize>) {
        let rest = &self.text[start..];
        let Some(found) = self.pattern.find_in(rest) else { return (rest, None) };
        let after = ceil_boundary(rest, found + 1);
        (K::part(rest, &(found..after)), self.part_from(start + after, end))
    }

    /// In one pass over the characters: here a part that is left out is found like the others.
    #[inline]
    fn visit<S>(&self, mut start: usize, end: usize, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(&'a str) -> ControlFlow<()>,
    {
        while start < end {
            let rest = &self.text[start..];
            let (part, next) = match self.pattern.find_in(rest) {
                Some(found) => {
                    let after = ceil_boundary(rest, found + 1);
                    (K::part(rest, &(found..after)), start + after)
                }
                None => (rest, end),
            };
            if !K::SKIPS_EMPTY || !part.is_empty() {
                sink(part)?;
            }
            start = next;
        }
        ControlFlow::Continue(())
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
        Some(range.start + self.pattern.find_in(&self.text[range])?)
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

/// The start of the first character for which `is_it` returns true. ASCII characters are not
/// decoded.
#[inline]
fn find_character(text: &str, is_it: impl Fn(char) -> bool) -> Option<usize> {
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        if byte.is_ascii() {
            if is_it(char::from(byte)) {
                return Some(at);
            }
            at += 1;
        } else {
            let next = text[at..].chars().next()?;
            if is_it(next) {
                return Some(at);
            }
            at += next.len_utf8();
        }
    }
    None
}

/// As [`find_character`], for characters of which none is printable ASCII.
#[inline]
fn find_blank(text: &str, is_it: impl Fn(char) -> bool) -> Option<usize> {
    let mut at = 0;
    loop {
        at += blank_in(&text.as_bytes()[at..])?;
        let next = text[at..].chars().next()?;
        if is_it(next) {
            return Some(at);
        }
        at += next.len_utf8();
    }
}

/// The last boundary of characters at or before `index`.
#[inline]
fn floor_boundary(text: &str, index: usize) -> usize {
    let mut at = index.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The first boundary of characters at or after `index`, or the end.
#[inline]
fn ceil_boundary(text: &str, index: usize) -> usize {
    let mut at = index.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
