//! The version by hand: two queues, and three transactions a packet.

use sinew::Worker;
use sinew::stm::{TQueue, Transaction, atomically};

use super::detector::Findings;
use super::{Flows, Intruder, Structures, Verdict};
use crate::each_worker::on_each_worker;

/// The state that the workers share.
pub(super) struct ByHand<F: Flows> {
    /// Packets that have arrived, by index.
    captured: TQueue<u32>,
    reassembly: F,
    /// Complete flows.
    complete: TQueue<F::Complete>,
    how: Transaction,
}

impl<F: Flows> ByHand<F> {
    pub(super) fn new<S: Structures<Shared = F>>(intruder: &Intruder<S>) -> Self {
        let captured = TQueue::new();
        let indices = intruder.lists.ordered(intruder.indices());
        indices.into_iter().for_each(|index| atomically(|tx| captured.push(tx, index)));
        let (reassembly, how) = (intruder.reassembly(), intruder.lists.transaction());
        Self { captured, reassembly, complete: TQueue::new(), how }
    }

    pub(super) fn run<S: Structures>(&self, worker: &Worker, intruder: &Intruder<S>) -> Verdict {
        let parts = on_each_worker(worker, |member| self.detect(intruder, member));
        let found = parts.into_iter().sum();
        Verdict { found, left: self.reassembly.left() }
    }

    /// One worker's part: packets until the queue is empty.
    ///
    /// A worker that completes a flow then looks for a complete flow, so none is left at the end.
    fn detect<S: Structures>(&self, intruder: &Intruder<S>, member: usize) -> Findings {
        let mut inspector = intruder.inspector();
        while let Some(index) = self.how.atomically(|tx| self.captured.pop(tx)) {
            self.decode(intruder, member, index);
            if let Some(mut fragments) = self.next_complete() {
                inspector.inspect(&mut fragments);
            }
        }
        inspector.found
    }

    fn decode<S: Structures>(&self, intruder: &Intruder<S>, member: usize, index: u32) {
        let packet = intruder.packet(index);
        self.how.atomically(|tx| match self.reassembly.enter(tx, member, index, packet)? {
            Some(complete) => self.complete.push(tx, complete),
            None => Ok(()),
        });
    }

    /// The fragments of a flow that is complete, if there is one.
    fn next_complete(&self) -> Option<Vec<u32>> {
        self.how.atomically(|tx| {
            let complete = self.complete.pop(tx)?;
            complete.map(|complete| self.reassembly.packets(tx, complete)).transpose()
        })
    }
}
