//! A mapping that changes while the pool runs, as the kernel sees it.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

use sinew_core::{Cancelled, Mapping, Pool, Worker};
use sinew_loops::loops::{Options, for_each};
use sinew_loops::stream::{self, Exit, Identity, Parallel, Stages};
use sinew_loops::{Control, Operation};
use sinew_policy::chunk::Schedule;
use sinew_topology::ThreadRef;

use crate::support::{bind_to, full_pool};

/// The processors that the calling thread may run on, in the kernel's words; `None` where there is
/// no such file.
fn mask() -> Option<String> {
    let status = fs::read_to_string("/proc/thread-self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(line.trim().to_owned())
}

/// Two processors that this process may use, if there are as many.
pub(crate) fn two_cpus() -> Option<[usize; 2]> {
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

/// Catches: threads that stay where they were, take each other's places, or are not let go
/// again.
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

/// Catches: a binding that outlasts a newer request, or is lost at its end; a binding after the
/// request that is overwritten; and a thread whose binding is not reported.
#[test]
fn the_newest_of_a_binding_and_a_mapping_decides() {
    let Some([a, b]) = two_cpus() else { return };
    let (pool, free) = (full_pool(2), mask().unwrap());
    let [on_a, on_b] = [a, b].map(|cpu| cpu.to_string());
    let bind = || {
        pool.broadcast(|w| {
            if w.index() == 0 {
                bind_to(b);
            }
        })
    };
    let state = || (masks(&pool).unwrap(), pool.control().snapshot().bound_workers);
    assert_eq!(state(), (vec![free.clone(); 2], vec![]));
    bind();
    assert_eq!(state(), (vec![on_b.clone(), free.clone()], vec![0]));
    // The second time, the thread's pin is the one that it had before it was bound.
    for _ in 0..2 {
        pool.set_mapping(&Mapping::Explicit(vec![a])).unwrap();
        assert_eq!(state(), (vec![on_a.clone(); 2], vec![]));
        bind();
        assert_eq!(state(), (vec![on_b.clone(), on_a.clone()], vec![0]));
    }
    pool.set_mapping(&Mapping::None).unwrap();
    assert_eq!(state(), (vec![on_b.clone(), free.clone()], vec![0]));
    pool.set_mapping(&Mapping::Explicit(vec![a])).unwrap();
    pool.set_mapping(&Mapping::None).unwrap();
    assert_eq!(state(), (vec![on_b, free], vec![0]));
}

/// Catches: a loop whose control has the newer mapping and that leaves a bound thread where it is,
/// or does not give it back its binding; a binding after the request that the next loop ends.
#[test]
fn a_mapping_of_a_control_moves_a_bound_thread_for_its_loop() {
    let Some([a, b]) = two_cpus() else { return };
    let (pool, control) = (full_pool(2), Control::new());
    let [on_a, on_b] = [a, b].map(|cpu| cpu.to_string());
    pool.set_mapping(&Mapping::Explicit(vec![a])).unwrap();
    let bind = || {
        pool.broadcast(|w| {
            if w.index() == 0 {
                bind_to(b);
            }
        })
    };
    let in_loop = || {
        let calls = controlled(&pool, &control, |_| ());
        let mut first: Vec<_> = calls.into_iter().filter(|(number, _)| *number < 2).collect();
        first.sort_unstable();
        first.into_iter().map(|(_, mask)| mask).collect::<Vec<_>>()
    };
    bind();
    for _ in 0..2 {
        control.set_mapping(&Mapping::Explicit(vec![a])).unwrap();
        assert_eq!(in_loop(), [on_a.clone(), on_a.clone()]);
        assert_eq!(masks(&pool).unwrap(), [on_b.clone(), on_a.clone()]);
    }
    control.set_mapping(&Mapping::Explicit(vec![b])).unwrap();
    assert_eq!(in_loop(), [on_b.clone(), on_b.clone()]);
    control.set_mapping(&Mapping::Explicit(vec![a])).unwrap();
    pool.broadcast(|w| {
        if w.index() == 1 {
            bind_to(b);
        }
    });
    // The thread follows the request before it looks for a binding: see `remap`.
    assert_eq!(in_loop(), [on_a.clone(), on_a.clone()]);
    assert_eq!(masks(&pool).unwrap(), [on_b.clone(), on_b.clone()]);
    bind();
    pool.broadcast(|w| {
        if w.index() == 1 {
            bind_to(b);
        }
    });
    assert_eq!(pool.control().snapshot().bound_workers, [0, 1]);
    assert_eq!(in_loop(), [on_b.clone(), on_b]);
    pool.set_mapping(&Mapping::Explicit(vec![a])).unwrap();
    assert_eq!(masks(&pool).unwrap(), [on_a.clone(), on_a]);
}

/// Catches: an external thread that is pinned, and keeps the pin when it leaves.
#[test]
fn external_threads_stay_where_they_are() {
    let Some([a, _]) = two_cpus() else { return };
    let (pool, before) = (Pool::builder().threads(2).build().unwrap(), mask());
    pool.set_mapping(&Mapping::Explicit(vec![a])).unwrap();
    pool.run(|w| {
        w.safe_point();
        assert_eq!((w.index(), mask()), (0, before.clone()));
    });
    assert_eq!(mask(), before);
}

/// Catches: a worker that moves only when its loop is over.
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

/// A loop of two participants that follows `control`; both are in it while `item` is called with 0
/// and 1, and the masks of all calls come back.
fn controlled(pool: &Pool, control: &Control, item: impl Fn(usize) + Sync) -> Vec<(usize, String)> {
    let (both, masks) = (Barrier::new(2), Mutex::new(Vec::new()));
    let schedule = Schedule::Dynamic { chunk: 1 };
    let options = Options { schedule, control: Some(control), ..Options::default() };
    let body = |number: usize| {
        if number < 2 {
            both.wait();
        }
        masks.lock().unwrap().push((number, mask().unwrap()));
        item(number);
    };
    pool.install(|w| for_each(w, 0..200_usize, &options, body)).unwrap();
    masks.into_inner().unwrap()
}

/// Catches: participants that share a processor of the mapping or keep it afterwards, and a
/// change that waits for the end of the loop.
#[test]
fn a_control_places_the_threads_of_its_loop_and_lets_them_go() {
    let Some([a, b]) = two_cpus() else { return };
    let (pool, control) = (full_pool(2), Control::new());
    pool.set_mapping(&Mapping::Explicit(vec![b, a])).unwrap();
    let before = masks(&pool).unwrap();
    control.set_mapping(&Mapping::Explicit(vec![a, b])).unwrap();
    let begun = controlled(&pool, &control, |_| ());
    let mut first: Vec<_> =
        begun.iter().filter(|(number, _)| *number < 2).map(|(_, mask)| mask).collect();
    first.sort_unstable();
    let mut both = [a, b].map(|cpu| cpu.to_string());
    both.sort_unstable();
    assert_eq!(first, both.iter().collect::<Vec<_>>());
    assert_eq!(masks(&pool).unwrap(), before);

    // All on one processor, from the next slice of each on.
    let changed = AtomicBool::new(false);
    let late = Mutex::new(Vec::new());
    controlled(&pool, &control, |number| {
        if changed.load(Ordering::Acquire) {
            late.lock().unwrap().push((std::thread::current().id(), mask().unwrap()));
        }
        if number == 20 {
            control.set_mapping(&Mapping::Explicit(vec![b])).unwrap();
            changed.store(true, Ordering::Release);
        }
    });
    let late = late.into_inner().unwrap();
    for (place, (thread, mask)) in late.iter().enumerate() {
        let is_first = !late[..place].iter().any(|(earlier, _)| earlier == thread);
        assert!(is_first || *mask == b.to_string(), "on {mask}");
    }
    assert_eq!(masks(&pool).unwrap(), before);
    assert_eq!(control.snapshot().mapping, Some(Mapping::Explicit(vec![b])));
}

/// Catches: a mapping that was taken back and still pins, and a place that stays taken.
#[test]
fn threads_go_where_the_pool_says_once_the_mapping_of_their_control_is_taken_back() {
    let Some([a, b]) = two_cpus() else { return };
    let (pool, control) = (full_pool(2), Control::new());
    pool.set_mapping(&Mapping::Explicit(vec![b, a])).unwrap();
    let before = masks(&pool).unwrap();
    for _ in 0..2 {
        control.set_mapping(&Mapping::Explicit(vec![b])).unwrap();
        let (changed, late) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        controlled(&pool, &control, |number| {
            if changed.load(Ordering::Acquire) {
                let worker = sinew_core::run(|w| w.index());
                late.lock().unwrap().push((worker, mask().unwrap()));
            }
            if number == 20 {
                control.set_mapping(None).unwrap();
                changed.store(true, Ordering::Release);
            }
        });
        let late = late.into_inner().unwrap();
        for (place, (worker, mask)) in late.iter().enumerate() {
            // An item may have begun before its worker could look up.
            let is_first = !late[..place].iter().any(|(earlier, _)| earlier == worker);
            assert!(is_first || *mask == before[*worker], "worker {worker} on {mask}");
        }
        assert_eq!(masks(&pool).unwrap(), before);
    }
}

/// On which processors each thread was when it did what it did, in its order.
#[derive(Default)]
struct Seen(Mutex<Vec<(std::thread::ThreadId, String)>>);

impl Seen {
    fn note(&self) {
        self.0.lock().unwrap().push((std::thread::current().id(), mask().unwrap()));
    }

    /// Whether each thread was on one of these processors, but for the first time, if that does not
    /// count; and how many of the processors were used.
    fn check(self, cpus: &[usize], first_counts: bool) -> usize {
        let seen = self.0.into_inner().unwrap();
        let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
        for (place, (thread, mask)) in seen.iter().enumerate() {
            let is_first = !seen[..place].iter().any(|(earlier, _)| earlier == thread);
            assert!((is_first && !first_counts) || cpus.contains(mask), "on {mask}");
        }
        cpus.iter().filter(|cpu| seen.iter().any(|(_, mask)| mask == *cpu)).count()
    }
}

/// Runs `skeleton` under a control that has its threads at one processor each, and then, from some
/// item on, all at one. `skeleton` calls its function for at least 100 items, of which the first is
/// not over before another thread has begun one.
fn follows_the_mapping(skeleton: impl Fn(&Worker, &Control, &(dyn Fn() + Sync)) + Sync) {
    let Some([a, b]) = two_cpus() else { return };
    let (pool, control) = (full_pool(2), Control::new());
    pool.set_mapping(&Mapping::Explicit(vec![b, a])).unwrap();
    let before = masks(&pool).unwrap();
    control.set_mapping(&Mapping::Explicit(vec![a, b])).unwrap();
    let (early, late) = (Seen::default(), Seen::default());
    let (items, changed) = (AtomicUsize::new(0), AtomicBool::new(false));
    pool.install(|w| {
        skeleton(w, &control, &|| match items.fetch_add(1, Ordering::SeqCst) {
            0..50 => {
                early.note();
                while items.load(Ordering::SeqCst) < 2 {
                    std::thread::yield_now();
                }
            }
            50 => {
                control.set_mapping(&Mapping::Explicit(vec![b])).unwrap();
                changed.store(true, Ordering::SeqCst);
            }
            _ if changed.load(Ordering::SeqCst) => late.note(),
            _ => {}
        });
    });
    assert_eq!(early.check(&[a, b], true), 2);
    late.check(&[b], false);
    assert_eq!(masks(&pool).unwrap(), before);
    let now = control.snapshot();
    assert_eq!((now.changes, now.changes_applied, now.working), (2, 2, 0));
}

/// Catches: pipeline tasks that stay where the pool has them, share a processor, or keep it
/// afterwards.
#[test]
fn a_control_places_the_tasks_of_a_pipeline() {
    follows_the_mapping(|w, control, item| {
        let end = Parallel::new(Identity, |_| item()).connect(Exit);
        let options = stream::Options { control: Some(control), ..stream::Options::default() };
        stream::run(w, 0..2_000, &end, &options).unwrap();
    });
}

/// Catches: the same for the caller and the thieves of a skeleton that is made of joins.
#[test]
fn a_control_places_those_who_take_part_in_a_skeleton_of_joins() {
    fn tree(w: &Worker, operation: &Operation<'_>, item: &(dyn Fn() + Sync), depth: u32) {
        if depth == 0 {
            operation.follow(w);
            return item();
        }
        let half = |w: &Worker| tree(w, operation, item, depth - 1);
        operation.join(w, half, half);
    }
    follows_the_mapping(|w, control, item| {
        let operation = Operation::begin(control, 0).unwrap();
        let _participant = operation.register(w);
        tree(w, &operation, item, 11);
    });
}

/// Catches: a mapping that counts as followed because a thread has read the number of threads.
#[test]
fn a_mapping_counts_as_followed_when_a_thread_has_moved() {
    let control = Control::new();
    control.set_threads(2);
    full_pool(2).install(|w| {
        let operation = Operation::begin(&control, 0).unwrap();
        assert_eq!((operation.threads(), control.snapshot().changes_applied), (Some(2), 1));
        control.set_mapping(&Mapping::Compact).unwrap();
        assert_eq!((operation.threads(), control.snapshot().changes_applied), (Some(2), 1));
        let participant = operation.register(w);
        assert_eq!(control.snapshot().changes_applied, 2);
        drop(participant);
    });
}

/// Catches: an inner loop whose participant takes another place than the outer one gave its
/// thread, and one that is not put back.
#[test]
fn a_thread_keeps_its_place_in_a_loop_within_a_loop() {
    let Some([a, b]) = two_cpus() else { return };
    let (pool, control, inner) = (full_pool(2), Control::new(), Control::new());
    control.set_mapping(&Mapping::Explicit(vec![a, b])).unwrap();
    inner.set_threads(1);
    inner.set_mapping(&Mapping::None).unwrap();
    let nested = |control: &Control| {
        let seen = Mutex::new(Vec::new());
        let options = Options { control: Some(control), ..Options::default() };
        let body = |_| seen.lock().unwrap().push((std::thread::current().id(), mask().unwrap()));
        sinew_core::run(|w| for_each(w, 0..1_usize, &options, body)).unwrap();
        seen.into_inner().unwrap()
    };
    controlled(&pool, &control, |_| {
        let here = (std::thread::current().id(), mask().unwrap());
        assert_eq!(nested(&control), std::slice::from_ref(&here));
        assert_ne!(nested(&inner)[0].1, here.1, "let go by the inner control");
        assert_eq!(mask().unwrap(), here.1);
    });
}

/// Catches: limits that no worker reads while all are in a loop, and a loop that continues with as
/// many participants as before. Each working thread removes all processors but one from its mask;
/// the thread that reads the limits next reduces the loop to one participant.
#[test]
fn a_loop_under_a_control_follows_the_affinity_mask() {
    let Some([kept, _]) = two_cpus() else { return };
    let builder = Pool::builder().threads(2).external_slot(false).follow_limits(true);
    let (pool, control) = (builder.build().unwrap(), Control::new());
    let schedule = Schedule::Dynamic { chunk: 1 };
    let options = Options { schedule, control: Some(&control), ..Options::default() };
    let ended = pool.install(|w| {
        for_each(w, 0..usize::MAX, &options, |_| {
            let me = ThreadRef::current().unwrap();
            while let Some(mask) = me.affinity().filter(|mask| mask.len() > 1) {
                let lost = mask.iter().find(|&cpu| cpu != kept).unwrap();
                assert!(me.exclude_cpu(lost, &mask));
            }
            if pool.threads() == 1 && control.snapshot().working == 1 {
                control.cancel();
            }
        })
    });
    assert_eq!(ended, Err(Cancelled));
}
