//! Experiments: a name, a source, blocks of cases to measure, and a report about the results.
//!
//! An experiment is split so that nothing has to be measured to test what it says.
//! [`Experiment::blocks`] lists the cases, and the [runner](crate::runner) runs them.
//! [`Experiment::report`] is a pure function of the [`Results`], called repeatedly while they grow,
//! so an interrupted run leaves a report of its results so far.

use std::fmt;

use crate::failure::Failure;
use crate::parameters::Parameter;
use crate::report::Part;
use crate::results::{Labels, Metrics, Results};
use crate::setting::{Scale, Setting};

/// One repeated table or figure of a publication.
pub struct Experiment {
    /// Its name and its source.
    pub about: About,
    /// The parameters that a file may give.
    pub parameters: &'static [Parameter],
    size: Box<dyn Fn(&Setting) -> String>,
    blocks: Box<Blocks>,
    report: Box<Report>,
    /// The first words of its report.
    conditions: Option<fn(&Setting) -> String>,
}

type Blocks = dyn Fn(&Setting) -> Vec<Block>;
type Report = dyn Fn(&Results, &Setting) -> Vec<Part>;

impl Experiment {
    /// An experiment with these blocks of cases and this report about them.
    pub(crate) fn new(
        about: About,
        blocks: impl Fn(&Setting) -> Vec<Block> + 'static,
        report: impl Fn(&Results, &Setting) -> Vec<Part> + 'static,
    ) -> Self {
        let size = |setting: &Setting| setting.scale.to_string();
        Self {
            about,
            parameters: &[],
            size: Box::new(size),
            blocks: Box::new(blocks),
            report: Box::new(report),
            conditions: None,
        }
    }

    /// The same with these parameters.
    pub(crate) fn with_parameters(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    /// The same with conditions that its report says first.
    pub(crate) fn under(self, conditions: fn(&Setting) -> String) -> Self {
        Self { conditions: Some(conditions), ..self }
    }

    /// The same with more words about the size of its problems than the name of the scale.
    pub(crate) fn sized(self, size: impl Fn(&Setting) -> String + 'static) -> Self {
        Self { size: Box::new(size), ..self }
    }

    /// Default number of repetitions.
    pub fn usual_repeat(&self, scale: Scale) -> usize {
        let [quick, default, full] = self.about.repeat;
        scale.pick(quick, default, full)
    }

    /// The size of its problems, in words.
    pub fn size(&self, setting: &Setting) -> String {
        (self.size)(setting)
    }

    /// The blocks of cases to run, in order.
    pub fn blocks(&self, setting: &Setting) -> Vec<Block> {
        (self.blocks)(setting)
    }

    /// Tables, plots and words about the results so far. Missing results are gaps in tables; tables
    /// and plots without any are left out. Titles of plots say what they are made of.
    pub fn report(&self, results: &Results, setting: &Setting) -> Vec<Part> {
        let conditions = self.conditions.iter().map(|words| Part::Words(words(setting)));
        let mut parts: Vec<Part> = conditions.chain((self.report)(results, setting)).collect();
        parts.retain(|part| match part {
            Part::Words(_) => true,
            Part::Table(table) => !table.is_empty(),
            Part::Plot(plot) => !plot.is_empty(),
        });
        let said = |part| match part {
            Part::Plot(plot) => Part::Plot(plot.after(results.rounds())),
            other => other,
        };
        parts.into_iter().map(said).collect()
    }
}

impl fmt::Debug for Experiment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Experiment").field("about", &self.about).finish_non_exhaustive()
    }
}

/// Properties of an experiment that are known before it runs.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// The name, as given to `sinew-lab reproduce`.
    pub name: &'static str,
    /// A one-line description.
    pub title: &'static str,
    /// The publication: authors and title.
    pub publication: &'static str,
    /// The table, figure or section of the publication.
    pub place: &'static str,
    /// Results that a smaller machine than the publication's cannot show, in sentences.
    pub caveats: &'static [Caveat],
    /// Default number of repetitions at the sizes quick, default and full: the publication's, if it
    /// states one.
    pub repeat: [usize; 3],
}

impl About {
    /// The publication, and the place in it.
    pub fn source(&self) -> String {
        format!("{}, {}", self.publication, self.place)
    }
}

/// A sentence that holds unless the run had what it needs.
#[derive(Debug)]
pub struct Caveat {
    /// A condition under which the block is void.
    pub unless: Need,
    /// The sentence.
    pub words: &'static str,
}

/// Conditions on machine and run under which a result carries over.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Need {
    /// At least this many workers.
    Workers(usize),
    /// At least this many NUMA nodes.
    Nodes(usize),
    /// At least this many packages.
    Packages(usize),
    /// Cannot be met: the sentence always holds.
    Nothing,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workers(workers) => write!(f, "{workers} workers"),
            Self::Nodes(nodes) => write!(f, "{nodes} NUMA nodes"),
            Self::Packages(packages) => write!(f, "{packages} packages"),
            Self::Nothing => f.write_str("nothing that exists"),
        }
    }
}

/// Cases that share what they work on: prepared together, run in turn, forgotten together.
pub struct Block {
    /// The name in the line of progress.
    pub name: String,
    /// Number of repetitions of its cases, if it differs from the setting's.
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
    /// The labels that distinguish it.
    pub labels: Labels,
    /// Runs it once and checks its result.
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
