//! A mapping that changes while the pool runs, as the kernel sees it.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex};

use sinew_core::loops::{Options, for_each};
use sinew_core::{Mapping, Pool};
use sinew_policy::chunk::Schedule;

use crate::support::full_pool;

/// The processors that the calling thread may run on, in the kernel's words; `None` where there is no such file.
fn mask() -> Option<String> {
    let status = fs::read_to_string("/proc/thread-self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(line.trim().to_owned())
}

/// Two processors that this process may use, if there are as many.
fn two_cpus() -> Option<[usize; 2]> {
    let pool = full_pool(2);
    pool.set_mapping(&Mapping::Compact).ok()?;
    let masks = masks(&pool)?;
    let cpus: Vec<usize> = masks.iter().filter_map(|mask| mask.parse().ok()).collect();
    let two = <[usize; 2]>::try_from(cpus).ok().filter(|[a, b]| a != b);
    if two.is_none() {
        println!("skipped: two processors and a kernel that pins are needed, here are {masks:?}");
    }
    two
}

fn masks(pool: &Pool) -> Option<Vec<String>> {
    pool.broadcast(|_| mask()).into_iter().collect()
}

/// Would miss: threads that stay where they were, take each other's places, or are not let go again.
#[test]
fn threads_go_where_the_mapping_says_and_come_back() {
    let Some([a, b]) = two_cpus() else { return };
    let (pool, free) = (full_pool(2), mask().unwrap());
    for cpus in [[a, b], [b, a], [a, b]] {
        pool.set_mapping(&Mapping::Explicit(cpus.to_vec())).unwrap();
        assert_eq!(masks(&pool).unwrap(), cpus.map(|cpu| cpu.to_string()));
    }
    let mapping = pool.mapping();
    let error = pool.set_mapping(&Mapping::Explicit(vec![a, 999_999])).unwrap_err();
    assert!(error.to_string().contains("CPU 999999"), "{error}");
    assert_eq!(
        (pool.mapping(), masks(&pool).unwrap()),
        (mapping, [a, b].map(|cpu| cpu.to_string()).to_vec())
    );
    pool.set_mapping(&Mapping::None).unwrap();
    assert_eq!(masks(&pool).unwrap(), [free.clone(), free]);
}

/// Would miss: a guest that is pinned, and keeps the pin when it leaves.
#[test]
fn guests_stay_where_they_are() {
    let Some([a, _]) = two_cpus() else { return };
    let (pool, before) = (Pool::builder().threads(2).build().unwrap(), mask());
    pool.set_mapping(&Mapping::Explicit(vec![a])).unwrap();
    pool.run(|w| {
        w.safe_point();
        assert_eq!((w.index(), mask()), (0, before.clone()));
    });
    assert_eq!(mask(), before);
}

/// Would miss: a worker that moves only when its loop is over.
#[test]
fn a_worker_moves_between_two_chunks_of_a_loop() {
    let Some([a, b]) = two_cpus() else { return };
    let pool = full_pool(2);
    let (changed, both, late) = (AtomicBool::new(false), Barrier::new(2), Mutex::new(Vec::new()));
    let options = Options { schedule: Schedule::Dynamic { chunk: 1 }, ..Options::default() };
    let item = |item: usize| {
        // Both workers begin with one of the first two items.
        if item < 2 {
            both.wait();
        } else if item == 2 {
            pool.set_mapping(&Mapping::Explicit(vec![b, a])).unwrap();
            changed.store(true, Ordering::Release);
        } else if changed.load(Ordering::Acquire) {
            late.lock().unwrap().push((std::thread::current().id(), mask().unwrap()));
        }
    };
    pool.install(|w| for_each(w, 0..200_usize, &options, item)).unwrap();
    let late = late.into_inner().unwrap();
    for (place, (thread, mask)) in late.iter().enumerate() {
        let is_first = !late[..place].iter().any(|(earlier, _)| earlier == thread);
        // An item may have begun before its worker could look up.
        assert!(is_first || [a, b].iter().any(|cpu| *mask == cpu.to_string()), "on {mask}");
    }
}
