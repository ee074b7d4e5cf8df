//! Tests with real threads, and against a queue.

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone, Copy)]
enum Step {
    Push,
    Done(usize),
    Change,
    Take,
    /// The owner leaves, and another one comes.
    Replace,
    /// The reader takes the next item, and keeps it.
    Read,
    /// The reader leaves its item.
    Leave,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Push),
        2 => (1..4_usize).prop_map(Step::Done),
        1 => Just(Step::Change),
        1 => Just(Step::Take),
        1 => Just(Step::Replace),
        3 => Just(Step::Read),
        2 => Just(Step::Leave),
    ]
}

/// One thread is owner and reader. `model` has the owner's items.
fn follow(steps: &[Step]) {
    let ring = Lookahead::new();
    let alive = Arc::new(());
    let (mut owner, mut model) = (ring.owner().unwrap(), VecDeque::new());
    let mut reader = ring.reader().unwrap();
    // The item that is read, without a borrow of the reader.
    let mut read: Option<(u64, u64)> = None;
    let mut number = 0_u64;
    for step in steps {
        match *step {
            Step::Push => {
                if owner.has_room() {
                    owner.push((number, Arc::clone(&alive)));
                    model.push_back(number);
                } else {
                    assert!(!model.is_empty(), "an empty ring has room (A3)");
                }
                number += 1;
            }
            Step::Done(count) => {
                let count = count.min(model.len());
                owner.done(count);
                drop(model.drain(..count));
            }
            Step::Change => {
                let is_read = read.is_some_and(|(item, _)| model.front() == Some(&item));
                match owner.first_mut() {
                    Some(mut first) => {
                        assert!(!is_read, "changed while it was read");
                        first.0 += 1_000;
                        model[0] += 1_000;
                    }
                    None => assert!(is_read || model.is_empty()),
                }
            }
            // It would wait for this thread.
            Step::Take if read.is_some_and(|(item, _)| model.front() == Some(&item)) => {}
            Step::Take => {
                assert_eq!(owner.take().map(|item| item.0), model.pop_front());
            }
            Step::Replace => {
                drop(owner);
                owner = ring.owner().unwrap();
            }
            Step::Read if read.is_none() => {
                let found = reader.claim_next().map(|ahead| {
                    let found = (ahead.0, ahead.position);
                    std::mem::forget(ahead);
                    found
                });
                let is_ahead = |(item, _)| model.iter().skip(1).any(|n| *n == item);
                assert!(found.is_none_or(is_ahead), "an item that the owner has begun");
                read = found;
            }
            Step::Read => {}
            Step::Leave => {
                if let Some((item, position)) = read.take() {
                    let ahead = Ahead { ring: &ring, position };
                    assert_eq!(ahead.0, item, "what is read stays");
                    assert_eq!(ahead.is_overtaken(), !model.iter().skip(1).any(|n| *n == item));
                }
            }
        }
        assert_eq!(owner.len(), model.len());
        assert!((0..model.len()).all(|ahead| owner.get(ahead).unwrap().0 == model[ahead]));
        assert!(owner.get(model.len()).is_none());
    }
    drop((owner, reader));
    drop(ring);
    assert_eq!(Arc::strong_count(&alive), 1, "items leak, or are dropped twice");
}

proptest! {
    /// Catches: an item that is lost, doubled, dropped while it is read, or never (A1, A2), and an
    /// owner that an item of the reader stops (A3).
    #[test]
    fn the_owner_has_a_queue_whatever_the_reader_keeps(
        steps in prop::collection::vec(step(), 0..200),
    ) {
        follow(&steps);
    }
}

/// Catches: two threads that are both the owner, or the reader.
#[test]
fn there_is_one_owner_and_one_reader_at_a_time() {
    let ring = Lookahead::<u8>::new();
    let (owner, reader) = (ring.owner(), ring.reader());
    assert!(owner.is_some() && reader.is_some());
    assert!(ring.owner().is_none() && ring.reader().is_none());
    drop((owner, reader));
    assert!(ring.owner().is_some() && ring.reader().is_some());
}

/// Catches: items that are dropped twice because their owner was forgotten.
#[test]
fn a_forgotten_owner_leaks_its_items() {
    let alive = Arc::new(());
    let ring = Lookahead::new();
    let mut owner = ring.owner().unwrap();
    (0..3).for_each(|_| owner.push(Arc::clone(&alive)));
    drop(owner.take());
    std::mem::forget(owner);
    drop(ring);
    assert_eq!(Arc::strong_count(&alive), 3);
}

/// Catches: an item that is freed or replaced while another thread reads it.
#[test]
fn a_reader_on_another_thread_sees_whole_items() {
    const READS: u64 = 1_000;
    let (ring, reads) = (Lookahead::new(), AtomicU64::new(0));
    std::thread::scope(|s| {
        s.spawn(|| {
            let mut reader = ring.reader().unwrap();
            while reads.load(Ordering::Relaxed) < READS {
                if let Some(ahead) = reader.claim_next() {
                    let item: &Vec<u64> = &ahead;
                    assert!(item.iter().all(|number| *number == item[0]), "{item:?}");
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let mut owner = ring.owner().unwrap();
        for number in (0..).take_while(|_| reads.load(Ordering::Relaxed) < READS) {
            if owner.has_room() {
                owner.push(vec![number; 16]);
            }
            match number % 7 {
                0 if owner.len() > 2 => drop(owner.take()),
                1 => owner.first_mut().iter_mut().for_each(|first| first.fill(number)),
                _ if owner.len() > 3 => owner.done(1),
                _ => {}
            }
        }
    });
}
