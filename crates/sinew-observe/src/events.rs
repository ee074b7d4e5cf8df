//! The observer of one worker: maps the scheduler's events to changes of the worker's state.

use std::sync::Arc;

use sinew_core::observer::{Activity as Phase, Event, ScopeNote, Source, TaskNote, WorkerObserver};

use crate::activity::Activity;
use crate::counts::Count;
use crate::paths::Paths;
use crate::pool::PoolState;
use crate::scopes::ScopePaths;
use crate::state::{Report, WorkerState};

/// Profiles one worker.
pub(crate) struct WorkerProfiler {
    pub(crate) state: WorkerState,
    pub(crate) pool: Arc<PoolState>,
    /// The number of the worker.
    pub(crate) index: usize,
}

impl WorkerObserver for WorkerProfiler {
    fn on(&self, event: Event<'_>) {
        let state = &self.state;
        match event {
            Event::Push => state.switch(Activity::Spawn),
            Event::Fork => state.fork(),
            Event::FirstArmEnd => state.first_arm_ended(),
            Event::SecondArmBegin => state.second_arm_begins(),
            Event::JoinEnd { stolen } => state.join_ended(stolen),
            Event::LoopBegin { is_shared } => state.begin_loop(is_shared),
            Event::PieceEnd => state.piece_ended(),
            Event::LoopEnd => state.loop_ended(),
            Event::Begin(phase) => self.begin(phase),
            Event::End(Phase::Wait) => state.end_wait(),
            Event::End(_) => state.end(),
            Event::Chosen { found } => state.chosen(found),
            Event::Attempted { success } => state.attempted(success),
            Event::TaskBegin(source) => self.begin_task(source),
            Event::SpawnedTask(note) => self.begin_spawned(note),
            Event::TaskEnd(source) => self.end_task(source),
            Event::ScopeTaskEnd(note) => self.end_scope_task(note),
            Event::ScopeEnd(note) => self.end_scope(note),
            _ => self.on_rare(event),
        }
    }

    /// The note of a spawned task: where the task begins on the path of its scope, and its spawner.
    fn spawns(&self) -> TaskNote {
        self.state.counts().count(Count::Spawned);
        let [a, b, c] = self.state.path_now().plus(self.state.burdens).0;
        [a, b, c, self.index as u64]
    }
}

impl WorkerProfiler {
    fn on_rare(&self, event: Event<'_>) {
        let state = &self.state;
        match event {
            Event::Enter { calls: true } => state.enter(Activity::Application),
            Event::Enter { calls: false } => state.enter(Activity::Search),
            Event::Leave => state.switch(Activity::Away),
            Event::StealEnd if state.activity() == Activity::Steal => {
                state.switch(Activity::Search);
            }
            Event::Idle => state.counts().count(Count::Searches),
            Event::DetachedTaskEnd => self.pool.detached_ended(state.path_now()),
            Event::CallEnd => self.end_call(),
            _ => {}
        }
    }

    fn begin(&self, phase: Phase) {
        let state = &self.state;
        match phase {
            Phase::Wait => return state.begin_wait(),
            Phase::Choose => return state.begin_choice(),
            Phase::Publish => state.counts().count(Count::Queues),
            Phase::Park => state.counts().count(Count::Parks),
            _ => {}
        }
        state.begin(match phase {
            Phase::Spawn => Activity::Spawn,
            Phase::Take => Activity::Get,
            Phase::Publish if state.activity() == Activity::Get => Activity::GetQueue,
            Phase::Publish => Activity::SpawnQueue,
            Phase::Attempt => Activity::Claim,
            Phase::Park => Activity::Parked,
            _ => Activity::Search,
        });
    }

    fn begin_task(&self, source: Source) {
        let counts = self.state.counts();
        match source {
            Source::Outside => counts.count(Count::Injected),
            Source::Broadcast => counts.count(Count::Mailed),
            Source::Join { owner, .. } if owner == self.index => counts.count(Count::Inlined),
            Source::Join { .. } => counts.count(Count::Stolen),
            _ => {}
        }
        self.state.begin_task();
    }

    /// Begins a queued task with this note.
    fn begin_spawned(&self, [a, b, c, maker]: TaskNote) {
        let counts = self.state.counts();
        if maker == self.index as u64 {
            counts.count(Count::Inlined);
            counts.count(Count::Gets);
        } else {
            counts.count(Count::Stolen);
        }
        self.state.begin_at(Paths([a, b, c]));
    }

    fn end_task(&self, source: Source) {
        let Source::Join { owner, frame } = source else {
            self.state.end_task(None);
            return;
        };
        let path = self.state.end_task(Some(Activity::Steal));
        let strand = self.state.recorder.as_ref().zip(self.pool.recording());
        let strand = strand.map(|(recorder, recording)| recording.keep(recorder.take_ended()));
        self.pool.workers[owner].report(Report { frame, path, strand });
    }

    fn end_scope_task(&self, note: &ScopeNote) {
        let Some(paths) = note.downcast_ref::<ScopePaths>() else { return };
        paths.task_ended(self.state.start(), self.state.path_now());
        if let Some(((_, marks), recording)) = self.state.end_strand().zip(self.pool.recording()) {
            paths.keep(recording.keep(marks));
        }
    }

    fn end_scope(&self, note: &ScopeNote) {
        let Some(paths) = note.downcast_ref::<ScopePaths>() else { return };
        self.state.set_path(paths.end(self.state.path_now()));
        paths.marks().into_iter().for_each(|mark| self.state.mark(mark));
    }

    fn end_call(&self) {
        self.state.end_call();
        if let Some(((began, marks), recording)) =
            self.state.end_strand().zip(self.pool.recording())
        {
            recording.record_call(began, marks);
            self.state.begin_call();
        }
    }
}
