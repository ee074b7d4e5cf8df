//! The machine and its limits, as a tree for people; `json` is the same for programs.

use std::fmt::{self, Write};

use crate::limits::Limits;
use crate::machine::{Level, Machine, Object, Source};
use sinew_cpus::{CpuSet, write_list};

/// An indented tree, the limits below it, and warnings last. Brackets mark PUs that the process may
/// not use.
///
/// ```
/// # use sinew_topology::{Limits, Machine, render};
/// let machine: Machine = "package:1 l3:1 core:2 pu:2".parse()?;
/// print!("{}", render(&machine, &Limits::unlimited(&machine)));
/// # Ok::<(), sinew_topology::DescriptionError>(())
/// ```
///
/// ```text
/// machine: 1 package, 2 cores, 4 PUs (described as `package:1 l3:1 core:2 pu:2`)
///   package 0, L3
///     core 0: PU 0-1
///     core 1: PU 2-3
/// distances: 1 same core, 2 same L3
/// may use: CPU 0-3 (affinity 0-3, cpuset not limited), quota none, so 4 threads
/// ```
pub fn render(machine: &Machine, limits: &Limits) -> String {
    let mut text = String::new();
    let tree = Tree { machine, allowed: limits.allowed() };
    tree.write(&mut text)
        .and_then(|()| write_limits(&mut text, limits))
        .expect("a String takes any text");
    for warning in machine.warnings().iter().chain(limits.warnings()) {
        text += &format!("warning: {warning}\n");
    }
    text
}

struct Tree<'m> {
    machine: &'m Machine,
    allowed: &'m CpuSet,
}

impl<'m> Tree<'m> {
    fn write(&self, out: &mut String) -> fmt::Result {
        let counts =
            [Level::Package, Level::Node, Level::Core, Level::Pu].map(|level| self.count(level));
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        writeln!(out, "machine: {} ({})", counts.join(", "), self.source())?;
        self.write_children(out, &self.machine.objects()[0], 1)?;
        self.write_distances(out)
    }

    fn count(&self, level: Level) -> Option<String> {
        let count = self.machine.count(level);
        let plural = if count == 1 { "" } else { "s" };
        (count > 0).then(|| format!("{count} {level}{plural}"))
    }

    fn source(&self) -> String {
        match self.machine.source() {
            Source::Sysfs(root) => format!("from {}", root.join("sys").display()),
            Source::Synthetic(description) => format!("described as `{description}`"),
            Source::Flat => "nothing more is known".into(),
        }
    }

    fn write_children(&self, out: &mut String, object: &'m Object, depth: usize) -> fmt::Result {
        for &child in &object.children {
            self.write_line(out, &self.machine.objects()[child], depth)?;
        }
        Ok(())
    }

    /// An object, and on the same line each only child of it.
    fn write_line(&self, out: &mut String, mut object: &'m Object, depth: usize) -> fmt::Result {
        write!(out, "{:indent$}{}", "", self.label(object), indent = 2 * depth)?;
        while let [only] = object.children[..] {
            object = &self.machine.objects()[only];
            write!(out, ", {}", self.label(object))?;
        }
        if object.children.is_empty() {
            writeln!(out, ": {}", self.pus(object))
        } else {
            writeln!(out)?;
            self.write_children(out, object, depth + 1)
        }
    }

    fn label(&self, object: &Object) -> String {
        let size = object.cache_bytes.map(bytes);
        match object.level {
            Level::L3 | Level::L2 => {
                size.map_or(object.level.to_string(), |size| format!("{} {size}", object.level))
            }
            Level::Node => format!("node {}{}", object.number, self.memory(object)),
            Level::Core => format!("core {}{}", object.number, self.core_details(object, size)),
            level => format!("{level} {}", object.number),
        }
    }

    fn memory(&self, node: &Object) -> String {
        let node = self.machine.nodes().iter().find(|n| n.number == node.number);
        node.and_then(|n| n.memory_bytes)
            .map_or(String::new(), |size| format!(" ({})", bytes(size)))
    }

    fn core_details(&self, core: &Object, l1: Option<String>) -> String {
        let l1 = l1.map(|size| format!("L1 {size}"));
        let kind = &self.machine.kinds()[self.machine.pus()[core.pus.start].kind].name;
        let kind = (self.machine.kinds().len() > 1).then(|| kind.clone());
        let details: Vec<String> = l1.into_iter().chain(kind).collect();
        if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) }
    }

    fn pus(&self, core: &Object) -> String {
        let cpus = || self.machine.pus()[core.pus.clone()].iter().map(|pu| pu.cpu);
        let mut text = "PU ".to_owned();
        if cpus().all(|cpu| self.allowed.contains(cpu)) {
            write_list(cpus(), &mut text).expect("a String takes any text");
            return text;
        }
        let marked = cpus().map(|cpu| {
            if self.allowed.contains(cpu) { cpu.to_string() } else { format!("[{cpu}]") }
        });
        text + &marked.collect::<Vec<_>>().join(",")
    }

    fn write_distances(&self, out: &mut String) -> fmt::Result {
        if self.machine.distance_levels() == 0 {
            return Ok(());
        }
        let names: Vec<String> = self
            .machine
            .distance_names()
            .iter()
            .enumerate()
            .map(|(i, name)| format!("{} {name}", i + 1))
            .collect();
        writeln!(out, "distances: {}", names.join(", "))
    }
}

fn write_limits(out: &mut String, limits: &Limits) -> fmt::Result {
    let cpuset = limits.cpuset().map_or("not limited".into(), CpuSet::to_string);
    let from =
        limits.quota_from().map_or(String::new(), |path| format!(" from {}", path.display()));
    let quota = limits.quota().map_or("none".into(), |quota| format!("{quota}{from}"));
    let threads = limits.effective_threads();
    let plural = if threads == 1 { "" } else { "s" };
    let (allowed, affinity) = (limits.allowed(), limits.affinity());
    writeln!(
        out,
        "may use: CPU {allowed} (affinity {affinity}, cpuset {cpuset}), quota {quota}, so \
         {threads} thread{plural}"
    )
}

/// The size in the largest unit that leaves at least 1; one decimal if it is not whole.
fn bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut size = bytes as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    if size.fract() == 0.0 {
        format!("{size} {}", units[unit])
    } else {
        format!("{size:.1} {}", units[unit])
    }
}

impl fmt::Display for Machine {
    /// The tree without limits, as [`render`] shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        Tree { machine: self, allowed: &self.cpus() }.write(&mut text)?;
        f.write_str(text.trim_end())
    }
}
