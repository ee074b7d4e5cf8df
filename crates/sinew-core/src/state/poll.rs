//! Poll reasons: requests of other threads to a worker, through its poll word.
//!
//! A worker compares its poll word at every push and safe point. When a reason is set there, it
//! takes all reasons at once and calls the function of each. A module declares its own
//! [`PollReason`] with such a function. The steal request is the only reason that the task stack
//! defines itself.
//!
//! # Orderings
//!
//! The function of a reason is stored before the reason is set in a poll word (Release), and the
//! owner reads it after it has taken the reason (Acquire).
//!
//! # Cost
//!
//! None until a reason is set.

use std::fmt;
use std::sync::OnceLock;

use sinew_deque::stack::reason;
use sinew_sync::statics::{AtomicU32, Ordering};

use crate::state::worker::Worker;

/// The number of reasons in a poll word.
const ROOM: usize = 8;

type Handler = fn(&Worker);

/// The functions of the reasons, by number.
static HANDLERS: [OnceLock<Handler>; ROOM] = [const { OnceLock::new() }; ROOM];

/// The number of the next reason.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A reason that interrupts workers at their next push or safe point, and the function that they
/// then call. It is meant for a `static`; a process may have eight.
///
/// The function runs in the middle of a task. So it must be short, must not take a lock that a task
/// may hold, and must not run a task.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use sinew_core::{PollReason, Pool};
///
/// static CALLS: AtomicU32 = AtomicU32::new(0);
/// static COUNT: PollReason = PollReason::new(|_| drop(CALLS.fetch_add(1, Ordering::Relaxed)));
///
/// let pool = Pool::builder().threads(1).build()?;
/// pool.run(|w| {
///     pool.request_poll(&COUNT);
///     w.safe_point();
///     w.safe_point();
/// });
/// assert_eq!(CALLS.load(Ordering::Relaxed), 1);
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
pub struct PollReason {
    bit: OnceLock<usize>,
    handler: Handler,
}

impl PollReason {
    /// A reason for which each worker calls `handler`.
    pub const fn new(handler: fn(&Worker)) -> Self {
        Self { bit: OnceLock::new(), handler }
    }

    fn bit(&self) -> usize {
        *self.bit.get_or_init(|| {
            // Relaxed: the number publishes nothing else.
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let bit = reason::own(number);
            HANDLERS[number as usize].get_or_init(|| self.handler);
            bit
        })
    }
}

impl fmt::Debug for PollReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollReason").field("bit", &self.bit).finish_non_exhaustive()
    }
}

impl Worker {
    /// From any thread: the owner calls the reason's function at its next push or safe point.
    ///
    /// # Panics
    ///
    /// If the process has more reasons than a poll word has room for.
    pub(crate) fn ask(&self, reason: &PollReason) {
        self.stack.set_poll_reason(reason.bit());
    }

    /// Calls the functions of all reasons that are set, and publishes tasks for a thief.
    #[cold]
    #[inline(never)]
    pub(crate) fn look_up(&self) {
        if self.stack.is_fenced() && self.pool().relies_on_heavy_fences() {
            // SAFETY: as in `activate`.
            unsafe { self.stack.rely_on_heavy_fences() };
        }
        let reasons = self.stack.take_poll_reasons();
        if reasons >= reason::own(0) {
            self.handle(reasons);
        }
        if reasons & reason::STEAL_REQUEST != 0 {
            self.feed();
        }
    }

    #[cold]
    fn handle(&self, reasons: usize) {
        for (number, handler) in (0..).zip(&HANDLERS) {
            if let Some(handler) = handler.get().filter(|_| reasons & reason::own(number) != 0) {
                handler(self);
            }
        }
    }
}
