//! How fast each rank computes the elements of an array.
//!
//! Arrays that are made from each other share one record: of two arrays of one length the same rank
//! computes the elements.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use sinew_policy::balance::Balance;

/// The work of this rank since the last look, and the known speeds of all ranks.
#[derive(Debug, Clone)]
pub(super) struct Pace(Rc<Record>);

#[derive(Debug)]
struct Record {
    items: Cell<usize>,
    ns: Cell<u64>,
    ranks: Cell<usize>,
    balance: RefCell<Balance>,
}

impl Pace {
    pub(super) fn new() -> Self {
        let (items, ns, ranks) = (Cell::new(0), Cell::new(0), Cell::new(0));
        let balance = RefCell::new(Balance::new(0));
        Self(Rc::new(Record { items, ns, ranks, balance }))
    }

    /// Runs `pass` over so many elements of this rank.
    pub(super) fn measure<R>(&self, items: usize, pass: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = pass();
        let Record { items: all, ns, .. } = &*self.0;
        all.set(all.get() + items);
        ns.set(ns.get() + start.elapsed().as_nanos() as u64);
        result
    }

    /// The elements and nanoseconds of this rank since the last call.
    pub(super) fn take(&self) -> (usize, u64) {
        (self.0.items.take(), self.0.ns.take())
    }

    /// Learns what all ranks have computed. Returns to where the parts should move, if that pays.
    pub(super) fn learn(&self, all: &[(usize, u64)], bounds: &[usize]) -> Option<Vec<usize>> {
        let mut balance = self.0.balance.borrow_mut();
        if self.0.ranks.replace(all.len()) != all.len() {
            *balance = Balance::new(all.len() as u32);
        }
        for (rank, (items, cost)) in (0..).zip(all) {
            balance.learn(rank, *items, *cost);
        }
        balance.moved(bounds)
    }
}
