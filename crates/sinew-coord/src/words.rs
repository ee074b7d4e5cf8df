//! A sequence of words, and its checksum.

/// The most programs that a table holds.
pub const MAX_PROGRAMS: usize = 256;

/// Appends words to a buffer.
#[derive(Debug)]
pub(crate) struct Writer<'a>(pub(crate) &'a mut Vec<u64>);

impl Writer<'_> {
    pub(crate) fn put(&mut self, word: u64) {
        self.0.extend([word]);
    }

    pub(crate) fn pair(&mut self, low: u32, high: u32) {
        self.put(u64::from(high) << 32 | u64::from(low));
    }
}

/// Takes words from a buffer. Returns `None` at its end, and for values out of range.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    words: &'a [u64],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(words: &'a [u64]) -> Self {
        Self { words, at: 0 }
    }

    pub(crate) fn take(&mut self) -> Option<u64> {
        let word = self.words.get(self.at).copied();
        self.at += 1;
        word
    }

    pub(crate) fn pair(&mut self) -> Option<(u32, u32)> {
        self.take().map(|word| (word as u32, (word >> 32) as u32))
    }

    /// A number up to `most`.
    pub(crate) fn small(&mut self, most: u32) -> Option<u32> {
        self.take().and_then(|word| u32::try_from(word).ok()).filter(|&number| number <= most)
    }
}

/// A checksum: a change of any word changes it, with a few exceptions.
pub(crate) fn checksum(words: &[u64]) -> u64 {
    let mix =
        |sum: u64, &word: &u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    words.iter().fold(0x51_7cc1_b727_220a ^ words.len() as u64, mix)
}
