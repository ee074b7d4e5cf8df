//! The loop driver: how workers join a loop, and how it ends.
//!
//! All skeletons that are loops call [`drive`] with a body that gets ranges. Loops with a control
//! go to `controlled`, loops that are halved by joins to `split`; this file runs the others.
//!
//! The caller works at once, and offers *one* task on its own task stack by a join. A loop without
//! helpers costs one push and one pop, and a short one not even that: see [`alone`]. The thief of
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
//! One join for the loop, and no allocation; a claim, a reading of the time stamp, two loads and
//! two counters for a chunk.

use sinew_policy::chunk::{Halving, Schedule};
use sinew_policy::schedule::Mechanism;
use sinew_sync::atomic::{AtomicBool, Ordering};
use sinew_sync::clock::{TICKS_PER_US, ticks};

use super::auto::{ChunkTimer, Trial};
use super::controlled::{self, Slices};
use super::ending::Ending;
use super::options::Options;
use super::split::split;
use crate::participants::{Participants, Registration};
use crate::source::Source;
use sinew_core::{Cancelled, Worker};
use std::ops::{ControlFlow, Range};

/// Calls `piece` with disjoint ranges that cover `0..n`, on several workers at once.
///
/// Each participant makes a local state with `enter`, and drops it when it leaves. A body that
/// returns `Break` stops the loop.
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
    if options.control.is_some() || options.meter.is_some() || options.rounds.is_some() {
        let body = |slices: &mut Slices<'_>| run_slices(slices, &enter, &piece);
        return controlled::run(w, n, options, &body);
    }
    let (preset, pools) = (w.limit().schedule(), &mut None);
    let options = match preset.word() {
        0 => options,
        _ => {
            let schedule = preset.of_loop(options.schedule, options.open);
            &*pools.insert(Options { schedule, ..*options })
        }
    };
    drive_uncontrolled(w, n, options, enter, piece);
    Ok(())
}

/// One participant of a loop with a control, a meter or rounds.
fn run_slices<L, E, P>(slices: &mut Slices<'_>, enter: &E, piece: &P)
where
    E: Fn() -> L,
    P: Fn(&mut L, Range<usize>) -> ControlFlow<()>,
{
    let Some(mut range) = slices.next() else { return };
    let mut local = enter();
    loop {
        if piece(&mut local, range).is_break() {
            slices.stop();
        }
        match slices.next() {
            Some(next) => range = next,
            None => return,
        }
    }
}

/// A loop without a control.
#[inline]
fn drive_uncontrolled<L, E, P>(w: &Worker, n: usize, options: &Options, enter: E, piece: P)
where
    E: Fn() -> L + Sync,
    P: Fn(&mut L, Range<usize>) -> ControlFlow<()> + Sync,
{
    let participants = options.participants(w, n);
    if participants == 1 {
        run_serially(w, n, &enter, &piece);
    } else if let Some((splitter, grain)) = options.splitter(w) {
        #[expect(clippy::single_range_in_vec_init, reason = "a block of one dimension")]
        split(w, [0..n], splitter, [grain], &|[range]| piece(&mut enter(), range));
    } else {
        let mut trial = is_auto(options).then(|| Trial::begin(options, n, participants));
        let mut schedule = trial.as_ref().map_or(options.schedule, Trial::schedule);
        let (done, mut ran) = if Mechanism::of(schedule) == Mechanism::Ranges {
            alone(w, n, participants, &enter, &piece)
        } else {
            (0, true)
        };
        if done < n {
            if let Some(trial) = &mut trial {
                schedule = trial.schedule_after(done);
            }
            let source =
                Source::with_memory(schedule, n - done, participants, w.index(), options.memory);
            let piece = |local: &mut L, range: Range<usize>| {
                piece(local, range.start + done..range.end + done)
            };
            let (ending, trial) = (Ending::default(), trial.as_ref());
            let helpers = Helpers::new(w.index());
            let shared = Loop { source: &source, ending, helpers, enter, piece, trial };
            ran = shared.run(w, participants - 1);
            let ending = shared.ending;
            if let Some(memory) = options.memory {
                source.save_to(memory, ran);
            }
            ending.rethrow();
        }
        if let Some(trial) = trial {
            trial.end(ran);
        }
    }
}

#[inline]
fn is_auto(options: &Options<'_>) -> bool {
    options.schedule == Schedule::Auto
}

/// A loop without other participants.
#[inline]
fn run_serially<L, E, P>(w: &Worker, n: usize, enter: &E, piece: &P)
where
    E: Fn() -> L,
    P: Fn(&mut L, Range<usize>) -> ControlFlow<()>,
{
    if n > 0 {
        w.count_chunk();
        // A stop has nothing to stop.
        let _ = piece(&mut enter(), 0..n);
    }
}

/// A loop that takes at most this many ticks ends before a helper would pay off.
const SOLO_TICKS: u64 = 7 * TICKS_PER_US / 10;

/// The serial part at the beginning of a loop: the caller runs iterations without an offer while it
/// predicts that the loop ends soon. Returns how many iterations are done, and whether they all
/// ran; if the body asked to stop, all count as done.
///
/// The prediction extrapolates from the time so far. Steps grow from [`second_step`] to half a
/// share: a reading of the clock costs as much as some iterations of such a loop. A loop whose cost
/// jumps delays its offer by one step. While all workers have work, as in nested loops, none would
/// take an offer, and the later steps need no clock. Loops of few iterations are offered at once.
#[inline]
fn alone<L, E, P>(w: &Worker, n: usize, participants: usize, enter: &E, piece: &P) -> (usize, bool)
where
    E: Fn() -> L + Sync,
    P: Fn(&mut L, Range<usize>) -> ControlFlow<()> + Sync,
{
    let chunk = n / (8 * participants);
    if chunk == 0 {
        return (0, true);
    }
    let began = ticks();
    let mut local = enter();
    let (mut done, mut next) = (0, 1);
    let pieces = w.pieces(false);
    loop {
        w.count_chunk();
        // Not `(done + next).min(n)`: the sum may overflow.
        let range = done..done + next.min(n - done);
        done = range.end;
        if piece(&mut local, range).is_break() {
            return (n, false);
        }
        pieces.ended();
        if done == n {
            break;
        }
        if next > chunk && w.all_have_work() {
            continue;
        }
        let elapsed = ticks().saturating_sub(began);
        let predicted = elapsed.saturating_mul(n as u64) / done as u64;
        // The time of a single iteration predicts nothing, unless it is long by itself.
        if elapsed > SOLO_TICKS || (done > 1 && predicted > 2 * SOLO_TICKS) {
            break;
        }
        next = if done == 1 { second_step(chunk, elapsed) } else { 4 * chunk };
    }
    (done, true)
}

/// How many iterations follow the first, which took `elapsed` ticks, before the next prediction:
/// at most `chunk`. Nobody else gets these iterations, so they are few if they take long; the first
/// one may have waited for memory, so it counts for a quarter of its time.
#[inline]
fn second_step(chunk: usize, elapsed: u64) -> usize {
    const TICKS: u64 = 4 * SOLO_TICKS;
    /// With so many the clock's own time is a small part of the next measurement.
    const MOST: u64 = 64;
    let fitting = TICKS / elapsed.clamp(TICKS / MOST, TICKS);
    chunk.min(fitting as usize)
}

/// A loop of several participants.
struct Loop<'t, E, P> {
    /// Elsewhere, because it is large: it is not moved.
    source: &'t Source,
    ending: Ending,
    helpers: Helpers,
    enter: E,
    piece: P,
    /// The trial that times the chunks, if this run is one.
    trial: Option<&'t Trial>,
}

impl<L, E, P> Loop<'_, E, P>
where
    E: Fn() -> L + Sync,
    P: Fn(&mut L, Range<usize>) -> ControlFlow<()> + Sync,
{
    /// Returns whether all iterations ran. A panic is left to its ending.
    #[inline]
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
    #[inline]
    fn work(&self, w: &Worker, role: Role) {
        self.ending.guard(|| self.claim_all(w, role));
    }

    #[inline]
    fn claim_all(&self, w: &Worker, role: Role) {
        let slot = w.index();
        let Some(mut range) = self.source.claim(slot).or_else(|| self.source.steal(slot)) else {
            return;
        };
        let _registration = self.helpers.register(role);
        let mut local = (self.enter)();
        let pieces = w.pieces(true);
        let mut timer = self.trial.and_then(|trial| trial.chunk_timer(w.served_ns()));
        let mut began = ticks();
        let mut throughput = Throughput::new(w, self.source.is_timed(), began);
        loop {
            w.count_chunk();
            throughput.begins(w, range.len(), began);
            let (start, length) = (range.start, range.len());
            if (self.piece)(&mut local, range).is_break() {
                self.ending.stop();
            }
            pieces.ended();
            let now = ticks();
            let elapsed_ns = nominal_ns(now.saturating_sub(began));
            began = now;
            if let Some(timer) = &mut timer {
                ChunkTimer::ran(timer, w.served_ns(), start, length);
            }
            w.safe_point();
            w.check_limits();
            if self.ending.is_stopped() || self.helpers.should_leave(w, role) {
                break;
            }
            let least = Halving::not_worth_stealing(length, elapsed_ns);
            let elapsed_ns = || throughput.elapsed_ns(w);
            match self.source.claim_or_steal(slot, least, throughput.items, elapsed_ns) {
                (Some(next), _) => range = next,
                (None, _) => break,
            }
        }
        if self.source.is_timed() {
            self.source.measured(slot, throughput.items, throughput.elapsed_ns(w));
        }
        self.source.leave(slot);
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a step that takes a part of the loop whatever its iterations take, in which heavy
    /// iterations behind the first light one run serially.
    #[test]
    fn the_second_step_is_short_in_long_loops_and_shorter_if_the_first_iteration_is_long() {
        let long = usize::MAX / 16;
        assert_eq!(second_step(long, 0), 64);
        assert_eq!(second_step(4, 0), 4);
        assert_eq!(second_step(long, SOLO_TICKS / 2), 8);
        assert_eq!(second_step(4, SOLO_TICKS / 2), 4);
        assert_eq!(second_step(long, SOLO_TICKS), 4);
        assert_eq!(second_step(long, u64::MAX), 1);
    }
}
