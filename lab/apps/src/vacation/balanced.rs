//! Tables as balanced trees, with each customer's bookings in a sorted list: the structures of the
//! suite, in one code with and without transactions.
//!
//! A session books at most once a kind, so a booking's place in memory follows from both. Nothing
//! is allocated, and no two sessions want the same place.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::convert::Infallible;

use sinew::stm::{Tx, TxError, atomically};

use super::tables::{Audited, Booking, Choice, Kind, Records, Row, Structures, Tables};
use crate::balanced::{Access, Alone, Memory, Plain, Shared, Tree};

/// The number of no booking.
const NONE: u32 = u32::MAX;

/// An element of a customer's list, which is sorted by row.
#[derive(Debug, Clone, Copy)]
struct Held {
    booking: Booking,
    /// The place of the next one.
    next: u32,
}

impl Held {
    const UNUSED: Self = Self { booking: Booking { kind: Kind::Car, id: 0, price: 0 }, next: NONE };
}

/// The tables.
pub(super) struct Trees<M: Memory> {
    rows: [Tree<M, Row>; 3],
    /// With the places of their first bookings.
    customers: Tree<M, u32>,
    /// By session and kind.
    bookings: Box<[M::Cell<Held>]>,
}

impl<M: Memory> std::fmt::Debug for Trees<M> {
    /// Without the contents, which need an access.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trees").finish_non_exhaustive()
    }
}

impl Trees<Plain> {
    /// Tables with these rows, entered in the given order, for `sessions` sessions. Customers hold
    /// nothing yet.
    fn new(records: Records, sessions: usize) -> Self {
        let Records { rows, customers } = records;
        let customers: Vec<_> = customers.into_iter().map(|(id, _)| (id, NONE)).collect();
        Self {
            rows: rows.map(|rows| filled(&rows, Row::default())),
            customers: filled(&customers, NONE),
            bookings: (0..sessions * Kind::ALL.len()).map(|_| Plain::cell(Held::UNUSED)).collect(),
        }
    }

    /// The same tables, for transactions.
    fn shared(self) -> Trees<Shared> {
        Trees {
            rows: self.rows.map(Tree::shared),
            customers: self.customers.shared(),
            bookings: self.bookings.iter().map(|held| Shared::cell(held.get())).collect(),
        }
    }
}

/// A tree with these entries, entered in this order.
fn filled<V: Copy + Send + 'static>(entries: &[(u32, V)], like: V) -> Tree<Plain, V> {
    let keys: Vec<u32> = entries.iter().map(|(key, _)| *key).collect();
    let tree = Tree::new(&keys, like);
    for &(key, value) in entries {
        let Ok(()) = tree.insert_new(&mut Alone, key, value);
    }
    tree
}

impl<M: Memory> Trees<M> {
    /// The bookings from this place on.
    fn list<'t, A: Access<'t, M>>(
        &'t self,
        a: &mut A,
        mut at: u32,
    ) -> Result<Vec<Booking>, A::Lost> {
        let mut bookings = Vec::new();
        while at != NONE {
            let held = a.get(&self.bookings[at as usize])?;
            bookings.push(held.booking);
            at = held.next;
        }
        Ok(bookings)
    }

    fn records<'t, A: Access<'t, M>>(&'t self, a: &mut A) -> Result<Records, A::Lost> {
        let mut records = Records::default();
        for (into, tree) in records.rows.iter_mut().zip(&self.rows) {
            *into = tree.entries(a)?;
        }
        for (customer, first) in self.customers.entries(a)? {
            records.customers.push((customer, self.list(a, first)?));
        }
        Ok(records)
    }
}

impl Audited for Trees<Plain> {
    fn records(&self) -> Records {
        let Ok(records) = Trees::records(self, &mut Alone);
        records
    }
}

impl Audited for Trees<Shared> {
    fn records(&self) -> Records {
        atomically(|tx| Trees::records(self, tx))
    }
}

impl Default for Trees<Plain> {
    /// Empty tables, for no sessions.
    fn default() -> Self {
        Self::new(Records::default(), 0)
    }
}

impl Default for Trees<Shared> {
    /// Empty tables, for no sessions.
    fn default() -> Self {
        Trees::<Plain>::default().shared()
    }
}

/// [`Trees`] with an access.
struct Open<'t, M: Memory, A> {
    trees: &'t Trees<M>,
    access: A,
}

impl<'t, M: Memory, A: Access<'t, M>> Open<'t, M, A> {
    /// Enters a booking at `place` in the list that begins at `first`. Returns the new beginning,
    /// or `None` if the list has a booking of the same row.
    fn enter(&mut self, first: u32, booking: Booking, place: u32) -> Result<Option<u32>, A::Lost> {
        let bookings = &self.trees.bookings;
        let (mut before, mut at) = (None, first);
        while at != NONE {
            let held: Held = self.access.get(&bookings[at as usize])?;
            match held.booking.row().cmp(&booking.row()) {
                Equal => return Ok(None),
                Greater => break,
                Less => before = Some((at, held)),
            }
            at = held.next;
        }
        self.access.set(&bookings[place as usize], Held { booking, next: at })?;
        let Some((last, held)) = before else { return Ok(Some(place)) };
        self.access.set(&bookings[last as usize], Held { next: place, ..held })?;
        Ok(Some(first))
    }
}

impl<'t, M: Memory, A: Access<'t, M>> Tables for Open<'t, M, A> {
    type Lost = A::Lost;

    fn row(&mut self, kind: Kind, id: u32) -> Result<Option<Row>, A::Lost> {
        self.trees.rows[kind as usize].get(&mut self.access, id)
    }

    fn put(&mut self, kind: Kind, id: u32, row: Row) -> Result<(), A::Lost> {
        self.trees.rows[kind as usize].insert(&mut self.access, id, row)
    }

    fn strike(&mut self, kind: Kind, id: u32) -> Result<(), A::Lost> {
        self.trees.rows[kind as usize].remove(&mut self.access, id).map(drop)
    }

    fn book(&mut self, customer: u32, session: u32, mut wanted: Choice) -> Result<Choice, A::Lost> {
        let customers = &self.trees.customers;
        let known = customers.find(&mut self.access, customer)?;
        let before = known.map_or(Ok(NONE), |first| self.access.get(first))?;
        let mut first = before;
        for choice in &mut wanted {
            let Some(booking) = *choice else { continue };
            let place = session * Kind::ALL.len() as u32 + booking.kind as u32;
            match self.enter(first, booking, place)? {
                Some(now) => first = now,
                None => *choice = None,
            }
        }
        match known {
            Some(_) if first == before => Ok(()),
            Some(known) => self.access.set(known, first),
            None => customers.insert_new(&mut self.access, customer, first),
        }?;
        Ok(wanted)
    }

    fn leave(&mut self, customer: u32) -> Result<Option<Vec<Booking>>, A::Lost> {
        let first = self.trees.customers.remove(&mut self.access, customer)?;
        first.map(|first| self.trees.list(&mut self.access, first)).transpose()
    }
}

/// Tables as balanced trees.
pub(super) struct Balanced;

impl Structures for Balanced {
    type Plain = Trees<Plain>;
    type Shared = Trees<Shared>;

    const BYTES_A_SESSION: usize = 3 * size_of::<<Shared as Memory>::Cell<Held>>();

    fn plain(records: Records, sessions: usize) -> Self::Plain {
        Trees::new(records, sessions)
    }

    fn shared(records: Records, sessions: usize) -> Self::Shared {
        Trees::new(records, sessions).shared()
    }

    fn open(plain: &mut Self::Plain) -> impl Tables<Lost = Infallible> {
        Open { trees: plain, access: Alone }
    }

    fn access<'a, 'tx, 'env>(
        shared: &'tx Self::Shared,
        tx: &'a mut Tx<'tx, 'env>,
    ) -> impl Tables<Lost = TxError> {
        Open { trees: shared, access: tx }
    }
}
