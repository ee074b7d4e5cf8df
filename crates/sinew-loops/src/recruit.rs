//! A body that raises the number of threads of its own loop calls the others at once.
//!
//! Everybody else would see the wish after the slice under way, and then one more has to be woken,
//! which takes as long as a slice. So who works on a controlled loop leaves with its worker how
//! others are called, and the wish, made on that worker, calls them.
//!
//! # Invariants
//!
//! - U1: what a worker has here is on its stack, below whatever looks at it: who leaves it takes it
//!   back before it returns, and then has what was there before.
//!
//! # Cost
//!
//! Two stores for a participant; a look at the worker for a change of the number.
//!
//! # Tests
//!
//! `tests/pool/prompt.rs`.

use std::cell::Cell;

use sinew_core::{Worker, WorkerLocal, with_current};

/// How the innermost controlled loop that a worker is in calls others, and whose loop it is.
#[derive(Debug, Clone, Copy)]
struct Recruiter {
    control: usize,
    call: *const (dyn Fn() + 'static),
    /// Calls that the worker served when the loop began. A call that it serves inside of the loop
    /// is none of the loop's bodies, and calls nobody.
    served: u32,
}

// SAFETY: only the thread that has stored it calls it, below its own frame (U1). Another thread
// finds it on no worker, because it is taken back before the worker changes its owner.
unsafe impl Send for Recruiter {}

/// The summons of the innermost controlled loop that a worker is in.
static RECRUITER: WorkerLocal<Cell<Option<Recruiter>>> = WorkerLocal::new(Cell::default);

/// Takes the summons back.
struct Left<'w>(&'w Cell<Option<Recruiter>>, Option<Recruiter>);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

/// Runs `session` on a worker whose changes of `control`, named by its identity, may `call`
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

/// Calls others to the loop that this thread is in, if the control of this identity is its
/// innermost one's.
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
