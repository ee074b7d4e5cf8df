//! The tables of the travel agency, as its sessions see them.
//!
//! Sessions are written once, for any [`Tables`]: the serial version's, and those in transactions.

use std::convert::Infallible;

use sinew::stm::{Tx, TxError};

/// The kinds of bookings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Car,
    Flight,
    Room,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Car, Self::Flight, Self::Room];
}

/// A row of a table: a number of cars, places or rooms of one kind, at one price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) total: u32,
    pub(super) used: u32,
    pub(super) free: u32,
    pub(super) price: u32,
}

impl Row {
    /// A row of `many`, all free.
    pub(super) fn new(total: u32, price: u32) -> Self {
        Self { total, used: 0, free: total, price }
    }

    /// With one of the free ones in use.
    pub(super) fn taken(self) -> Self {
        Self { used: self.used + 1, free: self.free - 1, ..self }
    }

    /// With one of the used ones free.
    pub(super) fn given_back(self) -> Self {
        Self { used: self.used - 1, free: self.free + 1, ..self }
    }

    /// Adds `many`, at a new price.
    pub(super) fn enlarged(self, by: u32, price: u32) -> Self {
        Self { total: self.total + by, free: self.free + by, price, ..self }
    }

    /// Removes `many`.
    pub(super) fn reduced(self, by: u32) -> Self {
        Self { total: self.total - by, free: self.free - by, ..self }
    }
}

/// The bookings of a customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Booking {
    pub(super) kind: Kind,
    pub(super) id: u32,
    pub(super) price: u32,
}

impl Booking {
    /// The row that is booked.
    pub(super) fn row(&self) -> (Kind, u32) {
        (self.kind, self.id)
    }

    /// Whether both are of the same row.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.row() == other.row()
    }
}

/// At most one booking of each kind.
pub(super) type Choice = [Option<Booking>; 3];

/// A table for each kind, and one of customers with what they hold.
///
/// A caller that receives `Lost` cannot continue this session, which then has had no effect.
pub(super) trait Tables {
    type Lost;

    /// The row `id`.
    fn row(&mut self, kind: Kind, id: u32) -> Result<Option<Row>, Self::Lost>;

    /// Makes `row` the row `id`, which may be there already.
    fn put(&mut self, kind: Kind, id: u32, row: Row) -> Result<(), Self::Lost>;

    /// Removes the existing row `id`.
    fn strike(&mut self, kind: Kind, id: u32) -> Result<(), Self::Lost>;

    /// Enters those bookings of `wanted` that the customer does not hold yet, and the customer, if
    /// new. Answers which were entered.
    ///
    /// `session` is the number of the session, which does that once.
    fn book(&mut self, customer: u32, session: u32, wanted: Choice) -> Result<Choice, Self::Lost>;

    /// Strikes a customer out. Returns what was held; `None` if there is no such customer.
    fn leave(&mut self, customer: u32) -> Result<Option<Vec<Booking>>, Self::Lost>;
}

/// The contents of all tables.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Records {
    /// By kind, with numbers in order.
    pub(super) rows: [Vec<(u32, Row)>; 3],
    /// Customers with what they hold, with numbers in order.
    pub(super) customers: Vec<(u32, Vec<Booking>)>,
}

impl Records {
    /// The same, with numbers in order.
    pub(super) fn in_order(mut self) -> Self {
        self.rows.iter_mut().for_each(|rows| rows.sort_unstable_by_key(|(id, _)| *id));
        self.customers.sort_unstable_by_key(|(customer, _)| *customer);
        self
    }
}

/// Tables that can be looked through when all sessions are over.
pub(super) trait Audited: std::fmt::Debug + Send {
    fn records(&self) -> Records;
}

/// The structures of the tables.
pub(super) trait Structures: 'static {
    /// The serial version's tables.
    type Plain: Audited + Default + 'static;
    /// The parallel versions' tables.
    type Shared: Audited + Default + Sync + 'static;

    /// Bytes of shared tables for each session.
    const BYTES_A_SESSION: usize;

    /// Tables that hold this, in the order in which it is given, for `sessions` sessions.
    fn plain(records: Records, sessions: usize) -> Self::Plain;

    /// As [`plain`](Self::plain).
    fn shared(records: Records, sessions: usize) -> Self::Shared;

    /// The tables, for sessions one after the other.
    fn open(plain: &mut Self::Plain) -> impl Tables<Lost = Infallible>;

    /// The tables, for a transaction.
    fn access<'a, 'tx, 'env>(
        shared: &'tx Self::Shared,
        tx: &'a mut Tx<'tx, 'env>,
    ) -> impl Tables<Lost = TxError>;
}
