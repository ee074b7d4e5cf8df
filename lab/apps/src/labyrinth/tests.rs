//! Tests of the whole application; its parts are tested where they are.

use std::path::PathBuf;

use sinew::Pool;

use super::*;
use crate::Size;
use crate::options::tunings;

fn prepared(size: &str, by_hand: bool) -> Labyrinth {
    let options = Options { size: size.parse().unwrap(), by_hand, ..Options::default() };
    Labyrinth::prepare(&options).unwrap()
}

fn parallel(labyrinth: &Labyrinth, threads: usize) -> Paths {
    let pool = Pool::builder().threads(threads).build().unwrap();
    pool.run(|worker| labyrinth.parallel(worker, labyrinth.input()))
}

/// Mazes with space for all paths, with too little, and with none.
const MAZES: [&str; 4] = ["tiny", "x16-y16-z2-n60", "x30-y20-z1-n15", "x2-y3-z1-n3"];

/// Catches: paths that are laid across each other by several workers.
#[test]
fn the_version_by_hand_lays_right_paths_on_one_to_four_workers() {
    for size in MAZES {
        let labyrinth = prepared(size, true);
        let serial = labyrinth.serial(labyrinth.input());
        labyrinth.check(&serial).unwrap();
        for threads in [1, 2, 4] {
            let paths = parallel(&labyrinth, threads);
            labyrinth.check(&paths).unwrap_or_else(|wrong| panic!("{size} on {threads}: {wrong}"));
            assert!(paths == serial, "{size}: {paths}, {serial}");
        }
    }
}

/// Catches: paths that cross, or that an attempt left behind, under some setting of the list.
#[test]
fn the_worklist_lays_right_paths_under_all_settings() {
    for size in MAZES {
        let mut labyrinth = prepared(size, false);
        for tuning in tunings() {
            labyrinth.lists = tuning.into();
            for threads in [1, 4] {
                let paths = parallel(&labyrinth, threads);
                labyrinth
                    .check(&paths)
                    .unwrap_or_else(|wrong| panic!("{size} under {tuning:?}: {wrong}"));
            }
        }
    }
}

/// Catches: a list that refuses to be run without units.
#[test]
fn a_maze_without_paths_is_solved() {
    for by_hand in [true, false] {
        let mut labyrinth = prepared("tiny", by_hand);
        (labyrinth.maze.pairs, labyrinth.ends, labyrinth.order) =
            (Vec::new(), Vec::new(), Vec::new());
        let paths = parallel(&labyrinth, 2);
        labyrinth.check(&paths).unwrap();
        assert_eq!(paths.to_string(), "0 of 0 paths, 0 cells");
    }
}

/// Blind to: other kinds of wrong paths than these.
#[test]
fn a_wrong_path_is_noticed() {
    let labyrinth = prepared("x9-y9-z1-n2", false);
    let pairs = vec![[[0, 4, 0], [8, 4, 0]], [[0, 6, 0], [8, 6, 0]]];
    let ends =
        pairs.iter().map(|pair| pair.map(|place| labyrinth.maze.shape.cell(place))).collect();
    let labyrinth = Labyrinth { maze: Maze { pairs, ..labyrinth.maze }, ends, ..labyrinth };
    let way = |cells: &[[usize; 2]]| {
        cells.iter().map(|&[x, y]| labyrinth.maze.shape.cell([x, y, 0])).collect()
    };
    let straight = |y: usize| -> Vec<u32> { way(&(0..9).map(|x| [x, y]).collect::<Vec<_>>()) };
    let check = |first: Vec<u32>, second: Option<Vec<u32>>| {
        let mut paths = Paths::none(2);
        paths.put(0, Some(first));
        paths.put(1, second);
        labyrinth.check(&paths).map_err(|wrong| wrong.to_string())
    };
    assert_eq!(check(straight(4), Some(straight(6))), Ok(()));
    let wrong = |first, second| check(first, second).unwrap_err();
    assert!(wrong(straight(4), None).contains("path 2 is missing, and there is a way"));
    assert!(wrong(straight(4), Some(straight(5))).contains("path 2 does not join its ends"));
    assert!(wrong(vec![straight(4)[0], straight(4)[8]], None).contains("path 1 is not contiguous"));
    let through: Vec<[usize; 2]> = [[0, 4], [0, 5]]
        .into_iter()
        .chain((0..9).map(|x| [x, 6]))
        .chain([[8, 5], [8, 4]])
        .collect();
    assert!(wrong(way(&through), None).contains("path 1 goes where something else is"));
    let twice: Vec<[usize; 2]> =
        [[0, 4], [0, 3], [0, 4]].into_iter().chain((1..9).map(|x| [x, 4])).collect();
    assert!(wrong(way(&twice), None).contains("path 1 goes where"));
    let across: Vec<[usize; 2]> = [[0, 6], [0, 5], [1, 5], [1, 4], [2, 4], [2, 5], [2, 6]]
        .into_iter()
        .chain((3..9).map(|x| [x, 6]))
        .collect();
    assert!(wrong(straight(4), Some(way(&across))).contains("path 2 goes where"));
}

/// Catches: a result that does not list its missing paths.
#[test]
fn missing_paths_are_named() {
    let shown = |found: usize| {
        let mut paths = Paths::none(13);
        (0..found).for_each(|at| paths.put(at, Some(vec![1, 2, 3])));
        paths.to_string()
    };
    assert_eq!(shown(13), "13 of 13 paths, 39 cells");
    assert_eq!(shown(11), "11 of 13 paths, 33 cells; no way for 12, 13");
    assert_eq!(
        shown(1),
        "1 of 13 paths, 3 cells; no way for 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 others"
    );
}

/// Catches: an endless search for places that are not there.
#[test]
fn more_ends_than_cells_are_refused() {
    for size in ["x2-y2-z1-n3", "x1000000-y1000000-z1000000-n1"] {
        let options = Options { size: size.parse().unwrap(), ..Options::default() };
        let message = prepare(&options).err().unwrap().to_string();
        assert!(message.contains(size) && message.contains("labyrinth has no size"), "{message}");
    }
}

/// Two of the first file's paths share an end.
/// Blind to: which paths are found, for which there is no published value.
#[test]
fn the_suites_files_are_read_and_solved() {
    let Some(folder) = std::env::var_os("SINEW_DATA").map(PathBuf::from) else {
        println!("skipped: set SINEW_DATA to the folder of STAMP's inputs");
        return;
    };
    for (name, side, pairs) in
        [("random-x32-y32-z3-n96.txt", 32, 96), ("random-x48-y48-z3-n64.txt", 48, 64)]
    {
        let options = Options {
            size: Size::Full,
            path: Some(folder.join(name)),
            by_hand: side == 48,
            ..Options::default()
        };
        let labyrinth = Labyrinth::prepare(&options).unwrap();
        assert_eq!((labyrinth.maze.shape.size, labyrinth.ends.len()), ([side, side, 3], pairs));
        let (serial, parallel) = (labyrinth.serial(labyrinth.input()), parallel(&labyrinth, 2));
        labyrinth.check(&serial).and_then(|()| labyrinth.check(&parallel)).unwrap();
        println!("{name}: {serial} serially, {parallel} in parallel");
    }
}
