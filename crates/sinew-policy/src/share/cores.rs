//! Sets of CPUs of fixed size, so that table rows and shares can be copied.

use std::fmt;

/// CPUs that can be shared have numbers below this.
pub const MAX_CORES: usize = 1024;

const WORDS: usize = MAX_CORES / 64;

/// A set of CPUs by the operating system's numbers, each below [`MAX_CORES`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CoreSet([u64; WORDS]);

impl CoreSet {
    /// The empty set.
    pub const EMPTY: Self = Self([0; WORDS]);

    /// The CPUs `0..count`, up to [`MAX_CORES`].
    pub fn first(count: usize) -> Self {
        (0..count.min(MAX_CORES)).collect()
    }

    /// A set from its words: bit `b` of word `w` is CPU `64 w + b`.
    pub fn from_words(words: [u64; WORDS]) -> Self {
        Self(words)
    }

    /// The words, as [`from_words`](Self::from_words) takes them.
    pub fn words(&self) -> &[u64; WORDS] {
        &self.0
    }

    /// Adds a CPU; ignores one that is not below [`MAX_CORES`].
    pub fn insert(&mut self, cpu: usize) {
        if let Some(word) = self.0.get_mut(cpu / 64) {
            *word |= 1 << (cpu % 64);
        }
    }

    /// Removes a CPU.
    pub fn remove(&mut self, cpu: usize) {
        if let Some(word) = self.0.get_mut(cpu / 64) {
            *word &= !(1 << (cpu % 64));
        }
    }

    /// Whether the CPU is in the set.
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    /// The number of CPUs.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        let words = self.0;
        (0..WORDS).flat_map(move |w| {
            (0..64).filter(move |b| words[w] >> b & 1 == 1).map(move |b| 64 * w + b)
        })
    }

    /// The CPUs in both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|w| self.0[w] & other.0[w]))
    }

    /// The CPUs in either set.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|w| self.0[w] | other.0[w]))
    }

    /// The CPUs of this set that are not in the other.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|w| self.0[w] & !other.0[w]))
    }

    /// Whether every CPU of this set is in the other.
    pub fn is_within(&self, other: &Self) -> bool {
        self.without(other).is_empty()
    }
}

impl FromIterator<usize> for CoreSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut set = Self::EMPTY;
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

impl fmt::Display for CoreSet {
    /// The notation of Linux' lists: `0-3,8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut comma = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if_eq(&(last + 1)) {
                last = next;
            }
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CoreSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CoreSet({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a CPU at the edge of a word that is lost, and one beyond the last word that wraps.
    #[test]
    fn a_set_holds_what_was_put_in_and_nothing_else() {
        let mut set: CoreSet = [0, 63, 64, 65, 1023, 1024, 5000].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 65, 1023]);
        assert_eq!(set.to_string(), "0,63-65,1023");
        set.remove(64);
        set.remove(9999);
        assert!(!set.contains(64) && !set.contains(5000) && set.len() == 4);
        assert_eq!(CoreSet::from_words(*set.words()), set);
    }

    /// Catches: operations with their sides exchanged.
    #[test]
    fn sets_are_cut_joined_and_compared() {
        let (low, mid) = (CoreSet::first(4), [2, 3, 4].into_iter().collect::<CoreSet>());
        assert_eq!(low.and(&mid).to_string(), "2-3");
        assert_eq!(low.or(&mid).to_string(), "0-4");
        assert_eq!(low.without(&mid).to_string(), "0-1");
        assert!(
            low.and(&mid).is_within(&mid) && !low.is_within(&mid) && CoreSet::EMPTY.is_within(&mid)
        );
    }
}
