//! The original program's loop: a heap of bad triangles that is shared by all workers, and three
//! transactions a triangle.
//!
//! One takes the worst from the heap, one makes it better, one puts what is bad now into the heap.
//! A worker that finds the heap empty leaves, as in the original: a worker with a triangle
//! continues with the new triangles.

use sinew::Worker;
use sinew_stm::{THeap, Transaction, atomically};

use super::cavity::Cavity;
use super::domain::Domain;
use super::refine::{Outcome, refine};
use super::shared::{Inside, Shared};
use super::triangle::Bad;
use crate::each_worker::on_each_worker;

/// Fills the heap.
pub(super) fn heap(bad: &[Bad]) -> THeap<Bad> {
    let heap = THeap::new();
    atomically(|tx| bad.iter().try_for_each(|bad| heap.push(tx, *bad)));
    heap
}

/// Makes all of a mesh better, with all workers; returns how many triangles were refused.
pub(super) fn refine_all(
    worker: &Worker,
    mesh: &Shared,
    domain: &Domain,
    heap: &THeap<Bad>,
    how: Transaction,
) -> u64 {
    on_each_worker(worker, |_| work_off(mesh, domain, heap, how)).into_iter().sum()
}

/// One worker's part.
fn work_off(mesh: &Shared, domain: &Domain, heap: &THeap<Bad>, how: Transaction) -> u64 {
    let (mut cavity, mut added, mut refused) = (Cavity::default(), Vec::new(), 0);
    while let Some(bad) = how.atomically(|tx| heap.pop(tx)) {
        let outcome = how.atomically(|tx| {
            added.clear();
            refine(&mut Inside { tx, mesh }, domain, &mut cavity, bad, |bad| added.push(bad))
        });
        refused += u64::from(outcome == Outcome::Refused);
        if !added.is_empty() {
            how.atomically(|tx| added.iter().try_for_each(|bad| heap.push(tx, *bad)));
        }
    }
    refused
}
