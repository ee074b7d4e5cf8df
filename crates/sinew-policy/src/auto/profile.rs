//! The measured costs of the chunks of one run, by their place in the loop.

/// A profile has the costs of this many equal parts of a loop.
pub const PARTS: usize = 16;

/// The costs of the chunks of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Profile {
    parts: [Part; PARTS],
    /// For each chunk the square of its time over its length, which separates chance from a trend.
    squares: f64,
    chunks: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Part {
    items: f64,
    ns: f64,
}

impl Profile {
    /// Adds a chunk of `length` iterations from `start` on, in a loop of `n`, which took
    /// `elapsed_ns`.
    pub fn add(&mut self, start: usize, length: usize, n: usize, elapsed_ns: u64) {
        if length == 0 || n == 0 {
            return;
        }
        let (length_f, ns) = (length as f64, elapsed_ns as f64);
        self.squares += ns * ns / length_f;
        self.chunks += 1;
        let scale = PARTS as f64 / n as f64;
        let (from, to) = (start as f64 * scale, (start as f64 + length_f) * scale);
        // A chunk that spans several parts is divided among them.
        for (number, part) in self.parts.iter_mut().enumerate().skip(from as usize) {
            let (low, high) = (from.max(number as f64), to.min(number as f64 + 1.0));
            if low >= high {
                break;
            }
            let share = (high - low) / (to - from);
            part.items += share * length_f;
            part.ns += share * ns;
        }
    }

    /// Adds the profile of another participant.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.parts.iter_mut().zip(&other.parts) {
            mine.items += theirs.items;
            mine.ns += theirs.ns;
        }
        self.squares += other.squares;
        self.chunks += other.chunks;
    }

    /// The mean cost of an iteration for one worker; `None` if no chunk was timed.
    pub fn mean_ns(&self) -> Option<f64> {
        let (items, ns) = self.totals();
        (items > 0.0).then(|| ns / items)
    }

    fn totals(&self) -> (f64, f64) {
        self.parts.iter().fold((0.0, 0.0), |(items, ns), part| (items + part.items, ns + part.ns))
    }

    /// The expected time of the longest of `workers` equal shares of `n` iterations, as a multiple
    /// of the mean.
    ///
    /// The costs of the parts show a trend along the loop. The variation of chunks beyond the trend
    /// counts as chance, which weighs more in a share of fewer iterations.
    pub fn unevenness(&self, workers: usize, n: usize) -> f64 {
        let Some(mean) = self.mean_ns() else { return 1.0 };
        let workers = workers.max(1);
        let share = |number: usize| {
            self.share(number as f64 / workers as f64, (number as f64 + 1.0) / workers as f64, mean)
        };
        let longest = (0..workers).map(share).fold(0.0, f64::max) * workers as f64;
        let mean_share = mean * PARTS as f64;
        let trend = if mean_share > 0.0 { longest / mean_share } else { 1.0 };
        trend + self.chance(mean, n as f64 / workers as f64)
    }

    /// The cost of the loop between two fractions, in iterations of a whole part.
    fn share(&self, from: f64, to: f64, mean: f64) -> f64 {
        let cost = |(number, part): (usize, &Part)| {
            let low = (from * PARTS as f64).max(number as f64);
            let high = (to * PARTS as f64).min(number as f64 + 1.0);
            let each = if part.items > 0.0 { part.ns / part.items } else { mean };
            (high - low).max(0.0) * each
        };
        self.parts.iter().enumerate().map(cost).sum()
    }

    /// By how much of the mean the longest share of `length` iterations is longer by chance: about
    /// one and a half standard deviations.
    fn chance(&self, mean: f64, length: f64) -> f64 {
        let (items, ns) = self.totals();
        if self.chunks < 2 || mean <= 0.0 || length < 1.0 {
            return 0.0;
        }
        // Within the parts: the trend explains the means of the parts.
        let explained: f64 = self
            .parts
            .iter()
            .filter(|part| part.items > 0.0)
            .map(|part| part.ns * part.ns / part.items)
            .sum();
        let variance =
            ((self.squares - explained.max(ns * ns / items)) / self.chunks as f64).max(0.0);
        1.5 * variance.sqrt() / (mean * length.sqrt())
    }
}
