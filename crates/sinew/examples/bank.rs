//! Transfers between accounts from several threads, while another one adds up all of them.
//!
//! Shows: transactions, `retry`, and snapshots that are consistent without a lock. Needs the
//! feature `transactions`.

use sinew::prelude::*;
use sinew::stm::atomically;
use std::thread;

const ACCOUNTS: usize = 10;
const TRANSFERS: usize = 20_000;

fn transfer(accounts: &[TVar<i64>], from: usize, to: usize, sum: i64) {
    atomically(|tx| {
        // Waits until the account has enough: the transaction is repeated when it changes.
        if accounts[from].get(tx)? < sum {
            return tx.retry();
        }
        accounts[from].modify(tx, |balance| balance - sum)?;
        accounts[to].modify(tx, |balance| balance + sum)
    });
}

fn total(accounts: &[TVar<i64>]) -> i64 {
    atomically(|tx| accounts.iter().map(|account| account.get(tx)).sum())
}

fn main() {
    let accounts: Vec<TVar<i64>> = (0..ACCOUNTS).map(|_| TVar::new(100)).collect();
    let audits = thread::scope(|s| {
        for teller in 1..=3 {
            let accounts = &accounts;
            s.spawn(move || {
                for i in 0..TRANSFERS {
                    let (from, to) = (i % ACCOUNTS, (i + teller) % ACCOUNTS);
                    // Never all of it: so nobody waits for ever.
                    transfer(accounts, from, to, 1);
                }
            });
        }
        (0..1_000).filter(|_| total(&accounts) == 1_000).count()
    });
    assert_eq!((audits, total(&accounts)), (1_000, 1_000));
    println!("{} transfers, {audits} audits, all of them right", 3 * TRANSFERS);
}
