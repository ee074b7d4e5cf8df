//! A loop that reports its progress, gets another number of threads on its way, and is cancelled.
//!
//! Shows: `Control`.

use sinew::prelude::*;
use std::hint::black_box;
use std::time::Duration;

/// Something that takes about a microsecond.
fn work(x: u64) -> u64 {
    (0..300).fold(x, |x, _| black_box(x.rotate_left(5) ^ x))
}

fn main() {
    let control = Control::new();
    control.on_progress(Duration::from_millis(50), |now| {
        let (percent, threads) = (100.0 * now.fraction(), now.working);
        println!("{percent:3.0} %, {threads} threads at work");
    });

    // Another thread changes the loop while it runs.
    let sum = std::thread::scope(|s| {
        s.spawn(|| {
            while control.snapshot().fraction() < 0.5 || control.snapshot().total == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            println!("from here on one thread");
            control.set_threads(1);
        });
        over(0..400_000_u64).control(&control).map(work).reduce(|| 0, |a, b| a ^ b)
    });
    assert_eq!(sum, Ok((0..400_000).map(work).fold(0, |a, b| a ^ b)));

    // An endless loop, until somebody cancels it.
    let control = Control::new();
    let ended = std::thread::scope(|s| {
        s.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            control.cancel();
        });
        over(0..u64::MAX).control(&control).for_each(|x| {
            work(x);
        })
    });
    assert_eq!(ended, Err(Cancelled));
    println!("cancelled after {} items", control.snapshot().done);
}
