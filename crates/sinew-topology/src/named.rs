//! Machines by name: those that the publications behind Sinew describe.
//!
//! Such a name is a description everywhere, since `Machine::from_str` reads it. A machine without
//! nodes has one memory for all of its packages.

/// Names, in lower case, and descriptions, publication by publication.
static NAMED: [(&str, &str); 8] = [
    // Faxén and Ardelius (2011): the TILEPro64, each core with an L2 of its own.
    ("tilepro64", "package:1 l2:64 core:1"),
    // Chasapis (2014): four Xeon X7460, with an L2 for two cores and one memory; two Xeon X5650
    // and four Xeon of eight cores, each with a memory and two threads a core.
    ("dunnington", "package:4 l3:1 l2:3 core:2"),
    ("termi", "package:2 node:1 l3:1 l2:6 core:1 pu:2"),
    ("sandman", "package:4 node:1 l3:1 l2:8 core:1 pu:2"),
    // Wittmann and Hager (2009): four Opteron 8220 SE; their other machine is Dunnington.
    ("opteron", "package:4 node:1 l2:2 core:1"),
    // Góes (2012): four Xeon E7320 with one memory; eight Opteron 875; four Xeon X7560, one thread
    // a core.
    ("uma16", "package:4 l2:2 core:2"),
    ("numa16", "package:8 node:1 l2:2 core:1"),
    ("numa32", "package:4 node:1 l3:1 l2:8 core:1"),
];

/// The names of published machines, separated by commas: each is a description of a
/// [`Machine`](crate::Machine).
pub fn machine_names() -> String {
    NAMED.map(|(name, _)| name).join(", ")
}

/// The description of the machine of this name, in any case.
pub(crate) fn description(name: &str) -> Option<&'static str> {
    let name = name.trim();
    let named = NAMED.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    named.map(|(_, description)| *description)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, Machine};

    /// Catches: a named machine with a wrong size, wrong memories or wrong shared caches.
    #[test]
    fn the_named_machines_are_as_large_as_they_were() {
        let known = [
            ("tilepro64", 64, 1, 0, 1),
            ("dunnington", 24, 4, 0, 3),
            ("Termi", 24, 2, 2, 3),
            (" sandman ", 64, 4, 4, 3),
            ("opteron", 8, 4, 4, 2),
            ("UMA16", 16, 4, 0, 3),
            ("numa16", 16, 8, 8, 2),
            ("numa32", 32, 4, 4, 2),
        ];
        for (name, pus, packages, nodes, levels) in known {
            let machine: Machine = name.parse().expect(name);
            let counts = [Level::Package, Level::Node].map(|level| machine.count(level));
            assert_eq!((machine.pus().len(), counts), (pus, [packages, nodes]), "{name}");
            assert_eq!(machine.distance_levels(), levels, "{name}");
        }
        assert_eq!(NAMED.len(), known.len());
        let error = "dunington".parse::<Machine>().unwrap_err().to_string();
        assert!(error.contains("`dunington`") && error.contains("dunnington, termi"), "{error}");
    }
}
