//! Sessions of the travel agency: their requests, and the outcomes.

use std::fmt;

use fastrand::Rng;

use super::tables::{Booking, Choice, Kind, Records, Row, Tables};

/// The change of a row by a session.
const PORTION: u32 = 100;

/// The agency's tables, and the parameters of its sessions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// Rows that a session asks about, at most.
    pub(super) queries: u64,
    /// The part of rows and customers that sessions are about, in percent.
    pub(super) query_percent: u64,
    /// Sessions that book, in percent. Of the others, half are customers that leave, half change
    /// tables.
    pub(super) booking_percent: u64,
    /// Rows of each table, and customers, in the beginning.
    pub(super) rows: u64,
    pub(super) sessions: u64,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queries, query_percent, booking_percent, rows, sessions } = self;
        write!(f, "n{queries}-q{query_percent}-u{booking_percent}-r{rows}-t{sessions}")
    }
}

/// The actions of the sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) bookings: u64,
    pub(super) departures: u64,
    pub(super) changes: u64,
    /// Bookings made, and given up by customers that left.
    pub(super) booked: u64,
    pub(super) cancelled: u64,
    /// Cars, places and rooms that were added and removed.
    pub(super) added: [u64; 3],
    pub(super) removed: [u64; 3],
}

impl Tally {
    #[must_use]
    pub(super) fn and(self, other: Self) -> Self {
        let sum = |a: [u64; 3], b: [u64; 3]| std::array::from_fn(|kind| a[kind] + b[kind]);
        Self {
            bookings: self.bookings + other.bookings,
            departures: self.departures + other.departures,
            changes: self.changes + other.changes,
            booked: self.booked + other.booked,
            cancelled: self.cancelled + other.cancelled,
            added: sum(self.added, other.added),
            removed: sum(self.removed, other.removed),
        }
    }
}

impl Plan {
    /// The initial rows in the order in which they are entered: numbers are shuffled. The same each
    /// time.
    pub(super) fn records(self) -> Records {
        let mut rng = Rng::with_seed(1);
        let mut numbers: Vec<u32> = (1..=self.rows as u32).collect();
        let rows = Kind::ALL.map(|_| {
            rng.shuffle(&mut numbers);
            numbers
                .iter()
                .map(|&id| (id, Row::new(rng.u32(1..=5) * PORTION, price(&mut rng))))
                .collect()
        });
        rng.shuffle(&mut numbers);
        Records {
            rows,
            customers: numbers.into_iter().map(|customer| (customer, Vec::new())).collect(),
        }
    }

    /// Holds the session with this number; its choices follow from the number alone.
    ///
    /// # Errors
    ///
    /// Bookings of the tables.
    pub(super) fn hold<T: Tables>(self, tables: &mut T, number: u32) -> Result<Tally, T::Lost> {
        // Neighbouring seeds would make similar choices.
        let rng = Rng::with_seed((u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut session = Session { plan: self, number, rng };
        let choice = session.rng.u64(..100);
        match () {
            () if choice < self.booking_percent => session.book(tables),
            () if choice.is_multiple_of(2) => session.leave(tables),
            () => session.change(tables),
        }
    }
}

fn price(rng: &mut Rng) -> u32 {
    50 + 10 * rng.u32(..5)
}

struct Session {
    plan: Plan,
    number: u32,
    rng: Rng,
}

impl Session {
    /// The number of a row or a customer that sessions are about.
    fn number(&mut self) -> u32 {
        let range = (self.plan.rows * self.plan.query_percent).div_ceil(100).max(1);
        self.rng.u32(1..=range as u32)
    }

    fn kind(&mut self) -> Kind {
        Kind::ALL[self.rng.usize(..3)]
    }

    /// Number of rows that this session asks about.
    fn queries(&mut self) -> u64 {
        self.rng.u64(1..=self.plan.queries)
    }

    /// Asks about some rows, and books the most expensive one of each kind that has a free portion.
    fn book<T: Tables>(mut self, tables: &mut T) -> Result<Tally, T::Lost> {
        let customer = self.number();
        let mut found: [Option<(u32, Row)>; 3] = [None; 3];
        for _ in 0..self.queries() {
            let (kind, id) = (self.kind(), self.number());
            let best = &mut found[kind as usize];
            let above = best.map_or(0, |(_, row)| row.price);
            let row = tables.row(kind, id)?.filter(|row| row.free > 0 && row.price > above);
            *best = row.map(|row| (id, row)).or(*best);
        }
        let booked = self.enter(tables, customer, found)?;
        Ok(Tally { bookings: 1, booked, ..Tally::default() })
    }

    /// Books what was found; returns how many bookings there were.
    fn enter<T: Tables>(
        &self,
        tables: &mut T,
        customer: u32,
        found: [Option<(u32, Row)>; 3],
    ) -> Result<u64, T::Lost> {
        let wanted: Choice = Kind::ALL.map(|kind| {
            found[kind as usize].map(|(id, row)| Booking { kind, id, price: row.price })
        });
        if wanted.iter().all(Option::is_none) {
            return Ok(0);
        }
        let entered = tables.book(customer, self.number, wanted)?;
        for booking in entered.iter().flatten() {
            if let Some((id, row)) = found[booking.kind as usize] {
                tables.put(booking.kind, id, row.taken())?;
            }
        }
        Ok(entered.iter().flatten().count() as u64)
    }

    /// Strikes a customer out, and gives back what was held.
    fn leave<T: Tables>(mut self, tables: &mut T) -> Result<Tally, T::Lost> {
        let customer = self.number();
        let held = tables.leave(customer)?.unwrap_or_default();
        for &Booking { kind, id, .. } in &held {
            let row =
                tables.row(kind, id)?.expect("a row stays while a customer holds a booking of it");
            tables.put(kind, id, row.given_back())?;
        }
        Ok(Tally { departures: 1, cancelled: held.len() as u64, ..Tally::default() })
    }

    /// Adds to some rows, and takes away from others.
    fn change<T: Tables>(mut self, tables: &mut T) -> Result<Tally, T::Lost> {
        let mut tally = Tally { changes: 1, ..Tally::default() };
        for _ in 0..self.queries() {
            let (kind, id) = (self.kind(), self.number());
            if self.rng.bool() {
                let price = price(&mut self.rng);
                let row = tables.row(kind, id)?.unwrap_or_default();
                tables.put(kind, id, row.enlarged(PORTION, price))?;
                tally.added[kind as usize] += u64::from(PORTION);
            } else {
                tally.removed[kind as usize] += u64::from(reduce(tables, kind, id)?);
            }
        }
        Ok(tally)
    }
}

/// Removes a portion of a row, as far as it is free, or a whole flight without bookings. Returns
/// how many were taken away.
fn reduce<T: Tables>(tables: &mut T, kind: Kind, id: u32) -> Result<u32, T::Lost> {
    let Some(row) = tables.row(kind, id)? else { return Ok(0) };
    let by = match kind {
        Kind::Flight if row.used == 0 => row.total,
        Kind::Car | Kind::Room if row.free >= PORTION => PORTION,
        _ => 0,
    };
    match by {
        0 => {}
        all if all == row.total => tables.strike(kind, id)?,
        some => tables.put(kind, id, row.reduced(some))?,
    }
    Ok(by)
}
