//! Containers of values that are not `Copy`, beside those of the standard library; and what becomes
//! of values that were removed.

mod support;

use proptest::prelude::*;
use sinew_stm::{
    Boxed, TBoundedQueue, THashMap, THeap, TList, TMap, TQueue, Tx, TxResult, atomically,
    try_atomically,
};
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::Duration;
use support::ends;

type Hashed = THashMap<String, Arc<str>, BuildHasherDefault<DefaultHasher>, Boxed>;

/// Three maps with the same operations.
struct Maps {
    map: TMap<String, Arc<str>, Boxed>,
    list: TList<String, Arc<str>, Boxed>,
    hash: Hashed,
}

/// The results of the three, which are the same.
macro_rules! of_each {
    ($maps:expr, |$map:ident| $call:expr) => {{
        let Maps { map, list, hash } = $maps;
        let of_map = {
            let $map = map;
            $call
        };
        let of_list = {
            let $map = list;
            $call
        };
        let of_hash = {
            let $map = hash;
            $call
        };
        assert_eq!(of_map, of_list);
        assert_eq!(of_map, of_hash);
        of_map
    }};
}

#[derive(Debug, Clone)]
enum Change {
    Insert(u8, u8),
    Remove(u8),
    OrInsert(u8, u8),
    Append(u8),
    Drop(u8),
    InsertEntry(u8, u8),
    RemoveEntry(u8),
}

fn any_change() -> impl Strategy<Value = Change> {
    let key = 0..12_u8;
    prop_oneof![
        (key.clone(), any::<u8>()).prop_map(|(key, value)| Change::Insert(key, value)),
        key.clone().prop_map(Change::Remove),
        (key.clone(), any::<u8>()).prop_map(|(key, value)| Change::OrInsert(key, value)),
        key.clone().prop_map(Change::Append),
        key.clone().prop_map(Change::Drop),
        (key.clone(), any::<u8>()).prop_map(|(key, value)| Change::InsertEntry(key, value)),
        key.prop_map(Change::RemoveEntry),
    ]
}

fn appended(value: Option<&Arc<str>>) -> Option<Arc<str>> {
    Some(Arc::from(format!("{}+", value.map_or("", |value| value))))
}

/// Makes a change in all maps, and returns what it returns.
fn change<'tx>(
    tx: &mut Tx<'tx, '_>,
    maps: &'tx Maps,
    change: &Change,
) -> TxResult<Option<Arc<str>>> {
    let name = |key: u8| format!("key {key:02}");
    let text = |value: u8| Arc::from(value.to_string());
    Ok(match *change {
        Change::Insert(key, value) => {
            of_each!(maps, |map| map.insert(tx, name(key), text(value))?)
        }
        Change::Remove(key) => of_each!(maps, |map| map.remove(tx, name(key).as_str())?),
        Change::OrInsert(key, value) => of_each!(maps, |map| {
            let entry = map.entry(tx, name(key))?;
            assert_eq!(entry.key(), &name(key));
            Some(entry.or_insert_with(|| text(value))?)
        }),
        Change::Append(key) => {
            of_each!(maps, |map| map
                .entry(tx, name(key))?
                .alter(|value| appended(value.as_ref()))?)
        }
        Change::Drop(key) => of_each!(maps, |map| map.entry(tx, name(key))?.alter(|_| None)?),
        Change::InsertEntry(key, value) => {
            of_each!(maps, |map| map.entry(tx, name(key))?.insert(text(value))?)
        }
        Change::RemoveEntry(key) => of_each!(maps, |map| map.entry(tx, name(key))?.remove()?),
    })
}

/// The same of the standard library's map.
fn expected(model: &mut BTreeMap<String, Arc<str>>, change: &Change) -> Option<Arc<str>> {
    let name = |key: u8| format!("key {key:02}");
    match *change {
        Change::Insert(key, value) | Change::InsertEntry(key, value) => {
            model.insert(name(key), Arc::from(value.to_string()))
        }
        Change::Remove(key) | Change::RemoveEntry(key) => model.remove(&name(key)),
        Change::OrInsert(key, value) => {
            Some(Arc::clone(model.entry(name(key)).or_insert_with(|| Arc::from(value.to_string()))))
        }
        Change::Append(key) => {
            let value = appended(model.get(&name(key)));
            model.insert(name(key), value.clone().unwrap());
            value
        }
        Change::Drop(key) => {
            model.remove(&name(key));
            None
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Catches: an operation of a map of any storage that does something else than the standard
    /// library's, a part that is undone in part, and ranges with a wrong end.
    #[test]
    fn maps_of_texts_are_maps(
        changes in proptest::collection::vec((any_change(), any::<bool>()), 0..60),
        from in 0..14_u8,
        to in 0..14_u8,
        bounds in 0..9_u8,
    ) {
        let maps = Maps { map: TMap::boxed(), list: TList::boxed(), hash: THashMap::boxed(3) };
        let mut model = BTreeMap::new();
        for (next, fails) in &changes {
            let done = try_atomically(|tx| {
                let done = change(tx, &maps, next)?;
                if *fails { tx.abort(done) } else { Ok(done) }
            });
            let mut after = model.clone();
            let (Ok(done) | Err(done)) = done;
            prop_assert_eq!(done, expected(&mut after, next));
            if !fails {
                model = after;
            }
        }
        let all: Vec<_> = model.clone().into_iter().collect();
        let mut hashed = atomically(|tx| maps.hash.to_vec(tx));
        hashed.sort_unstable();
        prop_assert_eq!(&hashed, &all);
        prop_assert_eq!(&atomically(|tx| maps.map.to_vec(tx)), &all);
        prop_assert_eq!(&atomically(|tx| maps.list.to_vec(tx)), &all);
        let sizes = atomically(|tx| Ok(of_each!(&maps, |map| (map.len(tx)?, map.is_empty(tx)?))));
        prop_assert_eq!(sizes, (all.len(), all.is_empty()));
        for (key, value) in &all {
            let found = atomically(|tx| Ok(of_each!(&maps, |map| map.get(tx, key.as_str())?)));
            prop_assert_eq!(found.as_ref(), Some(value));
        }
        // A range that is empty for the standard library panics there.
        let (from, to) = (from.min(to), from.max(to));
        let bound = |kind: u8, key: u8| match kind {
            0 => Bound::Included(format!("key {key:02}")),
            1 => Bound::Excluded(format!("key {key:02}")),
            _ => Bound::Unbounded,
        };
        let range = (bound(bounds % 3, from), bound(bounds / 3, to + 1));
        let within: Vec<_> =
            model.range(range.clone()).map(|(key, value)| (key.clone(), value.clone())).collect();
        prop_assert_eq!(&atomically(|tx| maps.map.range(tx, range.clone())), &within);
        prop_assert_eq!(&atomically(|tx| maps.list.range(tx, range.clone())), &within);
        let mut first = Vec::new();
        let broke = atomically(|tx| {
            first.clear();
            maps.map.visit(tx, |key, _| {
                first.push(key);
                if first.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
        });
        prop_assert_eq!(broke, model.len() >= 3);
        prop_assert!(first.iter().eq(model.keys().take(3)));
    }

    /// Catches: queues and heaps of texts that lose one, or change the order.
    #[test]
    fn queues_of_texts_are_queues(
        pushes in proptest::collection::vec(any::<Option<u8>>(), 0..200),
        capacity in 1..9_usize,
    ) {
        let (queue, heap) = (TQueue::boxed(), THeap::boxed());
        let bounded = TBoundedQueue::boxed(capacity);
        let (mut of_queue, mut of_heap) = (VecDeque::new(), BinaryHeap::new());
        let mut of_bounded = VecDeque::new();
        for push in pushes {
            let text = push.map(|value| value.to_string());
            if let Some(text) = text {
                atomically(|tx| {
                    queue.push(tx, text.clone())?;
                    heap.push(tx, text.clone())
                });
                let refused = atomically(|tx| bounded.push(tx, text.clone())).is_err();
                prop_assert_eq!(refused, of_bounded.len() == capacity);
                if !refused {
                    of_bounded.push_back(text.clone());
                }
                of_queue.push_back(text.clone());
                of_heap.push(text);
            } else {
                prop_assert_eq!(atomically(|tx| queue.pop(tx)), of_queue.pop_front());
                prop_assert_eq!(atomically(|tx| heap.pop(tx)), of_heap.pop());
                prop_assert_eq!(atomically(|tx| bounded.pop(tx)), of_bounded.pop_front());
            }
            let state = atomically(|tx| {
                Ok((bounded.len(tx)?, bounded.is_empty(tx)?, bounded.is_full(tx)?))
            });
            let len = of_bounded.len();
            prop_assert_eq!(state, (len, len == 0, len == capacity));
        }
    }
}

/// Catches: values that stay in memory although they were removed.
#[test]
fn removed_values_are_dropped() {
    ends(Duration::ZERO, || {
        let value = Arc::new(());
        let (map, queue) = (TMap::boxed(), TQueue::boxed());
        let mut round = 0;
        // Possibly for longer: a transaction of another test that is older keeps values.
        while round < 1_000 || Arc::strong_count(&value) >= 200 {
            atomically(|tx| {
                map.insert(tx, round, Arc::clone(&value))?;
                queue.push(tx, Arc::clone(&value))
            });
            atomically(|tx| {
                map.remove(tx, &round)?;
                queue.pop(tx)
            });
            round += 1;
        }
        drop((map, queue));
        assert_eq!(Arc::strong_count(&value), 1);
    });
}

/// Catches: values that are lost or doubled, in the wrong order, beyond the capacity, and a sleeper
/// that nobody wakes.
#[test]
fn a_bounded_queue_hands_over_in_order() {
    const VALUES: u32 = 20_000;
    ends(Duration::ZERO, || {
        for capacity in [1, 2, 7] {
            let queue = TBoundedQueue::new(capacity);
            let queue = &queue;
            std::thread::scope(|s| {
                for giver in 0..2 {
                    s.spawn(move || {
                        for n in 0..VALUES / 2 {
                            atomically(|tx| queue.put(tx, (giver, n)));
                        }
                    });
                }
                let mut next = [0; 2];
                for _ in 0..VALUES {
                    let (len, (giver, n)) = atomically(|tx| Ok((queue.len(tx)?, queue.take(tx)?)));
                    assert!((1..=capacity).contains(&len));
                    assert_eq!(n, next[giver]);
                    next[giver] += 1;
                }
            });
            assert!(atomically(|tx| queue.is_empty(tx)));
        }
    });
}

/// Catches: a queue that can never be used.
#[test]
#[should_panic(expected = "a queue of 0 values never has room")]
fn a_queue_without_room_is_refused() {
    let _ = TBoundedQueue::<u8>::new(0);
}
