//! Records the task graph of a program: its tasks, and the work between forks and joins.
//!
//! Each strand (a call, a stolen arm, a task of a scope) writes marks: work, and the begin and end
//! of tasks. An arm that is not stolen is a part of its strand, so nothing is copied. A stolen arm
//! is a strand of its own, whose number the joiner's strand contains. [`Recording::take`] assembles
//! the strands to a graph.
//!
//! # Invariants
//!
//! - V1: the brackets of a strand match, as both arms of a join always run.
//! - V2: a thief's strand is kept, and its number is in its report (B2), before the scheduler
//!   reports the task as finished.
//! - V3: the work recorded between two checks of the thread's processor time is no more than that
//!   processor time. Time for which other threads had the core is no work.
//!
//! # Cost
//!
//! Beside that of the profile, one reading of the thread's processor time for each strand and each
//! interval of work of 20 us or more.
//!
//! # Not handled
//!
//! A strand beyond the maximum length continues as work without tasks. Tasks of a scope are
//! recorded as if all had been spawned at its end. Detached tasks are not recorded.

use std::cell::Cell;

use sinew_policy::graph::{Call, Graph, Token};
use sinew_sync::clock::{TICKS_PER_US, thread_cpu_ns, ticks, ticks_per_ns};
use sinew_sync::lock::Mutex;

/// The number of marks of a strand after which it records no new tasks: 64 MiB.
const MAX_MARKS: usize = 1 << 22;

/// Shorter preemptions are ignored: 20 us, in ticks.
const MIN_PREEMPTION: u64 = 20 * TICKS_PER_US;

/// One step of a strand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Ticks of work.
    Work(u64),
    Fork,
    Loop,
    Next,
    Join,
    /// All marks of the strand with this number.
    Strand(usize),
}

/// The strand that a worker is writing.
#[derive(Debug, Default)]
struct Strand {
    marks: Vec<Mark>,
    /// Open brackets that were not written.
    dropped_brackets: u32,
    /// When it began, in ticks.
    began: u64,
}

/// A worker's part of the recording.
#[derive(Default)]
pub(crate) struct Recorder {
    strand: Cell<Strand>,
    /// The strands of the tasks below the running one.
    suspended_strands: Cell<Vec<Strand>>,
    /// The worker's work when the last mark was made.
    at: Cell<u64>,
    /// The part of the time since then for which the thread waited for a core (V3).
    waited: Cell<u64>,
    /// The worker's work, and its thread's processor time, at the last check.
    last_check: Cell<(u64, Option<u64>)>,
    /// The marks of the last strand that ended.
    ended: Cell<Vec<Mark>>,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Recorder {
    /// Writes a mark, when the worker has done `work` in all. Returns whether the work up to it was
    /// written.
    pub(crate) fn mark(&self, work: u64, mark: Mark) -> bool {
        let mut strand = self.strand.take();
        let written = strand.add(self.since(work), mark);
        if written {
            self.begin_stretch(work);
        }
        self.strand.set(strand);
        written
    }

    /// The next stretch begins when the worker has done `work` in all.
    pub(crate) fn begin_stretch(&self, work: u64) {
        self.at.set(work);
        self.waited.set(0);
    }

    /// The work since the last mark.
    fn since(&self, work: u64) -> u64 {
        let all = work.saturating_sub(self.at.get());
        if all >= MIN_PREEMPTION {
            self.waited.set(self.waited.get() + self.waited_since_check(work));
        }
        all.saturating_sub(self.waited.get())
    }

    /// The excess of the work since the last check over the thread's processor time. The clocks
    /// differ slightly, so a short time counts as none.
    fn waited_since_check(&self, work: u64) -> u64 {
        let now = thread_cpu_ns();
        let (before, then) = self.last_check.replace((work, now));
        let Some(given_ns) = now.zip(then).map(|(now, then)| now.saturating_sub(then)) else {
            return 0;
        };
        let given = (given_ns as f64 * ticks_per_ns()) as u64;
        let waited = work.saturating_sub(before).saturating_sub(given);
        if waited < MIN_PREEMPTION { 0 } else { waited }
    }

    /// Begins a strand on top of the present one.
    pub(crate) fn suspend(&self, work: u64) {
        let mut strand = self.strand.take();
        strand.catch_up(self.since(work));
        let mut suspended_strands = self.suspended_strands.take();
        suspended_strands.push(strand);
        self.suspended_strands.set(suspended_strands);
        self.begin(work);
    }

    /// Ends the running strand, and resumes the suspended one.
    pub(crate) fn resume(&self, work: u64) {
        let ended = self.end(work).1;
        // The strand of a scope's task was ended and taken before.
        if !ended.is_empty() {
            self.ended.set(ended);
        }
        let mut suspended_strands = self.suspended_strands.take();
        self.strand.set(suspended_strands.pop().unwrap_or_default());
        self.suspended_strands.set(suspended_strands);
    }

    /// Begins a strand.
    pub(crate) fn begin(&self, work: u64) {
        self.begin_stretch(work);
        self.last_check.set((work, thread_cpu_ns()));
        self.strand.set(Strand { began: ticks(), ..Strand::default() });
    }

    /// Ends the strand. Returns when it began, and its marks.
    pub(crate) fn end(&self, work: u64) -> (u64, Vec<Mark>) {
        let mut strand = self.strand.take();
        strand.catch_up(self.since(work));
        self.begin_stretch(work);
        (strand.began, strand.marks)
    }

    /// The marks of the last strand that ended on this worker.
    pub(crate) fn take_ended(&self) -> Vec<Mark> {
        self.ended.take()
    }
}

impl Strand {
    fn catch_up(&mut self, work: u64) {
        if work > 0 {
            self.marks.push(Mark::Work(work));
        }
    }

    /// Writes a mark unless the strand is too long. Returns whether the work so far was written.
    fn add(&mut self, work: u64, mark: Mark) -> bool {
        let opens = matches!(mark, Mark::Fork | Mark::Loop);
        let is_muted = self.dropped_brackets > 0 || opens && self.marks.len() >= MAX_MARKS;
        // The work of a thief is always recorded.
        if !is_muted || matches!(mark, Mark::Strand(_)) {
            self.catch_up(work);
            self.marks.push(mark);
            return true;
        }
        match mark {
            Mark::Fork | Mark::Loop => self.dropped_brackets += 1,
            Mark::Join => self.dropped_brackets -= 1,
            _ => {}
        }
        false
    }
}

/// A call as it was recorded.
#[derive(Debug)]
struct Recorded {
    began: u64,
    ended: u64,
    marks: Vec<Mark>,
}

/// The recording of a pool.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    strands: Mutex<Vec<Vec<Mark>>>,
    calls: Mutex<Vec<Recorded>>,
    /// When the last recording was taken, or the pool was built.
    since: Mutex<u64>,
}

impl Recording {
    pub(crate) fn new() -> Self {
        Self { since: Mutex::new(ticks()), ..Self::default() }
    }

    /// Keeps a strand; returns its number.
    pub(crate) fn keep(&self, marks: Vec<Mark>) -> usize {
        let mut strands = self.strands.lock();
        strands.push(marks);
        strands.len() - 1
    }

    /// Records a call that has ended.
    pub(crate) fn record_call(&self, began: u64, marks: Vec<Mark>) {
        self.calls.lock().push(Recorded { began, ended: ticks(), marks });
    }

    /// The graph of all calls since the last recording was taken.
    pub(crate) fn take(&self) -> Graph {
        let strands = std::mem::take(&mut *self.strands.lock());
        let mut calls = std::mem::take(&mut *self.calls.lock());
        calls.sort_by_key(|call| call.began);
        let mut free_from = std::mem::replace(&mut *self.since.lock(), ticks());
        let ps = 1_000.0 / ticks_per_ns();
        let mut whole = Vec::new();
        for call in calls {
            let gap = call.began.saturating_sub(free_from);
            free_from = free_from.max(call.ended);
            let tokens = expanded(&call.marks, &strands, ps);
            // A call that a panic has cut off is left out (V1).
            whole.extend(Call::new((gap as f64 * ps) as u64, tokens));
        }
        Graph::new(whole)
    }
}

/// The tokens of `marks` and of all strands in it, in picoseconds, without the empty piece behind
/// the last one of a loop.
fn expanded(marks: &[Mark], strands: &[Vec<Mark>], ps: f64) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut loops = Vec::new();
    let mut ahead = vec![marks.iter()];
    while let Some(strand) = ahead.last_mut() {
        let token = match strand.next() {
            None => {
                ahead.pop();
                continue;
            }
            Some(Mark::Strand(number)) => {
                ahead.extend(strands.get(*number).map(|strand| strand.iter()));
                continue;
            }
            Some(Mark::Work(ticks)) => Token::Work((*ticks as f64 * ps) as u64),
            Some(Mark::Fork) => Token::Fork,
            Some(Mark::Loop) => Token::Loop,
            Some(Mark::Next) => Token::Next,
            Some(Mark::Join) => Token::Join,
        };
        match token {
            Token::Fork | Token::Loop => loops.extend([token == Token::Loop]),
            Token::Join if loops.pop() == Some(true) && tokens.last() == Some(&Token::Next) => {
                tokens.pop();
            }
            _ => {}
        }
        tokens.push(token);
    }
    tokens
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Catches: a stolen arm that is lost or put in another place, work that is counted twice or
    /// not at all.
    #[test]
    fn strands_are_put_together_where_their_joins_are() {
        let (recorder, recording) = (Recorder::default(), Recording::new());
        recorder.begin(100);
        recorder.mark(105, Mark::Fork);
        recorder.mark(115, Mark::Next);
        // Another task is run on top, and its strand kept.
        recorder.suspend(115);
        recorder.mark(120, Mark::Loop);
        recorder.mark(121, Mark::Next);
        recorder.mark(123, Mark::Next);
        recorder.mark(123, Mark::Join);
        recorder.resume(130);
        let strand = recording.keep(recorder.take_ended());
        recorder.mark(130, Mark::Strand(strand));
        recorder.mark(131, Mark::Join);
        let (_, marks) = recorder.end(134);
        let tokens = expanded(&marks, &recording.strands.lock(), 1.0);
        let call = Call::new(0, tokens).expect("balanced");
        assert_eq!(
            Graph::new(vec![call]).to_string(),
            "sinew graph 1\n0: 5(10|5{1|2}7+1)3\nend 1\n"
        );
    }

    /// Catches: time without a core that counts as work, and work that does not.
    #[cfg(target_os = "linux")]
    #[test]
    fn time_without_a_core_is_no_work() {
        let recorder = Recorder::default();
        recorder.begin(0);
        // It has run for far less than a thousand seconds.
        let thousand_s = 1_000_000_000 * TICKS_PER_US;
        recorder.mark(thousand_s, Mark::Fork);
        recorder.mark(thousand_s + 50, Mark::Next);
        let (_, marks) = recorder.end(thousand_s + 50);
        let work = |mark: &Mark| if let Mark::Work(ticks) = mark { *ticks } else { 0 };
        assert!(work(&marks[0]) < thousand_s / 10, "{marks:?}");
        assert_eq!(marks[marks.len() - 2..], [Mark::Work(50), Mark::Next]);
    }

    /// Catches: brackets that do not match once a strand is too long, and work that is lost
    /// then.
    #[test]
    fn a_strand_that_is_too_long_goes_on_as_work() {
        let mut strand = Strand { marks: vec![Mark::Next; MAX_MARKS], ..Strand::default() };
        assert!(
            !strand.add(5, Mark::Fork) && !strand.add(7, Mark::Loop) && !strand.add(7, Mark::Join)
        );
        assert!(!strand.add(9, Mark::Next) && !strand.add(9, Mark::Join));
        assert!(strand.add(9, Mark::Next));
        assert_eq!(strand.marks[MAX_MARKS..], [Mark::Work(9), Mark::Next]);
    }
}
