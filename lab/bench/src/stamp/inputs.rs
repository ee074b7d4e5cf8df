//! The applications, and their sizes.

use clap::ValueEnum;
use sinew_apps::Maps;
use std::fmt;

/// The applications that have versions with transactions.
pub(super) const NAMES: [&str; 6] = ["bank", "intruder", "kmeans", "labyrinth", "vacation", "yada"];

/// The size of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Size {
    Tiny,
    Default,
    Stamp,
}

impl Size {
    pub(super) fn rounds(self) -> usize {
        [1, 7, 3][self as usize]
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["tiny", "default", "stamp"][*self as usize])
    }
}

/// An application with its input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input {
    pub(crate) app: &'static str,
    /// As the application takes it.
    pub(crate) size: &'static str,
    /// The structures of its maps.
    pub(crate) maps: Maps,
}

/// An application, and its sizes in the order of [`Size`].
type Row = (&'static str, [&'static str; 3]);

const INPUTS: [Row; 7] = [
    ("bank", ["tiny", "4_000_000x1024", "16_000_000x1024"]),
    ("intruder", ["tiny", "a10-l128-n40000-s1", "a10-l128-n262144-s1"]),
    ("kmeans", ["tiny", "n65536-d32-c16-m15-t0.0001", "n65536-d32-c16-m15-t0.00001"]),
    ("kmeans", ["tiny", "n65536-d32-c16-m40-t0.0001", "n65536-d32-c16-m40-t0.00001"]),
    ("labyrinth", ["tiny", "x256-y256-z5-n256", "x512-y512-z7-n512"]),
    ("vacation", ["tiny", "n4-q60-u90-r131072-t524288", "n4-q60-u90-r1048576-t4194304"]),
    ("yada", ["tiny", "200_000x20", "1_000_000x15"]),
];

/// All of them; with other than the default structures only those that have them.
pub(super) fn all(size: Size, maps: Maps) -> impl Iterator<Item = Input> {
    let has_them = move |(app, ..): &Row| {
        maps == Maps::default() || sinew_apps::find(app).is_some_and(sinew_apps::App::has_maps)
    };
    INPUTS.into_iter().filter(has_them).map(move |(app, sizes)| Input {
        app,
        size: sizes[size as usize],
        maps,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: an application that cannot be asked for by its name.
    #[test]
    fn every_application_with_a_worklist_is_there() {
        let listed = sinew_apps::all().iter().filter(|app| app.has_worklist).map(|app| app.name);
        let mut listed: Vec<&str> = listed.collect();
        listed.sort_unstable();
        assert_eq!(listed, NAMES);
        assert!(NAMES.iter().all(|name| INPUTS.iter().any(|(app, ..)| app == name)));
    }
}
