//! The characters and parts of texts.

use super::*;
use crate::iter::ParallelString;

/// Texts of few characters, of one to four bytes, with all kinds of white space and line ends.
fn any_text() -> impl Strategy<Value = String> {
    let letters = prop::sample::select(vec![
        'a', 'b', ' ', '\n', '\r', '\t', '\u{A0}', 'ß', '水', '🦀', '\u{B}',
    ]);
    proptest::collection::vec(letters, 0..60).prop_map(|letters| letters.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Catches: a character that is cut, or belongs to two ranges or none.
    #[test]
    fn characters_are_those_of_a_sequential_text(text in any_text(), way in any_way()) {
        way.check(|| text.par_chars(), text.chars());
        way.check(|| text.par_char_indices(), text.char_indices());
        way.check_indexed(|| text.par_bytes(), text.bytes());
        way.check(|| text.par_encode_utf16(), text.encode_utf16());
        way.check(|| text.par_matches('水'), text.matches('水'));
        way.check(|| text.par_match_indices(['a', 'ß']), text.match_indices(['a', 'ß']));
    }

    /// Catches: a part that is found twice or not at all where ranges are cut, and empty parts that
    /// should not be there, or are missing.
    #[test]
    fn parts_are_those_of_a_sequential_text(text in any_text(), way in any_way()) {
        let white: fn(char) -> bool = char::is_whitespace;
        let two: &[char] = &['\n', '🦀'];
        way.check(|| text.par_split('a'), text.split('a'));
        way.check(|| text.par_split(two), text.split(two));
        way.check(|| text.par_split(['ß', 'a']), text.split(['ß', 'a']));
        way.check(|| text.par_split(&['ß', 'a']), text.split(&['ß', 'a']));
        way.check(|| text.par_split_inclusive(white), text.split_inclusive(white));
        way.check(|| text.par_split_terminator(white), text.split_terminator(white));
        way.check(|| text.par_lines(), text.lines());
        way.check(|| text.par_split_whitespace(), text.split_whitespace());
        way.check(|| text.par_split_ascii_whitespace(), text.split_ascii_whitespace());
    }
}

/// Catches: a loop of several participants over few long parts, or over many short ones.
#[test]
fn long_texts_are_split_by_several_workers() {
    let words = "alpha beta  γάμμα\r\ndelta\n\n".repeat(2_000);
    let one = "x".repeat(50_000);
    for threads in 1..=4 {
        let way = Way { threads, schedule: Schedule::Dynamic { chunk: 100 }, cuts: Vec::new() };
        for text in [&words, &one] {
            way.check(|| text.par_split_whitespace(), text.split_whitespace());
            way.check(|| text.par_lines(), text.lines());
            way.check(|| text.par_split('a'), text.split('a'));
        }
    }
}
