//! The stages of a stream, and how an item goes through them.
//!
//! Stages are put together front to back, as [`Stages`], and *connected* back to front, as
//! [`End`]s. Each then holds the ones after it, so an item is pushed through all of them by plain
//! calls that are inlined.

use std::collections::VecDeque;

use sinew_sync::lock::Mutex;

/// The carrier, as stages see it. Of no use outside of a stream.
pub trait StageContext<'e> {
    /// Whether the stream is to end: what is carried is dropped.
    fn is_over(&self) -> bool;
    /// Has a carrier go on at a stage where the next item waits.
    fn post(&self, stage: &'e dyn SerialStage);
    /// A stage has failed: the stream is to end.
    fn stop(&self);
    /// The item that is carried has left the last stage.
    fn item_finished(&self);
}

/// A stage where parked items wait. Of no use outside of a stream.
pub trait SerialStage: Sync {
    /// Carries on the item whose turn it is, if there is one.
    fn run<'e>(&'e self, context: &dyn StageContext<'e>);
}

/// The stages of a stream, for items `T` of its iterator.
pub trait Stages<T> {
    /// The items that leave the last stage.
    type Out: Send;
    /// The stages with what comes after them.
    type Connected<E: End<Self::Out>>: End<T>;
    /// Puts `end` after the last stage.
    fn connect<E: End<Self::Out>>(self, end: E) -> Self::Connected<E>;
}

/// Some stages and the exit, for items `T`.
pub trait End<T>: Sync {
    /// Carries an item on, as far as it may go.
    fn push<'e>(&'e self, context: &dyn StageContext<'e>, number: usize, item: T);
}

/// No stage.
#[derive(Debug, Clone, Copy)]
pub struct Identity;

impl<T: Send> Stages<T> for Identity {
    type Out = T;
    type Connected<E: End<T>> = E;

    fn connect<E: End<T>>(self, end: E) -> E {
        end
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
    type Connected<E: End<R>> = S::Connected<ParallelEnd<F, E>>;

    fn connect<E: End<R>>(self, end: E) -> Self::Connected<E> {
        self.before.connect(ParallelEnd { f: self.f, end })
    }
}

/// A parallel stage and what comes after it.
#[derive(Debug)]
pub struct ParallelEnd<F, E> {
    f: F,
    end: E,
}

impl<T, R, F: Fn(T) -> R + Sync, E: End<R>> End<T> for ParallelEnd<F, E> {
    fn push<'e>(&'e self, context: &dyn StageContext<'e>, number: usize, item: T) {
        if !context.is_over() {
            self.end.push(context, number, (self.f)(item));
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
    type Connected<E: End<R>> = S::Connected<SerialEnd<S::Out, F, E>>;

    fn connect<E: End<R>>(self, end: E) -> Self::Connected<E> {
        let state = SerialState { f: Some(self.f), parked: Parked::new(self.ordered) };
        self.before.connect(SerialEnd { state: Mutex::new(state), end })
    }
}

/// A serial stage and what comes after it.
#[derive(Debug)]
pub struct SerialEnd<T, F, E> {
    state: Mutex<SerialState<T, F>>,
    end: E,
}

#[derive(Debug)]
struct SerialState<T, F> {
    /// Away while it is called (L2).
    f: Option<F>,
    parked: Parked<T>,
}

impl<T, F> SerialState<T, F> {
    /// The function and the item whose turn it is, if both are here.
    fn turn(&mut self) -> Option<(F, usize, T)> {
        let f = self.f.take()?;
        if let Some((number, item)) = self.parked.take() {
            return Some((f, number, item));
        }
        self.f = Some(f);
        None
    }
}

impl<T: Send, R, F: FnMut(T) -> R + Send, E: End<R>> SerialStage for SerialEnd<T, F, E> {
    fn run<'e>(&'e self, context: &dyn StageContext<'e>) {
        if context.is_over() {
            return;
        }
        let turn = self.state.lock().turn();
        let Some((mut f, number, item)) = turn else { return };
        let out = f(item);
        let mut state = self.state.lock();
        state.f = Some(f);
        let another_waits = state.parked.has_next();
        drop(state);
        if another_waits {
            context.post(self);
        }
        self.end.push(context, number, out);
    }
}

impl<T: Send, R, F: FnMut(T) -> R + Send, E: End<R>> End<T> for SerialEnd<T, F, E> {
    fn push<'e>(&'e self, context: &dyn StageContext<'e>, number: usize, item: T) {
        self.state.lock().parked.put(number, item);
        self.run(context);
    }
}

/// Items that wait at a serial stage.
#[derive(Debug)]
enum Parked<T> {
    /// The items from number `next` on, as far as they have come.
    InOrder { next: usize, window: VecDeque<Option<T>> },
    /// Any, with their numbers.
    AsTheyCome(VecDeque<(usize, T)>),
}

impl<T> Parked<T> {
    fn new(ordered: bool) -> Self {
        if ordered {
            Self::InOrder { next: 0, window: VecDeque::new() }
        } else {
            Self::AsTheyCome(VecDeque::new())
        }
    }

    fn put(&mut self, number: usize, item: T) {
        match self {
            Self::InOrder { next, window } => {
                let place = number - *next;
                if place >= window.len() {
                    window.resize_with(place + 1, || None);
                }
                window[place] = Some(item);
            }
            Self::AsTheyCome(items) => items.push_back((number, item)),
        }
    }

    fn has_next(&self) -> bool {
        match self {
            Self::InOrder { window, .. } => matches!(window.front(), Some(Some(_))),
            Self::AsTheyCome(items) => !items.is_empty(),
        }
    }

    fn take(&mut self) -> Option<(usize, T)> {
        match self {
            Self::InOrder { next, window } => {
                let item = window.front_mut()?.take()?;
                window.pop_front();
                *next += 1;
                Some((*next - 1, item))
            }
            Self::AsTheyCome(items) => items.pop_front(),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::Parked;

    /// Catches: an item that is handed out before its turn, twice, or never.
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
