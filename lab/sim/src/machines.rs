//! Machines by name.

use sinew_topology::{DescriptionError, Machine};

/// Names and descriptions of the three machines of A.-A. Chasapis, "Optimization Techniques for
/// Task-based Parallel Programming Models" (2014).
const NAMED: [(&str, &str); 3] = [
    // Four packages of six cores; an L2 per two cores, an L3 per package, one memory for all.
    ("dunnington", "package:4 l3:1 l2:3 core:2"),
    // Two packages of six cores with two threads each; one memory per package.
    ("termi", "package:2 node:1 l3:1 l2:6 core:1 pu:2"),
    // Four packages of eight cores with two threads each; one memory per package.
    ("sandman", "package:4 node:1 l3:1 l2:8 core:1 pu:2"),
];

/// The machine of this name (`dunnington`, `termi` or `sandman`), or the machine that the text
/// describes, such as `package:2 node:2 l3:1 core:8 pu:2`.
///
/// # Errors
///
/// Those of [`Machine`]'s descriptions.
pub fn machine(text: &str) -> Result<Machine, DescriptionError> {
    let name = text.trim().to_ascii_lowercase();
    NAMED
        .iter()
        .find(|(known, _)| *known == name)
        .map_or(text, |(_, description)| description)
        .parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a named machine with a wrong size or wrong shared caches.
    #[test]
    fn the_three_machines_are_as_large_as_they_were() {
        for (name, pus, levels) in [("dunnington", 24, 3), ("Termi", 24, 3), ("sandman", 64, 3)] {
            let machine = machine(name).expect(name);
            assert_eq!((machine.pus().len(), machine.distance_levels()), (pus, levels), "{name}");
        }
        assert!(machine("dunington").is_err());
    }
}
