//! Exhibits: the tables and figures of the publications, and how each is repeated here.
//!
//! An exhibit names the experiments that repeat it, or says why there is none. A [`Repeat`] reads
//! its numbers from the results of an experiment: pure, as a report is.
//!
//! | file | contents |
//! |---|---|
//! | `claim` | statements of the publications, and the rule that judges them |

mod claim;

use std::fmt;

pub use claim::{Claim, Said, Unit, Verdict};
pub(crate) use claim::{NO_GAIN, rule};

use crate::experiment::Need;
use crate::results::{Labels, Results, all_of};
use crate::setting::Setting;

/// A table or a figure of a publication.
#[derive(Debug)]
pub struct Exhibit {
    /// The publication: authors and title.
    pub publication: &'static str,
    /// Its name there: `Figure 6.7`.
    pub label: String,
    /// Its subject, in one line.
    pub subject: String,
    /// How it is repeated.
    pub standing: Standing,
}

/// How an exhibit is repeated, or why it is not.
#[derive(Debug)]
pub enum Standing {
    /// By these experiments.
    Repeated {
        /// One at least.
        by: Vec<Repeat>,
        /// The limits of the repetition, beside the limits of each experiment.
        limits: &'static str,
    },
    /// Not at all, for this reason.
    Not(&'static str),
}

/// The reason for exhibits without results.
pub(crate) const A_DRAWING: &str = "a drawing, nothing to measure";

type Claims = dyn Fn(&Results, &Setting) -> Vec<Claim>;

/// An experiment that repeats an exhibit, and the statements that its results are held against.
pub struct Repeat {
    /// The name of the experiment.
    pub experiment: &'static str,
    /// A part of the machine that the statements are about; they are not judged without it.
    pub needs: Option<Need>,
    /// The machines that it simulates, if it does.
    pub model: Option<&'static str>,
    claims: Box<Claims>,
}

impl Repeat {
    /// An experiment, whose results are read by `claims`.
    pub(crate) fn new(
        experiment: &'static str,
        claims: impl Fn(&Results, &Setting) -> Vec<Claim> + 'static,
    ) -> Self {
        Self { experiment, needs: None, model: None, claims: Box::new(claims) }
    }

    /// The same of an experiment that simulates these machines.
    pub(crate) fn simulated(
        experiment: &'static str,
        model: &'static str,
        claims: impl Fn(&Results, &Setting) -> Vec<Claim> + 'static,
    ) -> Self {
        Self { model: Some(model), ..Self::new(experiment, claims) }
    }

    /// The same, judged only on a machine that has this.
    pub(crate) fn needs(self, need: Need) -> Self {
        Self { needs: Some(need), ..self }
    }

    /// The statements, with our numbers as far as there are any.
    pub fn claims(&self, results: &Results, setting: &Setting) -> Vec<Claim> {
        (self.claims)(results, setting)
    }
}

impl fmt::Debug for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repeat").field("experiment", &self.experiment).finish_non_exhaustive()
    }
}

/// The exhibits of one publication, as they are listed.
#[derive(Debug)]
pub(crate) struct Exhibits {
    publication: &'static str,
    all: Vec<Exhibit>,
}

impl Exhibits {
    pub(crate) fn of(publication: &'static str) -> Self {
        Self { publication, all: Vec::new() }
    }

    fn add(&mut self, label: String, subject: String, standing: Standing) {
        let publication = self.publication;
        self.all.push(Exhibit { publication, label, subject, standing });
    }

    /// One that these experiments repeat.
    pub(crate) fn repeated(
        &mut self,
        label: impl Into<String>,
        subject: impl Into<String>,
        limits: &'static str,
        by: impl Into<Vec<Repeat>>,
    ) {
        self.add(label.into(), subject.into(), Standing::Repeated { by: by.into(), limits });
    }

    /// One that is not repeated.
    pub(crate) fn not(&mut self, label: &str, subject: &str, why: &'static str) {
        self.add(label.to_owned(), subject.to_owned(), Standing::Not(why));
    }

    /// Those that only draw a design.
    pub(crate) fn drawn(&mut self, all: &[(&str, &str)]) {
        for (label, subject) in all {
            self.not(label, subject, A_DRAWING);
        }
    }

    pub(crate) fn into_all(self) -> Vec<Exhibit> {
        self.all
    }
}

impl Exhibit {
    /// The names of the experiments that repeat it.
    pub fn experiments(&self) -> Vec<&'static str> {
        match &self.standing {
            Standing::Repeated { by, .. } => by.iter().map(|repeat| repeat.experiment).collect(),
            Standing::Not(_) => Vec::new(),
        }
    }

    /// Why no experiment repeats it.
    pub fn reason(&self) -> Option<&'static str> {
        match self.standing {
            Standing::Repeated { .. } => None,
            Standing::Not(why) => Some(why),
        }
    }
}

/// A metric of one case over that of another, a ratio a round.
pub(crate) fn over(results: &Results, of: &Labels, to: &Labels, metric: &str) -> Vec<f64> {
    results.ratios(&all_of(of), &all_of(to), metric)
}

/// The geometric means of several values in each round that all of them have.
pub(crate) fn means(all: &[Vec<f64>]) -> Vec<f64> {
    let measured: Vec<&Vec<f64>> = all.iter().filter(|rounds| !rounds.is_empty()).collect();
    let rounds = measured.iter().map(|rounds| rounds.len()).min().unwrap_or(0);
    let mean = |round: usize| {
        let logarithms: f64 = measured.iter().map(|rounds| rounds[round].ln()).sum();
        (logarithms / measured.len() as f64).exp()
    };
    (0..rounds).map(mean).collect()
}
