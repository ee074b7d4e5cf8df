//! Units of a worklist that call joins, scopes and loops in the middle of their transaction.

use sinew::prelude::*;
use sinew::stm::TVar;
use sinew::worklist::Worklist;
use std::thread;

/// Catches: a worker that waits inside a transaction and runs another unit meanwhile, which
/// would panic; an arm that leaves its thread.
#[test]
fn parallel_calls_inside_a_unit_stay_on_its_thread() {
    let pool = sinew::Pool::builder().threads(4).build().expect("a pool");
    let (sum, by_units) = (TVar::new(0_u64), TVar::new(0_u64));
    let mut list = Worklist::from((0..500_u64).collect::<Vec<_>>());
    let report = pool.run(|_| {
        list.run(|tx, unit| {
            let here = thread::current().id();
            sum.modify(tx, |sum| sum + unit)?;
            let moved = || u64::from(thread::current().id() != here);
            let (a, b) = sinew::join(moved, moved);
            let in_loop: u64 = sinew::over(0..100_usize).map(|_| moved()).sum();
            by_units.modify(tx, |moved| moved + a + b + in_loop)
        })
    });
    assert!(report.is_ok());
    assert_eq!((sum.load(), by_units.load()), (499 * 250, 0));
}
