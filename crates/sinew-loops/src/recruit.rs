//! A body that raises the number of threads of its own loop recruits the others at once.
//!
//! Other participants see the request after their slice, and then wake one more worker, which takes
//! as long as a slice. So a participant of a controlled loop stores with its worker how others are
//! recruited, and a request made on that worker recruits them.
//!
//! # Invariants
//!
//! - U1: the recruiter of a worker lies on the worker's stack, below all code that uses it. The
//!   loop restores the one before when it returns.
//!
//! # Cost
//!
//! Two stores for a participant; a lookup of the worker for a change of the number.
//!
//! # Tests
//!
//! `sinew-core`'s `tests/pool/prompt.rs`.

use std::cell::Cell;

use sinew_core::{Worker, WorkerLocal, with_current};

/// The innermost controlled loop that a worker is in: its control, and how it recruits others.
#[derive(Debug, Clone, Copy)]
struct Recruiter {
    control: usize,
    call: *const (dyn Fn() + 'static),
    /// Calls that the worker was serving when the loop began. A call that it serves inside of the
    /// loop is none of the loop's bodies, and recruits no one.
    served: u32,
}

// SAFETY: only the thread that has stored it calls it, below its own frame (U1). Another thread
// finds it on no worker, because it is taken back before the worker changes its owner.
unsafe impl Send for Recruiter {}

/// The recruiter of the innermost controlled loop that a worker is in.
static RECRUITER: WorkerLocal<Cell<Option<Recruiter>>> = WorkerLocal::new(Cell::default);

/// Restores the recruiter of the enclosing loop.
struct Left<'w>(&'w Cell<Option<Recruiter>>, Option<Recruiter>);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

/// Runs `session` on a worker whose requests to `control`, named by its identity, may `call`
/// others.
pub(crate) fn with<R>(
    w: &Worker,
    control: usize,
    call: &dyn Fn(),
    session: impl FnOnce() -> R,
) -> R {
    let call: *const (dyn Fn() + '_) = call;
    // SAFETY: it differs in its lifetime alone, and is used only while this call lasts (U1).
    let call =
        unsafe { std::mem::transmute::<*const (dyn Fn() + '_), *const (dyn Fn() + 'static)>(call) };
    let (summons, served) = (w.local(&RECRUITER), w.calls_served_now());
    let before = summons.replace(Some(Recruiter { control, call, served }));
    let _left = Left(summons, before);
    session()
}

/// Recruits others for the innermost loop that this thread is in, if it follows the control of this
/// identity.
pub(crate) fn recruit_others(control: usize) {
    let of_this = |w: &Worker| {
        let served = w.calls_served_now();
        w.local(&RECRUITER)
            .get()
            .filter(|summons| summons.control == control && summons.served == served)
    };
    if let Some(Recruiter { call, .. }) = with_current(|w| w.and_then(of_this)) {
        // SAFETY: U1.
        let call = unsafe { &*call };
        call();
    }
}
