//! Mutex and condition variable without poisoning.
//!
//! Sinew runs no user code under these locks. A poisoned lock would only repeat a panic that is
//! already unwinding, so the wrappers drop the distinction.

#[cfg(loom)]
use loom::sync as imp;
#[cfg(shuttle)]
use shuttle::sync as imp;
#[cfg(not(any(loom, shuttle)))]
use std::sync as imp;

/// The guard of a locked [`Mutex`].
pub type MutexGuard<'a, T> = imp::MutexGuard<'a, T>;

/// A mutual-exclusion lock.
#[derive(Debug, Default)]
pub struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    /// An unlocked mutex around `value`.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new(value: T) -> Self {
        Self(imp::Mutex::new(value))
    }

    /// An unlocked mutex around `value`.
    #[cfg(any(loom, shuttle))]
    pub fn new(value: T) -> Self {
        Self(imp::Mutex::new(value))
    }

    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The value of a mutex that no other thread can lock any more.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The lock, or `None` if a thread holds it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }
}

/// A condition variable.
#[derive(Debug, Default)]
pub struct Condvar(imp::Condvar);

impl Condvar {
    /// A condition variable without waiters.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Self(imp::Condvar::new())
    }

    /// A condition variable without waiters.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self(imp::Condvar::new())
    }

    /// Releases the lock, waits for a notification (or a spurious wake-up), and takes the lock
    /// again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// As [`wait`](Self::wait), for about `ns` nanoseconds at most. Under a model checker the time
    /// is over at once.
    #[cfg(not(any(loom, shuttle)))]
    pub fn wait_for<'a, T>(&self, guard: MutexGuard<'a, T>, ns: u64) -> MutexGuard<'a, T> {
        let waited = self.0.wait_timeout(guard, std::time::Duration::from_nanos(ns));
        waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0
    }

    /// As [`wait`](Self::wait), but returns at once.
    #[cfg(any(loom, shuttle))]
    pub fn wait_for<'a, T>(&self, guard: MutexGuard<'a, T>, _ns: u64) -> MutexGuard<'a, T> {
        guard
    }

    /// Wakes one waiting thread.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiting threads.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
