//! Tables without transactions.

use std::collections::HashMap;
use std::convert::Infallible;

use rustc_hash::FxBuildHasher;

use super::tables::{Audited, Booking, Choice, Kind, Records, Row, Tables};

type Map<V> = HashMap<u32, V, FxBuildHasher>;

/// The serial version's tables.
#[derive(Debug, Default)]
pub(super) struct Plain {
    rows: [Map<Row>; 3],
    customers: Map<Vec<Booking>>,
}

impl Plain {
    /// Tables that hold this, in the order in which it is given.
    pub(super) fn new(records: Records) -> Self {
        Self {
            rows: records.rows.map(|rows| rows.into_iter().collect()),
            customers: records.customers.into_iter().collect(),
        }
    }
}

impl Audited for Plain {
    fn records(&self) -> Records {
        let rows =
            self.rows.each_ref().map(|rows| rows.iter().map(|(&id, &row)| (id, row)).collect());
        let customers =
            self.customers.iter().map(|(&customer, bookings)| (customer, bookings.clone()));
        Records { rows, customers: customers.collect() }.in_order()
    }
}

impl Tables for &mut Plain {
    type Lost = Infallible;

    fn row(&mut self, kind: Kind, id: u32) -> Result<Option<Row>, Infallible> {
        Ok(self.rows[kind as usize].get(&id).copied())
    }

    fn put(&mut self, kind: Kind, id: u32, row: Row) -> Result<(), Infallible> {
        self.rows[kind as usize].insert(id, row);
        Ok(())
    }

    fn strike(&mut self, kind: Kind, id: u32) -> Result<(), Infallible> {
        self.rows[kind as usize].remove(&id);
        Ok(())
    }

    fn book(
        &mut self,
        customer: u32,
        _session: u32,
        mut wanted: Choice,
    ) -> Result<Choice, Infallible> {
        let held = self.customers.entry(customer).or_default();
        for choice in &mut wanted {
            choice.take_if(|choice| held.iter().any(|booking| booking.is_like(choice)));
        }
        held.extend(wanted.iter().flatten());
        Ok(wanted)
    }

    fn leave(&mut self, customer: u32) -> Result<Option<Vec<Booking>>, Infallible> {
        Ok(self.customers.remove(&customer))
    }
}
