//! Bad triangles as the units of a worklist: each is made better in one transaction, and what is
//! bad then is added.

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
    report.locals.iter().map(|local| local.refused).sum()
}

struct Refinement<'a> {
    mesh: &'a Shared,
    domain: &'a Domain,
}

/// The local value of a worker.
#[derive(Default)]
struct Local {
    /// The hole of the last unit, whose vectors have grown.
    cavity: Cavity,
    /// Refused triangles.
    refused: u64,
}

impl<'env> Work<'env> for Refinement<'env> {
    type Unit = Bad;
    type Value = Outcome;
    type Local = Local;

    fn init(&self, _worker: usize) -> Local {
        Local::default()
    }

    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        bad: &Bad,
        local: &mut Local,
        more: &mut More<Bad>,
    ) -> TxResult<Outcome> {
        let mut inside = Inside { tx, mesh: self.mesh };
        refine(&mut inside, self.domain, &mut local.cavity, *bad, |bad| more.push(bad))
    }

    fn fold(&self, local: &mut Local, outcome: Outcome) {
        local.refused += u64::from(outcome == Outcome::Refused);
    }
}
