//! Calls that come while every worker is in a skeleton are served between two pieces of it.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

use sinew::prelude::*;
use sinew::{Step, divide_and_conquer};

/// One worker is blocked, the other one is in `work`, which is called again and again until a call
/// was served. A test that hangs ends the process with its name.
///
/// Catches: a call that waits for the end of what the worker runs.
fn is_served_during(work: impl Fn() + Send + Sync + 'static) {
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let (done, result) = mpsc::channel();
    thread::spawn(move || {
        let pool = Pool::builder().threads(2).external_slot(false).build().unwrap();
        let (begun, hold, over) = (Barrier::new(3), Barrier::new(2), AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| {
                pool.install(|_| {
                    begun.wait();
                    hold.wait();
                });
            });
            s.spawn(|| {
                pool.install(|_| {
                    begun.wait();
                    while !over.load(Ordering::SeqCst) {
                        work();
                    }
                });
            });
            begun.wait();
            for round in 0..20 {
                assert_eq!(pool.install(|_| round), round);
            }
            over.store(true, Ordering::SeqCst);
            hold.wait();
        });
        done.send(()).unwrap();
    });
    if result.recv_timeout(Duration::from_secs(120)).is_err() {
        let _ = writeln!(std::io::stderr(), "{name} hangs or has panicked");
        std::process::abort();
    }
}

fn halves(range: std::ops::Range<u64>) -> Step<std::ops::Range<u64>, u64> {
    thread::yield_now();
    match range.end - range.start {
        1 => Step::Solved(range.start),
        n => Step::Split(range.start..range.start + n / 2, range.start + n / 2..range.end),
    }
}

#[test]
fn calls_are_served_between_leaves_of_divide_and_conquer() {
    is_served_during(|| assert_eq!(divide_and_conquer(0..100).run(halves, |a, b| a + b), 4_950));
}

#[test]
fn calls_are_served_between_steps_of_divide_and_conquer_under_a_control() {
    let control = Control::new();
    is_served_during(move || {
        assert_eq!(
            divide_and_conquer(0..100).control(&control).run(halves, |a, b| a + b),
            Ok(4_950)
        );
    });
}

#[test]
fn calls_are_served_between_units_of_a_worklist() {
    is_served_during(|| {
        let mut list = Worklist::from((0..200).collect::<Vec<u32>>());
        let ended = list.run(|_, _| {
            thread::yield_now();
            Ok(())
        });
        assert_eq!(ended.unwrap().commits, 200);
    });
}
