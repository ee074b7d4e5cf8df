//! A travel agency: sessions of customers book cars, flights and rooms, cancel, and change the
//! tables.
//!
//! Source: the application vacation in Cao Minh, Chung, Kozyrakis and Olukotun, *STAMP: Stanford
//! transactional applications for multi-processing*, IISWC 2008. Four tables; a session is one
//! transaction, coarse enough that the tables always agree. Few sessions conflict. Those of high
//! contention ask about more rows out of fewer.
//!
//! By hand, as in the suite, there is no list of sessions: each worker thinks of its own. As a
//! worklist, a session is a unit.
//!
//! Differences: tables are only asked for single numbers, so they are hash maps, as in one
//! configuration of the original. Its default are balanced trees, which [`Maps::Balanced`] chooses
//! here: those of a million rows each once took 25 µs a session, nearly all of it waiting for
//! memory. The actions of a session follow from
//! its number, so every version holds the same sessions. Their results depend on their order;
//! versions agree about everything else, and the tables are audited.

mod audit;
mod balanced;
mod plain;
mod sessions;
mod shared;
mod tables;

use std::fmt;
use std::marker::PhantomData;

use sinew::Worker;
use sinew::stm::{Tx, TxResult};
use sinew::worklist::{More, Work, Worklist};

use crate::app::App;
use crate::each_worker::{on_each_worker, share};
use crate::lettered::{Lettered, whole};
use crate::lists::Lists;
use crate::memory::room;
use crate::options::{Error, Maps, Options, Size};
use crate::problem::{Problem, Solve, Wrong, problem};
use audit::audit;
use balanced::Balanced;
use sessions::{Plan, Tally};
use shared::Hashed;
use tables::{Audited, Structures};

const SIZES: &str = "high, low (contention), high++ or stamp, low++ (the same, larger), or parts \
    of n4-q60-u90-r16384-t4096: queries a session, percent of rows asked about, percent of \
    sessions \
    that book, rows (up to \
    100000000), sessions; \
    queries times sessions up to 40000000";

/// Queries of all sessions: as many could each add to the same row.
const QUERIES: f64 = 4e7;

const LETTERS: Lettered<5> = Lettered {
    app: "vacation",
    sizes: SIZES,
    named: &[
        ("high", "n4-q60-u90-r16384-t4096"),
        ("low", "n2-q90-u98-r16384-t4096"),
        ("high++", "n4-q60-u90-r1048576-t4194304"),
        ("low++", "n2-q90-u98-r1048576-t4194304"),
        ("stamp", "n4-q60-u90-r1048576-t4194304"),
    ],
    letters: [
        whole('n', [4.0, 4.0, 4.0], 1.0..=QUERIES),
        whole('q', [60.0, 60.0, 60.0], 1.0..=100.0),
        whole('u', [80.0, 90.0, 90.0], 0.0..=100.0),
        whole('r', [64.0, 2_048.0, 16_384.0], 1.0..=1e8),
        whole('t', [400.0, 4_096.0, 4_096.0], 1.0..=QUERIES),
    ],
};

pub(crate) const APP: App = App {
    name: "vacation",
    about: "a travel agency's bookings: transactions on four tables, one a session",
    sizes: SIZES,
    demo: "n4-q60-u90-r16384-t100000",
    loops: false,
    reads_files: false,
    has_worklist: true,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    match options.maps {
        Maps::Hashed => prepare_with::<Hashed>(options),
        Maps::Balanced => prepare_with::<Balanced>(options),
    }
}

fn prepare_with<S: Structures>(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let plan = plan(&options.size)?;
    room(APP.name, plan.sessions * S::BYTES_A_SESSION as u64 + plan.rows * BYTES_A_ROW)?;
    let (by_hand, lists) = (options.by_hand, Lists::of(options));
    Ok(problem(Vacation::<S> { plan, by_hand, lists, structures: PhantomData }))
}

/// The plan of a size.
fn plan(size: &Size) -> Result<Plan, Error> {
    let numbers = LETTERS.pick(size)?;
    let [queries, query_percent, booking_percent, rows, sessions] =
        numbers.map(|number| number as u64);
    let plan = Plan { queries, query_percent, booking_percent, rows, sessions };
    let few = (queries * sessions) as f64 <= QUERIES;
    few.then_some(plan).ok_or_else(|| LETTERS.impossible(plan.to_string()))
}

/// About what a row of each of the tables takes, with its customer: three nodes of a map and a
/// smaller one.
const BYTES_A_ROW: u64 = 300;

struct Vacation<S> {
    plan: Plan,
    by_hand: bool,
    lists: Lists,
    structures: PhantomData<fn() -> S>,
}

#[derive(Debug)]
struct Outcome {
    tally: Tally,
    tables: Box<dyn Audited>,
}

impl PartialEq for Outcome {
    /// Whether both agree about what does not depend on the order of sessions.
    fn eq(&self, other: &Self) -> bool {
        let fixed = |Tally { bookings, departures, changes, added, .. }| {
            (bookings, departures, changes, added)
        };
        fixed(self.tally) == fixed(other.tally)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { bookings, departures, changes, booked, .. } = self.tally;
        write!(
            f,
            "{bookings} sessions booked {booked} times, {departures} customers left, {changes} \
             changes"
        )
    }
}

/// The state of a version; the other versions' is empty.
struct Input<S: Structures> {
    plain: S::Plain,
    shared: S::Shared,
    /// The sessions, if they are listed.
    sessions: Worklist<u32>,
}

impl<S: Structures> Vacation<S> {
    fn numbers(&self) -> std::ops::Range<u32> {
        0..self.plan.sessions as u32
    }

    fn one_by_one(&self, plain: &mut S::Plain) -> Tally {
        let mut tables = S::open(plain);
        let held = self.numbers().map(|number| match self.plan.hold(&mut tables, number) {
            Ok(tally) => tally,
            Err(never) => match never {},
        });
        held.fold(Tally::default(), Tally::and)
    }

    fn by_hand(&self, worker: &Worker, shared: &S::Shared) -> Tally {
        let workers = worker.max_threads();
        let how = self.lists.transaction();
        let client = |member| {
            let own = share(self.plan.sessions as usize, member, workers);
            let hold = |number| {
                how.atomically(|tx| self.plan.hold(&mut S::access(shared, tx), number as u32))
            };
            own.map(hold).fold(Tally::default(), Tally::and)
        };
        on_each_worker(worker, client).into_iter().fold(Tally::default(), Tally::and)
    }

    fn listed(&self, shared: &S::Shared, sessions: &mut Worklist<u32>) -> Tally {
        let report = self.lists.run(sessions, &Agency::<S> { plan: self.plan, shared });
        report.locals.into_iter().fold(Tally::default(), Tally::and)
    }
}

/// A session is a unit.
struct Agency<'s, S: Structures> {
    plan: Plan,
    shared: &'s S::Shared,
}

impl<'env, S: Structures> Work<'env> for Agency<'env, S> {
    type Unit = u32;
    type Value = Tally;
    type Local = Tally;

    fn init(&self, _worker: usize) -> Tally {
        Tally::default()
    }

    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        &number: &u32,
        _local: &mut Tally,
        _more: &mut More<u32>,
    ) -> TxResult<Tally> {
        self.plan.hold(&mut S::access(self.shared, tx), number)
    }

    fn fold(&self, tally: &mut Tally, session: Tally) {
        *tally = tally.and(session);
    }
}

impl<S: Structures> Solve for Vacation<S> {
    type Input = Input<S>;
    type Answer = Outcome;

    fn size(&self) -> String {
        self.plan.to_string()
    }

    fn input(&self) -> Input<S> {
        let plain = S::plain(self.plan.records(), self.plan.sessions as usize);
        Input { plain, shared: S::Shared::default(), sessions: Worklist::default() }
    }

    fn parallel_input(&self) -> Input<S> {
        let mut sessions = self.lists.list();
        sessions.extend(self.lists.ordered(self.numbers().filter(|_| !self.by_hand)));
        let shared = S::shared(self.plan.records(), self.plan.sessions as usize);
        Input { shared, sessions, plain: S::Plain::default() }
    }

    fn serial(&self, Input { mut plain, .. }: Input<S>) -> Outcome {
        Outcome { tally: self.one_by_one(&mut plain), tables: Box::new(plain) }
    }

    fn parallel(&self, worker: &Worker, input: Input<S>) -> Outcome {
        let Input { shared, mut sessions, .. } = input;
        let tally = if self.by_hand {
            self.by_hand(worker, &shared)
        } else {
            self.listed(&shared, &mut sessions)
        };
        Outcome { tally, tables: Box::new(shared) }
    }

    /// The tables agree with themselves and with what was done.
    fn check(&self, outcome: &Outcome) -> Result<(), Wrong> {
        audit(self.plan, &outcome.tally, &outcome.tables.records())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tables::Booking;

    /// Blind to: an interleaving of transactions: here there is none.
    #[test]
    fn sessions_in_transactions_come_to_the_same_as_without_if_they_are_held_in_the_same_order() {
        held_in_the_same_order::<Hashed>();
        held_in_the_same_order::<Balanced>();
    }

    fn held_in_the_same_order<S: Structures>() {
        let vacation = Vacation::<S> {
            plan: plan(&Size::Tiny).unwrap(),
            by_hand: true,
            lists: Lists::default(),
            structures: PhantomData,
        };
        let serial = vacation.serial(vacation.input());
        let pool = sinew::Pool::builder().threads(1).build().unwrap();
        let input = vacation.parallel_input();
        let by_hand = pool.run(|worker| vacation.parallel(worker, input));
        let sorted = |outcome: &Outcome| {
            let mut records = outcome.tables.records();
            records
                .customers
                .iter_mut()
                .for_each(|(_, held)| held.sort_unstable_by_key(Booking::row));
            records
        };
        assert_eq!((serial.tally, sorted(&serial)), (by_hand.tally, sorted(&by_hand)));
        let Tally { bookings, departures, changes, booked, cancelled, .. } = serial.tally;
        let some =
            [bookings, departures, changes, booked, cancelled].iter().all(|&count| count > 0);
        assert!(some, "all kinds of sessions were held: {:?}", serial.tally);
    }

    /// Blind to: limits of single numbers, which the notation has.
    #[test]
    fn more_queries_than_can_be_counted_are_refused_in_one_line() {
        let size = "n4-q60-u90-r9-t10000001".parse().unwrap();
        let message = prepare(&Options { size, ..Options::default() }).err().unwrap().to_string();
        assert!(
            message.contains("`n4-q60-u90-r9-t10000001`") && message.contains("40000000"),
            "{message}"
        );
        assert!(!message.contains('\n'), "{message}");
    }

    /// Catches: sizes that mean something else than the published ones.
    #[test]
    fn the_published_sizes_have_names() {
        let names = [
            ("full", "n4-q60-u90-r16384-t4096"),
            ("high", "n4-q60-u90-r16384-t4096"),
            ("low", "n2-q90-u98-r16384-t4096"),
            ("high++", "n4-q60-u90-r1048576-t4194304"),
            ("stamp", "n4-q60-u90-r1048576-t4194304"),
            ("low++", "n2-q90-u98-r1048576-t4194304"),
        ];
        for (name, size) in names {
            let options = Options { size: name.parse().unwrap(), ..Options::default() };
            assert_eq!(prepare(&options).unwrap().size(), size);
        }
    }
}
