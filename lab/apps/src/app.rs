//! The description of an application.

use crate::options::{Error, Options};
use crate::problem::Problem;

/// An application: what it is called, what sizes it takes, and how it is prepared.
#[derive(Debug)]
#[non_exhaustive]
pub struct App {
    /// The name, as given to `sinew-lab run`.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// The values of [`Size::Exact`](crate::Size::Exact) that it accepts, in words.
    pub sizes: &'static str,
    /// The size that shows the application within some tenths of a second: the demo runs all of
    /// them, several times.
    pub demo: &'static str,
    /// Whether it consists of loops, so that a schedule changes something.
    pub loops: bool,
    /// Whether it reads files, so that a path changes something.
    pub reads_files: bool,
    /// Whether its parallel version is a worklist of transactions, so that tuning changes
    /// something. It then has a version with transactions by hand, too.
    pub has_worklist: bool,
    pub(crate) prepare: fn(&Options) -> Result<Box<dyn Problem>, Error>,
}

impl App {
    /// Checks the options and makes the input.
    ///
    /// # Errors
    ///
    /// A size the application does not have, a folder that cannot be read or holds no text, or not
    /// enough memory: one line that names the value and the way out. Nothing has run by then.
    ///
    /// # Blocking
    ///
    /// Reads files, where the application works on files.
    pub fn prepare(&self, options: &Options) -> Result<Box<dyn Problem>, Error> {
        (self.prepare)(options)
    }

    /// Whether [`Options::maps`] changes something.
    pub fn has_maps(&self) -> bool {
        matches!(self.name, "intruder" | "vacation")
    }
}
