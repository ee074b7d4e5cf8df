//! Tables in transactions.
//!
//! Rows are values of hash maps: sessions ask for single numbers only. A customer's bookings are a
//! list of pages with a few bookings each, so a walk through them waits for memory a few times
//! less. Each session has a page of its own, which it fills if the customer's first page has no
//! room: a session books once. So nothing is allocated, and no two sessions want the same page.

use std::convert::Infallible;
use std::hash::BuildHasherDefault;

use rustc_hash::FxHasher;
use sinew::stm::{THashMap, TVar, Tx, TxError, TxResult, atomically};

use super::plain::Plain;
use super::tables::{Audited, Booking, Choice, Kind, Records, Row, Structures, Tables};

/// The number of no page. There are far fewer sessions.
const NONE: u32 = u32::MAX;

/// Bookings of a page, which fills two cache lines with them. At least those of one session.
const BOOKINGS: usize = 14;

/// A booking as it lies on a page.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// The number of the row and its kind.
    row: u32,
    price: u32,
}

/// The bits of a row's number below its kind. There are at most 10⁸ rows.
const ID_BITS: u32 = 30;

impl From<Booking> for Held {
    fn from(Booking { kind, id, price }: Booking) -> Self {
        Self { row: (kind as u32) << ID_BITS | id, price }
    }
}

impl From<Held> for Booking {
    fn from(Held { row, price }: Held) -> Self {
        let kind = Kind::ALL[(row >> ID_BITS) as usize];
        Self { kind, id: row & ((1 << ID_BITS) - 1), price }
    }
}

#[derive(Debug, Clone, Copy)]
struct Page {
    bookings: [Held; BOOKINGS],
    count: u32,
    /// The number of the customer's next page.
    next: u32,
}

impl Page {
    /// A page before its session uses it.
    const UNUSED: Self =
        Self { bookings: [Held { row: 0, price: 0 }; BOOKINGS], count: 0, next: NONE };

    fn bookings(&self) -> &[Held] {
        &self.bookings[..self.count as usize]
    }

    fn add(&mut self, booking: Booking) {
        self.bookings[self.count as usize] = booking.into();
        self.count += 1;
    }
}

/// A page with two neighbouring cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Line(TVar<Page>);

const _: () = assert!(size_of::<Line>() == 128, "a page fills its lines");

type Map<V> = THashMap<u32, V, BuildHasherDefault<FxHasher>>;

/// The parallel versions' tables.
#[derive(Debug)]
pub(super) struct Shared {
    rows: [Map<Row>; 3],
    /// With the numbers of their first pages.
    customers: Map<u32>,
    /// By session.
    pages: Box<[Line]>,
}

impl Shared {
    /// Tables with these rows, entered in the given order, for `sessions` sessions. Customers hold
    /// nothing yet.
    fn new(records: Records, sessions: usize) -> Self {
        let shared = Self {
            rows: records
                .rows
                .each_ref()
                .map(|rows| THashMap::with_hasher(rows.len(), BuildHasherDefault::default())),
            customers: THashMap::with_hasher(
                records.customers.len(),
                BuildHasherDefault::default(),
            ),
            pages: (0..sessions).map(|_| Line(TVar::new(Page::UNUSED))).collect(),
        };
        for (table, rows) in shared.rows.iter().zip(records.rows) {
            rows.into_iter().for_each(|(id, row)| _ = atomically(|tx| table.insert(tx, id, row)));
        }
        for (customer, _) in records.customers {
            atomically(|tx| shared.customers.insert(tx, customer, NONE));
        }
        shared
    }

    fn page<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, number: u32) -> TxResult<Page> {
        self.pages[number as usize].0.get(tx)
    }

    /// The bookings of the pages from this one on.
    fn list<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, mut number: u32) -> TxResult<Vec<Booking>> {
        let mut bookings = Vec::new();
        while number != NONE {
            let page = self.page(tx, number)?;
            bookings.extend(page.bookings().iter().map(|&held| Booking::from(held)));
            number = page.next;
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
struct Access<'a, 'tx, 'env> {
    shared: &'tx Shared,
    tx: &'a mut Tx<'tx, 'env>,
}

impl Access<'_, '_, '_> {
    /// Takes out of `wanted` what is on the pages from this one on. Returns the number of bookings
    /// on this one.
    fn keep_new(&mut self, wanted: &mut Choice, first: u32) -> TxResult<usize> {
        let (mut number, mut count) = (first, 0);
        while number != NONE {
            let page = self.shared.page(self.tx, number)?;
            let held = page.bookings();
            for choice in &mut *wanted {
                choice.take_if(|choice| {
                    let row = Held::from(*choice).row;
                    held.iter().any(|held| held.row == row)
                });
            }
            if number == first {
                count = held.len();
            }
            number = page.next;
        }
        Ok(count)
    }

    /// Writes bookings to the page `first` of a customer, which has `count`, or to a new one, that
    /// of the session. Returns the number of the customer's first page then.
    fn write(
        &mut self,
        session: u32,
        bookings: &Choice,
        (first, count): (u32, usize),
    ) -> TxResult<u32> {
        let new = bookings.iter().flatten().count();
        if new == 0 {
            return Ok(first);
        }
        let has_room = first != NONE && count + new <= BOOKINGS;
        let number = if has_room { first } else { session };
        self.shared.pages[number as usize].0.update(self.tx, |page| {
            if !has_room {
                page.next = first;
            }
            bookings.iter().flatten().for_each(|booking| page.add(*booking));
        })?;
        Ok(number)
    }
}

impl Tables for Access<'_, '_, '_> {
    type Lost = TxError;

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
        let first = known.unwrap_or(NONE);
        let count = self.keep_new(&mut wanted, first)?;
        let first = self.write(session, &wanted, (first, count))?;
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

/// Tables as hash maps.
pub(super) struct Hashed;

impl Structures for Hashed {
    type Plain = Plain;
    type Shared = Shared;

    const BYTES_A_SESSION: usize = size_of::<Line>();

    fn plain(records: Records, _sessions: usize) -> Plain {
        Plain::new(records)
    }

    fn shared(records: Records, sessions: usize) -> Shared {
        Shared::new(records, sessions)
    }

    fn open(plain: &mut Plain) -> impl Tables<Lost = Infallible> {
        plain
    }

    fn access<'a, 'tx, 'env>(
        shared: &'tx Shared,
        tx: &'a mut Tx<'tx, 'env>,
    ) -> impl Tables<Lost = TxError> {
        Access { shared, tx }
    }
}
