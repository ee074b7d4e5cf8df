//! A body that raises the number of threads of its own loop recruits helpers at once.
//!
//! Other participants would see the request only after their slices, and each would wake one
//! worker, which takes as long as a slice. So a participant of a controlled loop stores in its
//! worker how helpers are recruited. [`Control::set_threads`](crate::Control::set_threads) calls
//! that if it runs on this worker.
//!
//! # Invariants
//!
//! - U1: the recruiter of a worker lies on the worker's stack, below all code that uses it. The
//!   loop restores the previous recruiter when it returns.
//!
//! # Cost
//!
//! Two stores for a participant; a lookup of the worker for a request.
//!
//! # Tests
//!
//! `sinew-core`'s `tests/pool/prompt.rs`.

use std::cell::Cell;

use sinew_core::{Worker, WorkerLocal, with_current};

/// How the innermost controlled loop of a worker recruits helpers.
#[derive(Debug, Clone, Copy)]
struct Recruiter {
    /// The identity of the loop's control.
    control: usize,
    recruit: *const (dyn Fn() + 'static),
    /// The number of calls that the worker was serving when the loop began. Calls that it serves
    /// inside the loop are not bodies of the loop, and must not recruit.
    served: u32,
}

// SAFETY: only the thread that stored it calls it, below its own frame (U1). The loop removes it
// before another thread can own the worker.
unsafe impl Send for Recruiter {}

/// The recruiter of a worker's innermost controlled loop.
static RECRUITER: WorkerLocal<Cell<Option<Recruiter>>> = WorkerLocal::new(Cell::default);

/// Restores the recruiter of the enclosing loop when it is dropped.
struct RestoreRecruiter<'w>(&'w Cell<Option<Recruiter>>, Option<Recruiter>);

impl Drop for RestoreRecruiter<'_> {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

/// Runs `body`. A request to the control with this identity that `body` makes on this worker calls
/// `recruit`.
pub(crate) fn with<R>(
    w: &Worker,
    control: usize,
    recruit: &dyn Fn(),
    body: impl FnOnce() -> R,
) -> R {
    let recruit: *const (dyn Fn() + '_) = recruit;
    // SAFETY: it differs in its lifetime alone, and is used only while this call lasts (U1).
    let recruit = unsafe {
        std::mem::transmute::<*const (dyn Fn() + '_), *const (dyn Fn() + 'static)>(recruit)
    };
    let (slot, served) = (w.local(&RECRUITER), w.calls_served_now());
    let before = slot.replace(Some(Recruiter { control, recruit, served }));
    let _restore = RestoreRecruiter(slot, before);
    body()
}

/// Recruits helpers for this thread's innermost controlled loop, if it follows the control with
/// this identity.
pub(crate) fn recruit_others(control: usize) {
    let of_this = |w: &Worker| {
        let served = w.calls_served_now();
        w.local(&RECRUITER)
            .get()
            .filter(|recruiter| recruiter.control == control && recruiter.served == served)
    };
    if let Some(Recruiter { recruit, .. }) = with_current(|w| w.and_then(of_this)) {
        // SAFETY: U1.
        let recruit = unsafe { &*recruit };
        recruit();
    }
}
