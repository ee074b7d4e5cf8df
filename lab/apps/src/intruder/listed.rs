//! The version as a worklist: a packet is a unit.

use sinew::stm::{Tx, TxResult};
use sinew::worklist::{More, Work, Worklist};

use super::detector::Inspector;
use super::{Flows, Intruder, Structures, Verdict};

/// The state that the workers share.
pub(super) struct Listed<F> {
    /// Packets that have arrived, by index.
    captured: Worklist<u32>,
    reassembly: F,
}

impl<F: Flows> Listed<F> {
    pub(super) fn new<S: Structures<Shared = F>>(intruder: &Intruder<S>) -> Self {
        let mut captured = intruder.lists.list();
        // A list is emptied from its end.
        captured.extend(intruder.lists.ordered(intruder.indices()).into_iter().rev());
        Self { captured, reassembly: intruder.reassembly() }
    }

    pub(super) fn run<S: Structures<Shared = F>>(&mut self, intruder: &Intruder<S>) -> Verdict {
        let detection = Detection { intruder, reassembly: &self.reassembly };
        let report = intruder.lists.run(&mut self.captured, &detection);
        let found = report.locals.into_iter().map(|(_, inspector)| inspector.found).sum();
        Verdict { found, left: self.reassembly.left() }
    }
}

struct Detection<'i, S: Structures> {
    intruder: &'i Intruder<S>,
    reassembly: &'i S::Shared,
}

impl<'env, S: Structures> Work<'env> for Detection<'env, S> {
    type Unit = u32;
    /// The fragments of the flow that the unit has completed, if it has.
    type Value = Option<Vec<u32>>;
    /// With the worker's number.
    type Local = (usize, Inspector<'env>);

    fn init(&self, worker: usize) -> Self::Local {
        (worker, self.intruder.inspector())
    }

    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        &index: &u32,
        &mut (worker, _): &mut Self::Local,
        _more: &mut More<u32>,
    ) -> TxResult<Option<Vec<u32>>> {
        let complete = self.reassembly.enter(tx, worker, index, self.intruder.packet(index))?;
        complete.map(|complete| self.reassembly.packets(tx, complete)).transpose()
    }

    fn fold(&self, (_, inspector): &mut Self::Local, complete: Option<Vec<u32>>) {
        if let Some(mut fragments) = complete {
            inspector.inspect(&mut fragments);
        }
    }
}
