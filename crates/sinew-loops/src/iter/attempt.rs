//! Values that can fail, for `try_` calls: `Option`, `Result` and `ControlFlow`.

use std::ops::ControlFlow;

/// `Option`, `Result` and `ControlFlow`, as the return type of functions that may fail.
pub trait Attempt: sealed::Sealed {
    /// The value of a success.
    type Output;
    /// The value of a failure.
    type Failure;

    /// A success.
    fn from_output(output: Self::Output) -> Self;

    /// A failure.
    fn from_failure(failure: Self::Failure) -> Self;

    /// `Continue` with a success, `Break` with a failure.
    fn branch(self) -> ControlFlow<Self::Failure, Self::Output>;
}

mod sealed {
    use std::ops::ControlFlow;

    pub trait Sealed {}
    impl<T> Sealed for Option<T> {}
    impl<T, E> Sealed for Result<T, E> {}
    impl<B, C> Sealed for ControlFlow<B, C> {}
}

impl<T> Attempt for Option<T> {
    type Output = T;
    type Failure = ();

    #[inline]
    fn from_output(output: T) -> Self {
        Some(output)
    }

    #[inline]
    fn from_failure((): ()) -> Self {
        None
    }

    #[inline]
    fn branch(self) -> ControlFlow<(), T> {
        self.map_or(ControlFlow::Break(()), ControlFlow::Continue)
    }
}

impl<T, E> Attempt for Result<T, E> {
    type Output = T;
    type Failure = E;

    #[inline]
    fn from_output(output: T) -> Self {
        Ok(output)
    }

    #[inline]
    fn from_failure(error: E) -> Self {
        Err(error)
    }

    #[inline]
    fn branch(self) -> ControlFlow<E, T> {
        match self {
            Ok(value) => ControlFlow::Continue(value),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl<B, C> Attempt for ControlFlow<B, C> {
    type Output = C;
    type Failure = B;

    #[inline]
    fn from_output(output: C) -> Self {
        Self::Continue(output)
    }

    #[inline]
    fn from_failure(failure: B) -> Self {
        Self::Break(failure)
    }

    #[inline]
    fn branch(self) -> Self {
        self
    }
}
