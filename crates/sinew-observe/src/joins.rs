//! The events of joins and loops: the profile reads the clock around arms and pieces, and combines
//! the paths through them.
//!
//! # Cost
//!
//! Five readings of the clock for a join that is not stolen, one for a piece of a loop.

use crate::activity::Activity;
use crate::counts::Count;
use crate::forks::{OpenJoin, OpenLoop};
use crate::recorder::Mark;
use crate::state::WorkerState;
use crate::times::Clock;

impl<C: Clock> WorkerState<C> {
    /// A join has pushed its second arm, and the first one begins.
    pub(crate) fn fork(&self) {
        self.counts().count(Count::Spawned);
        self.mark(Mark::Fork);
        self.joins.borrow_mut().push(OpenJoin::new(self.path()));
        self.switch(Activity::Application);
    }

    /// The first arm has ended.
    pub(crate) fn first_arm_ended(&self) {
        self.switch(Activity::Get);
        self.counts().count(Count::Gets);
        self.mark(Mark::Next);
        let end = self.path();
        if let Some(join) = self.joins.borrow_mut().last_mut() {
            join.first_arm_ended(end);
        }
    }

    /// The second arm begins on this worker, after the first one.
    pub(crate) fn second_arm_begins(&self) {
        self.counts().count(Count::Inlined);
        let start = self.joins.borrow().last().map(OpenJoin::start);
        self.switch(Activity::Application);
        self.set_path(start.unwrap_or_default());
    }

    /// Both arms have ended. `stolen` is the address of the join's frame if a thief ran the second
    /// arm.
    pub(crate) fn join_ended(&self, stolen: Option<usize>) {
        let Some(join) = self.joins.borrow_mut().pop() else { return };
        let second = match stolen {
            Some(frame) => self.take_stolen(frame),
            None => self.path_now().beyond(join.start()),
        };
        if self.activity() != Activity::Application {
            self.switch(Activity::Application);
        }
        self.mark(Mark::Join);
        self.set_path(join.end(second, &self.burdens));
    }

    /// The first piece of a loop begins. The recording contains only the work of a loop that is not
    /// shared.
    pub(crate) fn begin_loop(&self, is_shared: bool) {
        self.loops.borrow_mut().push(OpenLoop::new(self.path_now(), is_shared));
        self.mark_if(is_shared, Mark::Loop);
    }

    /// A piece has ended, and the next one may begin.
    pub(crate) fn piece_ended(&self) {
        let end = self.path_now();
        let mut loops = self.loops.borrow_mut();
        let Some(running) = loops.last_mut() else { return };
        self.mark_if(running.is_shared, Mark::Next);
        self.set_path(running.piece_ended(end));
    }

    /// The worker leaves the loop. The work of a piece that panicked remains on the path.
    pub(crate) fn loop_ended(&self) {
        let end = self.path_now();
        let Some(ended) = self.loops.borrow_mut().pop() else { return };
        self.mark_if(ended.is_shared, Mark::Join);
        self.set_path(ended.end(end, &self.burdens));
    }

    fn mark_if(&self, is_shared: bool, mark: Mark) {
        if is_shared {
            self.mark(mark);
        }
    }
}
