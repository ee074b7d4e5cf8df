//! Moments in a change of the table at which a program may die: for tests, which must see it die
//! there and not somewhere.
//!
//! Without the feature `moments`, which only the tests of this crate ask for, nothing happens at
//! any of them.

/// A moment in a change, in the order in which they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
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

impl Moment {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Locked, Self::Held, Self::Writing, Self::Written, Self::Published];
}

#[cfg(feature = "moments")]
mod planned {
    use sinew_sync::lock::Mutex;

    use super::Moment;

    /// When to call what.
    type Plan = Option<(Moment, fn())>;

    static PLAN: Mutex<Plan> = Mutex::new(None);

    /// Has `what` called whenever a change of this process's reaches this moment.
    pub fn at_moment(moment: Moment, what: fn()) {
        *PLAN.lock() = Some((moment, what));
    }

    pub(crate) fn reached(moment: Moment) {
        let plan = *PLAN.lock();
        if let Some((_, what)) = plan.filter(|(planned, _)| *planned == moment) {
            what();
        }
    }
}

#[cfg(feature = "moments")]
pub use planned::at_moment;
#[cfg(feature = "moments")]
pub(crate) use planned::reached;

/// Nothing.
#[cfg(not(feature = "moments"))]
#[inline]
pub(crate) fn reached(_moment: Moment) {}
