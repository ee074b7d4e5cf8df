//! A service: short questions with a deadline beside long work, all in one pool.
//!
//! Shows: `Pool::call` with priorities and deadlines. Loops let calls in between their slices, so a
//! question need not wait for the end of the long work; another thread pool is not needed.

use sinew::prelude::*;
use sinew::{CallError, Priority};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The question: which of the table's prices is the nearest to `price`?
fn nearest(table: &[u64], price: u64) -> u64 {
    let distance = |entry: &&u64| entry.abs_diff(price);
    table.par_iter().min_by_key(distance).copied().unwrap_or_default()
}

/// Long work without an end: revises a model until `stop`.
fn revise(pool: &Pool, control: &Control) -> Result<(), Cancelled> {
    pool.install(|_| {
        over(0..u64::MAX).control(control).for_each(|x| {
            black_box((0..2_000).fold(x, |x, _| black_box(x.rotate_left(7) ^ x)));
        })
    })
}

/// Asks again and again; returns the waiting times of the answers, and how many came too late.
fn client(pool: &Pool, table: &[u64], stop: &AtomicBool) -> (Vec<Duration>, usize) {
    let (mut times, mut late) = (Vec::new(), 0);
    for question in (0_u64..).map(|i| i * 7_919 % 100_000) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let begin = Instant::now();
        let call = pool.call().priority(Priority::High).timeout(Duration::from_secs(1));
        match call.run(|_| nearest(table, question)) {
            Ok(answer) => {
                assert_eq!(answer, question / 10 * 10 + if question % 10 > 5 { 10 } else { 0 });
                times.push(begin.elapsed());
            }
            Err(CallError::Expired) => late += 1,
            Err(error) => panic!("nobody cancels a question: {error}"),
        }
    }
    (times, late)
}

fn main() -> Result<(), sinew::BuildError> {
    let pool = Pool::builder().threads(2).build()?;
    // Of two prices that are equally near, `min_by_key` returns the first: so 5 goes to 0.
    let table: Vec<u64> = (0..=10_000).map(|i| i * 10).collect();
    let (control, stop) = (Control::new(), AtomicBool::new(false));
    let (mut times, late) = std::thread::scope(|s| {
        let work = s.spawn(|| revise(&pool, &control));
        let clients: Vec<_> = (0..2).map(|_| s.spawn(|| client(&pool, &table, &stop))).collect();
        std::thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        let ended = clients.into_iter().map(|client| client.join().expect("a client panicked"));
        let (times, late): (Vec<_>, Vec<_>) = ended.unzip();
        control.cancel();
        assert_eq!(work.join().expect("the work panicked"), Err(Cancelled));
        (times.concat(), late.iter().sum::<usize>())
    });
    times.sort();
    assert!(!times.is_empty() && control.snapshot().done > 0);
    let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
    println!("{} answers: {median:.0?} in the median, {worst:.0?} at worst", times.len());
    println!("{late} too late; {} items of long work meanwhile", control.snapshot().done);
    Ok(())
}
