//! A worklist's pages: on all nodes in turn, until units add others, then near their worker.

use std::sync::Mutex;

use numa_protocol::{Outcome, Shape};
use sinew::worklist::{Pages, Settings, Tuning, Worklist};
use sinew_core::{Mapping, Pool};

use crate::check::{Check, Verdict, ensure, same};
use crate::pages::{PAGES, counts, fresh, nearest_memory, touch, with_memory};
use crate::workers::restricted;

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "worklist/pages-are-dealt-to-all-nodes-until-units-add-others", run: by_rule },
    Check { name: "worklist/a-choice-of-pages-is-kept", run: by_choice },
    Check { name: "worklist/the-callers-policy-is-back-after-a-run", run: afterwards },
];

/// Three units on one worker, of which the second adds the third: the nodes of the pages that each
/// of them was the first to touch, on CPU 0.
fn nodes_of_units(pages: Option<Pages>) -> Result<Vec<Vec<usize>>, String> {
    restricted(&[0].into_iter().collect(), || run_units(pages))
}

fn run_units(pages: Option<Pages>) -> Result<Vec<Vec<usize>>, String> {
    let pool =
        Pool::builder().threads(1).mapping(Mapping::Compact).build().map_err(|e| e.to_string())?;
    // A stack: the last unit is the first.
    let mut list = Worklist::from(vec![1, 0]).tune(Tuning::Fixed(Settings::baseline(1)));
    if let Some(pages) = pages {
        list = list.pages(pages);
    }
    let nodes = Mutex::new(Vec::new());
    let report = pool.run(|_| {
        list.run_plain(|&unit, more| {
            let found = fresh(PAGES).and_then(|mut memory| touch(&mut memory));
            nodes.lock().expect("no unit panics").push(found);
            more.extend((unit == 1).then_some(2));
        })
    });
    report.map_err(|error| error.to_string())?;
    nodes.into_inner().map_err(|error| error.to_string())?.into_iter().collect()
}

fn on_all(what: &str, shape: &Shape, nodes: &[usize]) -> Result<(), String> {
    let found: Vec<usize> = counts(nodes).iter().map(|(node, _)| *node).collect();
    same(what, &found, &with_memory(shape).collect())
}

fn by_rule(shape: &Shape) -> Verdict {
    let units = nodes_of_units(None)?;
    on_all("before units are added", shape, &units[0])?;
    on_all("while the first is added", shape, &units[1])?;
    same("afterwards", &counts(&units[2]), &vec![(nearest_memory(shape, 0)?, PAGES)])?;
    Ok(Outcome::Passed)
}

fn by_choice(shape: &Shape) -> Verdict {
    for nodes in nodes_of_units(Some(Pages::Cyclic))? {
        on_all("cyclic", shape, &nodes)?;
    }
    for nodes in nodes_of_units(Some(Pages::FirstTouch))? {
        same("first touch", &counts(&nodes), &vec![(nearest_memory(shape, 0)?, PAGES)])?;
    }
    Ok(Outcome::Passed)
}

/// The thread that calls is a worker meanwhile.
fn afterwards(shape: &Shape) -> Verdict {
    if with_memory(shape).count() < 2 {
        return Ok(Outcome::Skipped("one node has memory".into()));
    }
    let nodes = restricted(&[0].into_iter().collect(), || {
        run_units(None)?;
        touch(&mut fresh(PAGES)?)
    })?;
    ensure(counts(&nodes).len() == 1, || {
        format!("the caller's pages lie on {:?}", counts(&nodes))
    })?;
    Ok(Outcome::Passed)
}
