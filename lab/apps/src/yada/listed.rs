//! Bad triangles as the units of a worklist: each is made better in one transaction, and what is
//! bad then is added.

use std::cell::Cell;

use sinew::worklist::{More, Work};
use sinew_stm::{Tx, TxResult};

use super::cavity::Cavity;
use super::domain::Domain;
use super::refine::{Outcome, refine};
use super::shared::{Inside, Shared};
use super::triangle::Bad;
use crate::lists::Lists;

/// Makes all of a mesh better, in the current pool; returns how many triangles were refused.
pub(super) fn refine_all(mesh: &Shared, domain: &Domain, bad: Vec<Bad>, lists: &Lists) -> u64 {
    if bad.is_empty() {
        return 0;
    }
    let mut list = lists.list();
    list.extend(bad);
    let report = lists.run(&mut list, &Refinement { mesh, domain });
    report.locals.iter().sum()
}

struct Refinement<'a> {
    mesh: &'a Shared,
    domain: &'a Domain,
}

thread_local! {
    /// The hole of the last unit, whose vectors have grown. A helper has its own.
    static CAVITY: Cell<Cavity> = Cell::default();
}

impl<'env> Work<'env> for Refinement<'env> {
    type Unit = Bad;
    type Value = Outcome;
    /// Refused triangles.
    type Local = u64;

    fn init(&self, _worker: usize) -> u64 {
        0
    }

    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        bad: &Bad,
        more: &mut More<Bad>,
    ) -> TxResult<Outcome> {
        let mut cavity = CAVITY.take();
        let mut inside = Inside { tx, mesh: self.mesh };
        let outcome = refine(&mut inside, self.domain, &mut cavity, *bad, |bad| more.push(bad));
        CAVITY.set(cavity);
        outcome
    }

    fn fold(&self, refused: &mut u64, outcome: Outcome) {
        *refused += u64::from(outcome == Outcome::Refused);
    }
}
