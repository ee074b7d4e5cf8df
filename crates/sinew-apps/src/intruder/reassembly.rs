//! Flows of which some fragments have arrived, in transactions.
//!
//! The fragments of a flow are a list that runs through the packets themselves: each packet has a link of its own, so nothing is allocated
//! in transactions. The map leads to the fragment that came first; its link also has the count, and later fragments are
//! hung in behind it. So a packet of a flow that is known changes two links, and the map is changed only by the first and by the last.

use sinew::stm::{TMap, TVar, Tx, TxResult, atomically};

use super::traffic::Packet;

/// The index of no packet.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Link {
    /// The packet behind this one.
    next: u32,
    /// At the first packet: how many have arrived.
    count: u32,
}

/// The flows that are not complete yet.
#[derive(Debug)]
pub(super) struct Reassembly {
    /// For each flow its first packet.
    flows: TMap<u32, u32>,
    /// By packet.
    links: Box<[TVar<Link>]>,
}

impl Reassembly {
    /// For that many packets.
    pub(super) fn new(packets: usize) -> Self {
        let links = (0..packets).map(|_| TVar::new(Link { next: NONE, count: 1 }));
        Self { flows: TMap::new(), links: links.collect() }
    }

    /// Enters the packet `index`. If that was the last of its flow, the flow is forgotten, and the answer is its first packet.
    pub(super) fn enter<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        index: u32,
        packet: Packet,
    ) -> TxResult<Option<u32>> {
        if packet.of == 1 {
            return Ok(Some(index));
        }
        let Some(first) = self.flows.get(tx, &packet.flow)? else {
            self.flows.insert(tx, packet.flow, index)?;
            return Ok(None);
        };
        let count = self.hang_in(tx, first, index)?;
        if count < packet.of {
            return Ok(None);
        }
        self.flows.remove(tx, &packet.flow)?;
        Ok(Some(first))
    }

    /// Puts a packet behind the first of its flow; answers how many there are now.
    fn hang_in<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, first: u32, index: u32) -> TxResult<u32> {
        let Link { next, count } = self.link(first).get(tx)?;
        self.link(index).set(tx, Link { next, count: 0 })?;
        self.link(first).set(tx, Link { next: index, count: count + 1 })?;
        Ok(count + 1)
    }

    fn link(&self, index: u32) -> &TVar<Link> {
        &self.links[index as usize]
    }

    /// The packets of a flow, in any order, from the first one on.
    pub(super) fn fragments<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, first: u32) -> TxResult<Vec<u32>> {
        let Link { mut next, count } = self.link(first).get(tx)?;
        let mut fragments = Vec::with_capacity(count as usize);
        fragments.push(first);
        while next != NONE {
            fragments.push(next);
            next = self.link(next).get(tx)?.next;
        }
        Ok(fragments)
    }

    /// How many flows have begun and are not complete.
    pub(super) fn left(&self) -> usize {
        atomically(|tx| self.flows.to_vec(tx)).len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::detector::Detector;
    use super::super::traffic::{Shape, Traffic};
    use super::*;

    /// Would miss: what only transactions at the same time do wrong.
    #[test]
    fn a_flow_is_complete_when_its_last_fragment_has_arrived() {
        let shape = Shape { attack_percent: 10, longest: 9, flows: 50, seed: 3 };
        let traffic = Traffic::generate(shape, &Detector::new());
        let reassembly = Reassembly::new(traffic.packets.len());
        let mut arrived = [0; 50];
        let mut begun = 0;
        for (index, &packet) in (0..).zip(&traffic.packets) {
            let flow = packet.flow as usize;
            begun += usize::from(arrived[flow] == 0);
            arrived[flow] += 1;
            let first = atomically(|tx| reassembly.enter(tx, index, packet));
            assert_eq!(first.is_some(), arrived[flow] == packet.of);
            if let Some(first) = first {
                begun -= 1;
                let mut fragments = atomically(|tx| reassembly.fragments(tx, first));
                fragments.sort_unstable();
                let of_flow = (0..=index).filter(|&at| traffic.packets[at as usize].flow == packet.flow);
                assert_eq!(fragments, of_flow.collect::<Vec<_>>());
            }
            assert_eq!(reassembly.left(), begun);
        }
        assert_eq!(begun, 0);
    }
}
