//! Invariants of the tables, for any order of the sessions.

use std::collections::BTreeMap;

use super::sessions::{Plan, Tally};
use super::tables::{Booking, Kind, Records, Row};
use crate::problem::Wrong;

/// Checks the tables after the sessions of `plan`.
pub(super) fn audit(plan: Plan, tally: &Tally, records: &Records) -> Result<(), Wrong> {
    let held = tally.bookings + tally.departures + tally.changes;
    Wrong::unless(held == plan.sessions, || {
        format!("{held} of {} sessions were held", plan.sessions)
    })?;
    let before = plan.records();
    for kind in Kind::ALL {
        rows_are_right(
            kind,
            plan,
            tally,
            &before.rows[kind as usize],
            &records.rows[kind as usize],
        )?;
    }
    bookings_are_right(tally, records)
}

/// Every row is one that there may be, its used and free ones are all of it, and nothing has
/// appeared or got lost.
fn rows_are_right(
    kind: Kind,
    plan: Plan,
    tally: &Tally,
    before: &[(u32, Row)],
    after: &[(u32, Row)],
) -> Result<(), Wrong> {
    for (id, row) in after {
        let known = (1..=plan.rows).contains(&u64::from(*id));
        Wrong::unless(known, || format!("there is no {kind:?} {id}"))?;
        Wrong::unless(row.used + row.free == row.total, || {
            format!("{kind:?} {id} does not add up: {row:?}")
        })?;
    }
    let sum = |rows: &[(u32, Row)]| rows.iter().map(|(_, row)| u64::from(row.total)).sum::<u64>();
    let (added, removed) = (tally.added[kind as usize], tally.removed[kind as usize]);
    let (is, expected) = (sum(after) + removed, sum(before) + added);
    Wrong::unless(is == expected, || {
        format!("of {kind:?} there are {is}, with those removed, not {expected}")
    })
}

/// The rows' used portions equal the customers' bookings, no booking is held twice, and there are
/// as many bookings as were made and not cancelled.
fn bookings_are_right(tally: &Tally, records: &Records) -> Result<(), Wrong> {
    let mut uses: BTreeMap<(Kind, u32), u32> = BTreeMap::new();
    for (customer, bookings) in &records.customers {
        held_once(*customer, bookings)?;
        bookings
            .iter()
            .for_each(|booking| *uses.entry((booking.kind, booking.id)).or_default() += 1);
    }
    let held: u64 = uses.values().map(|&uses| u64::from(uses)).sum();
    let made = tally.booked.wrapping_sub(tally.cancelled);
    Wrong::unless(held == made, || format!("customers hold {held} bookings, not {made}"))?;
    for kind in Kind::ALL {
        for (id, row) in &records.rows[kind as usize] {
            let uses = uses.remove(&(kind, *id)).unwrap_or(0);
            let same = uses == row.used;
            Wrong::unless(same, || {
                format!("customers hold {uses} of {kind:?} {id}, not {}", row.used)
            })?;
        }
    }
    let stray = uses.keys().next();
    stray.map_or(Ok(()), |(kind, id)| {
        Err(Wrong(format!("a customer holds {kind:?} {id}, which is not there")))
    })
}

fn held_once(customer: u32, bookings: &[Booking]) -> Result<(), Wrong> {
    let twice = |(at, booking): (usize, &Booking)| {
        bookings[..at].iter().any(|other| other.is_like(booking))
    };
    let right = !bookings.iter().enumerate().any(twice);
    Wrong::unless(right, || format!("customer {customer} holds something twice"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan =
        Plan { queries: 2, query_percent: 100, booking_percent: 50, rows: 9, sessions: 3 };

    /// Tables in which one customer has booked a car and a room, one has booked a flight and left,
    /// and 100 flights were added.
    fn sample() -> (Tally, Records) {
        let mut records = PLAN.records();
        let held =
            [(Kind::Car, 4), (Kind::Room, 5)].map(|(kind, id)| Booking { kind, id, price: 50 });
        records.customers[2].1 = held.to_vec();
        for booking in held {
            let rows = &mut records.rows[booking.kind as usize];
            let (_, row) = rows.iter_mut().find(|(id, _)| *id == booking.id).unwrap();
            *row = row.taken();
        }
        let (_, flight) = &mut records.rows[Kind::Flight as usize][0];
        *flight = flight.enlarged(100, 50);
        let tally = Tally {
            bookings: 1,
            departures: 1,
            changes: 1,
            booked: 3,
            cancelled: 1,
            ..Tally::default()
        };
        (Tally { added: [0, 100, 0], ..tally }, records)
    }

    /// Blind to: two faults that cancel each other out in everything that is looked at.
    #[test]
    fn every_kind_of_fault_is_noticed() {
        let (tally, records) = sample();
        audit(PLAN, &tally, &records).unwrap();
        let wrong = |tamper: fn(&mut Tally, &mut Records)| {
            let (mut tally, mut records) = sample();
            tamper(&mut tally, &mut records);
            audit(PLAN, &tally, &records).unwrap_err().to_string()
        };
        assert!(wrong(|tally, _| tally.changes = 0).contains("2 of 3 sessions"));
        assert!(wrong(|_, records| records.rows[0][0].0 = 10).contains("no Car 10"));
        assert!(wrong(|_, records| records.rows[1][3].1.free += 1).contains("does not add up"));
        assert!(wrong(|_, records| _ = records.rows[2].pop()).contains("of Room there are"));
        assert!(wrong(|tally, _| tally.removed[0] = 100).contains("of Car there are"));
        assert!(wrong(|tally, _| tally.booked += 1).contains("hold 2 bookings, not 3"));
        assert!(wrong(|_, records| records.customers[2].1[0].id = 5).contains("of Car"));
        assert!(
            wrong(|_, records| records.customers[2].1[0].id = 10).contains("0 of Car 4, not 1")
        );
        assert!(
            wrong(|tally, records| {
                tally.booked += 1;
                records.customers[3].1.push(Booking { kind: Kind::Room, id: 77, price: 50 });
            })
            .contains("holds Room 77")
        );
        assert!(
            wrong(|tally, records| {
                tally.booked += 1;
                let twice = records.customers[2].1[0];
                records.customers[2].1.push(twice);
            })
            .contains("something twice")
        );
    }
}
