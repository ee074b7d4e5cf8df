//! Tables in transactions.
//!
//! Rows are values of hash maps: sessions ask for single numbers only. A customer's bookings are a
//! list. Its nodes lie in an array with three places for each session: a session books at most one
//! of each kind, only once, so its places are free. Nothing is allocated for them, and no two
//! sessions want the same.

use std::hash::BuildHasherDefault;

use rustc_hash::FxHasher;
use sinew::stm::{THashMap, TVar, Tx, TxResult, atomically};

use super::tables::{Audited, Booking, Choice, Kind, Records, Row, Tables};

/// The place of no node. There are far fewer sessions than a third of it.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Node {
    booking: Booking,
    /// The place of the customer's next node.
    next: u32,
}

/// The content of a place before its session uses it.
const UNUSED: Node = Node { booking: Booking { kind: Kind::Car, id: 0, price: 0 }, next: NONE };

type Map<V> = THashMap<u32, V, BuildHasherDefault<FxHasher>>;

/// The parallel versions' tables.
#[derive(Debug)]
pub(super) struct Shared {
    rows: [Map<Row>; 3],
    /// With the places of their first nodes.
    customers: Map<u32>,
    nodes: Box<[TVar<Node>]>,
}

impl Shared {
    /// Bytes for a session's places.
    pub(super) const BYTES: usize = 3 * size_of::<TVar<Node>>();

    /// Tables with these rows, entered in the given order, for `sessions` sessions. Customers hold
    /// nothing yet.
    pub(super) fn new(records: Records, sessions: usize) -> Self {
        let shared = Self {
            rows: records
                .rows
                .each_ref()
                .map(|rows| THashMap::with_hasher(rows.len(), BuildHasherDefault::default())),
            customers: THashMap::with_hasher(
                records.customers.len(),
                BuildHasherDefault::default(),
            ),
            nodes: (0..3 * sessions).map(|_| TVar::new(UNUSED)).collect(),
        };
        for (table, rows) in shared.rows.iter().zip(records.rows) {
            rows.into_iter().for_each(|(id, row)| _ = atomically(|tx| table.insert(tx, id, row)));
        }
        for (customer, _) in records.customers {
            atomically(|tx| shared.customers.insert(tx, customer, NONE));
        }
        shared
    }

    /// The tables, for a transaction.
    pub(super) fn access<'a, 'tx, 'env>(
        &'tx self,
        tx: &'a mut Tx<'tx, 'env>,
    ) -> Access<'a, 'tx, 'env> {
        Access { shared: self, tx }
    }

    /// The bookings of the nodes from `place` on.
    fn list<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, mut place: u32) -> TxResult<Vec<Booking>> {
        let mut bookings = Vec::new();
        while place != NONE {
            let node = self.nodes[place as usize].get(tx)?;
            bookings.push(node.booking);
            place = node.next;
        }
        Ok(bookings)
    }
}

impl Default for Shared {
    /// Empty tables, for no sessions.
    fn default() -> Self {
        Self::new(Records::default(), 0)
    }
}

impl Audited for Shared {
    fn records(&self) -> Records {
        let rows = self.rows.each_ref().map(|rows| atomically(|tx| rows.to_vec(tx)));
        let customers = atomically(|tx| self.customers.to_vec(tx));
        let held = |(customer, first)| (customer, atomically(|tx| self.list(tx, first)));
        Records { rows, customers: customers.into_iter().map(held).collect() }.in_order()
    }
}

/// [`Shared`] tables in a transaction.
#[derive(Debug)]
pub(super) struct Access<'a, 'tx, 'env> {
    shared: &'tx Shared,
    tx: &'a mut Tx<'tx, 'env>,
}

impl Access<'_, '_, '_> {
    /// Takes out of `wanted` what is held at the nodes from `place` on.
    fn keep_new(&mut self, wanted: &mut Choice, mut place: u32) -> TxResult<()> {
        while place != NONE {
            let node = self.shared.nodes[place as usize].get(self.tx)?;
            for choice in &mut *wanted {
                choice.take_if(|choice| choice.is_like(&node.booking));
            }
            place = node.next;
        }
        Ok(())
    }
}

impl Tables for Access<'_, '_, '_> {
    type Lost = sinew::stm::TxError;

    fn row(&mut self, kind: Kind, id: u32) -> TxResult<Option<Row>> {
        self.shared.rows[kind as usize].get(self.tx, &id)
    }

    fn put(&mut self, kind: Kind, id: u32, row: Row) -> TxResult<()> {
        self.shared.rows[kind as usize].insert(self.tx, id, row).map(drop)
    }

    fn strike(&mut self, kind: Kind, id: u32) -> TxResult<()> {
        self.shared.rows[kind as usize].remove(self.tx, &id).map(drop)
    }

    fn book(&mut self, customer: u32, session: u32, mut wanted: Choice) -> TxResult<Choice> {
        let known = self.shared.customers.get(self.tx, &customer)?;
        let mut first = known.unwrap_or(NONE);
        self.keep_new(&mut wanted, first)?;
        for &booking in wanted.iter().flatten() {
            let place = 3 * session + booking.kind as u32;
            self.shared.nodes[place as usize].set(self.tx, Node { booking, next: first })?;
            first = place;
        }
        if known != Some(first) {
            self.shared.customers.insert(self.tx, customer, first)?;
        }
        Ok(wanted)
    }

    fn leave(&mut self, customer: u32) -> TxResult<Option<Vec<Booking>>> {
        let first = self.shared.customers.remove(self.tx, &customer)?;
        first.map(|first| self.shared.list(self.tx, first)).transpose()
    }
}
