//! Whole refinements, by every version, and a check that looks.

use std::path::PathBuf;

use sinew::Pool;

use super::build::Parts;
use super::triangle::{NONE, Point, Side};
use super::*;
use crate::lists::Lists;
use crate::options::{Size, tunings};

fn yada(mesh: Mesh, domain: Domain) -> Yada {
    let bad = mesh.bad(&domain);
    Yada { name: "test".to_owned(), mesh, domain, bad, by_hand: false, lists: Lists::default() }
}

fn random(points: usize, angle: f64) -> Yada {
    let (mesh, domain) = generate::generate(points, angle);
    yada(mesh, domain)
}

fn polygon(corners: &[(f64, f64)], triangles: &[[u32; 3]], angle: f64) -> Yada {
    let points = corners.iter().map(|&(x, y)| Point { x, y }).collect();
    let parts = Parts { points, triangles: triangles.to_vec(), segments: Vec::new() };
    let (mesh, domain) = parts.build(angle).unwrap();
    yada(mesh, domain)
}

fn serial(problem: &Yada) -> Refined {
    let refined = problem.serial(problem.input());
    problem
        .check(&refined)
        .unwrap_or_else(|wrong| panic!("{}, {refined}: {wrong}", problem.size()));
    refined
}

/// Blind to: meshes with features that random points do not have; the next tests have some.
#[test]
fn random_meshes_are_refined() {
    for (points, angle) in [(16, 20.0), (60, 1.0), (60, 20.0), (633, 20.0), (300, 26.0)] {
        let problem = random(points, angle);
        let refined = serial(&problem);
        let grown = refined.mesh().vertices.len();
        assert!(grown >= points && grown < 20 * points + 500, "{points} points: {grown}");
    }
}

/// A grid of cells, turned, moved and scaled: corners of cells are on circles and borders on lines,
/// but for rounding.
fn grid(columns: u32, rows: u32, place: impl Fn(f64, f64) -> (f64, f64), angle: f64) -> Yada {
    let corners: Vec<(f64, f64)> = (0..=rows)
        .flat_map(|row| (0..=columns).map(move |column| (column, row)))
        .map(|(column, row)| place(f64::from(column), f64::from(row)))
        .collect();
    let cells =
        (0..rows).flat_map(|row| (0..columns).map(move |column| row * (columns + 1) + column));
    let halves = |at: u32| {
        let [east, north] = [at + 1, at + columns + 1];
        [[at, east, north + 1], [at, north + 1, north]]
    };
    polygon(&corners, &cells.flat_map(halves).collect::<Vec<_>>(), angle)
}

/// Blind to: decisions that rounding turns around where nearly all are close.
#[test]
fn grids_are_refined_wherever_they_lie() {
    for turn in [0.0, 0.1, 1.0] {
        let (sin, cos) = f64::sin_cos(turn);
        for (scale, far) in [(1.0, 0.0), (1.0 / 3.0, 1e6), (1e15, 0.0), (1e-9, 1.0)] {
            for flat in [1.0, 0.31, 0.05] {
                let place = |x: f64, y: f64| {
                    let (x, y) = (scale * x, scale * flat * y);
                    (far + cos * x - sin * y, far + sin * x + cos * y)
                };
                serial(&grid(7, 6, place, 20.0));
            }
        }
    }
}

/// Catches: a size that is listed as published and cannot be asked for.
#[test]
fn published_sizes_are_sizes() {
    let sizes = crate::published().iter().filter(|row| row.app == APP.name).map(|row| row.size);
    let numbers = sizes.map(|size| NUMBERS.pick(&size.parse().unwrap()).unwrap());
    assert_eq!(numbers.collect::<Vec<_>>(), [[633, 20], [10_000, 10], [1_000_000, 15]]);
    for (size, degrees) in [("tiny", 20.0), ("full", 10.0), ("15", 15.0)] {
        assert_eq!(angle(&size.parse().unwrap()).unwrap(), degrees);
    }
    for size in ["0", "27", "633x20"] {
        let message = angle(&size.parse().unwrap()).unwrap_err().to_string();
        assert!(message.contains(size) && message.contains(SIZES), "{message}");
    }
}

/// Catches: endless halving next to angles that no mesh can avoid. Sliver after sliver between
/// two segments.
#[test]
fn small_angles_of_the_domain_are_kept_and_end() {
    for degrees in [0.5_f64, 3.0, 10.0, 19.0, 31.0, 44.9, 59.0, 61.0] {
        let (y, x) = degrees.to_radians().sin_cos();
        let problem = polygon(&[(0.0, 0.0), (1.0, 0.0), (x, y)], &[[0, 1, 2]], 20.0);
        serial(&problem);
    }
}

/// Catches: shells that are not the same on segments of other lengths, and a corner that several
/// share.
#[test]
fn a_fan_of_small_angles_ends() {
    let corner = |at: u32| {
        let (y, x) = (0.2 * f64::from(at)).sin_cos();
        let far = 1.0 + 0.37 * f64::from(at * 7 % 5);
        (x * far, y * far)
    };
    let corners: Vec<(f64, f64)> = std::iter::once((0.0, 0.0)).chain((0..9).map(corner)).collect();
    let triangles: Vec<[u32; 3]> = (1..9).map(|at| [0, at, at + 1]).collect();
    let points = corners.iter().map(|&(x, y)| Point { x, y }).collect();
    let segments = (1..10).map(|at| [0, at]).collect();
    let (mesh, domain) = Parts { points, triangles, segments }.build(20.0).unwrap();
    serial(&yada(mesh, domain));
}

/// Catches: an inner segment that is cut on one side only, and a hole that is filled.
#[test]
fn inner_segments_and_holes_stay() {
    let square = |low: f64, high: f64| [(low, low), (high, low), (high, high), (low, high)];
    let corners = [square(0.0, 9.0), square(4.0, 4.3)].concat();
    let around =
        [[0, 1, 5], [0, 5, 4], [1, 2, 6], [1, 6, 5], [2, 3, 7], [2, 7, 6], [3, 0, 4], [3, 4, 7]];
    let ring = polygon(&corners, &around, 20.0);
    let refined = serial(&ring);
    assert!(refined.mesh().vertices.len() > 20);
    let points = corners.iter().map(|&(x, y)| Point { x, y }).collect();
    let filled = [&around[..], &[[4, 5, 6], [4, 6, 7]]].concat();
    let segments = vec![[0, 4], [4, 5], [5, 6], [6, 7], [7, 4], [4, 6]];
    let (mesh, domain) = Parts { points, triangles: filled, segments }.build(20.0).unwrap();
    let refined = serial(&yada(mesh, domain));
    assert!(serial(&ring) != refined, "one has a hole");
}

/// Catches: a mesh that grows without end where its vertices may not come any nearer.
#[test]
fn a_full_mesh_stops() {
    let mut problem = random(200, 20.0);
    problem.domain.limit = 220;
    let refined = problem.serial(problem.input());
    assert_eq!(refined.mesh().vertices.len(), 220);
    let message = problem.check(&refined).unwrap_err().to_string();
    assert!(message.contains("could not be made better"), "{message}");
}

/// Runs the parallel version a few times, and holds it against the serial one.
fn parallel(problem: &Yada, threads: usize) {
    let pool = Pool::builder().threads(threads).build().unwrap();
    let right = serial(problem);
    for _ in 0..2 {
        let input = problem.parallel_input();
        let refined = pool.run(|worker| problem.parallel(worker, input));
        let told = |wrong| panic!("{threads} threads, {:?}, {refined}: {wrong}", problem.lists);
        problem.check(&refined).unwrap_or_else(told);
        assert!(refined == right, "{refined} and {right}");
    }
}

/// Blind to: conflicts that need more threads than there are.
#[test]
fn the_program_by_hand_refines_with_any_number_of_workers() {
    for threads in [1, 2, 4] {
        parallel(&Yada { by_hand: true, ..random(633, 20.0) }, threads);
    }
}

/// Catches: a unit that is lost or run twice without leaving a bad triangle.
#[test]
fn the_worklist_refines_under_all_settings() {
    for threads in [1, 4] {
        for tuning in tunings() {
            parallel(&Yada { lists: tuning.into(), ..random(400, 20.0) }, threads);
        }
    }
}

/// Catches: units in the order in which they are found, where neighbours follow each other; one
/// that is lost or doubled; and another order in each run.
#[test]
fn the_units_of_the_worklist_are_shuffled() {
    let problem = random(633, 20.0);
    let slots = || match problem.parallel_input() {
        Start::Shared(_, units) => units.iter().map(Bad::slot).collect::<Vec<_>>(),
        _ => panic!("no worklist"),
    };
    let (mut shuffled, found) = (slots(), problem.bad.iter().map(Bad::slot).collect::<Vec<_>>());
    assert!(shuffled == slots() && shuffled != found);
    shuffled.sort_unstable();
    assert_eq!(shuffled, found);
}

/// Catches: a list that is run although it has no units.
#[test]
fn a_mesh_without_bad_triangles_is_left_as_it_is() {
    let corners = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];
    let problem = polygon(&corners, &[[0, 1, 2], [0, 2, 3]], 20.0);
    assert!(problem.bad.is_empty());
    for by_hand in [false, true] {
        parallel(&Yada { by_hand, ..polygon(&corners, &[[0, 1, 2], [0, 2, 3]], 20.0) }, 2);
    }
    assert_eq!(serial(&problem).mesh().vertices.len(), 4);
}

/// Blind to: flaws that no tampering here resembles.
#[test]
fn a_mesh_that_is_wrong_is_noticed() {
    let problem = random(100, 20.0);
    let right = serial(&problem);
    let wrong = |tamper: fn(&mut Mesh)| {
        let mut mesh = right.mesh().into_owned();
        tamper(&mut mesh);
        problem.check(&Refined { kept: Kept::Serial(mesh), refused: 0 }).unwrap_err().to_string()
    };
    assert!(wrong(|mesh| mesh.vertices[20].at.x += 1e-9).contains("of the input"));
    assert!(wrong(|mesh| mesh.triangles[9].corners.swap(0, 1)).contains("turned"));
    assert!(wrong(|mesh| mesh.triangles[9].corners.rotate_left(1)).contains("disagree"));
    assert!(wrong(|mesh| mesh.triangles[9] = mesh.triangles[8]).contains("disagree"));
    assert!(wrong(|mesh| mesh.triangles[9] = Triangle::NEVER).contains("disagree"));
    assert!(wrong(|mesh| mesh.vertices.push(mesh.vertices[0])).contains("no triangle"));
    let moved = wrong(|mesh| {
        let far = mesh.vertices.iter().rposition(|vertex| vertex.on == NONE).unwrap();
        mesh.vertices[far].at.x += 0.02;
    });
    assert!(moved.contains("not empty") || moved.contains("turned"), "{moved}");
    assert!(
        wrong(|mesh| {
            let cut = mesh.vertices.iter().position(|vertex| vertex.on != NONE).unwrap();
            mesh.vertices[cut].at.x *= 1.0 - 1e-7;
            mesh.vertices[cut].at.y *= 1.0 - 1e-7;
        })
        .contains("not a line")
    );
}

/// A square with a diagonal, refined.
fn halved_square() -> (Yada, Mesh) {
    let corners = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0), (1.0, 2.0)];
    let points = corners.iter().map(|&(x, y)| Point { x, y }).collect();
    let triangles = vec![[0, 1, 2], [0, 2, 4], [2, 3, 4], [3, 0, 4]];
    let (mesh, domain) = Parts { points, triangles, segments: vec![[0, 2]] }.build(20.0).unwrap();
    let problem = yada(mesh, domain);
    let refined = serial(&problem).mesh().into_owned();
    (problem, refined)
}

/// Catches: a segment that became an ordinary side, and a side that became one.
#[test]
fn a_lost_or_invented_segment_is_noticed() {
    let (problem, right) = halved_square();
    for is_segment in [true, false] {
        let mut mesh = right.clone();
        let inside = |side: &Side| side.beyond().is_some() && side.is_segment() == is_segment;
        let slot =
            mesh.triangles.iter().position(|triangle| triangle.sides.iter().any(inside)).unwrap();
        let side = mesh.triangles[slot].sides.iter().position(inside).unwrap();
        let [from, to] = mesh.triangles[slot].ends(side);
        let beyond = mesh.triangles[slot].sides[side].beyond().unwrap() as usize;
        let back = mesh.triangles[beyond].side([to, from]).unwrap();
        for (slot, side) in [(slot, side), (beyond, back)] {
            mesh.triangles[slot].sides[side] =
                mesh.triangles[slot].sides[side].segment(!is_segment);
        }
        let wrong = problem.check(&Refined { kept: Kept::Serial(mesh), refused: 0 });
        let message = wrong.unwrap_err().to_string();
        assert!(message.contains("segment"), "{message}");
    }
}

/// Catches: an angle that is checked with the bound of another problem.
#[test]
fn a_mesh_that_was_not_refined_is_noticed() {
    let problem = random(200, 20.0);
    let untouched = Refined { kept: Kept::Serial(problem.mesh.clone()), refused: 0 };
    let message = problem.check(&untouched).unwrap_err().to_string();
    assert!(message.contains("degrees") || message.contains("encroaches"), "{message}");
}

/// The inputs of STAMP, with the angles they are published with.
#[test]
fn the_meshes_of_stamp_are_read_and_refined() {
    let Some(folder) = std::env::var_os("SINEW_DATA").map(PathBuf::from) else {
        eprintln!("skipped: set SINEW_DATA to the folder of STAMP's inputs");
        return;
    };
    for (name, points, triangles, degrees) in
        [("633.2", 633, 1248, "20"), ("ttimeu10000.2", 10_000, 19_975, "10")]
    {
        let path = Some(folder.join(name));
        for by_hand in [false, true] {
            let size = Size::Exact(degrees.to_owned());
            let problem =
                prepare(&Options { size, path: path.clone(), by_hand, ..Options::default() })
                    .unwrap();
            let size = format!("{name}: {points} points, {triangles} triangles, {degrees} degrees");
            assert_eq!(problem.size(), size);
            let pool = Pool::builder().threads(4).build().unwrap();
            let (serial, parallel) = (problem.serial(), problem.parallel(&pool));
            problem.check(&serial.answer).unwrap();
            problem.check(&parallel.answer).unwrap();
            problem.agree(&serial.answer, &parallel.answer).unwrap();
        }
    }
}
