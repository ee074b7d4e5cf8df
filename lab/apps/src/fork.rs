//! One recursion for both versions of a program: how its halves are worked on is a parameter.
//!
//! If the serial version is the parallel one without tasks, a second copy of the code would only
//! allow the two to differ. The compiler makes two programs of it: with [`Alone`] both halves are
//! plain calls, with a [`Worker`] they are a join.

use sinew::Worker;

/// How two halves are run.
pub(crate) trait Fork {
    /// Runs both arms, possibly at the same time, and returns the results of both.
    fn fork<A: Send, B: Send>(
        &self,
        left: impl FnOnce(&Self) -> A + Send,
        right: impl FnOnce(&Self) -> B + Send,
    ) -> (A, B);
}

/// One after the other, on this thread.
#[derive(Debug)]
pub(crate) struct Alone;

impl Fork for Alone {
    #[inline]
    fn fork<A: Send, B: Send>(
        &self,
        left: impl FnOnce(&Self) -> A + Send,
        right: impl FnOnce(&Self) -> B + Send,
    ) -> (A, B) {
        let a = left(self);
        (a, right(self))
    }
}

impl Fork for Worker {
    #[inline]
    fn fork<A: Send, B: Send>(
        &self,
        left: impl FnOnce(&Self) -> A + Send,
        right: impl FnOnce(&Self) -> B + Send,
    ) -> (A, B) {
        self.join(left, right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depths(fork: &impl Fork, depth: u32) -> Vec<u32> {
        if depth == 0 {
            return vec![0];
        }
        let (left, right) = fork.fork(|fork| depths(fork, depth - 1), |_| vec![depth]);
        [left, right].concat()
    }

    /// Catches: arms that are left out, or results in the wrong order.
    #[test]
    fn alone_and_in_a_pool_both_arms_are_run_and_answered_in_order() {
        let pool = sinew::Pool::builder().threads(2).build().unwrap();
        assert_eq!(depths(&Alone, 5), [0, 1, 2, 3, 4, 5]);
        assert_eq!(pool.run(|worker| depths(worker, 5)), [0, 1, 2, 3, 4, 5]);
    }
}
