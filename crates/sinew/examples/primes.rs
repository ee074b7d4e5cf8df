//! Counts the primes below two million, and shows what each thread did.
//!
//! Shows: `filter`, `count`, `metrics`, and a schedule for items of unequal size.

use sinew::prelude::*;

fn is_prime(n: u64) -> bool {
    n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

fn main() {
    // The later numbers take longer. `Guided` begins with large pieces and ends with small ones.
    let numbers = over(0..2_000_000_u64).schedule(Schedule::Guided { min: 256 });
    let (count, metrics) = numbers.metrics().filter(|n| is_prime(*n)).count();
    assert_eq!(count, 148_933);

    println!("{count} primes below two million");
    for (thread, metrics) in metrics.threads.iter().enumerate() {
        println!("thread {thread}: {:8} numbers in {:.0?}", metrics.tasks, metrics.work);
    }
}
