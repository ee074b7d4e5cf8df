//! Sets and lists of CPU numbers, in Linux' notation: `0-3,8,10-11`.
//!
//! The machine, the decisions about shares, and the table by which programs share a machine all
//! use this one type.

#![forbid(unsafe_code)]

use std::fmt;
use std::str::FromStr;

/// CPU numbers are below this. Linux stops at 8,192; the simulator's synthetic machines may be
/// larger. The bound limits the memory that a malformed file (`0-4294967295`) can cost.
pub const MAX_CPUS: usize = 1 << 20;

/// A set of CPUs by the operating system's numbers.
///
/// # Invariants
///
/// I1: the last word is not zero, so equal sets have equal words.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct CpuSet {
    words: Vec<u64>,
}

impl CpuSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The CPUs `0..count`.
    ///
    /// # Panics
    ///
    /// If `count` exceeds [`MAX_CPUS`].
    #[track_caller]
    pub fn first(count: usize) -> Self {
        (0..count).collect()
    }

    /// Adds a CPU.
    ///
    /// # Panics
    ///
    /// If `cpu` is not below [`MAX_CPUS`].
    #[track_caller]
    pub fn insert(&mut self, cpu: usize) {
        assert!(cpu < MAX_CPUS, "CPU number {cpu} is not below {MAX_CPUS}");
        let word = cpu / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu % 64);
    }

    /// Whether the CPU is in the set.
    pub fn contains(&self, cpu: usize) -> bool {
        self.words.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    /// The number of CPUs.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there is no CPU in the set.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// A set from its words: bit `b` of word `w` is CPU `64 w + b`.
    ///
    /// # Panics
    ///
    /// If there are words for CPUs that are not below [`MAX_CPUS`].
    #[track_caller]
    pub fn from_words(words: &[u64]) -> Self {
        assert!(words.len() <= MAX_CPUS / 64, "{} words of CPUs", words.len());
        Self::trimmed(words.to_vec())
    }

    /// The words up to the last one that is not zero, as [`from_words`](Self::from_words) takes
    /// them.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    fn trimmed(mut words: Vec<u64>) -> Self {
        let used = words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        words.truncate(used);
        Self { words }
    }

    /// Removes a CPU.
    pub fn remove(&mut self, cpu: usize) {
        if self.contains(cpu) {
            self.words[cpu / 64] &= !(1 << (cpu % 64));
            *self = Self::trimmed(std::mem::take(&mut self.words));
        }
    }

    /// The CPUs of this set that are below `end`.
    #[must_use]
    pub fn below(mut self, end: usize) -> Self {
        self.words.truncate(end.div_ceil(64));
        if let (Some(last), rest @ 1..) = (self.words.get_mut(end / 64), end % 64) {
            *last &= (1 << rest) - 1;
        }
        Self::trimmed(self.words)
    }

    /// The lowest CPU.
    pub fn lowest(&self) -> Option<usize> {
        self.iter().next()
    }

    /// The CPUs that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self::trimmed(self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect())
    }

    /// The CPUs that are in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let (long, short) =
            if self.words.len() < other.words.len() { (other, self) } else { (self, other) };
        let mut words = long.words.clone();
        words.iter_mut().zip(&short.words).for_each(|(word, other)| *word |= other);
        Self { words }
    }

    /// The CPUs of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut words = self.words.clone();
        words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= !other);
        Self::trimmed(words)
    }

    /// Whether every CPU of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).is_empty()
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> Iter<'_> {
        Iter { words: &self.words, base: 0, rest: 0 }
    }
}

/// The CPUs of a set in ascending order; from [`CpuSet::iter`].
///
/// A type of its own: closures and adapters would be compiled again at each use.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    /// The words that were not read yet.
    words: &'a [u64],
    /// The number of the first bit in `words`.
    base: usize,
    /// The rest of the word before `words`.
    rest: u64,
}

impl Iterator for Iter<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.rest == 0 {
            (self.rest, self.words) = self.words.split_first().map(|(word, rest)| (*word, rest))?;
            self.base += 64;
        }
        let bit = self.rest.trailing_zeros() as usize;
        self.rest &= self.rest - 1;
        Some(self.base - 64 + bit)
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut set = Self::new();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

impl FromStr for CpuSet {
    type Err = ListError;

    /// Reads `0-3,8`; an empty text is the empty set.
    fn from_str(text: &str) -> Result<Self, ListError> {
        parse_list(text).map(|cpus| cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(self.iter(), f)
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for CpuSet {
    /// The list.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The error for a list of CPUs that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListError {
    token: String,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a CPU number or an ascending range such as 3 or 4-7", self.token)
    }
}

impl std::error::Error for ListError {}

/// Reads a list of CPUs in the written order, repetitions included.
pub fn parse_list(text: &str) -> Result<Vec<usize>, ListError> {
    let mut cpus = Vec::new();
    if text.trim().is_empty() {
        return Ok(cpus);
    }
    for token in text.trim().split(',') {
        let range = parse_range(token.trim())
            .filter(|range| cpus.len() + range.clone().count() <= MAX_CPUS);
        cpus.extend(range.ok_or_else(|| ListError { token: shorten(token.trim()) })?);
    }
    Ok(cpus)
}

fn parse_range(token: &str) -> Option<std::ops::RangeInclusive<usize>> {
    let (first, last) = token.split_once('-').unwrap_or((token, token));
    let (first, last) = (parse_cpu(first)?, parse_cpu(last)?);
    (first <= last).then_some(first..=last)
}

fn parse_cpu(digits: &str) -> Option<usize> {
    // `parse` alone would accept `+3`.
    let all_digits = digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|&cpu| all_digits && cpu < MAX_CPUS)
}

/// Shortens a text for an error message.
pub fn shorten(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut clean = String::new();
    for char in text.chars().take(LONGEST) {
        clean.extend(char.escape_debug());
    }
    if text.chars().nth(LONGEST).is_some() { clean + "…" } else { clean }
}

/// Writes CPUs in the given order, runs of successors as ranges.
pub fn write_list(cpus: impl IntoIterator<Item = usize>, f: &mut impl fmt::Write) -> fmt::Result {
    write_ranges(&mut cpus.into_iter(), f)
}

/// Compiled once for all kinds of lists and outputs.
fn write_ranges(cpus: &mut dyn Iterator<Item = usize>, f: &mut dyn fmt::Write) -> fmt::Result {
    let mut comma = "";
    let mut waiting = cpus.next();
    while let Some(first) = waiting {
        let mut last = first;
        waiting = cpus.next();
        while waiting == Some(last + 1) {
            last += 1;
            waiting = cpus.next();
        }
        if first == last {
            write!(f, "{comma}{first}")?;
        } else {
            write!(f, "{comma}{first}-{last}")?;
        }
        comma = ",";
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    //! Blind to: the kernel's notation beyond lists (strides, hexadecimal masks), which the parser
    //! does not read.

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_list_names_numbers_and_ranges() {
        let set: CpuSet = " 0-2,5 , 63-65\n".parse().unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 1, 2, 5, 63, 64, 65]);
        assert_eq!(set.to_string(), "0-2,5,63-65");
        assert!("".parse::<CpuSet>().unwrap().is_empty());
    }

    #[test]
    fn a_bad_list_is_refused_and_the_bad_token_named() {
        for (text, token) in [
            ("0,x", "x"),
            ("4-", "4-"),
            ("7-4", "7-4"),
            ("1,,2", ""),
            ("+3", "+3"),
            ("-1", "-1"),
            ("0-4294967295", "0-4294967295"),
            ("99999999999999999999", "99999999999999999999"),
        ] {
            let error = text.parse::<CpuSet>().unwrap_err();
            assert!(error.to_string().starts_with(&format!("`{token}` is not")), "{text}: {error}");
        }
    }

    #[test]
    fn the_intersection_of_disjoint_sets_equals_the_empty_set() {
        let low = CpuSet::first(3);
        let high: CpuSet = [200].into_iter().collect();
        assert_eq!(low.intersection(&high), CpuSet::new());
        assert!(high.intersection(&low).is_empty());
    }

    /// Catches: a CPU at the edge of a word that is lost, and words of zeros that make equal sets
    /// differ.
    #[test]
    fn a_set_holds_the_cpus_that_were_inserted_and_not_removed() {
        let mut set: CpuSet = [0, 63, 64, 65, 1023].into_iter().collect();
        set.remove(1023);
        set.remove(9999);
        assert_eq!(set.to_string(), "0,63-65");
        assert!(!set.contains(1023) && set.len() == 4 && set.words().len() == 2);
        assert_eq!(CpuSet::from_words(&[1 << 63 | 1, 3, 0, 0]), set);
        assert_eq!(CpuSet::from_words(set.words()), set);
    }

    /// Catches: a bound that is off by one, within a word or at its edge.
    #[test]
    fn the_cpus_below_a_bound_are_those_that_are_less() {
        let set: CpuSet = [0, 5, 63, 64, 70, 200].into_iter().collect();
        for end in [0, 1, 5, 6, 63, 64, 65, 70, 71, 128, 200, 201, 999] {
            let less: CpuSet = set.iter().filter(|&cpu| cpu < end).collect();
            assert_eq!(set.clone().below(end), less, "{end}");
        }
    }

    /// Catches: operations with their sides exchanged, and sets of unequal length.
    #[test]
    fn sets_are_intersected_united_and_compared() {
        let (low, wide) = (CpuSet::first(4), [2, 3, 4, 200].into_iter().collect::<CpuSet>());
        for (a, b) in [(&low, &wide), (&wide, &low)] {
            assert_eq!(a.intersection(b).to_string(), "2-3");
            assert_eq!(a.union(b).to_string(), "0-4,200");
        }
        assert_eq!(low.difference(&wide).to_string(), "0-1");
        assert_eq!(wide.difference(&low).to_string(), "4,200");
        assert_eq!(low.difference(&low), CpuSet::new());
        assert!(low.intersection(&wide).is_subset(&wide) && !low.is_subset(&wide));
        assert!(CpuSet::new().is_subset(&low) && !wide.is_subset(&low));
    }

    proptest! {
        #[test]
        fn lists_are_read_back_as_they_are_written(
            cpus in proptest::collection::btree_set(0_usize..300, 0..40),
        ) {
            let set: CpuSet = cpus.iter().copied().collect();
            prop_assert_eq!(set.len(), cpus.len());
            prop_assert!(set.iter().eq(cpus.iter().copied()));
            prop_assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set);
        }

        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text in "[-0-9, x]{0,20}") {
            let _ = text.parse::<CpuSet>();
        }
    }
}
