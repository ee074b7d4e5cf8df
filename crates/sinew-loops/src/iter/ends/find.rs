//! Last calls that search.
//!
//! A search checks a word between two items, so that all workers end soon after one has found what
//! the others cannot improve. `Relaxed`: the lock publishes what was found, the word only ends
//! searches early.

use std::ops::ControlFlow;

use sinew_core::{Cancelled, Worker};
use sinew_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use sinew_sync::lock::Mutex;

use crate::iter::Positions;
use crate::loops::{Options, drive};

/// Any value that `f` returns for an item.
#[inline]
pub(crate) fn find_map_any<P: Positions, R: Send>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
    f: impl Fn(P::Item) -> Option<R> + Sync,
) -> Result<Option<R>, Cancelled> {
    let (found, is_found) = (Mutex::new(None), AtomicBool::new(false));
    let each = |item| {
        if is_found.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let Some(value) = f(item) else { return ControlFlow::Continue(()) };
        is_found.store(true, Ordering::Relaxed);
        let _earlier = found.lock().replace(value);
        ControlFlow::Break(())
    };
    let ended = drive(
        w,
        chain.num_positions(),
        options,
        || (),
        |(), range| {
            // SAFETY: ranges lie below the number of positions and are disjoint (D1); a last call
            // has its chain by value, so there are no other requests.
            unsafe { chain.run(range, &each) }
        },
    );
    or_found(found, ended)
}

/// A value that was found has priority over a cancellation.
fn or_found<R>(
    found: Mutex<Option<R>>,
    ended: Result<(), Cancelled>,
) -> Result<Option<R>, Cancelled> {
    match found.into_inner() {
        Some(value) => Ok(Some(value)),
        None => ended.map(|()| None),
    }
}

/// The value that `f` returns for the first item for which it returns one.
#[inline]
pub(crate) fn find_map_first<P: Positions, R: Send>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
    f: impl Fn(P::Item) -> Option<R> + Sync,
) -> Result<Option<R>, Cancelled> {
    // The beginning of the first range in which a value was found, and the value.
    let best = AtomicUsize::new(usize::MAX);
    let found = Mutex::new(None::<(usize, R)>);
    drive(
        w,
        chain.num_positions(),
        options,
        || (),
        |(), range| {
            let start = range.start;
            if best.load(Ordering::Relaxed) < start {
                return ControlFlow::Continue(());
            }
            let each = |item| {
                if best.load(Ordering::Relaxed) < start {
                    return ControlFlow::Break(());
                }
                let Some(value) = f(item) else { return ControlFlow::Continue(()) };
                let mut found = found.lock();
                if found.as_ref().is_none_or(|(first, _)| start < *first) {
                    best.store(start, Ordering::Relaxed);
                    let _later = found.replace((start, value));
                    drop(found);
                }
                ControlFlow::Break(())
            };
            // SAFETY: as in `find_map_any`.
            match unsafe { chain.run(range, each) } {
                // Earlier ranges may have an earlier one.
                ControlFlow::Break(()) if best.load(Ordering::Relaxed) != usize::MAX => {
                    ControlFlow::Continue(())
                }
                flow => flow,
            }
        },
    )?;
    Ok(found.into_inner().map(|(_, value)| value))
}

/// The value that `f` returns for the last item for which it returns one.
#[inline]
pub(crate) fn find_map_last<P: Positions, R: Send>(
    w: &Worker,
    chain: &P,
    options: &Options<'_>,
    f: impl Fn(P::Item) -> Option<R> + Sync,
) -> Result<Option<R>, Cancelled> {
    // One more than the beginning of the last range in which a value was found, or 0.
    let best = AtomicUsize::new(0);
    let found = Mutex::new(None::<(usize, R)>);
    drive(
        w,
        chain.num_positions(),
        options,
        || (),
        |(), range| {
            let start = range.start;
            let mut last = None;
            let each = |item| {
                if best.load(Ordering::Relaxed) > start + 1 {
                    return ControlFlow::Break(());
                }
                if let Some(value) = f(item) {
                    last = Some(value);
                }
                ControlFlow::Continue(())
            };
            // SAFETY: as in `find_map_any`.
            let flow = unsafe { chain.run(range, each) };
            let is_beaten = best.load(Ordering::Relaxed) > start + 1;
            if let Some(value) = last {
                let mut found = found.lock();
                if found.as_ref().is_none_or(|(last, _)| start > *last) {
                    best.store(start + 1, Ordering::Relaxed);
                    let _earlier = found.replace((start, value));
                    drop(found);
                }
            }
            // A chain that ended by itself has no more items for anyone.
            if is_beaten { ControlFlow::Continue(()) } else { flow }
        },
    )?;
    Ok(found.into_inner().map(|(_, value)| value))
}
