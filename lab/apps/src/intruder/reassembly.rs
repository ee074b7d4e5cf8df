//! Flows of which some fragments have arrived, in transactions.
//!
//! A flow that begins gets consecutive places for all of its fragments, and the map has the first
//! of them and how many are filled. So a packet of a known flow changes one value of the map and
//! one place, and a complete flow is read from one part of memory. Lists that ran through the
//! packets took two fifths of the time, for the misses of their walk.
//!
//! Each worker has a block of places, and takes them from it in the transaction: an attempt that
//! aborts has taken none. Workers meet only when a block is used up.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use rustc_hash::{FxBuildHasher, FxHasher};
use sinew::stm::{TArray, THashMap, TVar, Tx, TxResult, atomically};
use sinew_sync::CachePadded;

use super::traffic::Packet;
use super::{Flows, Structures};

/// Blocks of workers: those with other numbers share them.
const BLOCKS: usize = 64;

/// Flows of the greatest length for which a block has places: so a sixteenth is left over at most.
const FLOWS: u32 = 16;

/// The fragments that have arrived of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fragments {
    /// Their first place.
    first: u32,
    count: u32,
}

/// Places that are free.
#[derive(Debug, Clone, Copy)]
struct Block {
    next: u32,
    end: u32,
}

/// The flows that are not complete yet.
#[derive(Debug)]
pub(super) struct Reassembly {
    flows: THashMap<u32, Fragments, BuildHasherDefault<FxHasher>>,
    /// The packets of the flows.
    places: TArray<u32>,
    blocks: Box<[CachePadded<TVar<Block>>]>,
    /// The places in front of the first one that belongs to no block.
    taken: TVar<u32>,
    /// Places of a block.
    block: u32,
}

impl Reassembly {
    /// Sized for these packets, of this many flows.
    fn new(packets: &[Packet], flows: usize) -> Self {
        let block = FLOWS * packets.iter().map(|packet| packet.of).max().unwrap_or(1);
        let left_over = packets.len() / FLOWS as usize + (BLOCKS + 1) * block as usize;
        let none = || CachePadded::new(TVar::new(Block { next: 0, end: 0 }));
        Self {
            flows: THashMap::with_hasher(flows, BuildHasherDefault::default()),
            places: TArray::new(packets.len() + left_over, 0),
            blocks: std::iter::repeat_with(none).take(BLOCKS).collect(),
            taken: TVar::new(0),
            block,
        }
    }

    /// Begins the flow of a packet, its first one.
    fn begin<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        worker: usize,
        packet: Packet,
    ) -> TxResult<Fragments> {
        let now = Fragments { first: self.take(tx, worker, packet.of)?, count: 1 };
        if packet.of > 1 {
            self.flows.insert(tx, packet.flow, now)?;
        }
        Ok(now)
    }

    /// Takes this many places; returns the first.
    fn take<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, worker: usize, count: u32) -> TxResult<u32> {
        let own = &self.blocks[worker % BLOCKS];
        let mut block = own.get(tx)?;
        if block.end - block.next < count {
            let next = self.taken.get(tx)?;
            block = Block { next, end: next + self.block };
            self.taken.set(tx, block.end)?;
        }
        own.set(tx, Block { next: block.next + count, ..block })?;
        Ok(block.next)
    }
}

impl Flows for Reassembly {
    type Complete = Fragments;

    fn enter<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        worker: usize,
        index: u32,
        packet: Packet,
    ) -> TxResult<Option<Fragments>> {
        let Packet { flow, of, .. } = packet;
        let entry = self.flows.entry(tx, flow)?;
        let now = match entry.value().copied() {
            Some(Fragments { first, count }) => {
                let now = Fragments { first, count: count + 1 };
                if now.count == of {
                    entry.remove()?;
                } else {
                    entry.insert(now)?;
                }
                now
            }
            None => self.begin(tx, worker, packet)?,
        };
        self.places.set(tx, (now.first + now.count - 1) as usize, index)?;
        Ok((now.count == of).then_some(now))
    }

    fn packets<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, fragments: Fragments) -> TxResult<Vec<u32>> {
        let Fragments { first, count } = fragments;
        let mut packets = Vec::with_capacity(count as usize);
        for place in first..first + count {
            packets.push(self.places.get(tx, place as usize)?);
        }
        Ok(packets)
    }

    fn left(&self) -> usize {
        atomically(|tx| self.flows.to_vec(tx)).len()
    }
}

/// Flows in hash maps.
pub(super) struct Hashed;

impl Structures for Hashed {
    type Plain = HashMap<u32, Vec<u32>, FxBuildHasher>;
    type Shared = Reassembly;

    fn plain(_packets: &[Packet], _flows: usize) -> Self::Plain {
        HashMap::default()
    }

    fn shared(packets: &[Packet], flows: usize) -> Reassembly {
        Reassembly::new(packets, flows)
    }

    #[inline]
    fn enter(flows: &mut Self::Plain, index: u32, packet: Packet) -> Option<Vec<u32>> {
        let Packet { flow, of, .. } = packet;
        let fragments = flows.entry(flow).or_insert_with(|| Vec::with_capacity(of as usize));
        fragments.push(index);
        if fragments.len() == of as usize { flows.remove(&flow) } else { None }
    }

    fn left(flows: &Self::Plain) -> usize {
        flows.len()
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
        let reassembly = Reassembly::new(&traffic.packets, 20);
        let mut arrived = [0; 50];
        let mut begun = 0;
        for (index, &packet) in (0..).zip(&traffic.packets) {
            let flow = packet.flow as usize;
            begun += usize::from(arrived[flow] == 0);
            arrived[flow] += 1;
            let complete = atomically(|tx| reassembly.enter(tx, flow, index, packet));
            assert_eq!(complete.is_some(), arrived[flow] == packet.of);
            if let Some(complete) = complete {
                begun -= 1;
                let fragments = atomically(|tx| reassembly.packets(tx, complete));
                let of_flow =
                    (0..=index).filter(|&at| traffic.packets[at as usize].flow == packet.flow);
                assert_eq!(fragments, of_flow.collect::<Vec<_>>());
            }
            assert_eq!(reassembly.left(), begun);
        }
        assert_eq!(begun, 0);
    }
}
