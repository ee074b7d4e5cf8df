//! Fail points in a change of the table: tests make a program die at each of them.
//!
//! Without the feature `fail-points`, which only tests turn on, nothing happens at a fail point.

/// A fail point. They are listed in the order in which a change reaches them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailPoint {
    /// The program has the lock, and has not checked whether the file is still the table.
    Locked,
    /// It has checked that, and has written nothing.
    Held,
    /// It has written half of the other copy.
    Writing,
    /// It has written all of the other copy, which is not in force yet.
    Written,
    /// The copy is in force, and no program has been woken.
    Published,
}

impl FailPoint {
    /// All fail points, in that order.
    pub const ALL: [Self; 5] =
        [Self::Locked, Self::Held, Self::Writing, Self::Written, Self::Published];
}

#[cfg(feature = "fail-points")]
mod planned {
    use sinew_sync::lock::Mutex;

    use super::FailPoint;

    /// The function to call, and the point at which it is called.
    type Plan = Option<(FailPoint, fn())>;

    static PLAN: Mutex<Plan> = Mutex::new(None);

    /// Calls `what` whenever a change by this process reaches `point`.
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

/// Does nothing without the feature.
#[cfg(not(feature = "fail-points"))]
#[inline]
pub(crate) fn reached(_point: FailPoint) {}
