//! The unbalanced tree search finds the same nodes under any victim policy, task stack and way of
//! waiting.
//!
//! Small trees in every run. `SINEW_DEEP=1` searches the published ones, whose nodes, leaves and
//! depth the application checks: T3 and T3L under every combination.

use sinew::{Mapping, Pool, StackKind, Victims, Wait};
use sinew_apps::{Answer, Options, Problem, Size, find};

const STACKS: [StackKind; 2] = [StackKind::Split, StackKind::TwoField];
const WAITS: [Wait; 5] =
    [Wait::Leapfrog, Wait::Any, Wait::Descendants, Wait::Transitive, Wait::Block];

fn tree(name: &str) -> Box<dyn Problem> {
    let options = Options { size: name.parse::<Size>().unwrap(), ..Options::default() };
    find("uts").unwrap().prepare(&options).unwrap()
}

/// A pool of four packages, so that the policies which know the machine have something to know.
fn pool(threads: usize, stack: StackKind, wait: Wait, victims: Victims) -> Pool {
    let machine = "package:4 l3:1 core:2 pu:1".parse().unwrap();
    let builder = Pool::builder().threads(threads).stack(stack).wait(wait).victims(victims);
    builder.machine(machine).mapping(Mapping::Compact).build().unwrap()
}

fn search(tree: &dyn Problem, serial: &Answer, pool: &Pool, what: &str) {
    let found = tree.parallel(pool).answer;
    tree.check(&found).unwrap_or_else(|wrong| panic!("{what}: {wrong}"));
    tree.agree(serial, &found).unwrap_or_else(|wrong| panic!("{what}: {wrong}"));
}

fn under_every_combination(tree: &dyn Problem, threads: usize) {
    let serial = tree.serial().answer;
    for stack in STACKS {
        for wait in WAITS {
            let pool = pool(threads, stack, wait, Victims::Random);
            for &victims in Victims::all() {
                pool.set_victims(victims);
                search(tree, &serial, &pool, &format!("{stack}, {wait}, {victims}"));
            }
        }
    }
}

/// Catches: a combination under which a task is lost or run twice.
#[test]
fn a_small_tree_is_searched_whole_under_every_combination() {
    under_every_combination(&*tree("tiny"), 8);
}

/// Whether the test may run for minutes; prints a message if not.
fn is_deep() -> bool {
    let is_deep = std::env::var_os("SINEW_DEEP").is_some();
    if !is_deep {
        println!("skipped: minutes of work; SINEW_DEEP=1 asks for it");
    }
    is_deep
}

/// Blind to: what only shows in millions of tasks.
#[test]
fn a_published_tree_is_searched_whole_under_every_combination() {
    if is_deep() {
        under_every_combination(&*tree("T3"), 2);
    }
}

/// Blind to: what only shows in recursions thousands of levels deep.
#[test]
fn the_deepest_published_tree_is_searched_whole_under_every_combination() {
    if is_deep() {
        under_every_combination(&*tree("T3L"), 2);
    }
}
