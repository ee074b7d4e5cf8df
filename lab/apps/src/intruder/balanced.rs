//! Flows in a balanced tree, with the fragments of each in a sorted list: the structures of the
//! suite, in one code with and without transactions.
//!
//! A fragment is in one list, so its place follows from its number. Nothing is allocated.

use std::convert::Infallible;

use sinew::stm::{Tx, TxResult, atomically};

use super::traffic::Packet;
use super::{Flows, Structures};
use crate::balanced::{Access, Alone, Memory, Plain, Shared, Tree};

/// The index of no packet.
const NONE: u32 = u32::MAX;

/// The fragments that have arrived of a flow.
#[derive(Debug, Clone, Copy)]
struct Fragments {
    /// The packet of the first one, by number.
    first: u32,
    count: u32,
}

/// An element of a list, which is sorted by the fragments' numbers.
#[derive(Debug, Clone, Copy)]
struct Element {
    number: u32,
    /// The packet of the next one.
    next: u32,
}

/// The flows that are not complete yet.
pub(super) struct Trees<M: Memory> {
    flows: Tree<M, Fragments>,
    /// By packet.
    elements: Box<[M::Cell<Element>]>,
}

impl<M: Memory> Trees<M> {
    fn new(packets: &[Packet], flows: usize) -> Self {
        let mut begun = vec![false; flows];
        let begins = |packet: &&Packet| !std::mem::replace(&mut begun[packet.flow as usize], true);
        let order: Vec<u32> = packets.iter().filter(begins).map(|packet| packet.flow).collect();
        let unused = Element { number: 0, next: NONE };
        Self {
            flows: Tree::new(&order, Fragments { first: NONE, count: 0 }),
            elements: packets.iter().map(|_| M::cell(unused)).collect(),
        }
    }

    /// Enters the packet `index`. If that was the last of its flow, the flow is removed, and the
    /// first one of its list is returned.
    fn enter<'t, A: Access<'t, M>>(
        &'t self,
        a: &mut A,
        index: u32,
        packet: Packet,
    ) -> Result<Option<u32>, A::Lost> {
        let Packet { flow, number, of, .. } = packet;
        let entry = self.flows.find(a, flow)?;
        let before = entry.map_or(Ok(Fragments { first: NONE, count: 0 }), |entry| a.get(entry))?;
        let first = self.insert(a, before.first, index, number)?;
        let now = Fragments { first, count: before.count + 1 };
        match entry {
            _ if now.count == of => {
                self.flows.remove(a, flow)?;
                return Ok(Some(first));
            }
            Some(entry) => a.set(entry, now)?,
            None => self.flows.insert_new(a, flow, now)?,
        }
        Ok(None)
    }

    /// Inserts the packet `index` into the list that begins at `first`. Returns the new beginning.
    fn insert<'t, A: Access<'t, M>>(
        &'t self,
        a: &mut A,
        first: u32,
        index: u32,
        number: u32,
    ) -> Result<u32, A::Lost> {
        let (mut before, mut at) = (None, first);
        while at != NONE {
            let element: Element = a.get(&self.elements[at as usize])?;
            if element.number > number {
                break;
            }
            before = Some((at, element));
            at = element.next;
        }
        a.set(&self.elements[index as usize], Element { number, next: at })?;
        let Some((last, element)) = before else { return Ok(index) };
        a.set(&self.elements[last as usize], Element { next: index, ..element })?;
        Ok(first)
    }

    /// The packets of a list.
    fn packets<'t, A: Access<'t, M>>(
        &'t self,
        a: &mut A,
        mut at: u32,
    ) -> Result<Vec<u32>, A::Lost> {
        let mut packets = Vec::new();
        while at != NONE {
            packets.push(at);
            at = a.get(&self.elements[at as usize])?.next;
        }
        Ok(packets)
    }
}

impl Flows for Trees<Shared> {
    type Complete = u32;

    fn enter<'tx>(
        &'tx self,
        tx: &mut Tx<'tx, '_>,
        _worker: usize,
        index: u32,
        packet: Packet,
    ) -> TxResult<Option<u32>> {
        Trees::enter(self, tx, index, packet)
    }

    fn packets<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, complete: u32) -> TxResult<Vec<u32>> {
        Trees::packets(self, tx, complete)
    }

    fn left(&self) -> usize {
        atomically(|tx| self.flows.entries(tx)).len()
    }
}

/// Flows in balanced trees.
pub(super) struct Balanced;

impl Structures for Balanced {
    type Plain = Trees<Plain>;
    type Shared = Trees<Shared>;

    fn plain(packets: &[Packet], flows: usize) -> Self::Plain {
        Trees::new(packets, flows)
    }

    fn shared(packets: &[Packet], flows: usize) -> Self::Shared {
        Trees::new(packets, flows)
    }

    #[inline]
    fn enter(plain: &mut Self::Plain, index: u32, packet: Packet) -> Option<Vec<u32>> {
        let done: Result<_, Infallible> =
            plain.enter(&mut Alone, index, packet).and_then(|complete| {
                complete.map(|first| plain.packets(&mut Alone, first)).transpose()
            });
        let Ok(complete) = done;
        complete
    }

    fn left(plain: &Self::Plain) -> usize {
        let Ok(entries) = plain.flows.entries(&mut Alone);
        entries.len()
    }
}
