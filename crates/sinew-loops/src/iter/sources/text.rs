//! Chains over the characters and parts of texts.

use crate::data::{
    AsciiWhitespace, Before, Between, Bytes, CharIndices, Chars, Cuts, EncodeUtf16, Lines,
    MatchIndices, Matches, Pattern, SplitText, TextParts, Whitespace, WithMatch, Words,
};
use crate::iter::Over;

/// The items of [`ParallelString::par_split`] and the other methods that split; `K` is the kind of
/// parts.
pub type TextItems<'a, P, K> = Over<'static, Cuts<SplitText<'a, P, K>>>;

/// Chains over the characters and parts of a text, with the items that the methods of `str` of
/// these names have.
///
/// A pattern is a character, an array or a slice of characters, or a function from a character to a
/// truth value. It may be compared with a character more than once.
///
/// ```
/// use sinew_loops::iter::*;
///
/// let text = "one two\nthree";
/// assert_eq!(text.par_lines().collect::<Vec<_>>(), ["one two", "three"]);
/// assert_eq!(text.par_split_whitespace().map(str::len).collect::<Vec<_>>(), [3, 3, 5]);
/// assert_eq!(text.par_chars().filter(|c| *c == 'e').count(), 3);
/// assert_eq!(text.par_split(['o', 'w']).count(), 4);
/// assert_eq!(text.par_match_indices('t').collect::<Vec<_>>(), [(4, "t"), (8, "t")]);
/// ```
pub trait ParallelString {
    /// The text.
    fn as_parallel_string(&self) -> &str;

    /// The characters.
    #[track_caller]
    fn par_chars(&self) -> Over<'static, Chars<'_>> {
        Over::new(self.as_parallel_string().into())
    }

    /// The characters, with their positions.
    #[track_caller]
    fn par_char_indices(&self) -> Over<'static, CharIndices<'_>> {
        Over::new(self.as_parallel_string().into())
    }

    /// The bytes.
    #[track_caller]
    fn par_bytes(&self) -> Over<'static, Bytes<'_>> {
        Over::new(self.as_parallel_string().into())
    }

    /// The text encoded as UTF-16.
    #[track_caller]
    fn par_encode_utf16(&self) -> Over<'static, EncodeUtf16<'_>> {
        Over::new(self.as_parallel_string().into())
    }

    /// The parts between matches of `separator`.
    #[track_caller]
    fn par_split<P: Pattern>(&self, separator: P) -> TextItems<'_, P, Between> {
        parts(self.as_parallel_string(), separator)
    }

    /// The parts between matches of `separator`, each with the match at its end. The last part is
    /// not empty.
    #[track_caller]
    fn par_split_inclusive<P: Pattern>(&self, separator: P) -> TextItems<'_, P, WithMatch> {
        parts(self.as_parallel_string(), separator)
    }

    /// The parts that matches of `terminator` end, and the rest unless it is empty.
    #[track_caller]
    fn par_split_terminator<P: Pattern>(&self, terminator: P) -> TextItems<'_, P, Before> {
        parts(self.as_parallel_string(), terminator)
    }

    /// The lines, without their line ends: a newline, or a carriage return and a newline.
    #[track_caller]
    fn par_lines(&self) -> TextItems<'_, char, Lines> {
        parts(self.as_parallel_string(), '\n')
    }

    /// The parts between white space that are not empty.
    #[track_caller]
    fn par_split_whitespace(&self) -> TextItems<'_, Whitespace, Words> {
        parts(self.as_parallel_string(), Whitespace)
    }

    /// The parts between ASCII white space that are not empty.
    #[track_caller]
    fn par_split_ascii_whitespace(&self) -> TextItems<'_, AsciiWhitespace, Words> {
        parts(self.as_parallel_string(), AsciiWhitespace)
    }

    /// The matches of `pattern`.
    #[track_caller]
    fn par_matches<P: Pattern>(&self, pattern: P) -> Over<'static, Cuts<Matches<'_, P>>> {
        Over::new(Cuts::new(Matches::new(self.as_parallel_string(), pattern)))
    }

    /// The matches of `pattern`, with their positions.
    #[track_caller]
    fn par_match_indices<P: Pattern>(
        &self,
        pattern: P,
    ) -> Over<'static, Cuts<MatchIndices<'_, P>>> {
        Over::new(Cuts::new(MatchIndices::new(self.as_parallel_string(), pattern)))
    }
}

impl ParallelString for str {
    #[inline]
    fn as_parallel_string(&self) -> &str {
        self
    }
}

#[track_caller]
fn parts<P: Pattern, K: TextParts>(text: &str, pattern: P) -> TextItems<'_, P, K> {
    Over::new(Cuts::new(SplitText::new(text, pattern)))
}
