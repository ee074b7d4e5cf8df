//! Items, outputs and sorting, with values that count their drops and functions that panic.

use super::{
    Chunks, ChunksMut, IntoItems, Items, Output, Shape, TileOrder, TilesMut, streaming, tiles,
};
use crate::sort::{sort, sort_by};
use sinew_core::run;
use sinew_policy::chunk::Schedule;
use sinew_sync::atomic::{AtomicUsize, Ordering};

use crate::source::Source;
use proptest::prelude::*;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// Counts, per number, how often a value of that number was dropped.
struct Drops(Mutex<Vec<u32>>);

impl Drops {
    fn new(n: usize) -> Self {
        Self(Mutex::new(vec![0; n]))
    }

    fn counts(&self) -> Vec<u32> {
        self.0.lock().unwrap().clone()
    }
}

struct Counted<'d> {
    drops: &'d Drops,
    number: usize,
    key: u32,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.drops.0.lock().unwrap()[self.number] += 1;
    }
}

/// The items of `items`, asked for in pieces that are cut at `cuts` and come in reverse order.
fn in_pieces<I: Items>(items: &I, cuts: &[prop::sample::Index]) -> Vec<I::Item> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(items.length() + 1)).collect();
    ends.extend([0, items.length()]);
    ends.sort_unstable();
    let pieces: Vec<Range<usize>> = ends.windows(2).map(|pair| pair[0]..pair[1]).collect();
    let mut parts: Vec<Vec<I::Item>> = pieces
        .into_iter()
        .rev()
        // SAFETY: the pieces are disjoint and below the length.
        .map(|piece| unsafe { items.piece(piece) }.collect())
        .collect();
    parts.reverse();
    parts.into_iter().flatten().collect()
}

proptest! {
    /// Catches: a piece that holds other items than the same range of a serial iteration.
    #[test]
    fn pieces_hold_what_a_serial_iteration_holds(
        mut data in proptest::collection::vec(any::<i32>(), 0..200),
        start in -100..100_i8,
        length in 0..100_i8,
        size in 1..30_usize,
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let copy = data.clone();
        let range = start..start.saturating_add(length);
        prop_assert_eq!(in_pieces(&(&copy).into_items(), &cuts), copy.iter().collect::<Vec<_>>());
        prop_assert_eq!(
            in_pieces(&range.clone().into_items(), &cuts),
            range.collect::<Vec<_>>()
        );
        let chunks = Chunks::new(&copy, size);
        prop_assert_eq!(in_pieces(&chunks, &cuts), copy.chunks(size).collect::<Vec<_>>());
        in_pieces(&(&mut data).into_items(), &cuts)
            .into_iter()
            .for_each(|item| *item = item.wrapping_add(1));
        in_pieces(&ChunksMut::new(&mut data, size), &cuts)
            .into_iter()
            .for_each(|chunk| chunk[0] ^= 1);
        let mut expected: Vec<i32> = copy.iter().map(|item| item.wrapping_add(1)).collect();
        expected.chunks_mut(size).for_each(|chunk| chunk[0] ^= 1);
        prop_assert_eq!(data, expected);
    }

    /// Catches: a value dropped twice or never, whichever ranges were written and wherever a
    /// function panicked (O1); values that were in the vector before and are lost.
    #[test]
    fn an_output_drops_exactly_what_was_written(
        n in 0..100_usize,
        claims in proptest::collection::vec(0..4_usize, 0..40),
        bad in 0..120_usize,
        fail in any::<bool>(),
        before in 0..4_usize,
    ) {
        let source = Source::new(Schedule::Dynamic { chunk: 3 }, n, 4, 0);
        let drops = Drops::new(n + before);
        let earlier = n..n + before;
        let mut vec: Vec<_> =
            earlier.map(|number| Counted { drops: &drops, number, key: 0 }).collect();
        let output = Output::new(&mut vec, n);
        let mut made = vec![0; n];
        let mut make = |number: usize| {
            assert!(fail || number != bad, "made no value {number}");
            if number == bad {
                return None;
            }
            made[number] += 1;
            Some(Counted { drops: &drops, number, key: 0 })
        };
        let stopped = catch_unwind(AssertUnwindSafe(|| {
            let mut writers: Vec<_> = (0..4).map(|_| output.writer()).collect();
            claims.iter().any(|&slot| {
                source.claim(slot).is_some_and(|range| {
                    // SAFETY: the source returns disjoint ranges below `n`.
                    let mut sink = unsafe { writers[slot].sink(range.clone()) };
                    range
                        .map(&mut make)
                        .any(|made| made.map(&mut sink).is_none())
                })
            })
        }))
        .unwrap_or(true);
        let whole = source.is_exhausted() && !stopped;
        prop_assert_eq!(output.finish(), whole);
        let numbers: Vec<_> = vec.iter().map(|value| value.number).collect();
        let added = if whole { 0..n } else { 0..0 };
        prop_assert_eq!(numbers, (n..n + before).chain(added).collect::<Vec<_>>());
        prop_assert!(!whole || drops.counts().iter().all(|&count| count == 0));
        drop(vec);
        made.extend(vec![1; before]);
        prop_assert_eq!(drops.counts(), made);
    }

    /// Catches: a wrong order, and equal elements that change places.
    #[test]
    fn sorting_agrees_with_the_standard_stable_sort(
        seed in any::<u64>(),
        n in 0..60_000_usize,
        range in 1..100_000_u32,
    ) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut data: Vec<(u32, usize)> =
            (0..n).map(|number| (random.u32(0..range), number)).collect();
        let mut expected = data.clone();
        expected.sort_by_key(|element| element.0);
        run(|w| sort_by(w, &mut data, usize::MAX, |a, b| a.0.cmp(&b.0)));
        prop_assert!(data == expected);
    }
}

/// Catches: an element lost or doubled when the comparator panics in a leaf, in a merge to
/// either side, or in a search for a place to cut.
#[test]
fn a_comparator_that_panics_leaves_every_element_once() {
    const N: usize = 40_000;
    let mut random = fastrand::Rng::with_seed(7);
    let calls = AtomicUsize::new(0);
    // A sort of this size compares some 600,000 times; the merges come last.
    let ends =
        [1, 1_000, 100_000, 300_000, 400_000, 450_000, 480_000, 500_000, 520_000, 540_000, 560_000];
    for (end, is_stable) in ends.into_iter().flat_map(|end| [(end, true), (end, false)]) {
        let drops = Drops::new(N);
        let mut data: Vec<Counted<'_>> =
            (0..N).map(|number| Counted { drops: &drops, number, key: random.u32(..) }).collect();
        calls.store(0, Ordering::Relaxed);
        let result = catch_unwind(AssertUnwindSafe(|| {
            run(|w| {
                sort(w, &mut data, usize::MAX, is_stable, &|a: &Counted<'_>, b: &Counted<'_>| {
                    assert!(calls.fetch_add(1, Ordering::Relaxed) != end, "planned");
                    a.key.cmp(&b.key)
                });
            });
        }));
        assert_eq!(result.is_err(), calls.load(Ordering::Relaxed) > end, "after {end} comparisons");
        let mut numbers: Vec<usize> = data.iter().map(|element| element.number).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..N), "after {end} comparisons");
        assert!(drops.counts().iter().all(|&count| count == 0), "after {end} comparisons");
        drop(data);
        assert!(drops.counts().iter().all(|&count| count == 1), "after {end} comparisons");
    }
}

/// Catches: sizes at which splitting goes wrong, and elements without a size.
#[test]
fn sorted_reversed_equal_and_empty_slices_are_sorted() {
    for n in [0, 1, 2, 4_095, 4_096, 4_097, 30_000, 65_537] {
        let check = |data: Vec<usize>| {
            let mut expected = data.clone();
            expected.sort_unstable();
            for is_stable in [true, false] {
                let mut data = data.clone();
                run(|w| sort(w, &mut data, usize::MAX, is_stable, &usize::cmp));
                assert!(data == expected, "{n} elements");
            }
        };
        check((0..n).collect());
        check((0..n).rev().collect());
        check(vec![7; n]);
        check((0..n).map(|number| number.wrapping_mul(2_654_435_761) % 1_000).collect());
        run(|w| sort_by(w, &mut vec![(); n], usize::MAX, Ord::cmp));
    }
}

/// Catches: a length that wraps around, and the empty range that runs backwards.
#[test]
fn ranges_of_any_integer_have_the_right_length() {
    assert_eq!((i8::MIN..i8::MAX).into_items().length(), 255);
    assert_eq!((i64::MIN..i64::MAX).into_items().length(), usize::MAX);
    assert_eq!(std::ops::Range { start: 5_u32, end: 3 }.into_items().length(), 0);
    // SAFETY: below the length, once.
    assert_eq!(unsafe { (-5_i16..5).into_items().piece(3..6) }, -2..1);
}

/// Catches: chunks that never end.
#[test]
#[should_panic(expected = "chunks of 0 items")]
fn chunks_of_nothing_are_refused() {
    let _ = Chunks::new(&[0; 5], 0);
}

proptest! {
    /// Catches: an element of two tiles or of none, a row beyond its tile's edge, and a tile
    /// with wrong positions.
    #[test]
    fn tiles_share_a_grid_out(
        rows in 0..30_usize,
        columns in 1..30_usize,
        tile in [1..9_usize, 1..9],
        order in any::<u64>(),
    ) {
        let mut data = vec![Vec::new(); rows * columns];
        let tiles = TilesMut::new(&mut data, columns, tile);
        let mut numbers: Vec<usize> = (0..tiles.length()).collect();
        fastrand::Rng::with_seed(order).shuffle(&mut numbers);
        // SAFETY: each number once, all below the length.
        let mut all: Vec<_> =
            numbers.iter().flat_map(|&number| unsafe { tiles.piece(number..number + 1) }).collect();
        // All tiles exist at once, and every other is written from bottom to top, row by row.
        for (number, tile) in all.iter_mut().enumerate() {
            let across = tile.columns();
            let write = |i: usize, row: &mut [Vec<(usize, usize)>]| {
                row.iter_mut().zip(across.clone()).for_each(|(element, j)| element.push((i, j)));
            };
            if number % 2 == 0 {
                tile.rows_mut().for_each(|(i, row)| write(i, row));
            } else {
                tile.rows().rev().for_each(|i| write(i, tile.row_mut(i)));
            }
            prop_assert!(tile.rows().all(|i| tile.row(i).len() == across.len()));
        }
        drop(all);
        for (number, element) in data.iter().enumerate() {
            prop_assert_eq!(element, &[(number / columns, number % columns)]);
        }
    }
}

/// Catches: a reference to an element of another tile.
#[test]
#[should_panic(expected = "row 2 is not in a tile of rows 0..2")]
fn a_tile_gives_its_own_rows_only() {
    let mut data = [0; 16];
    let tiles = TilesMut::new(&mut data, 4, [2, 2]);
    // SAFETY: the only piece.
    let mut first = unsafe { tiles.piece(0..1) }.next().unwrap();
    first.row_mut(2)[0] = 1;
}

/// Catches: a value that is not written, or written beyond a line's end, at any alignment of
/// either end.
#[test]
fn a_streamed_line_is_what_it_was_filled_with_and_nothing_beside_it() {
    for (start, length) in
        (0..10).flat_map(|start| [0, 1, 7, 8, 9, 250, 600, 1021].map(|len| (start, len)))
    {
        let mut array = vec![-1.0; 1100];
        streaming(|streams| {
            streams.write(&mut array[start..start + length], |piece, first| {
                piece.iter_mut().enumerate().for_each(|(i, value)| *value = (first + i) as f64);
            });
        });
        let right = |(i, value): (usize, &f64)| {
            let inside = (start..start + length).contains(&i);
            *value == if inside { (i - start) as f64 } else { -1.0 }
        };
        assert!(array.iter().enumerate().all(right), "{length} from {start}");
    }
}

/// Catches: a row in two tiles or in none, where tiles do not divide the array.
#[test]
fn every_row_is_in_one_tile() {
    for shape in [(1, 1, 1), (3, 5, 7), (2, 10, 10), (4, 0, 3)] {
        let shape = Shape { row: shape.0, rows: shape.1, layers: shape.2 };
        for (size, order) in [(1, 1), (2, 3), (5, 7), (99, 2)].into_iter().flat_map(|size| {
            [TileOrder::LayersOutside, TileOrder::RowsOutside].map(|order| (size, order))
        }) {
            let mut array = vec![0; shape.len().unwrap()];
            for tile in tiles(&mut array, shape, size, order) {
                let (rows, layers) = (tile.rows(), tile.layers());
                for row in tile.into_rows() {
                    assert!(rows.contains(&row.row) && layers.contains(&row.layer));
                    row.values
                        .iter_mut()
                        .for_each(|value| *value += row.layer * shape.rows + row.row + 1);
                }
            }
            let row_of = |i: usize| i / shape.row + 1;
            assert!(
                array.iter().enumerate().all(|(i, value)| *value == row_of(i)),
                "{shape:?} in {size:?}"
            );
        }
    }
}

/// Catches: an order that is the same in both cases.
#[test]
fn tiles_come_in_the_order_asked_for() {
    let shape = Shape { row: 1, rows: 4, layers: 4 };
    let first = |order| {
        let mut array = [0; 16];
        let firsts: Vec<_> = tiles(&mut array, shape, (2, 2), order)
            .map(|tile| (tile.rows().start, tile.layers().start))
            .collect();
        firsts
    };
    assert_eq!(first(TileOrder::LayersOutside), [(0, 0), (2, 0), (0, 2), (2, 2)]);
    assert_eq!(first(TileOrder::RowsOutside), [(0, 0), (0, 2), (2, 0), (2, 2)]);
}

/// Catches: tiles left out, or rows that overlap, where an end of a tile is more than a word holds;
/// and a count of tiles that wraps.
#[test]
fn tiles_as_large_as_a_word_cover_an_array() {
    let mut units = vec![(); usize::MAX];
    let half = usize::MAX / 2 + 1;
    for order in [TileOrder::LayersOutside, TileOrder::RowsOutside] {
        let shape = Shape { row: usize::MAX, rows: 1, layers: 1 };
        let all = tiles(&mut units, shape, (usize::MAX, usize::MAX), order);
        assert_eq!(
            all.map(|tile| (tile.rows(), tile.layers())).collect::<Vec<_>>(),
            [(0..1, 0..1)]
        );
        let shape = Shape { row: 1, rows: usize::MAX, layers: 1 };
        let all = tiles(&mut units, shape, (half, 1), order);
        assert_eq!(all.map(|tile| tile.rows()).collect::<Vec<_>>(), [0..half, half..usize::MAX]);
        let none = Shape { row: 0, rows: usize::MAX, layers: usize::MAX };
        let payload =
            catch_unwind(|| tiles::<u8>(&mut [], none, (1, 1), order).count()).unwrap_err();
        assert!(
            payload.downcast_ref::<String>().is_some_and(|message| message.contains("tiles")),
            "{payload:?}"
        );
    }
}
