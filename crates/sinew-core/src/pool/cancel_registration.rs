//! Work under way in a pool, as what it was when it began: before or after a cancellation.

use std::sync::Arc;

use sinew_sync::atomic::Ordering;

use crate::seams::cancel::CancelScope;
use crate::state::tls;

/// Something under way in a pool that ends early when the pool
/// [cancels](crate::PoolControl::cancel), and can say that it has. For whoever writes skeletons
/// that follow no control; a skeleton under a control has it.
///
/// ```
/// use sinew_core::{CancelRegistration, Pool};
///
/// let pool = Pool::builder().threads(2).build()?;
/// pool.run(|_| {
///     let cancel_registration = CancelRegistration::register();
///     pool.control().cancel();
///     assert!(cancel_registration.is_cancelled() && !CancelRegistration::register().is_cancelled());
/// });
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
#[derive(Debug, Default)]
#[must_use = "it lasts until it is dropped"]
pub struct CancelRegistration {
    /// Outside of pools nobody cancels.
    scope: Option<Arc<CancelScope>>,
    noted: u64,
}

impl CancelRegistration {
    /// Something begins in the pool whose worker the calling thread is, and lasts until this is
    /// dropped. With a thread that works [`serially`](crate::serially), it is the pool around.
    pub fn register() -> Self {
        let worker =
            tls::current().filter(|worker| !worker.pool().is_serial()).or_else(tls::around_serial);
        let Some(worker) = worker else { return Self::default() };
        let scope = Arc::clone(&worker.pool().cancel_scope);
        scope.under_way.fetch_add(1, Ordering::Relaxed);
        Self { noted: scope.cancellations(), scope: Some(scope) }
    }

    /// Whether it is to end: the pool has cancelled since it began.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.scope.as_ref().is_some_and(|scope| scope.cancellations() != self.noted)
    }
}

impl Drop for CancelRegistration {
    fn drop(&mut self) {
        if let Some(scope) = &self.scope {
            scope.under_way.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
