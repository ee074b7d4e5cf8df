//! Each container is compared with its counterpart of the standard library: the same operations,
//! the same results.
//!
//! Transactions run several operations each, and some transactions are aborted: their operations
//! must have no effect. There are few keys, so node indices are reused often.

use proptest::prelude::*;
use sinew_stm::{
    TGrid, THashMap, THeap, TList, TMap, TQueue, Transaction, Tx, TxResult, atomically,
};
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// An operation on a container, with keys and values from small ranges.
#[derive(Debug, Clone, Copy)]
enum Op {
    Put(u8, u16),
    Take(u8),
    Look(u8),
}

/// Transactions, each with whether it commits.
type Script = Vec<(bool, Vec<Op>)>;

fn script() -> impl Strategy<Value = Script> {
    let op = prop_oneof![
        3 => (0..24_u8, any::<u16>()).prop_map(|(key, value)| Op::Put(key, value)),
        2 => (0..24_u8).prop_map(Op::Take),
        1 => (0..24_u8).prop_map(Op::Look),
    ];
    prop::collection::vec((prop::bool::weighted(0.8), prop::collection::vec(op, 1..8)), 1..40)
}

/// The result of one operation: the value that it found.
type Answer = Option<u16>;

/// Runs `script` on a container and on its counterpart, and compares all results. `ours` lives as
/// long as the transactions.
fn beside<'env, C, S: Clone>(
    script: &Script,
    ours: &'env C,
    mut twin: S,
    on_twin: impl Fn(&mut S, Op) -> Answer,
    on_ours: impl for<'tx> Fn(&'tx C, &mut Tx<'tx, 'env>, Op) -> TxResult<Answer>,
) -> S {
    for (commits, ops) in script {
        let mut next = twin.clone();
        let expected: Vec<Answer> = ops.iter().map(|op| on_twin(&mut next, *op)).collect();
        let mut answers = Vec::new();
        let outcome = Transaction::new().attempt(|tx| {
            for op in ops {
                answers.push(on_ours(ours, tx, *op)?);
            }
            if *commits { Ok(()) } else { tx.retry() }
        });
        assert_eq!((outcome.is_ok(), answers), (*commits, expected));
        if *commits {
            twin = next;
        }
    }
    twin
}

fn on_map(map: &mut BTreeMap<u8, u16>, op: Op) -> Answer {
    match op {
        Op::Put(key, value) => map.insert(key, value),
        Op::Take(key) => map.remove(&key),
        Op::Look(key) => map.get(&key).copied(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Catches: a tree that is not a search tree, entries lost in a split or a merge.
    #[test]
    fn an_ordered_map_is_a_btree_map(script in script()) {
        let map = TMap::new();
        let twin = beside(&script, &map, BTreeMap::new(), on_map, |map, tx, op| match op {
            Op::Put(key, value) => map.insert(tx, key, value),
            Op::Take(key) => map.remove(tx, &key),
            Op::Look(key) => map.get(tx, &key),
        });
        prop_assert_eq!(
            atomically(|tx| map.to_vec(tx)),
            twin.clone().into_iter().collect::<Vec<_>>()
        );
        prop_assert_eq!(
            atomically(|tx| map.first(tx)),
            twin.first_key_value().map(|(k, v)| (*k, *v))
        );
        for key in 0..25 {
            let expected = twin.range(key..).next().map(|(k, v)| (*k, *v));
            prop_assert_eq!(atomically(|tx| map.at_least(tx, key)), expected);
        }
    }

    /// Catches: entries lost in a bucket, buckets that are exchanged.
    #[test]
    fn a_hash_map_is_a_map(script in script(), buckets in 0..9_usize) {
        let map = THashMap::with_buckets(buckets);
        let twin = beside(&script, &map, BTreeMap::new(), on_map, |map, tx, op| match op {
            Op::Put(key, value) => map.insert(tx, key, value),
            Op::Take(key) => map.remove(tx, &key),
            Op::Look(key) => map.get(tx, &key),
        });
        let mut entries = atomically(|tx| map.to_vec(tx));
        entries.sort_unstable();
        prop_assert_eq!(entries, twin.into_iter().collect::<Vec<_>>());
    }

    /// Catches: a list that is not sorted, or has an entry twice.
    #[test]
    fn a_list_is_a_sorted_map(script in script()) {
        let list = TList::new();
        let twin = beside(&script, &list, BTreeMap::new(), on_map, |list, tx, op| match op {
            Op::Put(key, value) => list.insert(tx, key, value),
            Op::Take(key) => list.remove(tx, &key),
            Op::Look(key) => list.get(tx, &key),
        });
        prop_assert_eq!(atomically(|tx| list.to_vec(tx)), twin.into_iter().collect::<Vec<_>>());
    }

    /// Catches: values out of order, an end that is not reset when the queue becomes empty.
    #[test]
    fn a_queue_is_a_queue(script in script()) {
        let queue = TQueue::new();
        let on_twin = |twin: &mut VecDeque<u16>, op| match op {
            Op::Put(_, value) => {
                twin.push_back(value);
                None
            }
            Op::Take(_) => twin.pop_front(),
            Op::Look(_) => Some(u16::from(twin.is_empty())),
        };
        let twin = beside(&script, &queue, VecDeque::new(), on_twin, |queue, tx, op| match op {
            Op::Put(_, value) => queue.push(tx, value).map(|()| None),
            Op::Take(_) => queue.pop(tx),
            Op::Look(_) => queue.is_empty(tx).map(|empty| Some(u16::from(empty))),
        });
        prop_assert_eq!(atomically(|tx| queue.to_vec(tx)), Vec::from(twin));
    }

    /// Catches: a value that is not the largest, values lost on the way up or down.
    #[test]
    fn a_heap_is_a_binary_heap(script in script()) {
        let heap = THeap::new();
        let on_twin = |twin: &mut BinaryHeap<u16>, op| match op {
            Op::Put(_, value) => {
                twin.push(value);
                None
            }
            Op::Take(_) => twin.pop(),
            Op::Look(_) => twin.peek().copied(),
        };
        let twin = beside(&script, &heap, BinaryHeap::new(), on_twin, |heap, tx, op| match op {
            Op::Put(_, value) => heap.push(tx, value).map(|()| None),
            Op::Take(_) => heap.pop(tx),
            Op::Look(_) => heap.peek(tx),
        });
        let mut left = Vec::new();
        while let Some(value) = atomically(|tx| heap.pop(tx)) {
            left.insert(0, value);
        }
        prop_assert_eq!(left, twin.into_sorted_vec());
    }

    /// Catches: two places that are one, wrong neighbours.
    #[test]
    fn a_grid_is_a_vector_of_cells(script in script(), width in 1..5_usize, height in 1..4_usize) {
        let depth = 24_usize.div_ceil(width * height);
        let grid = TGrid::new([width, height, depth], 0_u16);
        let place = |key: u8| {
            let key = usize::from(key);
            [key % width, key / width % height, key / width / height]
        };
        let on_twin = |twin: &mut Vec<u16>, op| match op {
            Op::Put(key, value) => {
                twin[usize::from(key)] = value;
                None
            }
            Op::Take(key) | Op::Look(key) => Some(twin[usize::from(key)]),
        };
        let cells = vec![0; width * height * depth];
        let twin = beside(&script, &grid, cells, on_twin, |grid, tx, op| match op {
            Op::Put(key, value) => grid.set(tx, place(key), value).map(|()| None),
            Op::Take(key) | Op::Look(key) => grid.get(tx, place(key)).map(Some),
        });
        prop_assert_eq!(grid.load_all(), twin);
        let [x, y, z] = place(7);
        let near = |other: [usize; 3]| {
            x.abs_diff(other[0]) + y.abs_diff(other[1]) + z.abs_diff(other[2]) == 1
        };
        let all = (0..width)
            .flat_map(|x| (0..height).flat_map(move |y| (0..depth).map(move |z| [x, y, z])));
        let mut neighbours: Vec<_> = grid.neighbours(place(7)).collect();
        neighbours.sort_unstable();
        prop_assert_eq!(neighbours, all.filter(|other| near(*other)).collect::<Vec<_>>());
    }
}

/// Catches: a node of the usual width that is split or removed wrongly, a group with too many
/// entries, and what an undone part of a long transaction leaves.
#[test]
fn large_maps_are_maps_within_one_long_transaction() {
    const KEYS: u16 = 2_000;
    let mut rng = fastrand::Rng::with_seed(1);
    let (map, hash) = (TMap::new(), THashMap::with_buckets(100));
    let mut twin = BTreeMap::new();
    for puts in [90, 10, 60, 5, 95, 0] {
        let ops: Vec<_> =
            (0..3_000).map(|_| (rng.u16(..KEYS), rng.u8(..100) < puts, rng.u16(..))).collect();
        twin = atomically(|tx| {
            tx.or_else(
                |tx| {
                    for key in (0..KEYS).step_by(3) {
                        map.insert(tx, key, 0)?;
                        map.remove(tx, &(KEYS - 1 - key))?;
                        hash.insert(tx, key, 0)?;
                    }
                    tx.retry()
                },
                |_| Ok(()),
            )?;
            let mut now: BTreeMap<u16, u16> = twin.clone();
            for &(key, puts, value) in &ops {
                let expected = if puts { now.insert(key, value) } else { now.remove(&key) };
                let of_map = if puts { map.insert(tx, key, value)? } else { map.remove(tx, &key)? };
                let of_hash =
                    if puts { hash.insert(tx, key, value)? } else { hash.remove(tx, &key)? };
                assert_eq!((of_map, of_hash), (expected, expected), "{key}");
            }
            assert_eq!(map.to_vec(tx)?, now.clone().into_iter().collect::<Vec<_>>());
            assert_eq!(hash.len(tx)?, now.len());
            for key in (0..KEYS).step_by(7) {
                let next = now.range(key..).next().map(|(key, value)| (*key, *value));
                assert_eq!(map.at_least(tx, key)?, next);
                assert_eq!(hash.get(tx, &key)?, now.get(&key).copied());
            }
            Ok(now)
        });
        assert_eq!(atomically(|tx| map.range(tx, 500..700)).len(), twin.range(500..700).count());
    }
}
