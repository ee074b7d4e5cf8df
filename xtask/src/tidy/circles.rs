//! Floors: imports between the top-level modules of a crate point down, and no circle of imports
//! crosses a folder.
//!
//! Modules stand on floors if no circle ties them. So every import inside of a circle is a finding:
//! removing some of them opens it. The root of a crate is the top floor: it may import every
//! module, and no module may import what the root defines.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{Import, ModulePath};

/// The imports that lie on a circle between top-level modules, or on one that crosses a folder.
pub(super) fn offending(imports: &[Import]) -> Vec<&Import> {
    let below_root = || imports.iter().filter(|import| !import.from.is_empty());
    let is_between_tops = |import: &Import| top(&import.from) != top(&import.to);
    let tops = circles(&arrows(below_root().filter(|import| is_between_tops(import)), top));
    let files = circles(&arrows(below_root(), Clone::clone));
    let is_upward = |import: &&Import| {
        let (from, to) = (&import.from, &import.to);
        let ties_tops = is_between_tops(import) && around(&tops, &top(from), &top(to)).is_some();
        to.is_empty() || ties_tops || around(&files, from, to).is_some_and(crosses_folders)
    };
    below_root().filter(is_upward).collect()
}

/// The top-level module that `path` lies in.
fn top(path: &ModulePath) -> ModulePath {
    path.iter().take(1).cloned().collect()
}

type Graph = BTreeMap<ModulePath, BTreeSet<ModulePath>>;
type Circle = BTreeSet<ModulePath>;

fn arrows<'i>(
    imports: impl Iterator<Item = &'i Import>,
    place: impl Fn(&ModulePath) -> ModulePath,
) -> Graph {
    let mut graph = Graph::new();
    for import in imports {
        graph.entry(place(&import.from)).or_default().insert(place(&import.to));
    }
    graph
}

/// The circle that both modules lie on.
fn around<'c>(circles: &'c [Circle], one: &ModulePath, other: &ModulePath) -> Option<&'c Circle> {
    circles.iter().find(|circle| circle.contains(one) && circle.contains(other))
}

/// The strongly connected components of two modules and more.
fn circles(graph: &Graph) -> Vec<Circle> {
    let reach: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
        graph.keys().map(|from| (from, reachable(graph, from))).collect();
    let mut found: Vec<Circle> = Vec::new();
    for (from, to) in &reach {
        if found.iter().any(|circle| circle.contains(*from)) {
            continue;
        }
        let is_back =
            |there: &&&ModulePath| reach.get(**there).is_some_and(|back| back.contains(*from));
        let mut circle: BTreeSet<ModulePath> =
            to.iter().filter(is_back).map(|path| (*path).clone()).collect();
        circle.insert((*from).clone());
        if circle.len() > 1 {
            found.push(circle);
        }
    }
    found
}

fn reachable<'g>(graph: &'g Graph, from: &ModulePath) -> BTreeSet<&'g ModulePath> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&ModulePath> = graph.get(from).into_iter().flatten().collect();
    while let Some(module) = next.pop() {
        if seen.insert(module) {
            next.extend(graph.get(module).into_iter().flatten());
        }
    }
    seen
}

/// Whether the modules lie in more than one folder. `a` with children lies in the folder `a`, as
/// they do.
fn crosses_folders(circle: &Circle) -> bool {
    let shortest = circle.iter().min_by_key(|path| path.len()).expect("a circle has modules");
    let is_parent =
        circle.iter().all(|path| path.starts_with(shortest) && path.len() <= shortest.len() + 1);
    let folder = |path: &ModulePath| path[..path.len().saturating_sub(1)].to_vec();
    let folders: BTreeSet<ModulePath> = circle.iter().map(folder).collect();
    folders.len() > 1 && !is_parent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planted(arrows: &[(&str, &str)]) -> Vec<Import> {
        let path = |text: &str| {
            text.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        let import = |&(from, to): &(&str, &str)| Import {
            from: path(from),
            to: path(to),
            file: format!("src/{from}.rs"),
            line: 1,
        };
        arrows.iter().map(import).collect()
    }

    fn count(arrows: &[(&str, &str)]) -> usize {
        offending(&planted(arrows)).len()
    }

    #[test]
    fn arrows_that_point_down_are_no_findings() {
        assert_eq!(count(&[("a", "b"), ("b", "c"), ("a", "c"), ("a/x", "c"), ("a", "a/x")]), 0);
    }

    #[test]
    fn a_planted_arrow_that_points_up_is_found() {
        assert_eq!(count(&[("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]), 3);
    }

    #[test]
    fn top_level_modules_are_tied_by_what_lies_inside_of_them() {
        assert_eq!(count(&[("a/x", "b/y"), ("b/z", "a/w")]), 2);
    }

    #[test]
    fn a_small_circle_inside_one_folder_may_stay() {
        assert_eq!(count(&[("a/x", "a/y"), ("a/y", "a/x"), ("a", "a/x"), ("a/x", "a")]), 0);
    }

    #[test]
    fn a_circle_that_crosses_a_folder_is_found() {
        assert_eq!(count(&[("a/x", "a/b/y"), ("a/b/y", "a/x")]), 2);
    }

    #[test]
    fn the_root_imports_all_and_nothing_imports_the_root() {
        assert_eq!(count(&[("", "a"), ("", "a/x"), ("a", "b")]), 0);
        assert_eq!(count(&[("", "a"), ("", "b"), ("a", "")]), 1);
    }
}
