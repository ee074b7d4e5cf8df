//! Wittmann and Hager, "A Proof of Concept for Optimizing Task Parallelism by Locality Queues":
//! four sockets with two cores each (Opteron 8220 SE at 2.8 GHz), one locality domain a socket.

/// Table 1, in million lattice site updates a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    /// The order in which blocks are submitted, from the outermost loop to the innermost.
    pub order: &'static str,
    /// The first-touch placement of the blocks: `static`, or `static,1`.
    pub placement: &'static str,
    /// Whether tasks went through locality queues.
    pub queues: bool,
    /// Million updates a second.
    pub mlups: f64,
    /// The publication's value after its ± sign.
    pub deviation: f64,
}

/// Table 1: 600 × 600 × 600 sites in blocks of 600 × 10 × 10, 8 threads, 4 domains.
pub const TABLE_1: [Speed; 8] = [
    speed("kji", "static", false, 149.8, 0.2),
    speed("jki", "static", false, 247.9, 0.6),
    speed("kji", "static", true, 180.8, 0.4),
    speed("jki", "static", true, 598.2, 2.9),
    speed("kji", "static,1", false, 205.9, 0.4),
    speed("jki", "static,1", false, 412.7, 2.8),
    speed("kji", "static,1", true, 588.4, 3.1),
    speed("jki", "static,1", true, 594.6, 4.2),
];

const fn speed(
    order: &'static str,
    placement: &'static str,
    queues: bool,
    mlups: f64,
    deviation: f64,
) -> Speed {
    Speed { order, placement, queues, mlups, deviation }
}

/// The entry of Table 1 for these conditions.
pub fn find(order: &str, placement: &str, queues: bool) -> Option<&'static Speed> {
    TABLE_1
        .iter()
        .find(|speed| (speed.order, speed.placement, speed.queues) == (order, placement, queues))
}

/// The locality domains of the publication's machine.
pub const DOMAINS: usize = 4;

/// The text about Figures 1 and 2, whose values only the pictures show.
pub const FIGURE_WORDS: &str = "Its Figures 1 and 2 are pictures without numbers. The text says of \
    the ccNUMA machine: static loops scale nearly as on a machine with uniform memory. Dynamic \
    ones lose most of their parallel efficiency to remote accesses, and vary from sweep to sweep. \
    With all pages in one domain nothing is gained over one socket, about what its Table 1 has for \
    plain tasks over statically placed blocks submitted in order (149.8 MLUP/s). 4 threads on two \
    sockets under a dynamic loop reach about 247.9, 8 threads on four about 412.7. Locality queues \
    come within 10 % of the static loop.";

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: an entry given twice, or left out.
    #[test]
    fn every_combination_of_conditions_has_its_entry() {
        for order in ["kji", "jki"] {
            for placement in ["static", "static,1"] {
                for queues in [false, true] {
                    assert!(
                        find(order, placement, queues).is_some(),
                        "{order} {placement} {queues}"
                    );
                }
            }
        }
        assert!(find("ijk", "static", true).is_none());
    }
}
