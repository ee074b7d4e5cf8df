//! Adaptors whose functions have a state: one for each range of positions, or one for each worker.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use sinew_sync::lock::Mutex;

use crate::iter::{Out, Positions};

adaptors! {
    /// The chain of [`map_init`](crate::iter::ParIter::map_init).
    MapInit<B, Z, F> { init: Z, f: F }
}

// SAFETY: an item for each of the chain within.
unsafe impl<B, T, R, Z, F> Positions for MapInit<B, Z, F>
where
    B: Positions,
    R: Send,
    Z: Fn() -> T + Sync + Send,
    F: Fn(&mut T, B::Item) -> R + Sync + Send,
{
    type Item = R;
    forward_to_base!(len);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(R) -> ControlFlow<()>,
    {
        let mut state = (self.init)();
        // SAFETY: the caller's promise is the same.
        unsafe { self.base.run(positions, |item| sink((self.f)(&mut state, item))) }
    }
}

/// A chain whose next function gets a state of its worker:
/// [`with_state`](crate::iter::ParIter::with_state).
#[derive(Debug)]
#[must_use = "nothing runs before a last call, for example `for_each`"]
pub struct WithState<B, Z> {
    base: B,
    init: Z,
}

/// The states that no worker uses at the moment. So there are no more states than workers that ran
/// the chain at the same time.
///
/// # Cost
///
/// A lock for each range of positions, at its beginning and its end.
#[derive(Debug)]
struct States<T, Z> {
    init: Z,
    idle: Mutex<Vec<T>>,
}

impl<T, Z: Fn() -> T> States<T, Z> {
    /// Calls `f` with an idle state, or a new one. The state of a call that panics is dropped.
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let idle = self.idle.lock().pop();
        let mut state = idle.unwrap_or_else(&self.init);
        let result = f(&mut state);
        self.idle.lock().push(state);
        result
    }
}

impl<B: Positions, Z> WithState<B, Z> {
    pub(crate) fn new(base: B, init: Z) -> Self {
        Self { base, init }
    }

    /// Calls `f` with every item and the state of the worker. Returns all states, in no particular
    /// order.
    ///
    /// ```
    /// use sinew_loops::iter::{IntoParallelIterator, ParIter};
    ///
    /// let counts = (0..1000).into_par_iter().with_state(|| 0).for_each(|count, _| *count += 1);
    /// assert_eq!(counts.iter().sum::<i32>(), 1000);
    /// ```
    pub fn for_each<T, F>(self, f: F) -> Out<B, Vec<T>>
    where
        T: Send,
        Z: Fn() -> T + Sync + Send,
        F: Fn(&mut T, B::Item) + Sync + Send,
    {
        let Self { base, init } = self;
        base.end(move |w, chain, options| {
            let states = States { init, idle: Mutex::new(Vec::new()) };
            crate::loops::drive(
                w,
                chain.num_positions(),
                options,
                || (),
                |(), range| {
                    states.with(|state| {
                        let each = |item| {
                            f(state, item);
                            ControlFlow::Continue(())
                        };
                        // SAFETY: ranges lie below the number of positions and are disjoint (D1); a
                        // last call has its chain by value, so there are no other requests.
                        unsafe { chain.run(range, each) }
                    })
                },
            )?;
            Ok(states.idle.into_inner())
        })
    }

    /// `f` of each item and the state of the worker.
    ///
    /// ```
    /// use sinew_loops::iter::{IntoParallelRefIterator, ParIter};
    ///
    /// let lengths = ["a", "bc"].par_iter().with_state(String::new).map(|buffer, text| {
    ///     buffer.clear();
    ///     buffer.push_str(text);
    ///     buffer.len()
    /// });
    /// assert_eq!(lengths.sum::<usize>(), 3);
    /// ```
    pub fn map<T, R, F>(self, f: F) -> MapState<B, T, Z, F>
    where
        T: Send,
        R: Send,
        Z: Fn() -> T + Sync + Send,
        F: Fn(&mut T, B::Item) -> R + Sync + Send,
    {
        let states = States { init: self.init, idle: Mutex::new(Vec::new()) };
        MapState { base: self.base, states, f }
    }
}

/// The chain of [`WithState::map`].
#[must_use = "nothing runs before a last call, for example `for_each`"]
pub struct MapState<B, T, Z, F> {
    base: B,
    states: States<T, Z>,
    f: F,
}

impl<B: fmt::Debug, T, Z, F> fmt::Debug for MapState<B, T, Z, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapState").field("base", &self.base).finish_non_exhaustive()
    }
}

// SAFETY: an item for each of the chain within.
unsafe impl<B, T, R, Z, F> Positions for MapState<B, T, Z, F>
where
    B: Positions,
    T: Send,
    R: Send,
    Z: Fn() -> T + Sync + Send,
    F: Fn(&mut T, B::Item) -> R + Sync + Send,
{
    type Item = R;
    forward_to_base!(len);

    #[inline]
    unsafe fn run<S>(&self, positions: Range<usize>, mut sink: S) -> ControlFlow<()>
    where
        S: FnMut(R) -> ControlFlow<()>,
    {
        self.states.with(|state| {
            // SAFETY: the caller's promise is the same.
            unsafe { self.base.run(positions, |item| sink((self.f)(state, item))) }
        })
    }
}

/// A function that returns clones of `value`, which threads need not share.
pub(crate) fn clones<T: Send + Clone>(value: T) -> impl Fn() -> T + Sync + Send + Clone {
    let value = Arc::new(Mutex::new(value));
    move || value.lock().clone()
}
