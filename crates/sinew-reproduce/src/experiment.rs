//! What an experiment is: a name, a source, blocks of cases to measure, and a report about what
//! came out.
//!
//! An experiment is split so that nothing has to be measured to test what it says.
//! [`Experiment::blocks`] lists what is run; the [runner](crate::runner) runs it;
//! [`Experiment::report`] is a pure function of the [`Results`], called again and again while they
//! grow, so that a run that is broken off leaves a report of what it had.

use std::fmt;

use crate::failure::Failure;
use crate::report::Part;
use crate::results::{Labels, Metrics, Results};
use crate::setting::{Scale, Setting};

/// One table or figure of a publication, repeated.
pub trait Experiment: Sync {
    /// Its name and its source.
    fn about(&self) -> &About;

    /// How often everything is measured, unless the user says so: as in the publication, where it
    /// is said there.
    fn usual_repeat(&self, scale: Scale) -> usize {
        Setting::new(scale, 1).repeat
    }

    /// How large its problems are, in words.
    fn size(&self, setting: &Setting) -> String {
        setting.scale.to_string()
    }

    /// What is run, block after block.
    ///
    /// # Errors
    ///
    /// If nothing can be run with this setting: one line that names the value and the way out.
    fn blocks(&self, setting: &Setting) -> Result<Vec<Block>, Failure>;

    /// Tables, plots and words about what has been measured so far; gaps are left where nothing has
    /// been yet.
    fn report(&self, results: &Results, setting: &Setting) -> Vec<Part>;
}

/// What is known about an experiment before it is run.
#[derive(Debug)]
pub struct About {
    /// The name, as given to `sinew reproduce`.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// The publication: authors, title, table or figure.
    pub source: &'static str,
    /// What a smaller machine than the publication's cannot show, in sentences.
    pub caveats: &'static [Caveat],
}

/// A sentence that holds unless the run had what it needs.
#[derive(Debug)]
pub struct Caveat {
    /// What would make it void.
    pub unless: Need,
    /// The sentence.
    pub words: &'static str,
}

/// What a machine or a run must have for a result to carry over.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Need {
    /// At least so many workers.
    Workers(usize),
    /// At least so many NUMA nodes.
    Nodes(usize),
    /// At least so many packages.
    Packages(usize),
    /// Nothing helps: the sentence always holds.
    Nothing,
}

/// Cases that share what they work on: prepared together, run in turn, forgotten together.
pub struct Block {
    /// For the line of progress.
    pub name: String,
    /// How often its cases are run, where that is not the setting's number.
    pub rounds: Option<usize>,
    /// Makes the inputs.
    pub prepare: Box<dyn FnOnce() -> Result<Vec<Case>, Failure>>,
}

impl Block {
    /// A block of this name, prepared by `prepare` when its turn comes.
    pub fn new(
        name: impl Into<String>,
        prepare: impl FnOnce() -> Result<Vec<Case>, Failure> + 'static,
    ) -> Self {
        Self { name: name.into(), rounds: None, prepare: Box::new(prepare) }
    }

    /// The same, with its cases run so often.
    #[must_use]
    pub fn rounds(self, rounds: usize) -> Self {
        Self { rounds: Some(rounds), ..self }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Something that is run again and again under the same conditions.
pub struct Case {
    /// What tells it apart.
    pub labels: Labels,
    /// Runs it once and judges its answer.
    pub run: Box<dyn FnMut() -> Result<Metrics, Failure>>,
}

impl Case {
    /// A case with these labels.
    pub fn new(labels: Labels, run: impl FnMut() -> Result<Metrics, Failure> + 'static) -> Self {
        Self { labels, run: Box::new(run) }
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("labels", &self.labels).finish_non_exhaustive()
    }
}
