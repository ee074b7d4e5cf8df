//! The loops of applications whose two versions take the same steps and differ only in how they go about each.

use sinew::{Schedule, over};

/// A way to go about a loop: [`Serial`], or a schedule in the current pool.
pub(crate) trait Loops: Copy {
    /// Calls `f` with each item.
    fn each<T: Send>(self, items: &mut [T], f: impl Fn(&mut T) + Sync);

    /// `f` of each number below `length`, in order.
    fn map<R: Send>(self, length: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R>;
}

/// One item after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Serial;

impl Loops for Serial {
    fn each<T: Send>(self, items: &mut [T], f: impl Fn(&mut T) + Sync) {
        items.iter_mut().for_each(f);
    }

    fn map<R: Send>(self, length: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
        (0..length).map(f).collect()
    }
}

impl Loops for Schedule {
    fn each<T: Send>(self, items: &mut [T], f: impl Fn(&mut T) + Sync) {
        over(items).schedule(self).for_each(f);
    }

    fn map<R: Send>(self, length: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
        over(0..length).schedule(self).map(f)
    }
}
