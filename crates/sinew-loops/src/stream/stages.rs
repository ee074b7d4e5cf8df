//! The stages of a pipeline, and how an item is pushed through them.
//!
//! The builder appends stages front to back, as [`Stages`]. `connect` turns them into nested
//! [`Sink`]s, back to front: each holds the sink behind it. So the compiler can inline the calls
//! that push an item through all stages.

use std::collections::VecDeque;

use sinew_sync::lock::Mutex;

/// The pipeline task, as stages see it. Only a pipeline makes one.
pub trait StageContext<'e> {
    /// Whether the pipeline is to end: items in flight are dropped.
    fn is_over(&self) -> bool;
    /// Has a task continue at `stage`, where the next item is parked.
    fn post(&self, stage: &'e dyn SerialStage);
    /// A stage has failed: ends the pipeline.
    fn stop(&self);
    /// The task's item has left the last stage.
    fn item_finished(&self);
}

/// A stage at which items may be parked.
pub trait SerialStage: Sync {
    /// Runs the parked item whose turn it is, if there is one.
    fn run<'e>(&'e self, context: &dyn StageContext<'e>);
}

/// The stages of a pipeline, for items `T` of its iterator.
pub trait Stages<T> {
    /// The items that leave the last stage.
    type Out: Send;
    /// The stages and the sink behind them.
    type Connected<E: Sink<Self::Out>>: Sink<T>;
    /// Puts `sink` behind the last stage.
    fn connect<E: Sink<Self::Out>>(self, sink: E) -> Self::Connected<E>;
}

/// The rest of a pipeline, from a stage to the exit, for items `T`.
pub trait Sink<T>: Sync {
    /// Runs an item through the stages until it has left or is parked.
    fn push<'e>(&'e self, context: &dyn StageContext<'e>, number: usize, item: T);
}

/// No stage.
#[derive(Debug, Clone, Copy)]
pub struct Identity;

impl<T: Send> Stages<T> for Identity {
    type Out = T;
    type Connected<E: Sink<T>> = E;

    fn connect<E: Sink<T>>(self, sink: E) -> E {
        sink
    }
}

/// A parallel stage after others.
#[derive(Debug, Clone)]
pub struct Parallel<S, F> {
    before: S,
    f: F,
}

impl<S, F> Parallel<S, F> {
    /// `f` after `before`, for any number of items at once.
    pub fn new(before: S, f: F) -> Self {
        Self { before, f }
    }
}

impl<T, R, S, F> Stages<T> for Parallel<S, F>
where
    R: Send,
    S: Stages<T>,
    F: Fn(S::Out) -> R + Sync,
{
    type Out = R;
    type Connected<E: Sink<R>> = S::Connected<ParallelSink<F, E>>;

    fn connect<E: Sink<R>>(self, sink: E) -> Self::Connected<E> {
        self.before.connect(ParallelSink { f: self.f, sink })
    }
}

/// A parallel stage and what comes after it.
#[derive(Debug)]
pub struct ParallelSink<F, E> {
    f: F,
    sink: E,
}

impl<T, R, F: Fn(T) -> R + Sync, E: Sink<R>> Sink<T> for ParallelSink<F, E> {
    fn push<'e>(&'e self, context: &dyn StageContext<'e>, number: usize, item: T) {
        if !context.is_over() {
            self.sink.push(context, number, (self.f)(item));
        }
    }
}

/// A serial stage after others.
#[derive(Debug, Clone)]
pub struct Serial<S, F> {
    before: S,
    f: F,
    ordered: bool,
}

impl<S, F> Serial<S, F> {
    /// `f` after `before`, for one item at a time: in the order of the iterator if it is `ordered`,
    /// otherwise as they come.
    pub fn new(before: S, f: F, ordered: bool) -> Self {
        Self { before, f, ordered }
    }
}

impl<T, R, S, F> Stages<T> for Serial<S, F>
where
    R: Send,
    S: Stages<T>,
    F: FnMut(S::Out) -> R + Send,
{
    type Out = R;
    type Connected<E: Sink<R>> = S::Connected<SerialSink<S::Out, F, E>>;

    fn connect<E: Sink<R>>(self, sink: E) -> Self::Connected<E> {
        let state = SerialState { f: Some(self.f), parked: Parked::new(self.ordered) };
        self.before.connect(SerialSink { state: Mutex::new(state), sink })
    }
}

/// A serial stage and what comes after it.
#[derive(Debug)]
pub struct SerialSink<T, F, E> {
    state: Mutex<SerialState<T, F>>,
    sink: E,
}

#[derive(Debug)]
struct SerialState<T, F> {
    /// `None` while it is called (L2).
    f: Option<F>,
    parked: Parked<T>,
}

impl<T, F> SerialState<T, F> {
    /// The function and the parked item whose turn it is, if both are present.
    fn take_ready(&mut self) -> Option<(F, usize, T)> {
        let f = self.f.take()?;
        if let Some((number, item)) = self.parked.take() {
            return Some((f, number, item));
        }
        self.f = Some(f);
        None
    }
}

impl<T: Send, R, F: FnMut(T) -> R + Send, E: Sink<R>> SerialStage for SerialSink<T, F, E> {
    fn run<'e>(&'e self, context: &dyn StageContext<'e>) {
        if context.is_over() {
            return;
        }
        let ready = self.state.lock().take_ready();
        let Some((mut f, number, item)) = ready else { return };
        let out = f(item);
        let mut state = self.state.lock();
        state.f = Some(f);
        let another_waits = state.parked.has_next();
        drop(state);
        if another_waits {
            context.post(self);
        }
        self.sink.push(context, number, out);
    }
}

impl<T: Send, R, F: FnMut(T) -> R + Send, E: Sink<R>> Sink<T> for SerialSink<T, F, E> {
    fn push<'e>(&'e self, context: &dyn StageContext<'e>, number: usize, item: T) {
        self.state.lock().parked.put(number, item);
        self.run(context);
    }
}

/// The items parked at a serial stage.
#[derive(Debug)]
enum Parked<T> {
    /// The items from number `next` on; `None` for those that have not come.
    Ordered { next: usize, window: VecDeque<Option<T>> },
    /// Items in the order of their arrival, with their numbers.
    Unordered(VecDeque<(usize, T)>),
}

impl<T> Parked<T> {
    fn new(ordered: bool) -> Self {
        if ordered {
            Self::Ordered { next: 0, window: VecDeque::new() }
        } else {
            Self::Unordered(VecDeque::new())
        }
    }

    fn put(&mut self, number: usize, item: T) {
        match self {
            Self::Ordered { next, window } => {
                let place = number - *next;
                if place >= window.len() {
                    window.resize_with(place + 1, || None);
                }
                window[place] = Some(item);
            }
            Self::Unordered(items) => items.push_back((number, item)),
        }
    }

    fn has_next(&self) -> bool {
        match self {
            Self::Ordered { window, .. } => matches!(window.front(), Some(Some(_))),
            Self::Unordered(items) => !items.is_empty(),
        }
    }

    fn take(&mut self) -> Option<(usize, T)> {
        match self {
            Self::Ordered { next, window } => {
                let item = window.front_mut()?.take()?;
                window.pop_front();
                *next += 1;
                Some((*next - 1, item))
            }
            Self::Unordered(items) => items.pop_front(),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::Parked;

    /// Catches: an item that is taken before its turn, twice, or never.
    #[test]
    fn parked_items_come_out_in_their_order() {
        let mut parked = Parked::new(true);
        let mut out = Vec::new();
        for number in [2, 0, 3, 1, 5, 4] {
            parked.put(number, number * 10);
            assert_eq!(parked.has_next(), number == out.len());
            while let Some(next) = parked.take() {
                out.push(next);
            }
        }
        assert!(out.into_iter().eq((0..6).map(|number| (number, number * 10))));
        assert!(!parked.has_next());
    }

    /// Catches: an item that loses its number where a later stage needs it.
    #[test]
    fn parked_items_without_an_order_keep_their_numbers() {
        let mut parked = Parked::new(false);
        parked.put(7, 'a');
        parked.put(3, 'b');
        assert_eq!(
            [parked.take(), parked.take(), parked.take()],
            [Some((7, 'a')), Some((3, 'b')), None]
        );
    }
}
