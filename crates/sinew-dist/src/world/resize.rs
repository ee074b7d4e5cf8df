//! Jobs that grow and shrink between two calls.
//!
//! A rank that leaves *rests*: its process stays, without work, and lends its cores. A job that
//! grows calls back the ranks that rest before it starts new ones. A started rank rests first and
//! is called back as the others are, so there is one way into the job.
//!
//! # Invariants
//!
//! - W5: ranks below the size take part in calls, the others rest. All ranks change the size
//!   between the same two calls.
//! - W6: a rank that rests gets messages from rank 0 alone; from others it gets those of calls
//!   after it was called back, and keeps them until then.

use std::fmt;

use serde::{Deserialize, Serialize};
use sinew_policy::lifelines::Members;

use super::{Inner, LOOK, ROUSE, World};
use crate::link::{Rank, State};
use crate::share::{lend, machine};
use crate::wire;

/// The end of [`World::shrink`] for a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a rank whose job is over makes no more calls"]
pub enum Shrunk {
    /// This rank takes part in the next call.
    Stayed,
    /// This rank has rested, and [`World::grow`] has called it back. It takes part in the next call
    /// after that one.
    Returned,
    /// The job has ended while this rank rested. The rank makes no more calls.
    Over,
}

/// Why a job does not grow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum GrowError {
    /// These ranks were lost; the job cannot grow any more.
    Lost(Vec<Rank>),
    /// The network cannot start ranks, for this reason.
    Network(String),
}

impl fmt::Display for GrowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(ranks) => write!(f, "a job that has lost ranks {ranks:?} cannot grow"),
            Self::Network(why) => write!(f, "no rank was started: {why}"),
        }
    }
}

impl std::error::Error for GrowError {}

/// A message of rank 0 to a rank that rests.
#[derive(Serialize, Deserialize)]
enum Rouse {
    /// All ranks start so many.
    Start(u32),
    /// The rank takes part in the call with the number `calls`, as one of `size` ranks.
    Come { calls: u64, size: u32, job: u64 },
}

impl World {
    /// Adds `more` ranks: those that rest, then new ones, which run this program from its
    /// beginning. In a new one [`World::joined`] returns true, and its next call is the one that
    /// the others make after `grow`. Data has to be moved to it: see [`Dist::spread`] and
    /// [`Grid::spread`].
    ///
    /// ```
    /// # use sinew_dist::{World, threads::Ranks};
    /// let program = |world: &World| {
    ///     if !world.joined() {
    ///         world.grow(2).unwrap();
    ///     }
    ///     world.all_reduce(1, |a, b| a + b)
    /// };
    /// assert_eq!(Ranks::new(1).run(program).unwrap(), [3, 3, 3]);
    /// ```
    ///
    /// Pools of ranks that share a machine divide it, as at the start of a job; a pool that does
    /// not share goes on as before.
    ///
    /// # Errors
    ///
    /// [`GrowError`], the same on all ranks; the job then has its former size.
    ///
    /// # Cost
    ///
    /// A call that gathers, and a message for each rank that comes. Over MPI a start of processes
    /// (`MPI_Comm_spawn`), in which all ranks wait, those that rest too.
    ///
    /// [`Dist::spread`]: crate::Dist::spread
    /// [`Grid::spread`]: crate::Grid::spread
    pub fn grow(&self, more: u32) -> Result<(), GrowError> {
        self.agree_on("grow", more);
        let lost = self.lost();
        if !lost.is_empty() {
            return Err(GrowError::Lost(lost));
        }
        let (own, size) = (self.rank(), self.size());
        let Some(wanted) = size.checked_add(more).filter(|size| *size <= i32::MAX as u32) else {
            return Err(GrowError::Network(format!("{size} and {more} ranks are too many")));
        };
        let mut inner = self.inner.borrow_mut();
        let ranks = inner.link.size();
        if wanted > ranks {
            let start = wanted - ranks;
            if own == 0 {
                (size..ranks).for_each(|rank| inner.rouse(rank, &Rouse::Start(start)));
            }
            inner.link.grow(start).map_err(GrowError::Network)?;
        }
        if own == 0 {
            let come =
                Rouse::Come { calls: self.calls.get(), size: wanted, job: self.job.number() };
            (size..wanted).for_each(|rank| inner.rouse(rank, &come));
        }
        inner.resize(wanted);
        drop(inner);
        self.meet();
        Ok(())
    }

    /// Lets the last `fewer` ranks rest. Their data must be moved to others before. On them the
    /// call returns when they are called back, or the job is over.
    ///
    /// ```
    /// # use sinew_dist::{Shrunk, World, threads::Ranks};
    /// let program = |world: &World| match world.shrink(2) {
    ///     Shrunk::Stayed => world.size(),
    ///     Shrunk::Returned | Shrunk::Over => 0,
    /// };
    /// assert_eq!(Ranks::new(3).run(program).unwrap(), [1, 0, 0]);
    /// ```
    ///
    /// # Panics
    ///
    /// If no rank would stay, and in a job that has lost ranks.
    ///
    /// # Cost
    ///
    /// Two messages a rank. A rank that rests looks at its messages ten times a second, and gives
    /// signs of life.
    #[track_caller]
    pub fn shrink(&self, fewer: u32) -> Shrunk {
        let size = self.size();
        assert!(fewer < size, "{fewer} of {size} ranks cannot rest: one must stay");
        assert!(self.lost().is_empty(), "a job that has lost ranks cannot shrink");
        self.agree_on("shrink", fewer);
        if self.rank() < size - fewer {
            self.inner.borrow_mut().resize(size - fewer);
            return Shrunk::Stayed;
        }
        match self.rest() {
            true => Shrunk::Returned,
            false => Shrunk::Over,
        }
    }

    /// Whether [`World::grow`] has started this rank.
    pub fn joined(&self) -> bool {
        self.inner.borrow().link.joined()
    }

    /// Ends the job if ranks want different numbers.
    fn agree_on(&self, what: &str, number: u32) {
        let (least, most) =
            self.all_reduce((number, number), |a: (u32, u32), b| (a.0.min(b.0), a.1.max(b.1)));
        if least < most {
            self.abort(&format!("`{what}` by {least} on one rank and by {most} on another"));
        }
    }

    /// Waits without work until rank 0 calls this rank back. Returns whether it did; else the job
    /// is over.
    pub(super) fn rest(&self) -> bool {
        if let Some(pool) = self.pool.get() {
            lend(pool);
        }
        let mut inner = self.inner.borrow_mut();
        inner.begin_rest(self.calls.get());
        loop {
            match inner.next_rouse() {
                Some(Rouse::Start(more)) => {
                    // If it fails, rank 0 calls no rank back.
                    let _ = inner.link.grow(more);
                }
                Some(Rouse::Come { calls, size, job }) => {
                    inner.resize(size);
                    inner.link.go_on_without(&[]);
                    self.calls.set(calls);
                    self.job.set(job);
                    break;
                }
                None if inner.left[0].is_some() => return false,
                None => inner.link.wait(LOOK),
            }
        }
        drop(inner);
        self.meet();
        true
    }

    /// The first call after a change: ranks learn who else is on their machine.
    fn meet(&self) {
        let own = machine();
        let here = self.all_gather(&own).into_iter().filter(|name| *name == own).count();
        self.ranks_here.set(here as u32);
    }
}

impl Inner {
    fn rouse(&mut self, rank: Rank, message: &Rouse) {
        self.link.send(rank, ROUSE, wire::pack(message));
    }

    /// The next message of rank 0. Keeps others.
    fn next_rouse(&mut self) -> Option<Rouse> {
        let message = self.find(|message| message.tag == ROUSE)?;
        match wire::unpack(&message.bytes) {
            Some(rouse) => Some(rouse),
            None => self.link.abort("a rank that rests received what is no message for it"),
        }
    }

    /// From now on this rank is not one of those that take part.
    fn begin_rest(&mut self, calls: u64) {
        let (own, since) = (self.link.rank(), std::time::Instant::now());
        self.resize(own);
        // A loss that the others survive does not end the job here either. Where the network cannot
        // do that, it ends the job itself.
        let _ = self.link.survive();
        let (sent, received) = (self.traffic.sent, self.traffic.received);
        self.state = State { call: "rest", number: calls, waits: true, since, sent, received };
        self.link.note(self.state);
    }

    /// From now on the ranks below `size` take part. Of those that stay some may have left already.
    fn resize(&mut self, size: u32) {
        self.size = size;
        self.members = Members::all(size);
        self.known = Members::all(size);
        self.left.resize(size as usize, None);
    }

    pub(super) fn rests(&self) -> bool {
        self.link.rank() >= self.size
    }
}
