//! Registration of running work that a cancellation of the pool ends.

use std::sync::Arc;

use sinew_sync::atomic::Ordering;

use crate::seams::cancel::CancelScope;
use crate::state::tls;

/// Registers running work that ends early when the pool [cancels](crate::PoolControl::cancel) it.
/// For skeletons without a control; a skeleton under a control has a registration.
///
/// ```
/// use sinew_core::{CancelRegistration, Pool};
///
/// let pool = Pool::builder().threads(2).build()?;
/// pool.run(|_| {
///     let cancel_registration = CancelRegistration::register();
///     pool.control().cancel();
///     assert!(cancel_registration.is_cancelled());
///     assert!(!CancelRegistration::register().is_cancelled());
/// });
/// # Ok::<(), sinew_core::BuildError>(())
/// ```
#[derive(Debug, Default)]
#[must_use = "it lasts until it is dropped"]
pub struct CancelRegistration {
    /// `None` outside of pools.
    scope: Option<Arc<CancelScope>>,
    noted: u64,
}

impl CancelRegistration {
    /// Registers work in the calling thread's pool, until the value is dropped. On a thread that
    /// works [`serially`](crate::serially) this is the enclosing pool.
    pub fn register() -> Self {
        let worker =
            tls::current().filter(|worker| !worker.pool().is_serial()).or_else(tls::around_serial);
        let Some(worker) = worker else { return Self::default() };
        let scope = Arc::clone(&worker.pool().cancel_scope);
        scope.under_way.fetch_add(1, Ordering::Relaxed);
        Self { noted: scope.cancellations(), scope: Some(scope) }
    }

    /// Whether the pool has cancelled its work since this registration.
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
