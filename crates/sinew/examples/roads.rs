//! Joins towns by roads, in any order, until all roads are built: sets of towns that can reach each
//! other, as a union-find structure whose operations are transactions.
//!
//! Shows: a worklist that tunes itself, with arrays of transactional variables. Needs the feature
//! `transactions`.

use sinew::prelude::*;
use sinew::stm::{TArray, Tx, TxResult};

const TOWNS: usize = 20_000;

/// The town that stands for the set of `town`. Shortens the way for later searches.
fn root<'p>(tx: &mut Tx<'p, '_>, parent: &'p TArray<usize>, mut town: usize) -> TxResult<usize> {
    loop {
        let above = parent.get(tx, town)?;
        let top = parent.get(tx, above)?;
        if above == top {
            return Ok(top);
        }
        parent.set(tx, town, top)?;
        town = top;
    }
}

fn main() -> Result<(), sinew::worklist::WorklistError> {
    // Roads within each of ten regions.
    let town = |i: usize| (i.wrapping_mul(2_654_435_761) >> 7) % (TOWNS / 10);
    let road = |i: usize| (i % 10 + 10 * town(i), i % 10 + 10 * town(i + 77_777));
    let roads: Vec<(usize, usize)> = (0..60_000).map(road).collect();

    let parent = TArray::from_fn(TOWNS, |town| town);
    let report = Worklist::from(roads.clone()).tune(Tuning::Auto).run(|tx, &(a, b)| {
        let (a, b) = (root(tx, &parent, a)?, root(tx, &parent, b)?);
        parent.set(tx, a.max(b), a.min(b))
    })?;
    println!("{} roads, {} conflicts", report.commits, report.aborts);

    // One thread, without transactions.
    let mut serial: Vec<usize> = (0..TOWNS).collect();
    for (mut a, mut b) in roads {
        while serial[a] != a {
            a = serial[a];
        }
        while serial[b] != b {
            b = serial[b];
        }
        serial[a.max(b)] = a.min(b);
    }
    let count = |parents: &[usize]| parents.iter().enumerate().filter(|(i, p)| i == *p).count();
    let regions = count(&parent.load_all());
    assert_eq!(regions, count(&serial));
    println!("{regions} separate regions");
    Ok(())
}
