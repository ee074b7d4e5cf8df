//! Options of `run`, `oracle` and `reproduce` about how worklists and their transactions run.

use clap::Args;
use sinew::stm::ContentionManager;
use sinew::worklist::{Knobs, Method, Tuning};
use sinew_console::Failure;
use sinew_reproduce::{WorklistOptions, Worklists};

/// The heading of the options about worklists.
pub(crate) const WORKLISTS: &str = "Worklists";

/// The conditions of worklists.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ConditionArgs {
    /// Contention manager of transactions: suicide, backoff or age [default: backoff, Sinew's own,
    /// for run; suicide, the publication's, for oracle and reproduce]
    #[arg(long, help_heading = WORKLISTS, value_name = "MANAGER")]
    contention: Option<ContentionManager>,
    /// Shuffle the units of worklists before a run, or not [default: false for run; true, as
    /// published, for oracle and reproduce]
    #[arg(
        long,
        help_heading = WORKLISTS,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    shuffle: Option<bool>,
    /// Stalls per commit above which the published tuner takes lists for contended [default: 0.1]
    #[arg(long, help_heading = WORKLISTS, value_name = "RATIO", allow_negative_numbers = true)]
    alpha: Option<f64>,
    /// Aborts per commit from which the published tuner takes workers for too many; another manager
    /// makes another number of aborts of the same conflicts [default: 0.1]
    #[arg(long, help_heading = WORKLISTS, value_name = "RATIO", allow_negative_numbers = true)]
    beta: Option<f64>,
    /// Longest lifespan of helpers that a tuner tries, in words [default: 10000]
    #[arg(long, help_heading = WORKLISTS, value_name = "WORDS", allow_negative_numbers = true)]
    longest_lifespan: Option<u32>,
}

impl ConditionArgs {
    fn options(&self) -> WorklistOptions {
        let Self { contention, shuffle, alpha, beta, longest_lifespan } = *self;
        WorklistOptions { contention, shuffle, alpha, beta, longest_lifespan }
    }

    /// The contention manager that is asked for.
    pub(crate) fn contention(&self) -> Option<ContentionManager> {
        self.contention
    }

    /// Whether units are to be shuffled.
    pub(crate) fn shuffled(&self) -> bool {
        self.shuffle.unwrap_or(false)
    }

    /// Which of these options are given.
    pub(crate) fn given(&self) -> [(bool, &'static str); 5] {
        [
            (self.contention.is_some(), "--contention"),
            (self.shuffle.is_some(), "--shuffle"),
            (self.alpha.is_some(), "--alpha"),
            (self.beta.is_some(), "--beta"),
            (self.longest_lifespan.is_some(), "--longest-lifespan"),
        ]
    }

    /// The conditions of experiments.
    ///
    /// # Errors
    ///
    /// A threshold that is none.
    pub(crate) fn worklists(&self) -> Result<Worklists, Failure> {
        self.options().worklists().map_err(Failure::usage)
    }

    /// The tuning with the thresholds that are asked for.
    ///
    /// # Errors
    ///
    /// A threshold that is none, or that the tuning does not use.
    pub(crate) fn tuning(&self, tuning: Option<Tuning>) -> Result<Option<Tuning>, Failure> {
        let knobs = match tuning {
            Some(Tuning::Auto) => Some(Knobs::best()),
            Some(Tuning::AutoWith(knobs)) => Some(knobs),
            _ => None,
        };
        let published = knobs.is_some_and(|knobs| knobs.method == Method::Published);
        let useless = [
            (self.alpha.is_some() && !published, "--alpha", "--tune published"),
            (self.beta.is_some() && !published, "--beta", "--tune published"),
            (
                self.longest_lifespan.is_some() && knobs.is_none(),
                "--longest-lifespan",
                "--tune auto or --tune published",
            ),
        ];
        if let Some((_, option, needed)) = useless.into_iter().find(|(useless, ..)| *useless) {
            return Err(Failure::Usage(format!(
                "{option} needs {needed}: nothing else has this threshold"
            )));
        }
        let given = self.options();
        if given.alpha.or(given.beta).is_none() && given.longest_lifespan.is_none() {
            return Ok(tuning);
        }
        let knobs = knobs.map(|knobs| given.knobs(knobs)).transpose().map_err(Failure::usage)?;
        Ok(knobs.map(Tuning::AutoWith))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        conditions: ConditionArgs,
    }

    fn parsed(words: &[&str]) -> ConditionArgs {
        Line::try_parse_from([&["x"], words].concat()).unwrap().conditions
    }

    /// Catches: a threshold that does not reach the tuner, or is dropped in silence.
    #[test]
    fn thresholds_reach_the_tuner_that_uses_them() {
        let words = ["--alpha", "0.3", "--longest-lifespan", "7"];
        let published = Tuning::AutoWith(Knobs::default());
        let tuned = parsed(&words).tuning(Some(published)).unwrap();
        let knobs = Knobs { alpha: 0.3, longest_lifespan: 7, ..Knobs::default() };
        assert_eq!(tuned, Some(Tuning::AutoWith(knobs)));
        let error = |words: &[&str], tuning| match parsed(words).tuning(tuning) {
            Err(failure) => failure.to_line(),
            other => panic!("{other:?}"),
        };
        assert!(error(&words, Some(Tuning::Auto)).contains("--alpha needs --tune published"));
        assert!(error(&["--longest-lifespan", "7"], None).contains("--tune auto"));
        assert!(error(&["--beta", "-1"], Some(published)).starts_with("beta is -1:"));
        assert_eq!(parsed(&[]).tuning(Some(Tuning::Auto)).unwrap(), Some(Tuning::Auto));
    }

    /// Catches: other conditions of experiments than those of the publication, if none are given.
    #[test]
    fn experiments_have_the_publications_conditions_unless_others_are_given() {
        assert_eq!(parsed(&[]).worklists().unwrap(), Worklists::default());
        let worklists = parsed(&["--contention", "age", "--shuffle=false"]).worklists().unwrap();
        assert_eq!(worklists.contention, ContentionManager::Age);
        assert!(!worklists.shuffled && parsed(&["--shuffle"]).shuffled());
    }
}
