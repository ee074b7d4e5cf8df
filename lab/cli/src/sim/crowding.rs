//! The slow-down of work while another core does the same work, caused by shared memory bandwidth
//! and caches.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

/// Words that a copy reads and writes: more than caches hold.
const WORDS: usize = 6 << 20;
/// Number of copies alone, and of concurrent ones.
const ROUNDS: usize = 7;

/// Makes two calls at once, each on its own thread, with its number.
///
/// # Panics
///
/// If one of them panics.
pub(super) fn at_once<T: Send>(call: impl Fn(usize) -> T + Sync) -> [T; 2] {
    let begin = Barrier::new(2);
    let call = |number| {
        begin.wait();
        call(number)
    };
    thread::scope(|scope| {
        let second = scope.spawn(|| call(1));
        let first = call(0);
        [first, second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))]
    })
}

/// The value at a tenth of the way from the least to the greatest, because disturbances make a
/// measurement longer.
pub(super) fn low(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 10).copied().unwrap_or(0.0)
}

/// The slow-down of copying memory while another core does it too; at least 1.
pub(super) fn of_memory() -> f64 {
    let arrays = [(); 2].map(|()| (vec![1_u64; WORDS], vec![0_u64; WORDS]));
    let arrays = arrays.map(std::sync::Mutex::new);
    let copy = |number: usize| {
        // Each thread has its own lock, which is neither contended nor poisoned.
        let mut arrays = arrays[number].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (from, to) = &mut *arrays;
        let begin = Instant::now();
        black_box(to).copy_from_slice(black_box(from));
        begin.elapsed().as_secs_f64()
    };
    let ratio = |()| {
        let alone = copy(0);
        let both = at_once(copy);
        (both[0] + both[1]) / 2.0 / alone.max(f64::MIN_POSITIVE)
    };
    // The first copies touch new pages.
    let _ = at_once(copy);
    low(std::iter::repeat_n((), ROUNDS).map(ratio).collect()).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: calls that run one after the other, or with the same number.
    #[test]
    fn both_calls_are_under_way_at_the_same_time() {
        let meeting = Barrier::new(2);
        let numbers = at_once(|number| {
            meeting.wait();
            number
        });
        assert_eq!(numbers, [0, 1]);
    }
}
