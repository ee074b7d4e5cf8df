//! A bank: deposits and transfers between accounts, and audits that must find every cent at any
//! time.
//!
//! Source: the example of Luís Fabrício Wanderley Góes, *Automatic skeleton-driven performance
//! optimizations for transactional memory*, 2012, section 3.2.1. Clients pay into one account and
//! count their actions; the counts are added at the end. With one account the program is that
//! example. With more accounts there are transfers, most money orders, and audits as well. An audit
//! reads all accounts in one transaction, so it notices a half-done money order at once.
//!
//! By hand each worker has its share of the orders; as a worklist an order is a unit. Accounts may
//! be overdrawn, so that the order of orders does not matter and every balance is known.

use std::fmt;
use std::ops::AddAssign;

use fastrand::Rng;
use sinew::Worker;
use sinew::stm::{TVar, Transaction, Tx, TxResult};
use sinew::worklist::{More, Work, Worklist};

use crate::app::App;
use crate::each_worker::{on_each_worker, share};
use crate::lists::Lists;
use crate::memory::room;
use crate::options::{Error, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use crate::product::Product;

const SIZES: &str = "1 to 1000000000 orders, and `x` 1 to 10000000 accounts (100000x64)";

const PRODUCT: Product<2> = Product {
    app: "bank",
    sizes: SIZES,
    tiny: [500, 8],
    small: [50_000, 64],
    full: [1_000_000, 1_024],
    ranges: [1..=1_000_000_000, 1..=10_000_000],
    absent: [0, 1],
};

pub(crate) const APP: App = App {
    name: "bank",
    about: "deposits, transfers and audits: the smallest transactions",
    sizes: SIZES,
    demo: "400_000x64",
    loops: false,
    reads_files: false,
    has_worklist: true,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let [orders, accounts] = PRODUCT.pick(&options.size)?;
    room(APP.name, orders * size_of::<Order>() as u64 + accounts * size_of::<TVar<i64>>() as u64)?;
    let (orders, accounts) = (random_orders(orders, accounts as u32), accounts as usize);
    Ok(problem(Bank { orders, accounts, by_hand: options.by_hand, lists: Lists::of(options) }))
}

/// The action of a client.
#[derive(Debug, Clone, Copy)]
enum Order {
    Deposit { to: u32, amount: u32 },
    Transfer { from: u32, to: u32, amount: u32 },
    Audit,
}

/// One order in this many is an audit, if there are several accounts.
const AUDITED: u32 = 256;

/// Likewise deposits.
const DEPOSITED: u32 = 8;

/// The same ones each time.
fn random_orders(orders: u64, accounts: u32) -> Vec<Order> {
    let mut rng = Rng::with_seed(42);
    let mut order = || {
        let (to, amount) = (rng.u32(..accounts), rng.u32(1..=1_000));
        match accounts {
            1 => Order::Deposit { to, amount },
            _ if rng.u32(..AUDITED) == 0 => Order::Audit,
            _ if rng.u32(..DEPOSITED) == 0 => Order::Deposit { to, amount },
            // To an account other than the source.
            _ => Order::Transfer { from: (to + rng.u32(1..accounts)) % accounts, to, amount },
        }
    };
    (0..orders).map(|_| order()).collect()
}

struct Bank {
    orders: Vec<Order>,
    accounts: usize,
    by_hand: bool,
    lists: Lists,
}

/// Number of actions of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    deposits: u64,
    transfers: u64,
    audits: u64,
    /// Audits that found too much or too little.
    failed: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.deposits += other.deposits;
        self.transfers += other.transfers;
        self.audits += other.audits;
        self.failed += other.failed;
    }
}

impl Counts {
    const DEPOSIT: Self = Self { deposits: 1, transfers: 0, audits: 0, failed: 0 };
    const TRANSFER: Self = Self { deposits: 0, transfers: 1, audits: 0, failed: 0 };

    fn audit(right: bool) -> Self {
        Self { audits: 1, failed: u64::from(!right), ..Self::default() }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Ledger {
    balances: Vec<i64>,
    counts: Counts,
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { deposits, transfers, audits, failed } = self.counts;
        write!(f, "{deposits} deposits, {transfers} transfers, {audits} audits, {failed} failed")
    }
}

impl Ledger {
    fn new(accounts: usize) -> Self {
        Self { balances: vec![0; accounts], counts: Counts::default() }
    }

    /// Carries all orders out, one after the other.
    fn serve(mut self, orders: &[Order]) -> Self {
        let mut deposited = 0;
        for &order in orders {
            let done = self.carry_out(order, &mut deposited);
            self.counts += done;
        }
        self
    }

    fn carry_out(&mut self, order: Order, deposited: &mut i64) -> Counts {
        match order {
            Order::Deposit { to, amount } => {
                self.pay(to, i64::from(amount));
                *deposited += i64::from(amount);
                Counts::DEPOSIT
            }
            Order::Transfer { from, to, amount } => {
                self.pay(from, -i64::from(amount));
                self.pay(to, i64::from(amount));
                Counts::TRANSFER
            }
            Order::Audit => Counts::audit(self.balances.iter().sum::<i64>() == *deposited),
        }
    }

    fn pay(&mut self, account: u32, amount: i64) {
        self.balances[account as usize] += amount;
    }
}

/// The state that the parallel versions share.
#[derive(Default)]
struct Shared {
    balances: Box<[TVar<i64>]>,
    /// The sum of all deposits.
    deposited: TVar<i64>,
    /// The total of all workers' actions.
    counts: TVar<Counts>,
}

impl Shared {
    fn new(accounts: usize) -> Self {
        Self { balances: (0..accounts).map(|_| TVar::new(0)).collect(), ..Self::default() }
    }

    fn carry_out<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, order: Order) -> TxResult<Counts> {
        match order {
            Order::Deposit { to, amount } => {
                self.pay(tx, to, i64::from(amount))?;
                self.deposited.modify(tx, |sum| sum + i64::from(amount))?;
                Ok(Counts::DEPOSIT)
            }
            Order::Transfer { from, to, amount } => {
                self.pay(tx, from, -i64::from(amount))?;
                self.pay(tx, to, i64::from(amount))?;
                Ok(Counts::TRANSFER)
            }
            Order::Audit => {
                let sum =
                    self.balances.iter().try_fold(0, |sum, balance| Ok(sum + balance.get(tx)?))?;
                Ok(Counts::audit(sum == self.deposited.get(tx)?))
            }
        }
    }

    fn pay<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, account: u32, amount: i64) -> TxResult<()> {
        self.balances[account as usize].modify(tx, |balance| balance + amount)
    }

    /// Adds what a worker has done.
    fn report<'tx>(&'tx self, tx: &mut Tx<'tx, '_>, done: Counts) -> TxResult<()> {
        self.counts.modify(tx, |mut counts| {
            counts += done;
            counts
        })
    }

    /// One worker's part of the hand-written version.
    fn serve(&self, orders: &[Order], how: Transaction) {
        let mut done = Counts::default();
        for &order in orders {
            done += how.atomically(|tx| self.carry_out(tx, order));
        }
        how.atomically(|tx| self.report(tx, done));
    }

    fn into_ledger(self) -> Ledger {
        let balances = self.balances.into_iter().map(TVar::into_inner);
        Ledger { balances: balances.collect(), counts: self.counts.into_inner() }
    }
}

/// An order is a unit.
struct Clerks<'b>(&'b Shared);

impl<'env> Work<'env> for Clerks<'env> {
    type Unit = Order;
    type Value = Counts;
    type Local = Counts;

    fn init(&self, _worker: usize) -> Counts {
        Counts::default()
    }

    fn process<'tx>(
        &self,
        tx: &mut Tx<'tx, 'env>,
        order: &Order,
        _: &mut Counts,
        _: &mut More<Order>,
    ) -> TxResult<Counts> {
        self.0.carry_out(tx, *order)
    }

    fn fold(&self, done: &mut Counts, order: Counts) {
        *done += order;
    }

    fn update<'tx>(&self, tx: &mut Tx<'tx, 'env>, done: &Counts) -> TxResult<()> {
        self.0.report(tx, *done)
    }
}

impl Solve for Bank {
    /// The orders, where they are listed.
    type Input = Worklist<Order>;
    type Answer = Ledger;

    fn size(&self) -> String {
        format!("{} orders, {} accounts", self.orders.len(), self.accounts)
    }

    fn input(&self) -> Worklist<Order> {
        Worklist::new()
    }

    fn parallel_input(&self) -> Worklist<Order> {
        let mut list = self.lists.list();
        let listed = self.orders.iter().copied().filter(|_| !self.by_hand);
        list.extend(self.lists.ordered(listed));
        list
    }

    fn serial(&self, _: Worklist<Order>) -> Ledger {
        Ledger::new(self.accounts).serve(&self.orders)
    }

    fn parallel(&self, worker: &Worker, mut list: Worklist<Order>) -> Ledger {
        let (shared, workers) = (Shared::new(self.accounts), worker.max_threads());
        if self.by_hand {
            on_each_worker(worker, |member| {
                let own = share(self.orders.len(), member, workers);
                shared.serve(&self.orders[own], self.lists.transaction());
            });
        } else {
            self.lists.run(&mut list, &Clerks(&shared));
        }
        shared.into_ledger()
    }

    /// All orders were counted, every audit was satisfied, and every balance is what was paid in
    /// and out.
    fn check(&self, ledger: &Ledger) -> Result<(), Wrong> {
        let Counts { deposits, transfers, audits, failed } = ledger.counts;
        let (done, all) = (deposits + transfers + audits, self.orders.len() as u64);
        Wrong::unless(done == all, || format!("{done} of {all} orders were counted"))?;
        Wrong::unless(failed == 0, || format!("{failed} of {audits} audits found a wrong sum"))?;
        let expected = self.expected();
        let same = |account: &usize| ledger.balances.get(*account) == Some(&expected[*account]);
        let wrong = (0..self.accounts).find(|account| !same(account));
        wrong.map_or(Ok(()), |account| {
            Err(Wrong(format!("account {account} should have {}", expected[account])))
        })
    }
}

impl Bank {
    /// For each account the payments into it minus those out of it.
    fn expected(&self) -> Vec<i64> {
        let mut balances = vec![0; self.accounts];
        for order in &self.orders {
            match *order {
                Order::Deposit { to, amount } => balances[to as usize] += i64::from(amount),
                Order::Transfer { from, to, amount } => {
                    balances[from as usize] -= i64::from(amount);
                    balances[to as usize] += i64::from(amount);
                }
                Order::Audit => {}
            }
        }
        balances
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew::stm::atomically;

    fn bank(orders: u64, accounts: u32) -> Bank {
        let (orders, accounts) = (random_orders(orders, accounts), accounts as usize);
        Bank { orders, accounts, by_hand: false, lists: Lists::default() }
    }

    /// Blind to: a share of orders of each kind that is only about right.
    #[test]
    fn one_account_has_deposits_only_and_several_have_all_kinds_of_orders() {
        let one = bank(300, 1).serial(Worklist::new());
        assert_eq!((one.counts.deposits, one.balances[0] > 0), (300, true));
        let Counts { deposits, transfers, audits, failed } =
            bank(20_000, 9).serial(Worklist::new()).counts;
        assert!(
            (2_000..3_000).contains(&deposits) && (40..120).contains(&audits),
            "{deposits} {audits}"
        );
        assert_eq!((deposits + transfers + audits, failed), (20_000, 0));
        let to_itself =
            |order: &Order| matches!(order, Order::Transfer { from, to, .. } if from == to);
        assert!(!bank(1_000, 2).orders.iter().any(to_itself));
    }

    /// Blind to: balances that are wrong where they are not looked at.
    #[test]
    fn a_lost_order_a_wrong_balance_and_a_failed_audit_are_noticed() {
        let bank = bank(2_000, 5);
        let right = bank.serial(Worklist::new());
        bank.check(&right).unwrap();
        let wrong = |tamper: fn(&mut Ledger)| {
            let mut ledger = right.clone();
            tamper(&mut ledger);
            bank.check(&ledger).unwrap_err().to_string()
        };
        assert!(wrong(|ledger| ledger.counts.transfers -= 1).contains("1999 of 2000"));
        assert!(wrong(|ledger| ledger.counts.failed = 2).contains("2 of"));
        assert!(wrong(|ledger| ledger.balances[3] += 1).contains("account 3 should"));
        assert!(wrong(|ledger| _ = ledger.balances.pop()).contains("account 4 should"));
    }

    /// Catches: an audit that sees only some accounts.
    #[test]
    fn an_audit_notices_money_that_nobody_paid_in() {
        let shared = Shared::new(3);
        let audit = || atomically(|tx| shared.carry_out(tx, Order::Audit)).failed;
        atomically(|tx| shared.carry_out(tx, Order::Deposit { to: 1, amount: 7 }));
        atomically(|tx| shared.carry_out(tx, Order::Transfer { from: 1, to: 2, amount: 9 }));
        assert_eq!(audit(), 0);
        shared.balances[0].store(1);
        assert_eq!(audit(), 1);
    }
}
