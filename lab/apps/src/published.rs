//! The parameter sets of published experiments, so that they can be run again by name.
//!
//! Sources: `wool` is Karl-Filip Faxén and John Ardelius, *Manycore work stealing* (extended
//! version, 2011), Table 1. `tbb` is a thesis on stealing from the nearest and from the most loaded
//! worker in Intel's Threading Building Blocks. `stamp` is Cao Minh, Chung, Kozyrakis and Olukotun,
//! *STAMP: Stanford Transactional Applications for Multi-Processing* (2008), Table IV; its `+`
//! inputs are larger, and `++` are those for real machines.

/// A problem of a published experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Published {
    /// The experiment's short name: `wool`, `tbb` or `stamp`.
    pub source: &'static str,
    /// The [application](crate::find).
    pub app: &'static str,
    /// Its size, as given to `sinew-lab run --size`.
    pub size: &'static str,
    /// The quotation from the source, and its place there.
    pub note: &'static str,
}

const fn wool(app: &'static str, size: &'static str, note: &'static str) -> Published {
    Published { source: "wool", app, size, note }
}

const fn tbb(app: &'static str, size: &'static str, note: &'static str) -> Published {
    Published { source: "tbb", app, size, note }
}

const fn stamp(app: &'static str, size: &'static str, note: &'static str) -> Published {
    Published { source: "stamp", app, size, note }
}

static PUBLISHED: &[Published] = &[
    wool("cholesky", "125x1024", "125 rows, 4 nonzeros a row, 1K repetitions"),
    wool("cholesky", "250x256", "250 rows, 4 nonzeros a row, 256 repetitions"),
    wool("cholesky", "500x64", "500 rows, 4 nonzeros a row, 64 repetitions"),
    wool("cholesky", "1000x16", "1k rows, 4 nonzeros a row, 16 repetitions"),
    wool("cholesky", "2000x4", "2k rows, 4 nonzeros a row, 4 repetitions"),
    wool("ssf", "12x16384", "12 concatenations, 16K repetitions"),
    wool("ssf", "13x8192", "13 concatenations, 8K repetitions"),
    wool("ssf", "14x4096", "14 concatenations, 4K repetitions"),
    wool("ssf", "15x2048", "15 concatenations, 2K repetitions"),
    wool("ssf", "16x1024", "16 concatenations, 1K repetitions"),
    wool("stress", "10x65536", "height 10, leaves of 256 iterations, 64K repetitions"),
    wool("stress", "11x32768", "height 11, leaves of 256 iterations, 32K repetitions"),
    wool("stress", "12x16384", "height 12, leaves of 256 iterations, 16K repetitions"),
    wool("stress", "13x8192", "height 13, leaves of 256 iterations, 8K repetitions"),
    wool("stress", "14x4096", "height 14, leaves of 256 iterations, 4K repetitions"),
    wool("multisort", "16_384x4096", "16K elements, 4K repetitions"),
    wool("multisort", "65_536x1024", "64K elements, 1K repetitions"),
    wool("multisort", "262_144x256", "256K elements, 256 repetitions"),
    wool("multisort", "1_048_576x64", "1M elements, 64 repetitions"),
    wool("multisort", "4_194_304x16", "4M elements, 16 repetitions"),
    wool("fib", "43", "the number 43"),
    wool("uts", "T3", "4112897 nodes, depth 1572"),
    wool("uts", "T3L", "111345631 nodes, depth 17844"),
    wool("nqueens", "13", "13 queens"),
    tbb("matmul", "1500", "matrix multiply, 1500 x 1500: profile, nearest, sorted lists"),
    tbb("quicksort", "100_000_000", "quicksort, 100M: profile, nearest, sorted lists"),
    tbb("strassen", "256", "strassen, 256 x 256: profile, sorted lists"),
    tbb("gauss", "1024", "Gauss elimination, 1024 x 1024: nearest"),
    tbb("heat", "2048", "5-point heat, 2048 x 2048: nearest"),
    tbb("floyd-warshall", "4096", "Floyd-Warshall, 4096 x 4096: nearest"),
    tbb("convex-hull", "40000000", "convex hull, 40M points: profile"),
    tbb("blackscholes", "65536", "blackscholes, 64K options: most loaded, sorted lists"),
    tbb("swaptions", "20000", "swaptions, 64 of 20,000 trials each: sorted lists"),
    tbb("streamcluster", "16384", "streamcluster, 16,384 points: most loaded, sorted lists"),
    tbb("fluidanimate", "500000", "fluidanimate, 500K particles: profile"),
    tbb("numbercount", "12000", "word count, 12,000 x 12,000 numbers: nearest"),
    stamp("intruder", "a10-l4-n2038-s1", "intruder: 2,038 flows of up to 4 bytes"),
    stamp("intruder", "a10-l16-n4096-s1", "intruder+: 4,096 flows of up to 16 bytes"),
    stamp("intruder", "a10-l128-n262144-s1", "intruder++: 262,144 flows of up to 128 bytes"),
    stamp("vacation", "n4-q60-u90-r16384-t4096", "vacation-high: 4,096 sessions"),
    stamp("vacation", "n4-q60-u90-r1048576-t4194304", "vacation-high++: 4,194,304 sessions"),
    stamp("vacation", "n2-q90-u98-r16384-t4096", "vacation-low: 4,096 sessions"),
    stamp("vacation", "n2-q90-u98-r1048576-t4194304", "vacation-low++: 4,194,304 sessions"),
    stamp("kmeans", "n2048-d16-c16-m15-t0.05", "kmeans-high"),
    stamp("kmeans", "n16384-d24-c16-m15-t0.05", "kmeans-high+"),
    stamp("kmeans", "n65536-d32-c16-m15-t0.00001", "kmeans-high++"),
    stamp("kmeans", "n2048-d16-c16-m40-t0.05", "kmeans-low"),
    stamp("kmeans", "n16384-d24-c16-m40-t0.05", "kmeans-low+"),
    stamp("kmeans", "n65536-d32-c16-m40-t0.00001", "kmeans-low++"),
    stamp("labyrinth", "x32-y32-z3-n96", "labyrinth"),
    stamp("labyrinth", "x48-y48-z3-n64", "labyrinth+"),
    stamp("labyrinth", "x512-y512-z7-n512", "labyrinth++"),
    stamp("yada", "633x20", "yada: 633.2, 20 degrees"),
    stamp("yada", "10_000x10", "yada+: ttimeu10000.2, 10 degrees"),
    stamp("yada", "1_000_000x15", "yada++: ttimeu1000000.2, 15 degrees"),
];

/// All of them, by source and application, as the sources list them.
pub fn published() -> &'static [Published] {
    PUBLISHED
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, find};

    /// Inputs of gigabytes, or of seconds; the applications test that they take the size.
    const LARGE: [&str; 4] = ["quicksort", "convex-hull", "numbercount", "yada"];

    /// Catches: a row whose application or size does not exist.
    #[test]
    fn every_published_size_can_be_asked_for() {
        for row in published().iter().filter(|row| !LARGE.contains(&row.app)) {
            let app = find(row.app).unwrap_or_else(|| panic!("no application {}", row.app));
            let options = Options { size: row.size.parse().unwrap(), ..Options::default() };
            app.prepare(&options).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    /// Catches: a duplicate row.
    #[test]
    fn every_experiment_is_listed_once() {
        for (at, row) in published().iter().enumerate() {
            let same = |other: &&Published| {
                (row.source, row.app, row.size) == (other.source, other.app, other.size)
            };
            assert_eq!(published().iter().position(|other| same(&other)), Some(at), "{row:?}");
        }
    }
}
