//! The machines, and how the emulator is told.
//!
//! Each shape covers a case that the others do not. Distances are chosen so that no two kinds of
//! pairs are alike, where the shape allows it: a table read sideways would show.

use numa_protocol::{Node, Shape};

type Maker = fn(&str) -> Shape;

/// By their names, the one that most checks are about first.
const SHAPES: [(&str, Maker); 4] = [
    ("four-packages", four_packages),
    ("threads", threads),
    ("lopsided", lopsided),
    ("far-memory", far_memory),
];

/// All machines.
pub(super) fn all() -> Vec<Shape> {
    SHAPES.iter().map(|(name, make)| make(name)).collect()
}

/// Their names, for the command line.
pub(super) fn names() -> [&'static str; SHAPES.len()] {
    SHAPES.map(|(name, _)| name)
}

fn node(cpus: impl IntoIterator<Item = usize>, memory_mib: u64) -> Node {
    Node { cpus: cpus.into_iter().collect(), memory_mib }
}

/// A ring of four packages with a node each.
fn four_packages(name: &str) -> Shape {
    let distances = [[10, 16, 22, 18], [16, 10, 18, 22], [22, 18, 10, 16], [18, 22, 16, 10]];
    Shape {
        name: name.into(),
        packages: 4,
        cores: 2,
        threads: 1,
        nodes: (0..4).map(|package| node([2 * package, 2 * package + 1], 256)).collect(),
        distances: distances.map(Vec::from).into(),
    }
}

/// Two packages whose cores have two threads.
fn threads(name: &str) -> Shape {
    Shape {
        name: name.into(),
        packages: 2,
        cores: 2,
        threads: 2,
        nodes: vec![node(0..4, 256), node(4..8, 256)],
        distances: vec![vec![10, 21], vec![21, 10]],
    }
}

/// Two nodes of unequal size in each package, below one level-3 cache, with distances that depend
/// on the direction.
fn lopsided(name: &str) -> Shape {
    let distances = [[10, 12, 20, 24], [11, 10, 26, 28], [22, 26, 10, 13], [24, 31, 14, 10]];
    Shape {
        name: name.into(),
        packages: 2,
        cores: 4,
        threads: 1,
        nodes: vec![node([0], 192), node(1..4, 256), node([4, 6], 192), node([5, 7], 192)],
        distances: distances.map(Vec::from).into(),
    }
}

/// CPUs without memory of their own, and memory without CPUs.
fn far_memory(name: &str) -> Shape {
    let distances = [[10, 14, 30], [14, 10, 34], [30, 34, 10]];
    Shape {
        name: name.into(),
        packages: 2,
        cores: 2,
        threads: 1,
        nodes: vec![node(0..2, 384), node(2..4, 0), node([], 256)],
        distances: distances.map(Vec::from).into(),
    }
}

/// A short description.
pub(super) fn described(shape: &Shape) -> String {
    let nodes: Vec<String> = shape
        .nodes
        .iter()
        .map(|node| format!("CPUs {:?} with {} MiB", node.cpus, node.memory_mib))
        .collect();
    let Shape { packages, cores, threads, .. } = shape;
    format!("{packages} packages x {cores} cores x {threads} threads; nodes: {}", nodes.join(", "))
}

/// The emulator's arguments for CPUs, nodes and memory.
pub(super) fn arguments(shape: &Shape) -> Vec<String> {
    let Shape { packages, cores, threads, .. } = shape;
    let memory: u64 = shape.nodes.iter().map(|node| node.memory_mib).sum();
    let cpus = shape.cpus();
    let mut words = vec!["-m".to_owned(), format!("{memory}M")];
    words.extend([
        "-smp".to_owned(),
        format!("{cpus},sockets={packages},cores={cores},threads={threads}"),
    ]);
    for (number, node) in shape.nodes.iter().enumerate() {
        words.extend(node_arguments(number, node));
    }
    for (from, row) in shape.distances.iter().enumerate() {
        for (to, distance) in row.iter().enumerate().filter(|&(to, _)| to != from) {
            words.extend(["-numa".to_owned(), format!("dist,src={from},dst={to},val={distance}")]);
        }
    }
    words
}

fn node_arguments(number: usize, node: &Node) -> Vec<String> {
    let mut words = Vec::new();
    let mut description = format!("node,nodeid={number}");
    if node.memory_mib > 0 {
        let size = node.memory_mib;
        words.extend([
            "-object".to_owned(),
            format!("memory-backend-ram,id=memory{number},size={size}M"),
        ]);
        description += &format!(",memdev=memory{number}");
    }
    for cpu in &node.cpus {
        description += &format!(",cpus={cpu}");
    }
    words.extend(["-numa".to_owned(), description]);
    words
}

#[cfg(test)]
mod tests {
    //! Blind to: what the emulator makes of it, which the guest's first checks tell.

    use super::*;

    #[test]
    fn every_cpu_of_every_shape_has_one_node_and_every_node_a_distance_to_each() {
        for shape in all() {
            let mut cpus: Vec<usize> =
                shape.nodes.iter().flat_map(|node| node.cpus.clone()).collect();
            cpus.sort_unstable();
            assert!(cpus.into_iter().eq(0..shape.cpus()), "{}", shape.name);
            assert_eq!(shape.distances.len(), shape.nodes.len());
            for (node, row) in shape.distances.iter().enumerate() {
                assert_eq!((row.len(), row[node]), (shape.nodes.len(), 10), "{}", shape.name);
            }
        }
    }

    #[test]
    fn a_node_without_memory_or_cpus_is_told_without_them() {
        let words = arguments(&far_memory("test")).join(" ");
        assert!(words.starts_with("-m 640M -smp 4,sockets=2,cores=2,threads=1 "), "{words}");
        assert!(words.contains("-numa node,nodeid=1,cpus=2,cpus=3 "), "{words}");
        assert!(words.contains("size=256M -numa node,nodeid=2,memdev=memory2 "), "{words}");
        assert!(words.contains("-numa dist,src=2,dst=1,val=34"), "{words}");
    }
}
