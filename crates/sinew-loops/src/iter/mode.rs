//! Whether a skeleton follows a [`Control`](crate::Control), and what its last call returns.

use std::marker::PhantomData;

use sinew_core::{Cancelled, Worker};

use crate::Stopped;
use crate::loops::{LoopMetrics, Meter};

/// Whether a skeleton follows a control, [`Uncontrolled`] or [`Controlled`], and whether it is
/// [`Metered`].
///
/// It is the last type parameter of every skeleton, and the `control` method changes it. The
/// options and the last calls are the same for both; only the type that a last call returns
/// differs.
///
/// ```
/// use sinew_loops::Control;
/// use sinew_loops::iter::{ParIter, over};
///
/// let (control, xs) = (Control::new(), [1, 2, 3]);
/// assert_eq!(over(&xs).sum::<i32>(), 6);
/// assert_eq!(over(&xs).control(&control).sum::<i32>(), Ok(6));
/// ```
pub trait Mode: sealed::Sealed + Send + Sync {
    /// The type that a skeleton with the value `T` returns.
    type Output<T>;
    /// The type that a skeleton with the value `T` returns whose function may fail with `E`.
    type TryOutput<T, E>;

    /// The meter of a skeleton that begins on this pool, if it has one.
    #[doc(hidden)]
    #[inline]
    fn meter(w: &Worker) -> Option<Meter> {
        let _ = w;
        None
    }

    #[doc(hidden)]
    fn output<T>(ended: Result<T, Cancelled>) -> Self::Output<T>;

    /// The same for a skeleton that may have a meter.
    #[doc(hidden)]
    #[inline]
    fn measured<T>(ended: Result<(T, Option<LoopMetrics>), Cancelled>) -> Self::Output<T> {
        Self::output(ended.map(|(value, _)| value))
    }

    #[doc(hidden)]
    fn try_output<T, E>(ended: Result<T, Stopped<E>>) -> Self::TryOutput<T, E>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Uncontrolled {}
    impl Sealed for super::Controlled {}
    impl<C: Sealed> Sealed for super::Metered<C> {}
}

/// A skeleton without a control, which runs to its end: it returns the value.
#[derive(Debug, Clone, Copy)]
pub struct Uncontrolled(());

/// A skeleton that follows a [`Control`](crate::Control): it returns the value or [`Cancelled`];
/// where its function may fail, the value or [`Stopped`].
///
/// Its control, or a [cancellation](sinew_core::PoolControl::cancel) of the pool, cancels it. Each
/// participant ends after its present slice of work. Results that exist by then are dropped.
#[derive(Debug, Clone, Copy)]
pub struct Controlled(());

/// The modes without a meter, for skeletons that measure nothing: sorts and scans.
pub trait Unmetered: Mode {}

impl Unmetered for Uncontrolled {}
impl Unmetered for Controlled {}

/// A skeleton that measures its threads: it returns the value and the [`LoopMetrics`].
#[derive(Debug, Clone, Copy)]
pub struct Metered<C>(PhantomData<C>);

impl Mode for Uncontrolled {
    type Output<T> = T;
    type TryOutput<T, E> = Result<T, E>;

    #[inline]
    fn output<T>(ended: Result<T, Cancelled>) -> T {
        ended.unwrap_or_else(|Cancelled| never_cancelled())
    }

    #[inline]
    fn try_output<T, E>(ended: Result<T, Stopped<E>>) -> Result<T, E> {
        ended.map_err(|stopped| match stopped {
            Stopped::Failed(error) => error,
            Stopped::Cancelled => never_cancelled(),
        })
    }
}

impl Mode for Controlled {
    type Output<T> = Result<T, Cancelled>;
    type TryOutput<T, E> = Result<T, Stopped<E>>;

    #[inline]
    fn output<T>(ended: Result<T, Cancelled>) -> Result<T, Cancelled> {
        ended
    }

    #[inline]
    fn try_output<T, E>(ended: Result<T, Stopped<E>>) -> Result<T, Stopped<E>> {
        ended
    }
}

impl<C: Mode> Mode for Metered<C> {
    type Output<T> = C::Output<(T, LoopMetrics)>;
    type TryOutput<T, E> = C::TryOutput<(T, LoopMetrics), E>;

    fn meter(w: &Worker) -> Option<Meter> {
        Some(Meter::new(w.max_threads()))
    }

    fn output<T>(ended: Result<T, Cancelled>) -> Self::Output<T> {
        C::output(ended.map(|value| (value, LoopMetrics::default())))
    }

    fn measured<T>(ended: Result<(T, Option<LoopMetrics>), Cancelled>) -> Self::Output<T> {
        C::output(ended.map(|(value, metrics)| (value, metrics.unwrap_or_default())))
    }

    fn try_output<T, E>(ended: Result<T, Stopped<E>>) -> Self::TryOutput<T, E> {
        C::try_output(ended.map(|value| (value, LoopMetrics::default())))
    }
}

#[cold]
fn never_cancelled() -> ! {
    unreachable!("only a control cancels a skeleton, and this one has none")
}
