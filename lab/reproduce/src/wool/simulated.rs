//! Figure 4: sampling in the publication's model, on more workers than its machine had.
//!
//! The simulator computes the model in virtual time; [`sinew_sim::figure`] describes it. The rounds
//! have other random seeds, and within a round all sample sizes have the same leaves.

use sinew_sim::figure::Figure;

use crate::experiment::{About, Block, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::wool::{BEST_SAMPLE, SAMPLING_PAYS_FROM, SAMPLING_WORDS};
use crate::report::{Form, Part, Plot, Series, Table, cell, difference, number};
use crate::results::{Labels, Metrics, Results, all_of};
use crate::setting::{Scale, Setting};
use crate::statistics::{is_beyond, median, spread};

const ABOUT: About = About {
    name: "wool-simulation",
    title: "sampling victims in the publication's model, on up to 1024 simulated workers",
    publication: super::PUBLICATION,
    place: "Figure 4",
    caveats: &[
        Caveat { unless: Need::Nothing, words: SAMPLING_WORDS },
        Caveat {
            unless: Need::Nothing,
            words: "The publication does not say whether inner tasks take time, what a thief does \
                that has seen nothing on offer, how often runs were repeated, nor what its curves \
                are relative to. Here inner tasks take none, and such a thief goes to the worker \
                that it saw first.",
        },
    ],
    repeat: [1, 5, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks, report).sized(size_in_words)
}

/// Sample sizes; 0 is no sampling.
const SAMPLES: [u32; 5] = [0, 1, 2, 4, 8];

/// The largest number of workers, as a power of two, and the runs whose mean is one measurement.
fn size(scale: Scale) -> (u32, u64) {
    scale.pick((4, 2), (10, 20), (10, 100))
}

pub(super) fn counts(scale: Scale) -> Vec<usize> {
    (1..=size(scale).0).map(|power| 1 << power).collect()
}

fn size_in_words(setting: &Setting) -> String {
    let (power, runs) = size(setting.scale);
    let most = 1 << power;
    format!("{}: 2 to {most} simulated workers, means of {runs} runs", setting.scale)
}

pub(super) fn labels(workers: usize, samples: u32) -> Labels {
    vec![("workers", workers.to_string()), ("samples", samples.to_string())]
}

fn blocks(setting: &Setting) -> Vec<Block> {
    let (runs, seed) = (size(setting.scale).1, setting.seed);
    let block = |workers: usize| {
        Block::new(format!("{workers} workers"), move || {
            let case = |samples| {
                // Every round has runs of its own, the same for all sample sizes.
                let mut first = seed.wrapping_mul(1_000_000);
                Case::new(labels(workers, samples), move || {
                    let means = run(workers, samples, runs, first);
                    first = first.wrapping_add(runs);
                    means
                })
            };
            Ok(SAMPLES.map(case).into())
        })
    };
    counts(setting.scale).into_iter().map(block).collect()
}

fn run(workers: usize, samples: u32, runs: u64, seed: u64) -> Result<Metrics, Failure> {
    let samples = if samples == 0 { Vec::new() } else { vec![samples] };
    let figure = Figure { workers: vec![workers], samples, seed, ..Figure::paper(runs) };
    let points = figure.compute(|_| true).map_err(Failure::impossible)?;
    let point = points.last().ok_or_else(|| Failure::impossible("the figure has no point"))?;
    let steals = [("attempts", point.attempts), ("steals", point.steals)];
    Ok([&[("time_leaves", point.time / LEAF)], &steals[..]].concat())
}

/// The mean time of a leaf, in picoseconds.
const LEAF: f64 = 1_000_000.0;

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let view = View { results, counts: counts(setting.scale) };
    let verdict = Part::verdict(results.rounds(), || view.verdict());
    let mut parts = vec![Part::Table(view.table()), verdict];
    let figures = [
        ("time", "time_leaves", "time (top of Figure 4)"),
        ("attempts", "attempts", "attempts to steal (bottom of Figure 4)"),
        ("steals", "steals", "steals"),
    ];
    parts.extend(figures.map(|(name, metric, title)| Part::Plot(view.plot(name, metric, title))));
    parts
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    counts: Vec<usize>,
}

impl View<'_> {
    /// The ratios of a metric under one sample size to that under another, a round each.
    fn ratios(&self, workers: usize, samples: u32, base: u32, metric: &str) -> Vec<f64> {
        let (of, to) = (labels(workers, samples), labels(workers, base));
        self.results.ratios(&all_of(&of), &all_of(&to), metric)
    }

    /// The differences of the times in per cent, a round each.
    fn slower(&self, workers: usize, samples: u32, base: u32) -> Vec<f64> {
        let ratios = self.ratios(workers, samples, base, "time_leaves");
        ratios.into_iter().map(|ratio| (ratio - 1.0) * 100.0).collect()
    }

    fn table(&self) -> Table {
        let mut table = Table::new("simulation", "Relative to no sampling");
        for &workers in &self.counts {
            for samples in SAMPLES.into_iter().skip(1) {
                let ratios = |metric| self.ratios(workers, samples, 0, metric);
                let time = ratios("time_leaves");
                table.row([
                    cell("workers", workers),
                    cell("sample size", samples),
                    cell("time", median(&time)),
                    cell("±", spread(&time)),
                    cell("attempts", median(&ratios("attempts"))),
                    cell("steals", median(&ratios("steals"))),
                    cell(
                        "time / that with a sample of 1",
                        median(&self.ratios(workers, samples, 1, "time_leaves")),
                    ),
                ]);
            }
        }
        table
    }

    /// The publication's claims, found or refuted.
    fn verdict(&self) -> String {
        let Some(&most) = self.counts.last() else { return String::new() };
        let many: Vec<usize> =
            self.counts.iter().copied().filter(|&count| count >= SAMPLING_PAYS_FROM).collect();
        let slower = |&workers: &usize| self.slower(workers, BEST_SAMPLE, 0);
        let all = |test: fn(f64) -> bool| {
            many.iter()
                .map(slower)
                .all(|rounds| is_beyond(&rounds, 0.0) && median(&rounds).is_some_and(test))
        };
        let (judged, why) = if many.is_empty() {
            ("not tested for want of workers", String::new())
        } else if all(|percent| percent < 0.0) {
            ("found", String::new())
        } else if all(|percent| percent > 0.0) {
            ("refuted", self.explanation(most))
        } else {
            ("neither found nor refuted at every number of workers", String::new())
        };
        let at_most = median(&slower(&most)).map(difference).unwrap_or_default();
        let pays = |&&workers: &&usize| {
            let rounds = self.slower(workers, BEST_SAMPLE, 1);
            is_beyond(&rounds, 0.0) && median(&rounds).is_some_and(|percent| percent < 0.0)
        };
        let from_one = match self.counts.iter().find(pays) {
            Some(workers) => format!("pays from {workers} workers on"),
            None => "does not pay".to_owned(),
        };
        format!(
            "The claim that samples of {BEST_SAMPLE} pay from {SAMPLING_PAYS_FROM} workers on is \
             {judged}: on {most} workers they change the time by {at_most} against no \
             sampling.{why} Against a thief that looks only at the worker that it goes to, a \
             sample of {BEST_SAMPLE} {from_one}; if the publication's curves are relative to a \
             sample of 1, that is the shape that it describes.{}",
            self.best(most)
        )
    }

    /// Why sampling costs more time in the model than it saves.
    fn explanation(&self, workers: usize) -> String {
        let steals = |samples| median(&self.ratios(workers, samples, 0, "steals"));
        let saved = steals(1).zip(steals(BEST_SAMPLE)).map(|(one, best)| {
            format!(
                ", and most of the steals that it saves are saved by its slowness: {} of them are \
                 left with a sample of 1, which is no choice, {} with {BEST_SAMPLE}",
                number(one),
                number(best)
            )
        });
        format!(
            " Two samples take as long as an attempt together, so a thief that samples makes fewer \
             attempts and finds work later{}.",
            saved.unwrap_or_default()
        )
    }

    /// The best sample size of those that sample.
    fn best(&self, workers: usize) -> String {
        let time = |&samples: &u32| {
            Some((samples, median(&self.ratios(workers, samples, 0, "time_leaves"))?))
        };
        let best = SAMPLES[1..].iter().filter_map(time).min_by(|a, b| a.1.total_cmp(&b.1));
        best.map(|(samples, _)| {
            format!(" Of the sizes that sample, {samples} is the best on {workers} workers.")
        })
        .unwrap_or_default()
    }

    fn plot(&self, name: &str, metric: &str, title: &str) -> Plot {
        let plot = Plot::new(name, format!("Simulated sampling: {title}"), Form::Lines)
            .axes("workers", "relative to no sampling")
            .over(self.counts.iter().map(usize::to_string).collect())
            .ratios();
        SAMPLES[1..].iter().fold(plot, |plot, &samples| {
            let counts = self.counts.iter();
            let rounds = counts.map(|&workers| self.ratios(workers, samples, 0, metric));
            plot.with(Series::of_rounds(
                format!("sample size {samples}"),
                &rounds.collect::<Vec<_>>(),
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(time_with_two: f64) -> String {
        let time = |samples, time| (labels(1024, samples), vec![("time_leaves", time)]);
        let cases = [time(0, 10.0), time(1, 13.0), time(2, time_with_two), time(4, 14.0)];
        let cases = cases.into_iter().chain((1..10).flat_map(|power| {
            let workers = 1 << power;
            let time = move |samples, time| (labels(workers, samples), vec![("time_leaves", time)]);
            [time(0, 10.0), time(2, time_with_two)]
        }));
        let results = Results::of_rounds(3, cases);
        let parts = experiment().report(&results, &Setting::new(Scale::Default, 2));
        let [Part::Table(table), Part::Words(words), ..] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!(table.shown(&["1024", "4"])[2..4], ["1.40", "0"]);
        words.clone()
    }

    /// Catches: a claim that is called found though times rise, and a best size that is not.
    #[test]
    fn the_claim_is_judged_by_the_times() {
        let slower = verdict(11.5);
        assert!(slower.contains("is refuted: on 1024 workers they change the time by +15.0 %"));
        assert!(slower.contains("2 is the best on 1024 workers"), "{slower}");
        assert!(slower.contains("pays from 1024 workers on"), "{slower}");
        assert!(verdict(9.0).contains("is found"));
        assert!(verdict(10.0).contains("is neither found nor refuted"));
    }

    /// Catches: sample sizes whose rounds are not comparable, or rounds that repeat each other.
    #[test]
    fn sample_sizes_share_their_leaves_within_a_round() {
        let setting = Setting { repeat: 2, ..Setting::new(Scale::Quick, 2) };
        let block = experiment().blocks(&setting).pop().unwrap();
        let mut cases = (block.prepare)().unwrap();
        let mut time = |at: usize| (cases[at].run)().unwrap()[0].1;
        let (first, again, second) = (time(0), run(16, 0, 2, 1_000_000).unwrap()[0].1, time(0));
        assert!(first == again && first != second);
    }
}
