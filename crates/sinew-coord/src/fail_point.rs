//! Fail points in a change of the table: for tests, which must see a program die there and not
//! somewhere else.
//!
//! Without the feature `fail-points`, which only the tests of this crate ask for, nothing happens
//! at any of them.

/// A fail point, in the order in which they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailPoint {
    /// The program has the lock, and has not looked whether the file is still the table.
    Locked,
    /// It has, and has written nothing.
    Held,
    /// Half of the other copy is written.
    Writing,
    /// All of it is, and it is not in force.
    Written,
    /// It is in force, and nobody has been told.
    Published,
}

impl FailPoint {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Locked, Self::Held, Self::Writing, Self::Written, Self::Published];
}

#[cfg(feature = "fail-points")]
mod planned {
    use sinew_sync::lock::Mutex;

    use super::FailPoint;

    /// When to call what.
    type Plan = Option<(FailPoint, fn())>;

    static PLAN: Mutex<Plan> = Mutex::new(None);

    /// Has `what` called whenever a change of this process's reaches this point.
    pub fn at_fail_point(point: FailPoint, what: fn()) {
        *PLAN.lock() = Some((point, what));
    }

    pub(crate) fn reached(point: FailPoint) {
        let plan = *PLAN.lock();
        if let Some((_, what)) = plan.filter(|(planned, _)| *planned == point) {
            what();
        }
    }
}

#[cfg(feature = "fail-points")]
pub use planned::at_fail_point;
#[cfg(feature = "fail-points")]
pub(crate) use planned::reached;

/// Nothing.
#[cfg(not(feature = "fail-points"))]
#[inline]
pub(crate) fn reached(_point: FailPoint) {}
