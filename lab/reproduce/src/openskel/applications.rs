//! The applications, and their sizes.
//!
//! The publication's applications that exist here.

use crate::experiment::{Block, Case};
use crate::failure::Failure;
use crate::setting::{Scale, Setting};

/// An application with a worklist, and its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Application {
    pub(crate) name: &'static str,
    /// In the application's notation.
    pub(crate) size: &'static str,
}

/// The sizes for quick, default and full runs. Full ones are those of the suite for real machines,
/// with low contention where there is a choice, as there.
const APPLICATIONS: [(&str, [&str; 3]); 5] = [
    ("intruder", ["tiny", "a10-l64-n16384-s1", "a10-l128-n262144-s1"]),
    ("kmeans", ["tiny", "n16384-d24-c16-m40-t0.001", "n65536-d32-c16-m40-t0.00001"]),
    ("labyrinth", ["tiny", "x128-y128-z5-n128", "x512-y512-z7-n512"]),
    ("vacation", ["tiny", "n2-q90-u98-r16384-t100000", "n2-q90-u98-r1048576-t4194304"]),
    ("yada", ["tiny", "10_000x20", "1_000_000x15"]),
];

/// Sizes for a search over all settings: some tenths of a second with the best of them, so that
/// finding them is a small part of a run.
const SEARCHED: [(&str, &str); 6] = [
    ("bank", "4_000_000x64"),
    ("intruder", "a10-l64-n65536-s1"),
    ("kmeans", "n65536-d32-c16-m15-t0.00001"),
    ("labyrinth", "x256-y256-z5-n256"),
    ("vacation", "n4-q60-u90-r16384-t400000"),
    ("yada", "200_000x20"),
];

/// The size at which an application's settings are searched, where there is one.
pub fn search_size(name: &str) -> Option<&'static str> {
    SEARCHED.into_iter().find_map(|(searched, size)| (searched == name).then_some(size))
}

/// The applications that exist here.
pub(crate) fn applications(scale: Scale) -> Vec<Application> {
    let there = APPLICATIONS.into_iter().filter(|(name, _)| sinew_apps::find(name).is_some());
    there
        .map(|(name, [quick, default, full])| Application {
            name,
            size: scale.pick(quick, default, full),
        })
        .collect()
}

/// A block for each application.
pub(crate) fn blocks(
    cases: fn(Application, &Setting) -> Result<Vec<Case>, Failure>,
) -> impl Fn(&Setting) -> Vec<Block> {
    move |setting| {
        let block = |application: Application| {
            let setting = setting.clone();
            Block::new(application.name, move || cases(application, &setting))
        };
        applications(setting.scale).into_iter().map(block).collect()
    }
}

/// Their names, for rows of tables.
pub(crate) fn names(scale: Scale) -> Vec<String> {
    applications(scale).into_iter().map(|application| application.name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_apps::{Options, find};

    /// Catches: a size that its application refuses, found out in the middle of a run.
    #[test]
    fn every_size_can_be_prepared() {
        for scale in [Scale::Quick, Scale::Default] {
            for Application { name, size } in applications(scale) {
                let options = Options { size: size.parse().unwrap(), ..Options::default() };
                find(name).unwrap().prepare(&options).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }

    /// Catches: an application that is renamed, or a new one with a worklist, and would be
    /// searched at a size of its demonstration.
    #[test]
    fn every_worklist_has_a_size_to_be_searched_at() {
        for app in sinew_apps::all() {
            let size = search_size(app.name);
            assert_eq!(size.is_some(), app.has_worklist, "{}", app.name);
            assert!(size.is_none_or(|size| size.parse::<sinew_apps::Size>().is_ok()));
        }
    }
}
