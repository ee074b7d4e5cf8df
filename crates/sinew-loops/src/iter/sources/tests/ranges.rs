//! Ranges of integers and characters.

use super::*;
use crate::iter::ParIter;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Catches: an end that wraps, and an inclusive range without its last integer.
    #[test]
    fn ranges_have_the_integers_of_sequential_ones(
        small in any::<[i8; 2]>(),
        start in any::<i128>(),
        n in 0..300_usize,
        way in any_way(),
    ) {
        let [low, high] = small;
        way.check_indexed(|| (low..high).into_par_iter(), low..high);
        way.check_indexed(|| (low..=high).into_par_iter(), low..=high);
        way.check_indexed(|| (0..=u8::MAX).into_par_iter(), 0..=u8::MAX);
        let start = start.saturating_sub(n as i128);
        let wide = start..start + n as i128;
        way.check_indexed(|| wide.clone().into_par_iter(), wide.clone());
        let last = u128::MAX - n as u128..=u128::MAX;
        way.check_indexed(|| last.clone().into_par_iter(), last.clone());
        let last = usize::MAX - n..=usize::MAX;
        way.check_indexed(|| last.clone().into_par_iter(), last.clone());
    }

    /// Catches: code points between the two parts of the characters.
    #[test]
    fn ranges_of_characters_leave_surrogates_out(
        start in 0xD700_u32..0xE100,
        end in 0xD700_u32..0xE100,
        way in any_way(),
    ) {
        let character = |code| char::from_u32(code).unwrap_or('\u{E000}');
        let (start, end) = (character(start), character(end));
        way.check_indexed(|| (start..end).into_par_iter(), start..end);
        way.check_indexed(|| (start..=end).into_par_iter(), start..=end);
    }
}

/// Catches: the last character of all, and a range that is used up.
#[test]
fn ranges_end_where_sequential_ones_do() {
    assert_eq!(('\0'..=char::MAX).into_par_iter().count(), 0x11_0000 - 0x800);
    let mut used = 3..=4;
    used.by_ref().for_each(drop);
    assert_eq!(used.into_par_iter().count(), 0);
}

/// Catches: a length that wraps.
#[test]
#[should_panic(expected = "is longer than usize::MAX: split it")]
fn a_range_that_is_too_long_is_refused() {
    (0..=usize::MAX).into_par_iter().for_each(drop);
}
