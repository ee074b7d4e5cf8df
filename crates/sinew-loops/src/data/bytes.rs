//! Searches of bytes, eight at a time.
//!
//! The standard library's search for a character costs some ten instructions before the first byte:
//! too much for lines and words.

/// The same byte at eight places.
const fn repeated(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The highest bits of eight bytes.
const HIGH: u64 = repeated(0x80);

/// The first place of `byte`.
#[inline]
pub(super) fn byte_in(bytes: &[u8], byte: u8) -> Option<usize> {
    first_marked(bytes, |eight| {
        let zero_here = eight ^ repeated(byte);
        zero_here.wrapping_sub(repeated(1)) & !zero_here
    })
}

/// The first byte that is not printable ASCII: a control character, a space, or a part of a longer
/// character.
#[inline]
pub(super) fn blank_in(bytes: &[u8]) -> Option<usize> {
    first_marked(bytes, |eight| eight.wrapping_sub(repeated(b' ' + 1)) | eight)
}

/// The first byte whose highest bit is set in what `marks` returns for eight bytes, of which the
/// first is the lowest. Marks above the lowest one may be wrong, as a subtraction that borrows from
/// the next byte makes them.
#[inline]
fn first_marked(bytes: &[u8], marks: impl Fn(u64) -> u64) -> Option<usize> {
    let (eights, rest) = bytes.as_chunks();
    for (number, eight) in eights.iter().enumerate() {
        let marked = marks(u64::from_le_bytes(*eight)) & HIGH;
        if marked != 0 {
            return Some(8 * number + marked.trailing_zeros() as usize / 8);
        }
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let marked = marks(u64::from_le_bytes(last)) & HIGH;
    // All 8, and thus beyond the rest, if there are no marks.
    let at = marked.trailing_zeros() as usize / 8;
    (at < rest.len()).then(|| 8 * eights.len() + at)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Catches: a mark of a wrong byte (0x80 apart, one apart, after a borrow), and an end of
        /// the bytes that is missed or passed.
        #[test]
        fn the_first_byte_of_a_kind_is_found(
            bytes in proptest::collection::vec(
                prop_oneof![any::<u8>(), Just(b' '), Just(b'!'), Just(b'a'), Just(0x80), Just(0)],
                0..40,
            ),
            byte in prop_oneof![any::<u8>(), Just(b'a'), Just(b' '), Just(0), Just(0x80)],
        ) {
            let first = bytes.iter().position(|other| *other == byte);
            prop_assert_eq!(byte_in(&bytes, byte), first);
            let first = bytes.iter().position(|byte| !byte.is_ascii_graphic() && *byte != 0x7f);
            prop_assert_eq!(blank_in(&bytes), first);
        }
    }
}
