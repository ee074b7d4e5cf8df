//! Faxén and Ardelius, "Manycore Work Stealing" (extended version), Table 1: 63 usable cores of a
//! TILEPro64 at 700 MHz.

/// The numbers of workers that the steal intervals of the table are for.
pub const WORKERS: [u32; 8] = [7, 15, 23, 31, 39, 47, 55, 63];

/// The most workers of the publication.
pub const MOST_WORKERS: usize = 63;

/// The number of workers under which sampling slows down, in the publication's simulation, and from
/// which it pays.
pub const SAMPLING_PAYS_FROM: usize = 128;

/// The best sample size there.
pub const BEST_SAMPLE: u32 = 2;

/// The text about Figure 4, whose values only the picture shows.
pub const SAMPLING_WORDS: &str = "The publication's Figure 4 is a picture without numbers. Its \
    text says: under 128 workers sampling slows down, and beyond that its gain grows; on 1024 \
    workers it saves almost a third of the steals; the best sample size is 2.";

/// A line of Table 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Workload {
    /// The application.
    pub app: &'static str,
    /// Its parameter: rows, concatenations, height, elements, n, or the sample tree.
    pub parameter: &'static str,
    /// Number of repetitions of the kernel.
    pub repetitions: u32,
    /// Average parallelism, work over span, where a steal costs nothing.
    pub parallelism_0: f64,
    /// The same where it costs 1000 cycles.
    pub parallelism_1000: f64,
    /// Thousands of cycles of one repetition on one processor.
    pub kilocycles: u32,
    /// Mean size of a task, in cycles.
    pub granularity: u32,
    /// Thousands of cycles of work between two steals, for each of [`WORKERS`].
    pub steal_interval: [u32; 8],
}

/// Table 1. There k is 1000 and K is 1024.
pub const TABLE_1: [Workload; 24] = [
    line("cholesky", "125", 1024, (11.7, 10.4), 42_841, 7008, [37, 21, 16, 14, 13, 12, 12, 11]),
    line("cholesky", "250", 256, (29.6, 26.0), 280_848, 6824, [85, 41, 29, 24, 21, 19, 18, 16]),
    line("cholesky", "500", 64, (81.8, 71.0), 2_073_750, 6732, [233, 101, 67, 52, 44, 38, 34, 31]),
    line(
        "cholesky",
        "1k",
        16,
        (226.5, 200.0),
        17_013_938,
        6950,
        [761, 307, 196, 148, 120, 102, 89, 80],
    ),
    line(
        "cholesky",
        "2k",
        4,
        (546.3, 503.5),
        157_477_250,
        7132,
        [2857, 1121, 688, 510, 405, 338, 292, 257],
    ),
    line("ssf", "12", 16_384, (92.8, 52.9), 928, 6489, [31, 17, 13, 11, 10, 10, 9, 9]),
    line("ssf", "13", 8192, (149.4, 104.1), 2661, 11_469, [78, 41, 30, 25, 22, 20, 19, 18]),
    line("ssf", "14", 4096, (245.3, 192.1), 7591, 20_190, [177, 87, 64, 53, 47, 42, 39, 36]),
    line("ssf", "15", 2048, (403.6, 344.0), 21_557, 35_398, [396, 190, 139, 114, 99, 89, 82, 77]),
    line(
        "ssf",
        "16",
        1024,
        (645.8, 584.8),
        60_908,
        61_773,
        [1017, 474, 339, 275, 237, 213, 194, 179],
    ),
    line("stress", "10", 65_536, (278.4, 59.7), 601, 587, [13, 6, 5, 4, 3, 3, 3, 3]),
    line("stress", "11", 32_768, (404.8, 102.7), 1201, 587, [21, 9, 7, 6, 5, 4, 4, 4]),
    line("stress", "12", 16_384, (534.3, 170.6), 2402, 587, [32, 14, 10, 8, 7, 6, 5, 5]),
    line("stress", "13", 8192, (631.3, 269.5), 4805, 587, [50, 22, 15, 12, 10, 9, 8, 7]),
    line("stress", "14", 4096, (1099.6, 480.5), 9610, 587, [80, 33, 23, 18, 15, 13, 12, 11]),
    line("multisort", "16K", 4096, (68.3, 31.0), 2707, 1142, [16, 8, 6, 4, 4, 3, 3, 3]),
    line("multisort", "64K", 1024, (108.8, 73.8), 11_512, 4645, [58, 27, 19, 15, 13, 12, 11, 10]),
    line(
        "multisort",
        "256K",
        256,
        (148.9, 129.7),
        52_500,
        18_130,
        [233, 108, 75, 60, 51, 45, 41, 38],
    ),
    line(
        "multisort",
        "1M",
        64,
        (139.9, 137.4),
        279_891,
        61_626,
        [1062, 480, 335, 266, 226, 199, 179, 166],
    ),
    line(
        "multisort",
        "4M",
        16,
        (91.5, 91.7),
        1_442_000,
        122_623,
        [4510, 1950, 1343, 1032, 867, 759, 684, 624],
    ),
    line(
        "fib",
        "43",
        1,
        (116_802.5, 110_982.2),
        44_121_000,
        63,
        [27_042, 1216, 1045, 1264, 817, 859, 753, 616],
    ),
    line("uts", "T3", 1, (1087.6, 682.4), 8_491_000, 2359, [240, 93, 55, 40, 33, 29, 29, 27]),
    line("uts", "T3L", 1, (4457.1, 2421.6), 228_676_000, 2567, [316, 79, 46, 35, 35, 32, 29, 31]),
    line(
        "nqueens",
        "13",
        1,
        (65_311.8, 27_140.4),
        31_171_000,
        521,
        [13_947, 10_399, 6066, 3876, 3241, 2600, 2110, 2072],
    ),
];

const fn line(
    app: &'static str,
    parameter: &'static str,
    repetitions: u32,
    (parallelism_0, parallelism_1000): (f64, f64),
    kilocycles: u32,
    granularity: u32,
    steal_interval: [u32; 8],
) -> Workload {
    Workload {
        app,
        parameter,
        repetitions,
        parallelism_0,
        parallelism_1000,
        kilocycles,
        granularity,
        steal_interval,
    }
}

/// The line of a workload, if the table has it.
pub fn find(app: &str, parameter: &str) -> Option<&'static Workload> {
    TABLE_1.iter().find(|workload| (workload.app, workload.parameter) == (app, parameter))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a slip of the pen that the table itself gives away.
    #[test]
    fn the_lines_of_the_table_are_consistent() {
        for workload in &TABLE_1 {
            // The multisort of 4M elements is printed with 91.5 and 91.7.
            assert!(workload.parallelism_0 * 1.01 > workload.parallelism_1000, "{workload:?}");
            let first_to_last = (workload.steal_interval[0], workload.steal_interval[7]);
            assert!(first_to_last.0 > first_to_last.1, "{workload:?}");
        }
        // A tree one level higher has twice the leaves.
        let stress: Vec<u32> = TABLE_1
            .iter()
            .filter(|line| line.app == "stress")
            .map(|line| line.kilocycles)
            .collect();
        assert!(stress.windows(2).all(|pair| pair[1].abs_diff(2 * pair[0]) <= 1), "{stress:?}");
        assert!(find("stress", "10").is_some() && find("stress", "9").is_none());
    }
}
