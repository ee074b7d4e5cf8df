//! Clustering a block of a stream of points around 10 to 20 of them, after the program
//! streamcluster of the PARSEC suite.
//!
//! Thousands of short loops over the same points with a decision in between: they show the cost of
//! entering a loop, and the effect of caches.
//!
//! # Not handled
//!
//! Further blocks, and clustering their centres again: PARSEC's simulation inputs are one block,
//! and 16,384 points is the published size.

mod points;
mod search;

use std::fmt;

use sinew::{Schedule, Worker};

use crate::app::App;
use crate::loops::{LoopSchedule, Loops, Serial};
use crate::memory::room;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use points::{Block, DIMENSIONS, Member, Point, nearest};
use search::{Search, WANTED};

const SIZES: &str = "100 to 4000000000 points";

const NUMBERS: Numbers = Numbers {
    app: "streamcluster",
    sizes: SIZES,
    tiny: 200,
    small: 1_024,
    full: 16_384,
    range: 100..=4_000_000_000,
};

pub(crate) const APP: App = App {
    name: "streamcluster",
    about: "clustering points in many dimensions by local search: thousands of short loops",
    sizes: SIZES,
    demo: "full",
    loops: true,
    reads_files: false,
    has_worklist: false,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let length = NUMBERS.pick(&options.size)?;
    // The points, their clusters during a search, and those in the results of both versions.
    let bytes = size_of::<Point>() + size_of::<Member>() + 2 * size_of::<u32>();
    room(APP.name, length.saturating_mul(bytes as u64))?;
    let schedule = options.schedule_or(Schedule::Static);
    Ok(problem(StreamCluster { points: points::random(length as usize), schedule }))
}

struct StreamCluster {
    points: Vec<Point>,
    schedule: LoopSchedule,
}

#[derive(Debug, Clone, PartialEq)]
struct Clusters {
    /// The points that are centres.
    centers: Vec<usize>,
    /// For each point its centre, as a place in that list.
    members: Vec<u32>,
    /// The sum of squared distances.
    cost: f64,
}

impl fmt::Display for Clusters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} centres, cost {:.3}", self.centers.len(), self.cost)
    }
}

/// Costs are the same if they differ by no more than that part: sums of single-precision numbers,
/// in any order.
const ROUNDING: f64 = 1e-9;

impl StreamCluster {
    fn solve(&self, loops: impl Loops) -> Clusters {
        let mut search = Search::new(&self.points, loops);
        search.run();
        let members = search.blocks.iter().flat_map(|block| &block.members);
        Clusters {
            members: members.map(|member| member.center).collect(),
            cost: search.blocks.iter().map(Block::cost).sum(),
            centers: search.centers,
        }
    }

    /// The cost of some centres if every point goes to the nearest, and the centres they go to.
    fn assign(&self, centers: &[&Point]) -> (f64, Vec<u32>) {
        let nearest = || self.points.iter().map(|point| nearest(point, centers));
        (
            nearest().map(|(_, cost)| f64::from(cost)).sum(),
            nearest().map(|(center, _)| center).collect(),
        )
    }

    fn centers(&self, clusters: &Clusters) -> Result<Vec<&Point>, Wrong> {
        let Clusters { centers, .. } = clusters;
        let count = centers.len();
        Wrong::unless(WANTED.contains(&count), || format!("{count} centres are not {WANTED:?}"))?;
        let found: Option<Vec<&Point>> = centers.iter().map(|&at| self.points.get(at)).collect();
        found.ok_or_else(|| Wrong("a centre is none of the points".to_owned()))
    }
}

impl Solve for StreamCluster {
    type Input = ();
    type Answer = Clusters;

    fn size(&self) -> String {
        format!("{} points, {DIMENSIONS} dimensions", self.points.len())
    }

    fn input(&self) {}

    fn serial(&self, (): ()) -> Clusters {
        self.solve(Serial)
    }

    fn parallel(&self, _: &Worker, (): ()) -> Clusters {
        self.solve(self.schedule)
    }

    /// Every point is with its nearest centre, the cost is theirs, and lower than that of as many
    /// arbitrary centres.
    fn check(&self, clusters: &Clusters) -> Result<(), Wrong> {
        let centers = self.centers(clusters)?;
        let (cost, members) = self.assign(&centers);
        Wrong::unless(members == clusters.members, || {
            "a point is not with its nearest centre".to_owned()
        })?;
        let same = (cost - clusters.cost).abs() <= ROUNDING * cost;
        Wrong::unless(same, || format!("the cost is {cost}, not {}", clusters.cost))?;
        let arbitrary: Vec<&Point> = self.points.iter().take(centers.len()).collect();
        let (above, _) = self.assign(&arbitrary);
        Wrong::unless(cost < above, || format!("arbitrary centres cost {above}, these {cost}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(points: Vec<Point>) -> StreamCluster {
        StreamCluster { points, schedule: Schedule::Dynamic { chunk: 1 }.into() }
    }

    /// Blind to: a search that finds groups so far apart but none that are near.
    #[test]
    fn a_dozen_distant_groups_are_found() {
        let mut points = points::random(360);
        for (at, point) in points.iter_mut().enumerate() {
            point[at % 12] += 100.0;
        }
        let problem = problem(points);
        let clusters = problem.serial(());
        problem.check(&clusters).unwrap();
        let group = |at: usize| clusters.centers[clusters.members[at] as usize] % 12;
        assert!((0..360).all(|at| group(at) == at % 12), "{clusters}");
    }

    /// The price at which centres are opened depends on the number of points.
    /// Blind to: numbers of points in between.
    #[test]
    fn the_number_of_centres_is_as_wanted_for_any_number_of_points() {
        for length in [100, 127, 128, 129, 150, 300, 500] {
            let problem = problem(points::random(length));
            let clusters = problem.serial(());
            problem.check(&clusters).unwrap_or_else(|wrong| panic!("{length} points: {wrong}"));
        }
    }

    /// Blind to: a better clustering that was not found.
    #[test]
    fn a_wrong_centre_member_or_cost_is_noticed() {
        let problem = problem(points::random(200));
        let right = problem.serial(());
        problem.check(&right).unwrap();
        let wrong = |tamper: fn(&mut Clusters)| {
            let mut clusters = right.clone();
            tamper(&mut clusters);
            problem.check(&clusters).unwrap_err().to_string()
        };
        assert!(wrong(|clusters| clusters.centers[0] = 200).contains("none of the points"));
        assert!(wrong(|clusters| clusters.centers.truncate(9)).contains("9 centres"));
        assert!(wrong(|clusters| clusters.centers.swap(0, 1)).contains("nearest"));
        assert!(
            wrong(|clusters| clusters.members[7] = clusters.members[7].wrapping_sub(1))
                .contains("nearest")
        );
        assert!(wrong(|clusters| clusters.cost *= 0.999).contains("the cost"));
        assert!(wrong(|clusters| _ = clusters.members.pop()).contains("nearest"));
    }

    /// Blind to: nothing; the members follow from the centres.
    #[test]
    fn centres_no_better_than_arbitrary_ones_are_noticed() {
        let problem = problem(points::random(200));
        let centers: Vec<usize> = (0..12).collect();
        let (cost, members) = problem.assign(&problem.points[..12].iter().collect::<Vec<_>>());
        let message = problem.check(&Clusters { centers, members, cost }).unwrap_err().to_string();
        assert!(message.contains("arbitrary"), "{message}");
    }
}
