//! The table of applications, by which the command, its tests and the benchmarks find them.

use crate::options::{Error, Options};
use crate::problem::Problem;
use crate::{fib, heat, jacobi, nqueens, quicksort, uts, wordcount};

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
    /// The size that shows the application within a few seconds.
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
    /// A size the application does not have, a folder that cannot be read or holds no text, or not enough memory: one
    /// line that names the value and the way out. Nothing has been run by then.
    ///
    /// # Blocking
    ///
    /// Reads files, where the application works on files.
    pub fn prepare(&self, options: &Options) -> Result<Box<dyn Problem>, Error> {
        (self.prepare)(options)
    }
}

static APPS: [App; 7] =
    [fib::APP, nqueens::APP, uts::APP, quicksort::APP, heat::APP, jacobi::APP, wordcount::APP];

/// All applications, in the order in which they are shown.
pub fn all() -> &'static [App] {
    &APPS
}

/// The application with exactly this name.
pub fn find(name: &str) -> Option<&'static App> {
    APPS.iter().find(|app| app.name == name)
}
