//! Which applications are run, and how large.
//!
//! Those of the publication; the low-contention inputs of kmeans and vacation are left out at the smaller sizes, since they change nothing about how it works.

use std::rc::Rc;

use crate::experiment::Block;
use crate::failure::Failure;
use crate::setting::Scale;

/// An application with a worklist, and its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Application {
    pub(crate) name: &'static str,
    /// As the application takes it.
    pub(crate) size: &'static str,
}

/// The sizes for quick, default and full runs.
const APPLICATIONS: [(&str, [&str; 3]); 5] = [
    ("intruder", ["tiny", "full", "a10-l128-n262144"]),
    ("kmeans", ["tiny", "n16384-d24-c16-m15-t0.05", "n65536-d32-c16-m15-t0.00001"]),
    ("labyrinth", ["tiny", "x48-y48-z3-n64", "x512-y512-z7-n512"]),
    ("vacation", ["tiny", "full", "n4-q60-u90-r1048576-t4194304"]),
    ("yada", ["tiny", "10000x10", "500000x20"]),
];

/// Those that are there.
pub(crate) fn applications(scale: Scale) -> Vec<Application> {
    let there = APPLICATIONS.into_iter().filter(|(name, _)| sinew_apps::find(name).is_some());
    there
        .map(|(name, [quick, default, full])| Application { name, size: scale.pick(quick, default, full) })
        .collect()
}

/// A block for each application.
pub(crate) fn blocks(
    scale: Scale,
    cases: impl Fn(Application) -> Result<Vec<crate::experiment::Case>, Failure> + 'static,
) -> Vec<Block> {
    let cases = Rc::new(cases);
    let block = |application: Application| {
        let cases = Rc::clone(&cases);
        Block::new(application.name, move || cases(application))
    };
    applications(scale).into_iter().map(block).collect()
}

/// `openskel`'s names of applications, for rows of tables.
pub(crate) fn names(scale: Scale) -> Vec<String> {
    applications(scale).into_iter().map(|application| application.name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_apps::{Options, find};

    /// Would miss: a size that its application refuses, found out in the middle of a run.
    #[test]
    fn every_size_can_be_prepared() {
        for scale in [Scale::Quick, Scale::Default] {
            for Application { name, size } in applications(scale) {
                let options = Options { size: size.parse().unwrap(), ..Options::default() };
                find(name).unwrap().prepare(&options).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }
}
