//! The loop driver: how workers join a loop, and how it ends.
//!
//! All skeletons that are loops call [`drive`] with a body that gets ranges. Loops with a control
//! go to `controlled`, loops that are halved by joins to `split`; this file runs the others.
//!
//! The caller works at once, and offers *one* task on its own task stack by a join. A loop without
//! helpers costs one push and one pop, and a short one not even that: see [`Serial`]. The thief of
//! that task offers two more, each for half of the remaining helpers, and then works itself. So
//! helpers arrive in logarithmic time, and no thread has to wake them all.
//!
//! # Invariants
//!
//! - D1: the ranges that bodies of one loop get are disjoint and cover `0..n` unless the loop was
//!   stopped (I1 to I3 of the [chunk sources](crate::source)).
//! - D2: when [`drive`] returns or unwinds, no body of the loop runs any more: every participant is
//!   an arm of a join.
//! - D3: after a body has panicked or asked to stop, each participant ends after its present chunk.
//! - D4: when the pool's limit falls, helpers leave after their present chunk until at most the
//!   limit participate. Helpers on surplus workers leave first. The caller stays. If it is on a
//!   surplus worker, or is the external thread of a pool with a limit of one, one more helper
//!   leaves. The caller offers the loop again when it is alone and others may come.
//!
//! # Cost
//!
//! One join for the loop, and no allocation; a claim, a reading of the time stamp, two loads, two
//! counters and a call through a pointer for a chunk. The driver is compiled once. Each loop adds
//! its body three times: in the serial part, in a participant, and for one range alone.

use sinew_policy::chunk::Halving;
use sinew_sync::atomic::{AtomicBool, Ordering};
use sinew_sync::clock::{TICKS_PER_US, ticks};

use super::auto::{ChunkTimer, Trial};
use super::body::{Body, Code, Ranges};
use super::controlled;
use super::ending::Ending;
use super::options::Options;
use super::serial::{Offered, Serial};
use super::split::split;
use crate::participants::{Participants, Registration};
use crate::source::Source;
use sinew_core::observer::Pieces;
use sinew_core::{Cancelled, Worker};
use std::ops::{ControlFlow, Range};

/// Calls `piece` with disjoint ranges that cover `0..n`, on several workers at once.
///
/// Each participant makes a local state with `enter`, and drops it when it leaves. A body that
/// returns `Break` stops the loop.
///
/// This is compiled for each loop, and the rest once for all. In it is the serial part, because a
/// call through a pointer for each step would be seen in short loops.
///
/// # Errors
///
/// If the control or the pool cancelled the loop before all iterations were done. A loop without a
/// control is not cancelled.
///
/// # Panics
///
/// With the payload of the first body that panicked, after all participants have left.
#[inline]
pub(crate) fn drive<L, E, P>(
    w: &Worker,
    n: usize,
    options: &Options,
    enter: E,
    piece: P,
) -> Result<(), Cancelled>
where
    E: Fn() -> L + Sync,
    P: Fn(&mut L, Range<usize>) -> ControlFlow<()> + Sync,
{
    let code = Code { enter, piece };
    let mut begun = Begun::default();
    let on_pool;
    let options = match w.limit().schedule().word() {
        0 => options,
        _ => {
            on_pool = options.on_pool(w);
            &on_pool
        }
    };
    if !options.is_controlled() {
        let participants = options.participants(w, n);
        if participants == 1 {
            run_alone(w, 0..n, &code);
            return Ok(());
        }
        if let Some(mut serial) = Serial::of(w, n, options, participants, &mut begun.trial) {
            let first = serial.begin();
            code.run_all(&mut serial, first);
            if serial.done == n {
                if let Some(trial) = begun.trial {
                    trial.end(serial.ran);
                }
                return Ok(());
            }
            begun.offered = Some(serial.offered());
        }
    }
    run(w, n, options, &mut begun, &code)
}

/// The beginning of a loop, as its rest needs it.
#[derive(Default)]
struct Begun {
    /// The run of a loop that is on trial.
    trial: Option<Trial>,
    /// The serial part.
    offered: Option<Offered>,
}

/// The iterations `rest` of a loop, with one participant.
#[inline(always)]
fn run_alone(w: &Worker, rest: Range<usize>, body: &(impl Body + ?Sized)) {
    if !rest.is_empty() {
        w.count_chunk();
        // A stop has nothing to stop.
        let _ = body.run_one(rest);
    }
}

/// Runs `body` on several workers, which together run the rest of a loop. As [`drive`].
fn run(
    w: &Worker,
    n: usize,
    options: &Options<'_>,
    begun: &mut Begun,
    body: &dyn Body,
) -> Result<(), Cancelled> {
    if options.is_controlled() {
        return controlled::run(w, n, options, body);
    }
    run_uncontrolled(w, n, options, std::mem::take(begun), body);
    Ok(())
}

/// The rest of a loop without a control. The pool's limit may have changed since the loop began.
fn run_uncontrolled(
    w: &Worker,
    n: usize,
    options: &Options<'_>,
    Begun { mut trial, offered }: Begun,
    body: &dyn Body,
) {
    let start = offered.as_ref().map_or(0, |offered| offered.done);
    let participants = options.participants(w, n);
    if participants == 1 {
        run_alone(w, start..n, body);
    } else if let Some((splitter, grain)) = options.splitter_for(w, n) {
        #[expect(clippy::single_range_in_vec_init, reason = "a block of one dimension")]
        split(w, [start..n], splitter, [grain], move |[range]| body.run_one(range));
    } else {
        let schedule = match &mut trial {
            Some(trial) => trial.schedule_after(start),
            None => options.schedule,
        };
        let source =
            Source::with_memory(schedule, n - start, participants, w.index(), options.memory);
        let (ending, helpers) = (Ending::default(), Helpers::new(w.index()));
        let shared = Loop { source: &source, ending, helpers, body, start, trial: trial.as_ref() };
        let ran = shared.run(w, participants - 1);
        let ending = shared.ending;
        if let Some(memory) = options.memory {
            source.save_to(memory, ran);
        }
        ending.rethrow();
        if let Some(offered) = offered.filter(|_| ran) {
            offered.ended(w);
        }
        if let Some(trial) = trial {
            trial.end(ran);
        }
    }
}

/// A loop of several participants.
struct Loop<'t> {
    /// Elsewhere, because it is large: it is not moved.
    source: &'t Source,
    ending: Ending,
    helpers: Helpers,
    body: &'t dyn Body,
    /// The first iteration: the source counts from 0.
    start: usize,
    /// The trial that times the chunks, if this run is one.
    trial: Option<&'t Trial>,
}

impl Loop<'_> {
    /// Returns whether all iterations ran. A panic is left to its ending.
    fn run(&self, w: &Worker, helpers: usize) -> bool {
        // A second round runs the iterations that a participant which left early has not begun.
        while !self.is_over() {
            self.helpers.offered();
            let assist = |w: &Worker, is_helper| {
                // The caller has left the loop to offer it again, or all is done.
                if is_helper {
                    self.assist(w, helpers);
                }
            };
            w.join_context(|w| self.work(w, Role::Caller), assist);
        }
        !self.ending.is_stopped()
    }

    /// The first of `helpers` helpers: offers tasks for the others, and works.
    fn assist(&self, w: &Worker, helpers: usize) {
        let others = helpers - 1;
        if self.is_over() || self.helpers.is_unneeded(w) {
        } else if others == 0 {
            self.work(w, Role::Helper);
        } else if others == 1 {
            w.join(|w| self.work(w, Role::Helper), |w| self.assist(w, 1));
        } else {
            let near = others / 2;
            let here =
                |w: &Worker| w.join(|w| self.work(w, Role::Helper), |w| self.assist(w, near));
            w.join(here, |w| self.assist(w, others - near));
        }
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.ending.is_stopped() || self.source.is_exhausted()
    }

    /// Runs chunks until nothing is left.
    fn work(&self, w: &Worker, role: Role) {
        self.ending.guard(|| {
            let slot = w.index();
            if let Some(first) = self.source.claim(slot).or_else(|| self.source.steal(slot)) {
                let mut chunks = Chunks::enter(self, w, role);
                let first = chunks.begin(first);
                self.body.run(&mut chunks, first);
            }
        });
    }
}

/// The chunks of one participant of a loop.
struct Chunks<'l> {
    shared: &'l Loop<'l>,
    w: &'l Worker,
    role: Role,
    /// Times the chunks, if this run is a trial.
    timer: Option<ChunkTimer<'l>>,
    throughput: Throughput,
    pieces: Pieces<'l>,
    /// When the present chunk began, in ticks.
    began: u64,
    /// The first position of the present chunk, and its length.
    chunk: (usize, usize),
    _registration: Option<Registration<'l>>,
}

impl<'l> Chunks<'l> {
    /// A participant that has claimed its first chunk.
    #[inline]
    fn enter(shared: &'l Loop<'l>, w: &'l Worker, role: Role) -> Self {
        let _registration = shared.helpers.register(role);
        let pieces = w.pieces(true);
        let timer = shared.trial.and_then(|trial| trial.chunk_timer(w.served_ns()));
        let began = ticks();
        let throughput = Throughput::new(w, shared.source.is_timed(), began);
        let chunk = (0, 0);
        Self { shared, w, role, timer, throughput, pieces, began, chunk, _registration }
    }

    /// Begins a chunk of positions. Returns its iterations.
    #[inline]
    fn begin(&mut self, chunk: Range<usize>) -> Range<usize> {
        self.w.count_chunk();
        self.throughput.begins(self.w, chunk.len(), self.began);
        self.chunk = (chunk.start, chunk.len());
        chunk.start + self.shared.start..chunk.end + self.shared.start
    }

    /// Ends the present chunk, and claims the next one; `None` if the participant leaves.
    #[inline]
    fn claim(&mut self) -> Option<Range<usize>> {
        let Self { shared, w, .. } = *self;
        let (start, length) = self.chunk;
        self.pieces.ended();
        let now = ticks();
        let elapsed_ns = nominal_ns(now.saturating_sub(self.began));
        self.began = now;
        if let Some(timer) = &mut self.timer {
            timer.ran(w.served_ns(), start, length);
        }
        w.safe_point();
        w.check_limits();
        if shared.ending.is_stopped() || shared.helpers.should_leave(w, self.role) {
            return None;
        }
        let least = Halving::not_worth_stealing(length, elapsed_ns);
        let elapsed_ns = || self.throughput.elapsed_ns(w);
        shared.source.claim_or_steal(w.index(), least, self.throughput.items, elapsed_ns).0
    }

    fn leave(&self) {
        let (source, slot) = (self.shared.source, self.w.index());
        if source.is_timed() {
            source.measured(slot, self.throughput.items, self.throughput.elapsed_ns(self.w));
        }
        source.leave(slot);
    }
}

impl Ranges for Chunks<'_> {
    fn next(&mut self, flow: ControlFlow<()>) -> Option<Range<usize>> {
        if flow.is_break() {
            self.shared.ending.stop();
        }
        match self.claim() {
            Some(chunk) => Some(self.begin(chunk)),
            None => {
                self.leave();
                None
            }
        }
    }
}

/// The role of a participant, which decides how long it stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The loop's caller, which stays to the end, and offers the loop again (D4).
    Caller,
    /// A helper, which leaves when there are too many participants.
    Helper,
}

/// The participants, and the rule by which surplus helpers leave (D4).
///
/// All accesses are `Relaxed`: they publish nothing.
#[derive(Debug)]
struct Helpers {
    /// The worker index of the loop's caller.
    caller: usize,
    /// The participants; the caller is registered from the beginning.
    participants: Participants,
    /// Whether a helper has left or stayed away because there were too many.
    is_short: AtomicBool,
}

impl Helpers {
    #[inline]
    fn new(caller: usize) -> Self {
        Self { caller, participants: Participants::new(1), is_short: AtomicBool::new(false) }
    }

    /// The caller is about to offer the loop.
    #[inline]
    fn offered(&self) {
        self.is_short.store(false, Ordering::Relaxed);
    }

    #[inline]
    fn register(&self, role: Role) -> Option<Registration<'_>> {
        (role == Role::Helper).then(|| self.participants.register())
    }

    /// Whether the participant should leave between two chunks. Others run its remaining
    /// iterations.
    #[inline]
    fn should_leave(&self, w: &Worker, role: Role) -> bool {
        match role {
            Role::Caller => self.is_short.load(Ordering::Relaxed) && self.can_offer_cold(w),
            Role::Helper => !self.is_within_limit(w) && self.check_count_cold(w, 0),
        }
    }

    /// Whether there are enough participants without this worker, which is about to help.
    fn is_unneeded(&self, w: &Worker) -> bool {
        !self.is_within_limit(w) && self.check_count_cold(w, 1)
    }

    /// Whether a helper is within the limit by its worker's index. A caller beyond the limit takes
    /// one of these places.
    #[inline]
    fn is_within_limit(&self, w: &Worker) -> bool {
        let asked = w.allowed_threads();
        w.index() < asked - usize::from(self.caller >= asked)
    }

    /// Whether there are too many participants, including `coming` unregistered ones. If so, the
    /// caller learns that the loop is short of workers.
    #[inline(never)]
    fn check_count_cold(&self, w: &Worker, coming: usize) -> bool {
        let is_too_many =
            w.is_surplus() || self.participants.count() + coming > w.allowed_threads();
        if is_too_many {
            self.is_short.store(true, Ordering::Relaxed);
        }
        is_too_many
    }

    /// Whether the caller is alone and others may come. With helpers, it would first have to wait
    /// for them in its join.
    #[cold]
    fn can_offer_cold(&self, w: &Worker) -> bool {
        w.allowed_threads() > 1 && self.participants.count() == 1
    }
}

/// The speed of a participant, from which it predicts whether a range is worth stealing.
#[derive(Default)]
struct Throughput {
    chunks: u32,
    /// When the measurement began, in ticks.
    since: u64,
    /// The time that the worker had spent on calls from outside by then.
    served_ns: u64,
    /// Iterations that have begun since.
    items: usize,
}

impl Throughput {
    /// The chunk at which the measurement begins.
    const FIRST: u32 = 3;

    /// Measures from the first chunk on, which begins `now`, if the source needs all times.
    #[inline]
    fn new(w: &Worker, from_the_first: bool, now: u64) -> Self {
        let mut throughput = Self::default();
        if from_the_first {
            throughput.chunks = Self::FIRST;
            throughput.start(w, now);
        }
        throughput
    }

    #[inline]
    fn start(&mut self, w: &Worker, now: u64) {
        (self.since, self.served_ns) = (now, w.served_ns());
    }

    /// The time since the beginning, without that spent on calls from outside.
    fn elapsed_ns(&self, w: &Worker) -> u64 {
        let served_ns = w.served_ns() - self.served_ns;
        nominal_ns(ticks().saturating_sub(self.since)).saturating_sub(served_ns)
    }

    /// Counts a chunk of `items` iterations that begins `now`.
    #[inline]
    fn begins(&mut self, w: &Worker, items: usize, now: u64) {
        self.chunks = self.chunks.saturating_add(1);
        if self.chunks == Self::FIRST {
            self.start(w, now);
        }
        if self.chunks >= Self::FIRST {
            self.items += items;
        }
    }
}

/// Ticks in nanoseconds, as far as a prediction needs it.
#[inline]
fn nominal_ns(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000) / TICKS_PER_US
}
