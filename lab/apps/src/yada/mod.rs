//! Refining a mesh until no triangle has a small angle, after the program yada of the STAMP suite.
//!
//! Ruppert's algorithm: a bad triangle is replaced by a vertex, around which the mesh is
//! triangulated again; that may make further triangles bad. Cavities of two workers may overlap,
//! which only digging shows: each is dug and filled in a transaction. Rules for small angles of the
//! input are in `domain`.
//!
//! | file | contents |
//! |---|---|
//! | `triangle`, `geometry` | triangles and their neighbours; what is exact and what is rounded |
//! | `domain` | what is to be filled, and how good it has to be |
//! | `cavity`, `refine` | putting a vertex in; where to put it |
//! | `store`, `shared` | a mesh in vectors; one in transactional variables |
//! | `by_hand`, `listed` | the original program's loop around transactions; the worklist |
//! | `build`, `read`, `generate` | meshes from parts, from files, and at random |
//! | `check` | whether the result is right |
//!
//! # Not handled
//!
//! Removing triangles in holes of a `.poly` file: the program that triangulated it has done that.

mod build;
mod by_hand;
mod cavity;
mod check;
mod domain;
mod generate;
mod geometry;
mod listed;
mod read;
mod refine;
mod shared;
mod store;
#[cfg(test)]
mod tests;
mod triangle;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use sinew::Worker;

use crate::app::App;
use crate::lettered::named;
use crate::lists::Lists;
use crate::memory::room;
use crate::options::{Error, Options, Size};
use crate::problem::{Problem, Solve, Wrong, problem};
use crate::product::Product;
use check::Extent;
use domain::Domain;
use shared::Shared;
use sinew_stm::THeap;
use store::Mesh;
use triangle::{Bad, Triangle, Vertex};

const SIZES: &str = "stamp (1000000x15, the mesh's shape), or 16 to 100000000 points `x` a \
    smallest angle of 1 to 26 degrees, such as 10000x10; for files the angle";

const NUMBERS: Product<2> = Product {
    app: "yada",
    sizes: SIZES,
    tiny: [60, 20],
    small: [633, 20],
    full: [10_000, 10],
    ranges: [generate::FEWEST..=100_000_000, ANGLES],
    absent: [0, 20],
};

/// Angles for which refinement ends.
const ANGLES: std::ops::RangeInclusive<u64> = 1..=26;

pub(crate) const APP: App = App {
    name: "yada",
    about: "refining a mesh until it has no small angles: a transaction a bad triangle",
    sizes: SIZES,
    demo: "50_000x20",
    loops: false,
    reads_files: true,
    has_worklist: true,
    prepare,
};

fn prepare(options: &Options) -> Result<Box<dyn Problem>, Error> {
    let (name, (mesh, domain)) = match &options.path {
        Some(path) => (show_name(path), read::read(path, angle(&options.size)?)?),
        None => {
            let [points, angle] = NUMBERS.pick(&meant(&options.size))?;
            // About two triangles per point, in the input, its copy and a result three times as
            // large, with the structure that finds their neighbours.
            let bytes = 8 * size_of::<Triangle>() + 5 * size_of::<Vertex>();
            room(APP.name, points.saturating_mul(2 * bytes as u64))?;
            ("random".to_owned(), generate::generate(points as usize, angle as f64))
        }
    };
    let bad = mesh.bad(&domain);
    Ok(problem(Yada {
        name,
        mesh,
        domain,
        bad,
        by_hand: options.by_hand,
        lists: Lists::of(options),
    }))
}

/// A size that has a name.
const NAMED: [(&str, &str); 1] = [("stamp", "1_000_000x15")];

/// The size, without a name of ours.
fn meant(size: &Size) -> Size {
    match size {
        Size::Exact(text) => Size::Exact(named(&NAMED, text).to_owned()),
        size => size.clone(),
    }
}

/// The angle for a mesh from files: what a named size has, or a number of degrees.
fn angle(size: &Size) -> Result<f64, Error> {
    let Size::Exact(text) = size else { return NUMBERS.pick(size).map(|[_, angle]| angle as f64) };
    let angle = text.parse().ok().filter(|angle| ANGLES.contains(angle));
    let given = || Error::Size { app: APP.name, given: text.clone(), sizes: SIZES };
    angle.map(|angle: u64| angle as f64).ok_or_else(given)
}

/// Units that stay together in [`shuffled`].
const TOGETHER: usize = 32;

/// The units in random order, the same one each time, but some at a time in the order in which they
/// are found: there, each lies beside the one before. So a worker finds the neighbourhood of most
/// units in its cache, and another worker seldom is there.
fn shuffled(bad: &[Bad]) -> Vec<Bad> {
    let mut parts: Vec<&[Bad]> = bad.chunks(TOGETHER).collect();
    fastrand::Rng::with_seed(43).shuffle(&mut parts);
    parts.concat()
}

fn show_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

struct Yada {
    name: String,
    mesh: Mesh,
    domain: Domain,
    /// The bad triangles of the mesh.
    bad: Vec<Bad>,
    by_hand: bool,
    lists: Lists,
}

/// The state that a run changes.
enum Start {
    Serial(Mesh, Vec<Bad>),
    Shared(Box<Shared>, Vec<Bad>),
    ByHand(Box<Shared>, Box<THeap<Bad>>),
}

/// The mesh that was refined.
enum Kept {
    Serial(Mesh),
    Shared(Box<Shared>),
}

/// A refined mesh.
struct Refined {
    kept: Kept,
    /// Triangles that could not be made better.
    refused: u64,
}

impl Refined {
    fn mesh(&self) -> Cow<'_, Mesh> {
        match &self.kept {
            Kept::Serial(mesh) => Cow::Borrowed(mesh),
            Kept::Shared(shared) => Cow::Owned(shared.to_mesh()),
        }
    }
}

/// The order of refinement changes the positions of vertices. But the same is covered, and both are
/// done.
impl PartialEq for Refined {
    fn eq(&self, other: &Self) -> bool {
        let is_done = |refined: &Self| refined.refused == 0;
        let [one, other] =
            [self, other].map(|refined| (is_done(refined), Extent::of(&refined.mesh())));
        one.0 == other.0 && one.1.is_same(&other.1)
    }
}

impl fmt::Display for Refined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mesh = self.mesh();
        write!(f, "{} triangles", check::triangles(&mesh).count())?;
        if self.refused == 0 { Ok(()) } else { write!(f, ", {} refused", self.refused) }
    }
}

impl Solve for Yada {
    type Input = Start;
    type Answer = Refined;

    fn size(&self) -> String {
        let (triangles, angle) = (self.mesh.triangles.len(), self.domain.angle);
        format!(
            "{}: {} points, {triangles} triangles, {angle} degrees",
            self.name,
            self.mesh.vertices.len()
        )
    }

    fn input(&self) -> Start {
        Start::Serial(self.mesh.clone(), self.bad.clone())
    }

    fn parallel_input(&self) -> Start {
        let shared = Box::new(Shared::new(&self.mesh));
        if self.by_hand {
            return Start::ByHand(shared, Box::new(by_hand::heap(&self.bad)));
        }
        Start::Shared(shared, shuffled(&self.bad))
    }

    fn serial(&self, input: Start) -> Refined {
        let Start::Serial(mut mesh, bad) = input else { unreachable!("`input` makes no other") };
        let refused = refine::refine_all(&mut mesh, &self.domain, bad);
        Refined { kept: Kept::Serial(mesh), refused }
    }

    fn parallel(&self, worker: &Worker, input: Start) -> Refined {
        let (shared, refused) = match input {
            Start::ByHand(shared, heap) => {
                let refused = by_hand::refine_all(
                    worker,
                    &shared,
                    &self.domain,
                    &heap,
                    self.lists.transaction(),
                );
                (shared, refused)
            }
            Start::Shared(shared, bad) => {
                let refused = listed::refine_all(&shared, &self.domain, bad, &self.lists);
                (shared, refused)
            }
            Start::Serial(..) => unreachable!("`parallel_input` makes no other"),
        };
        Refined { kept: Kept::Shared(shared), refused }
    }

    fn check(&self, answer: &Refined) -> Result<(), Wrong> {
        let refused = || format!("{} triangles could not be made better", answer.refused);
        Wrong::unless(answer.refused == 0, refused)?;
        check::check(&self.mesh, &self.domain, &answer.mesh())
    }
}
