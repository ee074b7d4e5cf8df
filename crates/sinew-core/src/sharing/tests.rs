//! When the share agent sleeps, and what a pool demands.

use std::sync::Arc;

use sinew_coord::{Member, Offer, Table};
use sinew_sync::atomic::Ordering;
use sinew_topology::CpuSet;

use super::{AgentState, PoolHook, Sharing};
use crate::Pool;
use crate::requested_share::RequestedShare;

fn wait_until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

/// Catches: a single pool whose share agent keeps reading counters while the pool is idle, or
/// does not wake for the next call.
#[test]
fn the_share_agent_of_a_lone_pool_sleeps_while_it_idles() {
    if !cfg!(target_os = "linux") {
        return println!("skipped: programs share a table on Linux only");
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("shared");
    let pool = Pool::builder().threads(2).coordinate_in(&place).build().unwrap();
    wait_until(|| pool.share().is_some());
    let table = Table::open(&place).unwrap();
    let is_dormant = || pool.sharing().is_some_and(|sharing| sharing.is_dormant());
    for _ in 0..2 {
        wait_until(is_dormant);
        let before = table.read()[0].progress;
        pool.run(|w| w.join(|_| 1, |_| 2));
        wait_until(|| table.read()[0].progress > before);
    }
}

/// Catches: a pool that keeps its cores for as long as usual although it lends, and one that
/// goes on lending after its next call.
#[test]
fn a_pool_that_lends_demands_nothing_at_the_next_look_until_it_is_called() {
    if !cfg!(target_os = "linux") {
        return println!("skipped: programs share a table on Linux only");
    }
    let folder = tempfile::tempdir().unwrap();
    let table = Table::open(&folder.path().join("shared")).unwrap();
    let _other = Member::join(&table, Offer::new("other").max(2)).unwrap();
    let member = Member::join(&table, Offer::new("lender").max(2)).unwrap();
    // Its only worker is a caller. Threads would search now and then.
    let pool = Pool::builder().threads(1).build().unwrap();
    assert!(!pool.state.is_active());
    let sharing = Sharing::new(RequestedShare::default(), None, &CpuSet::new());
    let mut state = AgentState::default();
    let mut look = || {
        state.demand.sample(2, 2, 2);
        // The agent would sleep.
        sharing.agent.unpark();
        sharing.report_to_neighbours(&member, &Arc::downgrade(&pool.state), 2, &mut state);
        let rows = table.read();
        rows.iter().find(|row| row.name.to_string() == "lender").unwrap().demand
    };
    assert_eq!(look(), 2);
    sharing.lends.store(true, Ordering::Relaxed);
    assert_eq!(look(), 0);
    sharing.external_thread_came();
    assert_eq!(look(), 2);
}
