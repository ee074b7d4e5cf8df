//! Jacobi's method in three dimensions: a six-point stencil on a cube, in blocks, as loops, tasks,
//! and tasks in the queues of locality domains.
//!
//! Source: the toy model of M. Wittmann and G. Hager, "A Proof of Concept for Optimizing Task
//! Parallelism by Locality Queues" (2009), whose published size is a cube of 600 sites in blocks of
//! 600 x 10 x 10. It shows where data lies: nearly all of its time goes into moving it.
//!
//! | file | contents |
//! |---|---|
//! | `choice` | what the user may choose about a run |
//! | `kernel` | one row, with ordinary stores and past the caches; the field that is only scaled |
//! | `lattice` | the cube, its blocks, and one sweep in every form |
//! | `temporal` | several time steps while the data is in a cache |

mod choice;
mod kernel;
mod lattice;
mod temporal;

use std::fmt;
use std::mem;

use sinew::locality::Distribution;
use sinew::{DomainKind, Domains, Placement, Pool, Worker};

pub use kernel::Stores;
pub use lattice::{Form, Lattice, Plan};
pub use temporal::{Fronts, Strips};

use crate::app::App;
use crate::options::{Error, Numbers, Options};
use crate::problem::{Problem, Solve, Wrong, problem};
use choice::Choice;
use kernel::Wave;
use lattice::sweep;

const SIZES: &str = "a side of 3 to 1200 sites, and after it, with commas, tasks, queues, nearest \
    or strict (instead of --schedule, which makes loops), layers or rows first, and first-touch, \
    first-touch-cyclic, bind:NODE, bind-local, cyclic or one-node";

const NUMBERS: Numbers =
    Numbers { app: "jacobi", sizes: SIZES, tiny: 24, small: 120, full: 600, range: 3..=1200 };

pub(crate) const APP: App = App {
    name: "jacobi",
    about: "a six-point stencil on a cube: a task a block, a queue a locality domain",
    sizes: SIZES,
    demo: "small",
    loops: true,
    reads_files: false,
    has_worklist: false,
    prepare,
};

/// Sweeps.
const STEPS: usize = 10;

/// The domains of the published machine, used without NUMA nodes.
const PARTS: usize = 4;

/// The largest error a site may have after `STEPS` sweeps, as a share of the largest site.
const TOLERANCE: f64 = 1e-13;

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let choice = Choice::new(options)?;
    let side = choice.side;
    // Impossible placements are refused here, except those that only workers can detect.
    if let Some((placement, _)) =
        choice.placing.filter(|(placement, _)| *placement != Placement::BindLocal)
    {
        placement.check().map_err(Error::Placement)?;
    }
    // Two fields at a time, and the results of both versions.
    let bytes = 4 * side.pow(3) * size_of::<f64>();
    let mut probe: Vec<u8> = Vec::new();
    if probe.try_reserve_exact(bytes).is_err() {
        return Err(Error::Memory { app: APP.name, bytes: bytes as u64 });
    }
    let plan = Plan { order: choice.order, ..Plan::published(side) };
    Ok(problem(Jacobi { plan, form: choice.form, placing: choice.placing }))
}

struct Jacobi {
    plan: Plan,
    form: Form,
    placing: Option<(Placement, Distribution)>,
}

/// The two fields that take turns.
enum Fields {
    Plain([Vec<f64>; 2]),
    Placed(Lattice),
}

/// The cube after all sweeps.
#[derive(Debug)]
enum Cube {
    Plain(Vec<f64>),
    Placed(Lattice),
}

impl Cube {
    fn sites(&self) -> &[f64] {
        match self {
            Self::Plain(sites) => sites,
            Self::Placed(lattice) => lattice.sites(),
        }
    }
}

impl PartialEq for Cube {
    fn eq(&self, other: &Self) -> bool {
        self.sites() == other.sites()
    }
}

impl fmt::Display for Cube {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} at most", self.sites().iter().copied().fold(0.0, f64::max))
    }
}

impl Jacobi {
    fn run(&self, [mut now, mut next]: [Vec<f64>; 2], domains: &Domains) -> Cube {
        let slabs = self.plan.side.div_ceil(self.plan.block.1);
        let owners = |slab| Distribution::Static.domain(slab, slabs, domains.len());
        for _ in 0..STEPS {
            sweep(&self.plan, self.form, domains, owners, &now, &mut next);
            mem::swap(&mut now, &mut next);
        }
        Cube::Plain(now)
    }
}

/// NUMA nodes where there are several, else as many parts as the published machine has.
fn domains(worker: &Worker) -> Domains {
    let nodes = Domains::around(worker, DomainKind::Node).ok().filter(|nodes| nodes.len() > 1);
    let parts = || Domains::around(worker, DomainKind::Parts(PARTS)).expect("any pool has parts");
    nodes.unwrap_or_else(parts)
}

impl Solve for Jacobi {
    type Input = Fields;
    type Answer = Cube;

    fn size(&self) -> String {
        let (side, (rows, layers)) = (self.plan.side, self.plan.block);
        let placed = self
            .placing
            .map(|(placement, _)| format!(", pages by {placement}"))
            .unwrap_or_default();
        format!(
            "{side} x {side} x {side}, blocks of {side} x {rows} x {layers}, {STEPS} sweeps{placed}"
        )
    }

    fn input(&self) -> Fields {
        let wave = Wave::new(self.plan.side);
        let field: Vec<f64> = (0..self.plan.side.pow(3)).map(|at| wave.site(at)).collect();
        Fields::Plain([field.clone(), field])
    }

    fn place(&self, fields: Fields, pool: &Pool) -> Fields {
        let Some((placement, distribution)) = self.placing else { return fields };
        let make = |worker: &Worker| {
            Lattice::new(self.plan.clone(), &domains(worker), distribution, placement)
        };
        Fields::Placed(pool.run(make).unwrap_or_else(|error| panic!("{error}")))
    }

    fn serial(&self, fields: Fields) -> Cube {
        let Fields::Plain([mut now, mut next]) = fields else {
            unreachable!("only `place` makes others")
        };
        for _ in 0..STEPS {
            lattice::sweep_serial(&self.plan, &now, &mut next);
            mem::swap(&mut now, &mut next);
        }
        Cube::Plain(now)
    }

    fn parallel(&self, worker: &Worker, fields: Fields) -> Cube {
        match fields {
            Fields::Plain(fields) => self.run(fields, &domains(worker)),
            Fields::Placed(mut lattice) => {
                lattice.run(self.form, STEPS);
                Cube::Placed(lattice)
            }
        }
    }

    /// The stencil scales the field it begins with, and changes nothing else about it.
    fn check(&self, cube: &Cube) -> Result<(), Wrong> {
        let sites = cube.sites();
        Wrong::unless(sites.len() == self.plan.side.pow(3), || {
            "the cube has another size".to_owned()
        })?;
        let error = Wave::new(self.plan.side).error(sites, STEPS);
        Wrong::unless(error <= TOLERANCE, || format!("a site is wrong by {error:e} of the largest"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew::locality::DomainOrder;
    use sinew::{Schedule, TileOrder};

    const FORMS: [Form; 7] = [
        Form::Serial,
        Form::Loop(Schedule::Static),
        Form::Loop(Schedule::Dynamic { chunk: 1 }),
        Form::Tasks(DomainOrder::Together),
        Form::Tasks(DomainOrder::Ring),
        Form::Tasks(DomainOrder::Nearest),
        Form::Tasks(DomainOrder::Strict),
    ];

    /// Catches: a block that is left out, done twice or cut wrongly, in any form, with any
    /// stores and in both orders of submission.
    #[test]
    fn every_form_gives_the_same_bits() {
        let pool = Pool::builder().threads(3).build().unwrap();
        let domains = Domains::new(&pool, DomainKind::Parts(4)).unwrap();
        let plan = |block, order, stores| Plan { block, order, stores, ..Plan::published(21) };
        let mut right: Option<Vec<f64>> = None;
        for (block, stores) in [(4, 3), (1, 1), (30, 2)]
            .into_iter()
            .flat_map(|block| [Stores::Ordinary, Stores::Streaming].map(|stores| (block, stores)))
        {
            for (order, form) in [TileOrder::LayersOutside, TileOrder::RowsOutside]
                .into_iter()
                .flat_map(|order| FORMS.map(|form| (order, form)))
            {
                let sites = pool.run(|_| {
                    let plan = plan(block, order, stores);
                    let mut lattice =
                        Lattice::new(plan, &domains, Distribution::Cyclic, Placement::FirstTouch)
                            .unwrap();
                    lattice.run(form, 3);
                    assert!(lattice.error() < TOLERANCE, "{form:?}");
                    lattice.sites().to_vec()
                });
                let right = right.get_or_insert_with(|| sites.clone());
                assert!(sites == *right, "{form:?}, {stores:?}, {block:?}, {order:?}");
            }
        }
    }

    /// Placements of a field's pages, and their first touch.
    fn placements() -> Vec<(Placement, Distribution)> {
        let nodes =
            ["bind:0", "bind-local", "cyclic", "one-node"].map(|text| text.parse().unwrap());
        let touched = [Distribution::Static, Distribution::Cyclic]
            .map(|distribution| (Placement::FirstTouch, distribution));
        touched
            .into_iter()
            .chain(nodes.map(|placement| (placement, Distribution::Static)))
            .collect()
    }

    /// Catches: a placement under which a block is left out, is swept by the wrong queue's
    /// order, or lies outside the field.
    #[test]
    fn every_placement_gives_right_answers_in_every_form() {
        let pool = Pool::builder().threads(3).build().unwrap();
        let domains = Domains::new(&pool, DomainKind::Parts(4)).unwrap();
        // Blocks of several pages, the last of which is shorter.
        let plan = Plan { block: (7, 3), ..Plan::published(40) };
        for (placement, distribution) in placements() {
            let lattice =
                pool.run(|_| Lattice::new(plan.clone(), &domains, distribution, placement));
            let mut lattice = match lattice {
                Ok(lattice) => lattice,
                Err(error) => {
                    println!("skipped: {error}");
                    continue;
                }
            };
            for form in FORMS {
                pool.run(|_| lattice.run(form, 2));
                assert!(lattice.error() < TOLERANCE, "{form:?}, {distribution:?}, {placement}");
            }
        }
    }

    /// Catches: a choice that does not reach the workers, or does not produce the result.
    #[test]
    fn chosen_runs_have_the_same_answer() {
        let pool = Pool::builder().threads(2).build().unwrap();
        for words in
            ["", ",tasks,rows", ",strict,first-touch-cyclic", ",one-node", ",nearest,cyclic"]
        {
            for schedule in [None, Some(Schedule::Static)]
                .into_iter()
                .take(1 + usize::from(words == ",one-node"))
            {
                let size = format!("24{words}").parse().unwrap();
                let problem = match prepare(&Options { size, schedule, ..Options::default() }) {
                    Ok(problem) => problem,
                    Err(error @ Error::Placement(_)) => {
                        println!("skipped: {error}");
                        continue;
                    }
                    Err(error) => panic!("{words}: {error}"),
                };
                let answer = problem.parallel(&pool).answer;
                problem.check(&answer).unwrap_or_else(|wrong| panic!("{words}: {wrong}"));
                problem
                    .agree(&problem.serial().answer, &answer)
                    .unwrap_or_else(|wrong| panic!("{words}: {wrong}"));
            }
        }
    }

    /// Catches: published parameters that are not what was published.
    #[test]
    fn the_published_cube_has_3600_blocks() {
        for (side, edge) in [(600, 10), (120, 2)] {
            let plan = Plan::published(side);
            assert_eq!((plan.block, plan.max_pending), ((edge, edge), 257));
            assert_eq!(side.div_ceil(plan.block.0) * side.div_ceil(plan.block.1), 3600);
        }
    }
}
