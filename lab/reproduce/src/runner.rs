//! Runs an experiment: block after block, and within a block all cases in turn, round after round.
//!
//! The order within a round is shuffled, so that no case always follows the same other one. A case
//! with a wrong result, or one that cannot run, is noted and not run again; the others continue.

use fastrand::Rng;

use crate::common::place::requesting;
use crate::experiment::{Block, Case, Experiment};
use crate::failure::Failure;
use crate::results::{Labels, Results, Sample};
use crate::setting::Setting;

/// The position of a run.
#[derive(Debug)]
pub struct Step<'a> {
    /// The block, counted from 1.
    pub block: usize,
    /// Number of blocks.
    pub blocks: usize,
    /// The block's name.
    pub name: &'a str,
    /// The round, counted from 1; 0 while the block is being prepared.
    pub round: usize,
    /// Number of rounds.
    pub rounds: usize,
    /// The labels of the next case.
    pub labels: &'a Labels,
}

/// A listener to the progress of a run.
pub trait Watcher {
    /// Something begins.
    fn begins(&mut self, step: &Step<'_>);

    /// Something was measured, or left out.
    ///
    /// # Errors
    ///
    /// Any: the run ends with it.
    fn grew(&mut self, results: &Results) -> Result<(), Failure>;
}

/// Runs all of an experiment.
///
/// # Errors
///
/// Those of the watcher. A failure of a single case or block is noted in the results instead.
pub fn run(
    experiment: &Experiment,
    setting: &Setting,
    watcher: &mut dyn Watcher,
) -> Result<Results, Failure> {
    requesting(setting.mapping.as_ref(), || run_all(experiment, setting, watcher))
}

fn run_all(
    experiment: &Experiment,
    setting: &Setting,
    watcher: &mut dyn Watcher,
) -> Result<Results, Failure> {
    let blocks = experiment.blocks(setting);
    let mut run = Run {
        setting,
        watcher,
        blocks: blocks.len(),
        rng: Rng::with_seed(setting.seed),
        results: Results::default(),
    };
    for (at, block) in blocks.into_iter().enumerate() {
        run.block(at + 1, block)?;
    }
    Ok(run.results)
}

struct Run<'a> {
    setting: &'a Setting,
    watcher: &'a mut dyn Watcher,
    blocks: usize,
    rng: Rng,
    results: Results,
}

impl Run<'_> {
    fn block(&mut self, at: usize, block: Block) -> Result<(), Failure> {
        let Block { name, rounds, prepare } = block;
        let rounds = rounds.unwrap_or(self.setting.repeat).max(1);
        self.announce((at, &name), (0, rounds), &Vec::new());
        let mut cases = match prepare() {
            Ok(cases) => cases,
            Err(why) => return self.leave_out(&name, why),
        };
        for round in 0..rounds {
            self.rng.shuffle(&mut cases);
            let mut kept = Vec::with_capacity(cases.len());
            for mut case in cases {
                self.announce((at, &name), (round + 1, rounds), &case.labels);
                if self.case(round, &mut case)? {
                    kept.push(case);
                }
            }
            cases = kept;
        }
        Ok(())
    }

    /// Returns whether to run the case again.
    fn case(&mut self, round: usize, case: &mut Case) -> Result<bool, Failure> {
        match (case.run)() {
            Ok(metrics) => {
                self.results.push(Sample { round, labels: case.labels.clone(), metrics });
                self.watcher.grew(&self.results)?;
                Ok(true)
            }
            Err(why) => {
                self.leave_out(&describe(&case.labels), why)?;
                Ok(false)
            }
        }
    }

    fn leave_out(&mut self, what: &str, why: Failure) -> Result<(), Failure> {
        match why {
            Failure::Wrong(why) => self.results.wrong.push(format!("{what}: {why}")),
            why => self.results.left_out.push(format!("{what}: {why}")),
        }
        self.watcher.grew(&self.results)
    }

    fn announce(
        &mut self,
        (block, name): (usize, &str),
        (round, rounds): (usize, usize),
        labels: &Labels,
    ) {
        let blocks = self.blocks;
        self.watcher.begins(&Step { block, blocks, name, round, rounds, labels });
    }
}

/// `fib 43, random, 2 workers` from its labels.
pub fn describe(labels: &Labels) -> String {
    let part = |(name, value): &(&'static str, String)| match value.parse::<f64>() {
        Ok(_) => format!("{name} {value}"),
        Err(_) => value.clone(),
    };
    labels.iter().map(part).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::About;
    use crate::setting::Scale;

    /// Three cases: one good, one wrong at its second run, and a block that cannot be prepared.
    fn sample() -> Experiment {
        let about = About {
            name: "sample",
            title: "",
            publication: "",
            place: "",
            caveats: &[],
            repeat: [1; 3],
        };
        Experiment::new(about, blocks, |_, _| Vec::new())
    }

    fn labels(name: &str) -> Labels {
        vec![("case", name.to_owned())]
    }

    fn blocks(_: &Setting) -> Vec<Block> {
        let cases = || {
            let mut runs = 0;
            let once = move || {
                runs += 1;
                if runs > 1 {
                    Err(Failure::Wrong("6 times 9".into()))
                } else {
                    Ok(vec![("wall_s", 1.0)])
                }
            };
            let good = Case::new(labels("good"), || Ok(vec![("wall_s", 2.0)]));
            Ok(vec![good, Case::new(labels("once"), once)])
        };
        let broken = || Err(Failure::Impossible("no room".into()));
        vec![Block::new("broken", broken), Block::new("cases", cases)]
    }

    #[derive(Default)]
    struct Log {
        steps: usize,
        sizes: Vec<usize>,
        fails_at: Option<usize>,
    }

    impl Watcher for Log {
        fn begins(&mut self, _: &Step<'_>) {
            self.steps += 1;
        }

        fn grew(&mut self, results: &Results) -> Result<(), Failure> {
            self.sizes.push(results.samples().len());
            if self.fails_at == Some(self.sizes.len()) {
                Err(Failure::Impossible("full".into()))
            } else {
                Ok(())
            }
        }
    }

    fn setting(repeat: usize) -> Setting {
        Setting { repeat, ..Setting::new(Scale::Quick, 2) }
    }

    /// Catches: a failure that ends the other cases, or a case that continues after a wrong result.
    #[test]
    fn what_fails_is_noted_and_the_rest_goes_on() {
        let mut log = Log::default();
        let results = run(&sample(), &setting(3), &mut log).unwrap();
        assert_eq!(results.values(&[("case", "good")], "wall_s").len(), 3);
        assert_eq!(results.values(&[("case", "once")], "wall_s").len(), 1);
        assert_eq!(results.left_out, ["broken: no room"]);
        assert_eq!(results.wrong, ["once: 6 times 9"]);
        // Two blocks, and 2 + 2 + 1 runs.
        assert_eq!(log.steps, 7);
    }

    /// Catches: a run that goes on although nothing can be written any more.
    #[test]
    fn a_watcher_that_fails_ends_the_run() {
        let mut log = Log { fails_at: Some(2), ..Log::default() };
        assert_eq!(run(&sample(), &setting(3), &mut log).unwrap_err().to_string(), "full");
        assert_eq!(log.sizes, [0, 1]);
    }

    /// Catches: numbers that stand in a line of progress without saying of what.
    #[test]
    fn labels_that_are_numbers_are_named() {
        let labels = vec![("app", "fib".to_owned()), ("workers", "2".to_owned())];
        assert_eq!(describe(&labels), "fib, workers 2");
    }
}
