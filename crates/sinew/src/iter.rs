//! Parallel iterators: lazy chains of a source, adaptors and one last call.
//!
//! The names, the order of results and the rules about panics are rayon's, so a program changes one
//! line: `use sinew::prelude::*;` in place of `use rayon::prelude::*;`. A chain runs as one loop of
//! the current pool; there is no vector between its stages.
//!
//! [`over`] and `par_iter` make the same thing, an [`Over`]. It has what rayon's iterators have
//! not; `control`, `memory` and `metrics` come before the first adaptor, the others anywhere:
//!
//! ```
//! use sinew::prelude::*;
//! use sinew::LoopMemory;
//!
//! let (xs, control, memory) = (vec![0.1_f64; 10_000], Control::new(), LoopMemory::new());
//! // A handle that changes or cancels the whole chain while it runs.
//! let sum = xs.par_iter().control(&control).map(|x| x * x).sum::<f64>();
//! assert!(sum.is_ok());
//! // The schedule, and the most threads.
//! let chain = xs.par_iter().map(|x| x * x).schedule(Schedule::Dynamic { chunk: 64 }).threads(2);
//! assert_eq!(chain.count(), 10_000);
//! // The same bits for any number of threads and any schedule.
//! let sums = [1, 2].map(|threads| xs.par_iter().threads(threads).reproducible().sum::<f64>());
//! assert_eq!(sums[0].to_bits(), sums[1].to_bits());
//! // Parts of earlier runs, for caches that are warm.
//! xs.par_iter().memory(&memory).schedule(Schedule::Affinity).for_each(drop);
//! // How the threads spent their time.
//! let (least, metrics) = xs.par_iter().metrics().map(|x| x.to_bits()).min();
//! assert_eq!((least, metrics.tasks()), (Some(0.1_f64.to_bits()), 10_000));
//! // A state for each worker, made once and handed back.
//! let counts = xs.par_iter().with_state(|| 0).for_each(|count, _| *count += 1);
//! assert_eq!(counts.into_iter().sum::<i32>(), 10_000);
//! ```
//!
//! # Adaptors
//!
//! | for any chain | |
//! |---|---|
//! | a function for each item | `map`, `map_array`, `map_with`, `map_init`, `inspect`, `update`, `cloned`, `copied` |
//! | some of the items | `filter`, `filter_map`, `while_some`, `take_any`, `skip_any`, `take_any_while`, `skip_any_while` |
//! | several items for each | `flat_map`, `flat_map_iter`, `flatten`, `flatten_iter` |
//! | one item for several | `fold`, `fold_with`, `try_fold`, `try_fold_with` |
//! | others | `chain`, `intersperse`, `with_state`, `panic_fuse` |
//!
//! | with one item at each position | |
//! |---|---|
//! | two chains | `zip`, `zip_eq`, `interleave`, `interleave_shortest` |
//! | positions | `enumerate`, `rev`, `skip`, `take`, `step_by`, `positions` |
//! | chunks | `chunks`, `fold_chunks`, `fold_chunks_with` |
//! | hints for the schedule | `with_min_len`, `with_max_len` |
//! | rounds, one after the other | `by_uniform_blocks`, `by_exponential_blocks` |
//!
//! ```
//! use sinew::prelude::*;
//!
//! let xs = [5, 3, 8];
//! let it = || xs.par_iter().copied();
//! assert_eq!(it().map(|x| x + 1).collect::<Vec<_>>(), [6, 4, 9]);
//! assert_eq!(it().map_array(&[0; 9], |x, table| table[x]).sum::<usize>(), 0);
//! assert_eq!(it().map_with(10, |ten, x| x * *ten).collect::<Vec<_>>(), [50, 30, 80]);
//! assert_eq!(it().map_init(|| 10, |ten, x| x * *ten).sum::<usize>(), 160);
//! assert_eq!(it().inspect(|x| assert!(*x < 9)).update(|x| *x *= 2).sum::<usize>(), 32);
//! assert_eq!(xs.par_iter().cloned().count(), 3);
//! assert_eq!(it().filter(|x| x % 2 == 1).collect::<Vec<_>>(), [5, 3]);
//! assert_eq!(it().filter_map(|x| x.checked_sub(4)).collect::<Vec<_>>(), [1, 4]);
//! assert_eq!(it().map(Some).while_some().count(), 3);
//! assert_eq!((it().take_any(2).count(), it().skip_any(2).count()), (2, 1));
//! assert_eq!(it().take_any_while(|x| *x < 9).skip_any_while(|_| true).count(), 0);
//! assert_eq!(it().flat_map(|x| [x, x]).collect::<Vec<_>>(), [5, 5, 3, 3, 8, 8]);
//! assert_eq!(it().flat_map_iter(|x| 0..x).count(), 16);
//! assert_eq!(it().map(|x| vec![x]).flatten().count(), 3);
//! assert_eq!(it().map(|x| Some(x)).flatten_iter().count(), 3);
//! assert_eq!(it().fold(|| 0, |sum, x| sum + x).sum::<usize>(), 16);
//! assert_eq!(it().fold_with(0, |sum, x| sum + x).sum::<usize>(), 16);
//! assert!(it().try_fold(|| 0_u8, |sum, x| sum.checked_add(x as u8)).all(|sum| sum.is_some()));
//! assert!(it().try_fold_with(0_u8, |_, _| None).all(|sum| sum.is_none()));
//! assert_eq!(it().chain([1]).panic_fuse().collect::<Vec<_>>(), [5, 3, 8, 1]);
//! assert_eq!(it().filter(|x| *x > 4).intersperse(0).collect::<Vec<_>>(), [5, 0, 8]);
//!
//! assert_eq!(it().zip(0..9).collect::<Vec<_>>(), [(5, 0), (3, 1), (8, 2)]);
//! assert_eq!(it().zip_eq(it()).filter(|(a, b)| a == b).count(), 3);
//! assert_eq!(it().interleave([0]).collect::<Vec<_>>(), [5, 0, 3, 8]);
//! assert_eq!(it().interleave_shortest([0]).collect::<Vec<_>>(), [5, 0, 3]);
//! assert_eq!(it().enumerate().rev().collect::<Vec<_>>(), [(2, 8), (1, 3), (0, 5)]);
//! assert_eq!(it().skip(1).take(1).collect::<Vec<_>>(), [3]);
//! assert_eq!(it().step_by(2).collect::<Vec<_>>(), [5, 8]);
//! assert_eq!(it().positions(|x| x > 4).collect::<Vec<_>>(), [0, 2]);
//! assert_eq!(it().chunks(2).collect::<Vec<_>>(), [vec![5, 3], vec![8]]);
//! assert_eq!(it().fold_chunks(2, || 0, |sum, x| sum + x).collect::<Vec<_>>(), [8, 8]);
//! assert_eq!(it().fold_chunks_with(2, 0, |sum, x| sum + x).collect::<Vec<_>>(), [8, 8]);
//! assert_eq!(it().intersperse(0).collect::<Vec<_>>(), [5, 0, 3, 0, 8]);
//! assert_eq!(it().with_min_len(2).with_max_len(2).count(), 3);
//! assert_eq!(it().by_uniform_blocks(2).collect::<Vec<_>>(), [5, 3, 8]);
//! assert_eq!(it().by_exponential_blocks().find_first(|x| *x > 4), Some(5));
//! ```
//!
//! # Last calls
//!
//! | for any chain | |
//! |---|---|
//! | a function for each item | `for_each`, `for_each_with`, `for_each_init`, `try_for_each`, `try_for_each_with`, `try_for_each_init` |
//! | one value | `reduce`, `reduce_with`, `try_reduce`, `try_reduce_with`, `sum`, `product`, `count` |
//! | the least and the greatest | `min`, `min_by`, `min_by_key`, `max`, `max_by`, `max_by_key` |
//! | a search | `find_any`, `find_first`, `find_last`, `find_map_any`, `find_map_first`, `find_map_last`, `any`, `all` |
//! | collections | `collect`, `collect_vec_list`, `unzip`, `partition`, `partition_map` |
//!
//! | with one item at each position | |
//! |---|---|
//! | places | `position_any`, `position_first`, `position_last`, `len` |
//! | vectors that exist | `collect_into_vec`, `unzip_into_vecs` |
//! | comparisons | `cmp`, `partial_cmp`, `eq`, `ne`, `lt`, `le`, `gt`, `ge` |
//!
//! ```
//! use sinew::iter::Either;
//! use sinew::prelude::*;
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! let xs = [5_u32, 3, 8];
//! let it = || xs.par_iter().copied();
//! let sum = AtomicU32::new(0);
//! let add = |x| drop(sum.fetch_add(x, Ordering::Relaxed));
//! it().for_each(add);
//! it().for_each_with(2, |two, x| add(*two * x));
//! it().for_each_init(|| 2, |two, x| add(*two * x));
//! assert_eq!(sum.into_inner(), 5 * 16);
//! let small = |x| if x < 6 { Ok(()) } else { Err(x) };
//! assert_eq!(it().try_for_each(small), Err(8));
//! assert_eq!(it().try_for_each_with((), |(), x| small(x)), Err(8));
//! assert_eq!(it().try_for_each_init(|| (), |(), x| small(x)), Err(8));
//! assert_eq!((it().reduce(|| 0, u32::max), it().reduce_with(u32::min)), (8, Some(3)));
//! assert_eq!(it().map(Some).try_reduce(|| 0, u32::checked_add), Some(16));
//! assert_eq!(it().map(Some).try_reduce_with(u32::checked_add), Some(Some(16)));
//! assert_eq!((it().sum::<u32>(), it().product::<u32>(), it().count()), (16, 120, 3));
//! assert_eq!((it().min(), it().max()), (Some(3), Some(8)));
//! assert_eq!((it().min_by(|a, b| b.cmp(a)), it().max_by(|a, b| b.cmp(a))), (Some(8), Some(3)));
//! assert_eq!((it().min_by_key(|x| x % 5), it().max_by_key(|x| x % 5)), (Some(5), Some(8)));
//! assert_eq!(it().find_any(|x| *x > 6), Some(8));
//! assert_eq!((it().find_first(|x| *x > 4), it().find_last(|x| *x > 4)), (Some(5), Some(8)));
//! assert_eq!(it().find_map_any(|x| x.checked_sub(8)), Some(0));
//! assert_eq!(it().find_map_first(|x| x.checked_sub(4)), Some(1));
//! assert_eq!(it().find_map_last(|x| x.checked_sub(4)), Some(4));
//! assert!(it().any(|x| x == 3) && it().all(|x| x < 9));
//! assert_eq!(it().map(|x| u8::try_from(x)).collect::<Result<Vec<_>, _>>(), Ok(vec![5, 3, 8]));
//! assert_eq!(it().collect_vec_list().into_iter().flatten().count(), 3);
//! let (evens, odds): (Vec<_>, Vec<_>) = it().partition(|x| x % 2 == 0);
//! assert_eq!((evens, odds), (vec![8], vec![5, 3]));
//! let half = |x| if x % 2 == 0 { Either::Left(x / 2) } else { Either::Right(x) };
//! let (halves, odds): (Vec<_>, Vec<_>) = it().partition_map(half);
//! assert_eq!((halves, odds), (vec![4], vec![5, 3]));
//! assert_eq!(it().map(half).collect::<(Vec<_>, Vec<_>)>(), (vec![4], vec![5, 3]));
//! let (halves, rests): (Vec<_>, Vec<_>) = it().map(|x| (x / 2, x % 2)).unzip();
//! assert_eq!((halves, rests), (vec![2, 1, 4], vec![1, 1, 0]));
//!
//! assert_eq!(it().position_any(|x| x == 8), Some(2));
//! assert_eq!((it().position_first(|x| x > 4), it().position_last(|x| x > 4)), (Some(0), Some(2)));
//! let (mut whole, mut left, mut right) = (vec![0; 9], vec![], vec![]);
//! it().collect_into_vec(&mut whole);
//! it().enumerate().unzip_into_vecs(&mut left, &mut right);
//! assert_eq!((whole, left, it().len()), (vec![5, 3, 8], vec![0, 1, 2], 3));
//! assert!(it().cmp([5, 4]).is_lt() && it().partial_cmp(right) == Some(std::cmp::Ordering::Equal));
//! assert!(it().eq(xs) && it().ne([5, 3]) && it().lt([6]) && it().le(xs));
//! assert!(it().gt([5, 3]) && it().ge(xs));
//! ```
//!
//! # Differences from rayon
//!
//! - `fold`, `map_init` and the like make a value or state for each range of positions that a
//!   worker claims: there may be more of them than rayon's splits.
//! - The chains that `flat_map` and `flatten` get from each item run serially.
//! - `with_min_len` and `with_max_len` choose a [`Schedule`](crate::Schedule) with a grain; the
//!   last one counts. `by_uniform_blocks` and `by_exponential_blocks` are options of the loop, too:
//!   their blocks are of the positions that the last call sees.
//! - `skip` does not compute the items that it skips. `par_chunk_by` and `par_split` may call their
//!   function twice for an element at the border of two ranges.
//! - After a panic, no worker begins another range, with or without `panic_fuse`.
//! - A sort may panic if its comparison is no total order, as the standard library's sorts do.
//! - Ranges longer than `usize::MAX` panic.
//! - `walk_tree` and its orders compute the first levels of the tree when they are called.
//! - The methods belong to [`ParIter`] and [`IndexedParIter`], so a program that imports
//!   `ParallelIterator` alone must import the prelude.
//! - The traits of rayon's `plumbing` do not exist. A new adaptor or source implements
//!   [`Positions`].
//!
//! `cargo xtask rayon tests --only iterators` in Sinew's repository runs rayon's own tests and
//! examples of iterators on these, and prints those that it leaves out for the reasons above.

pub use sinew_loops::iter::*;
