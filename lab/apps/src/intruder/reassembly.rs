//! Flows of which some fragments have arrived, in transactions.
//!
//! The fragments of a flow are a list that runs through the packets themselves: each packet has a
//! link of its own, so nothing is allocated for it. The map has the list's head and how long it is.
//! So a packet of a known flow changes one value of the map and its own link, without conflicts;
//! only the first and the last packet change buckets of the map.

use std::hash::BuildHasherDefault;

use rustc_hash::FxHasher;
use sinew::stm::{THashMap, TVar, Tx, TxResult, atomically};

use super::traffic::Packet;

/// The index of no packet.
const NONE: u32 = u32::MAX;

/// The fragments that have arrived of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fragments {
    /// The one that came last; its link leads to the one before.
    last: u32,
    count: u32,
}

/// The flows that are not complete yet.
#[derive(Debug)]
pub(super) struct Reassembly {
    flows: THashMap<u32, Fragments, BuildHasherDefault<FxHasher>>,
    /// For each packet the one of its flow that came before.
    links: Box<[TVar<u32>]>,
}

impl Reassembly {
    /// Sized for that many packets of this many flows.
    pub(super) fn new(packets: usize, flows: usize) -> Self {
        let links = (0..packets).map(|_| TVar::new(NONE));
        Self {
            flows: THashMap::with_hasher(flows, BuildHasherDefault::default()),
            links: links.collect(),
        }
    }

    /// Enters the packet `index`. If that was the last of its flow, the flow is removed, and its
    /// fragments are returned.
    pub(super) fn enter<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        index: u32,
        packet: Packet,
    ) -> TxResult<Option<Fragments>> {
        let Packet { flow, of, .. } = packet;
        let before = if of == 1 { None } else { self.flows.get(tx, &flow)? };
        let now = Fragments { last: index, count: before.map_or(0, |before| before.count) + 1 };
        if let Some(before) = before {
            self.links[index as usize].set(tx, before.last)?;
        }
        if now.count < of {
            self.flows.insert(tx, flow, now)?;
            return Ok(None);
        }
        if before.is_some() {
            self.flows.remove(tx, &flow)?;
        }
        Ok(Some(now))
    }

    /// The packets of a flow, in any order.
    pub(super) fn packets<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        fragments: Fragments,
    ) -> TxResult<Vec<u32>> {
        let Fragments { last: mut at, count } = fragments;
        let mut packets = Vec::with_capacity(count as usize);
        while at != NONE {
            packets.push(at);
            at = self.links[at as usize].get(tx)?;
        }
        Ok(packets)
    }

    /// Number of flows that have begun and are incomplete.
    pub(super) fn left(&self) -> usize {
        atomically(|tx| self.flows.to_vec(tx)).len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::detector::Detector;
    use super::super::traffic::{Shape, Traffic};
    use super::*;

    /// Blind to: what only transactions at the same time do wrong.
    #[test]
    fn a_flow_is_complete_when_its_last_fragment_has_arrived() {
        let shape = Shape { attack_percent: 10, longest: 9, flows: 50, seed: 3 };
        let traffic = Traffic::generate(shape, &Detector::new());
        let reassembly = Reassembly::new(traffic.packets.len(), 20);
        let mut arrived = [0; 50];
        let mut begun = 0;
        for (index, &packet) in (0..).zip(&traffic.packets) {
            let flow = packet.flow as usize;
            begun += usize::from(arrived[flow] == 0);
            arrived[flow] += 1;
            let complete = atomically(|tx| reassembly.enter(tx, index, packet));
            assert_eq!(complete.is_some(), arrived[flow] == packet.of);
            if let Some(complete) = complete {
                begun -= 1;
                let mut fragments = atomically(|tx| reassembly.packets(tx, complete));
                fragments.sort_unstable();
                let of_flow =
                    (0..=index).filter(|&at| traffic.packets[at as usize].flow == packet.flow);
                assert_eq!(fragments, of_flow.collect::<Vec<_>>());
            }
            assert_eq!(reassembly.left(), begun);
        }
        assert_eq!(begun, 0);
    }
}
