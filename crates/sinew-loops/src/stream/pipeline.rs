//! A running pipeline: the iterator, the pipeline tasks, and how many of them there are.

use std::collections::VecDeque;

use sinew_sync::lock::{Mutex, MutexGuard};

use super::stages::{SerialStage, Sink, StageContext};
use super::{BOUND, Options};
use crate::loops::ending::Ending;
use crate::participants::{Participants, Registration};
use crate::{Operation, Participant};
use sinew_core::{Cancelled, Scope, Worker};

/// The state that the tasks of a pipeline share.
pub(super) struct Pipeline<'e, I, E> {
    state: Mutex<State<'e, I>>,
    sink: &'e E,
    bound: usize,
    /// Carriers that run or are spawned. Changed under the lock of the state (L4).
    tasks: Participants,
    /// The maximum number of tasks without a control.
    threads: usize,
    operation: Option<Operation<'e>>,
    ending: Ending,
}

struct State<'e, I> {
    /// `None` while a task calls it.
    items: Option<I>,
    taken: usize,
    finished: usize,
    /// Items that the control's total contains.
    announced: usize,
    ended: bool,
    /// Stages with a parked item whose turn has come (L3).
    posted: VecDeque<&'e dyn SerialStage>,
}

impl<I> State<'_, I> {
    fn in_flight(&self) -> usize {
        self.taken - self.finished
    }

    /// Whether an item can be taken.
    fn can_take(&self, bound: usize) -> bool {
        self.items.is_some() && !self.ended && self.in_flight() < bound
    }

    fn is_done(&self) -> bool {
        self.ended && self.in_flight() == 0
    }
}

impl<'e, I, E> Pipeline<'e, I, E>
where
    I: Iterator<Item: Send> + Send,
    E: Sink<I::Item>,
{
    /// The caller is the first task.
    pub(super) fn new(
        w: &Worker,
        items: I,
        sink: &'e E,
        options: &Options<'e>,
    ) -> Result<Self, Cancelled> {
        let workers = w.max_threads();
        let threads = options.threads.clamp(1, workers);
        let state = State {
            announced: exact_length(&items),
            items: Some(items),
            taken: 0,
            finished: 0,
            ended: false,
            posted: VecDeque::new(),
        };
        let bound = options.bound.unwrap_or(BOUND * workers).max(1);
        let announced = state.announced as u64;
        let begin = |control| Ok(Operation::begin(control, announced)?.with_threads(threads));
        let operation = options.control.map(begin).transpose()?;
        Ok(Self {
            state: Mutex::new(state),
            sink,
            bound,
            tasks: Participants::new(0),
            threads,
            operation,
            ending: Ending::default(),
        })
    }

    pub(super) fn run(self, w: &Worker) -> Result<(), Cancelled> {
        let first = self.tasks.register();
        w.scope(|s| PipelineTask { pipeline: &self, s, w, registration: Some(first) }.run_items());
        self.ending.rethrow();
        if let Some(operation) = self.operation {
            operation.end();
        }
        if self.state.into_inner().is_done() { Ok(()) } else { Err(Cancelled) }
    }

    fn is_cancelled(&self) -> bool {
        self.operation.as_ref().is_some_and(Operation::is_cancelled)
    }

    /// Whether tasks are to drop what they have.
    fn is_over(&self) -> bool {
        self.ending.is_stopped() || self.is_cancelled()
    }

    /// How many tasks there may be now: as many as requested, and as the pool's limit allows.
    fn maximum(&self, w: &Worker) -> usize {
        match &self.operation {
            Some(operation) => {
                operation.follow_request();
                operation.maximum(w).unwrap_or(w.max_threads())
            }
            None => self.threads.min(w.allowed_threads()),
        }
    }
}

/// The number of items, if the iterator knows it; otherwise 0.
fn exact_length(items: &impl Iterator) -> usize {
    let (least, most) = items.size_hint();
    if most == Some(least) { least } else { 0 }
}

/// A task that runs items through the stages.
struct PipelineTask<'s, 'env, 'e, 'w, I, E> {
    pipeline: &'s Pipeline<'e, I, E>,
    s: &'s Scope<'s, 'env>,
    w: &'w Worker,
    /// `None` once the task has decided to leave.
    registration: Option<Registration<'s>>,
}

/// The next step of a task.
enum Step<'e, T> {
    Item(usize, T),
    SerialStage(&'e dyn SerialStage),
}

impl<'s, 'e, I, E> PipelineTask<'s, '_, 'e, '_, I, E>
where
    I: Iterator<Item: Send> + Send,
    E: Sink<I::Item>,
{
    /// Runs items as long as there are any. A panic ends the pipeline.
    fn run_items(mut self) {
        let pipeline = self.pipeline;
        pipeline.ending.guard(|| {
            let operation = pipeline.operation.as_ref();
            let _participant = Participant::enter(self.w, operation, 0);
            while let Some(step) = self.next() {
                match step {
                    Step::Item(number, item) => pipeline.sink.push(&self, number, item),
                    Step::SerialStage(stage) => stage.run(&self),
                }
                self.w.safe_point();
                self.w.check_limits();
                if let Some(operation) = operation {
                    operation.follow(self.w);
                }
            }
        });
    }

    /// The next step; `None` if the task leaves (L4).
    fn next(&mut self) -> Option<Step<'e, I::Item>> {
        let pipeline = self.pipeline;
        let mut state = pipeline.state.lock();
        loop {
            if pipeline.is_over() || pipeline.tasks.count() > pipeline.maximum(self.w) {
                break;
            }
            if let Some(stage) = state.posted.pop_front() {
                self.recruit(state);
                return Some(Step::SerialStage(stage));
            }
            if !state.can_take(pipeline.bound) {
                break;
            }
            let items = state.items.take()?;
            drop(state);
            let (number, item);
            (state, number, item) = self.take(items);
            if let Some(item) = item {
                self.recruit(state);
                return Some(Step::Item(number, item));
            }
        }
        // Under the lock (L4).
        self.registration = None;
        drop(state);
        None
    }

    /// Calls the iterator, without the lock, because it is the user's code. An iterator that panics
    /// is dropped, and not called again.
    fn take(&self, mut items: I) -> (MutexGuard<'s, State<'e, I>>, usize, Option<I::Item>) {
        let item = items.next();
        let mut state = self.pipeline.state.lock();
        state.items = Some(items);
        let number = state.taken;
        if item.is_none() {
            state.ended = true;
        } else {
            state.taken += 1;
            self.announce(&mut state);
        }
        (state, number, item)
    }

    /// Adds an item to the control's total, unless it was counted from the beginning.
    fn announce(&self, state: &mut State<'_, I>) {
        if let Some(operation) =
            self.pipeline.operation.as_ref().filter(|_| state.taken > state.announced)
        {
            state.announced = state.taken;
            operation.add_items(1);
        }
    }

    /// Spawns another task if there is work for it and fewer than the maximum run.
    fn recruit(&self, state: MutexGuard<'_, State<'e, I>>) {
        let has_work = !state.posted.is_empty() || state.can_take(self.pipeline.bound);
        let (pipeline, s) = (self.pipeline, self.s);
        if has_work && pipeline.tasks.count() < pipeline.maximum(self.w) {
            let registration = Some(pipeline.tasks.register());
            drop(state);
            s.spawn(move |w| PipelineTask { pipeline, s, w, registration }.run_items());
        }
    }
}

impl<'e, I, E> StageContext<'e> for PipelineTask<'_, '_, 'e, '_, I, E>
where
    I: Iterator<Item: Send> + Send,
    E: Sink<I::Item>,
{
    fn is_over(&self) -> bool {
        self.pipeline.is_over()
    }

    fn post(&self, stage: &'e dyn SerialStage) {
        let mut state = self.pipeline.state.lock();
        state.posted.push_back(stage);
        self.recruit(state);
    }

    fn stop(&self) {
        self.pipeline.ending.stop();
    }

    fn item_finished(&self) {
        self.pipeline.state.lock().finished += 1;
        if let Some(operation) = &self.pipeline.operation {
            operation.done(self.w, 1);
        }
    }
}
