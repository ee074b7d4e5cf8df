//! The table of applications, by which the command, its tests and the benchmarks find them.

use crate::options::{Error, Options};
use crate::problem::Problem;
use crate::{
    bank, blackscholes, cholesky, collatz, convex_hull, fib, floyd, fluidanimate, gauss, heat,
    intruder, jacobi, kmeans, labyrinth, matmul, multisort, nqueens, numbercount, quicksort, ssf,
    strassen, streamcluster, stress, swaptions, uts, vacation, wordcount, yada,
};

/// An application: what it is called, what sizes it takes, and how it is prepared.
#[derive(Debug)]
#[non_exhaustive]
pub struct App {
    /// The name, as given to `sinew run`.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// What [`Size::Exact`](crate::Size::Exact) may say, in words.
    pub sizes: &'static str,
    /// The size that shows the application within some tenths of a second: the demo runs all of
    /// them, several times.
    pub demo: &'static str,
    /// Whether it consists of loops, so that a schedule changes something.
    pub loops: bool,
    /// Whether it reads files, so that a path changes something.
    pub reads_files: bool,
    pub(crate) prepare: fn(&Options) -> Result<Box<dyn Problem>, Error>,
}

impl App {
    /// Checks the options and makes the input.
    ///
    /// # Errors
    ///
    /// A size the application does not have, a folder that cannot be read or holds no text, or not
    /// enough memory: one line that names the value and the way out. Nothing has been run by then.
    ///
    /// # Blocking
    ///
    /// Reads files, where the application works on files.
    pub fn prepare(&self, options: &Options) -> Result<Box<dyn Problem>, Error> {
        (self.prepare)(options)
    }

    /// Whether it has a worklist, so that tuning changes something, and a version with transactions
    /// by hand.
    pub fn has_worklist(&self) -> bool {
        WORKLISTS.contains(&self.name)
    }
}

static APPS: &[App] = &[
    fib::APP,
    nqueens::APP,
    uts::APP,
    stress::APP,
    ssf::APP,
    quicksort::APP,
    multisort::APP,
    heat::APP,
    gauss::APP,
    floyd::APP,
    matmul::APP,
    strassen::APP,
    cholesky::APP,
    jacobi::APP,
    wordcount::APP,
    convex_hull::APP,
    blackscholes::APP,
    swaptions::APP,
    streamcluster::APP,
    fluidanimate::APP,
    numbercount::APP,
    collatz::APP,
    bank::APP,
    intruder::APP,
    vacation::APP,
    kmeans::APP,
    labyrinth::APP,
    yada::APP,
];

/// Those whose parallel version is a worklist of transactions, and that have one by hand as well.
const WORKLISTS: [&str; 6] = ["bank", "intruder", "kmeans", "labyrinth", "vacation", "yada"];

/// All applications, in the order in which they are shown.
pub fn all() -> &'static [App] {
    APPS
}

/// The application with exactly this name.
pub fn find(name: &str) -> Option<&'static App> {
    APPS.iter().find(|app| app.name == name)
}
