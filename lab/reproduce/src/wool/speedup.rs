//! Figure 5: speed-up under four ways to choose a victim, against the model's bounds.
//!
//! Speed-up is relative to one worker of the same program, as there; what one worker costs over
//! serial code is a column of its own.

use super::strategies::{RAND, SPLIT, STRATEGIES, Strategy};
use super::workloads::{Workload, blocks, workloads};
use super::{FEW_WORKERS, INTERRUPTIONS, OTHER_PROCESSOR, model, timed};
use crate::common::Characters;
use crate::experiment::{About, Case, Experiment};
use crate::failure::Failure;
use crate::paper;
use crate::report::{Band, Cell, Form, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Results};
use crate::setting::Setting;
use crate::statistics::{is_beyond, median};

const ABOUT: About = About {
    name: "wool-speedup",
    title: "speed-up against the bounds of work and span, under four ways to choose a victim",
    publication: super::PUBLICATION,
    place: "Figure 5",
    caveats: &[FEW_WORKERS, OTHER_PROCESSOR, INTERRUPTIONS],
    repeat: [1, 5, 5],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks(cases), report)
}

const SERIAL: &str = "serial";
pub(super) const SPAN: &str = "span";

pub(super) fn labels(workload: &str, strategy: &str, workers: usize) -> Labels {
    vec![
        ("workload", workload.to_owned()),
        ("strategy", strategy.to_owned()),
        ("workers", workers.to_string()),
    ]
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let (workloads, counts) = (workloads(setting.scale), setting.parallel_counts());
    let view = View { results, workloads, counts };
    let verdict = Part::verdict(results.rounds(), || view.verdict());
    let mut parts = vec![Part::Table(view.table()), verdict];
    let plots = view.workloads.iter().map(|workload| view.plot(workload, &setting.threads));
    parts.extend(plots.map(Part::Plot));
    parts
}

fn cases(workload: &Workload, setting: &Setting) -> Result<Vec<Case>, Failure> {
    let subject = workload.prepare()?;
    let name = workload.name();
    let serial = subject.clone();
    let serial =
        Case::new(labels(&name, SERIAL, 1), move || Ok(vec![("wall_s", serial.serial()?.wall_s)]));
    let case = |strategy: Strategy, workers: usize| {
        let (subject, conditions) = (subject.clone(), strategy.conditions(workers));
        Case::new(labels(&name, strategy.name, workers), move || timed(&subject, &conditions))
    };
    let (recorded, mut characters) = (workload.prepare_briefly()?, Characters::default());
    let span =
        Case::new(labels(&name, SPAN, 1), move || characters.add(&recorded, &RAND.conditions(1)));
    let mut cases = vec![serial, span, case(RAND, 1), case(SPLIT, 1)];
    for workers in setting.parallel_counts() {
        cases.extend(STRATEGIES.map(|strategy| case(strategy, workers)));
    }
    Ok(cases)
}

/// The data that the report reads.
struct View<'a> {
    results: &'a Results,
    workloads: Vec<Workload>,
    counts: Vec<usize>,
}

impl View<'_> {
    fn speed_up(&self, workload: &str, strategy: Strategy, workers: usize) -> Option<f64> {
        median(&self.speed_ups(workload, strategy, workers))
    }

    /// In each round. One worker has no victims to choose.
    fn speed_ups(&self, workload: &str, strategy: Strategy, workers: usize) -> Vec<f64> {
        let strategy = if workers == 1 { strategy.alone() } else { strategy };
        let workers = workers.to_string();
        let alone = [("workload", workload), ("strategy", strategy.alone().name), ("workers", "1")];
        let together =
            [("workload", workload), ("strategy", strategy.name), ("workers", workers.as_str())];
        self.results.ratios(&alone, &together, "wall_s")
    }

    fn parallelism(&self, workload: &str) -> Option<f64> {
        self.results.last(&[("workload", workload), ("strategy", SPAN)], "parallelism_0")
    }

    /// The model's range for our work and span.
    fn range(&self, workload: &str, workers: usize) -> Option<(f64, f64)> {
        Some(model::speed_ups(self.parallelism(workload)?, workers))
    }

    fn table(&self) -> Table {
        let title = "Speed-up over one worker, and the model's range for it";
        let mut table = Table::new("speedup", title);
        for workload in &self.workloads {
            for &workers in &self.counts {
                table.row(self.row(workload, workers));
            }
        }
        table
    }

    fn row(&self, workload: &Workload, workers: usize) -> Vec<(String, Cell)> {
        let name = workload.name();
        let alone = [("workload", name.as_str()), ("strategy", RAND.name), ("workers", "1")];
        let serial = [("workload", name.as_str()), ("strategy", SERIAL)];
        let range = self.range(&name, workers);
        let published = workload.published().map(|line| line.parallelism_0);
        let model =
            published.map(|parallelism| model::speed_ups(parallelism, paper::wool::MOST_WORKERS));
        let mut cells = vec![
            cell("workload", &name),
            cell("workers", workers),
            cell("one worker / serial", self.results.ratio(&alone, &serial, "wall_s")),
            cell("parallelism", self.parallelism(&name)),
            cell("model from", range.map(|range| range.0)),
            cell("model to", range.map(|range| range.1)),
        ];
        cells.extend(
            STRATEGIES.map(|strategy| cell(strategy.name, self.speed_up(&name, strategy, workers))),
        );
        cells.extend([
            cell("paper: parallelism", published),
            cell("paper: model at 63, from", model.map(|model| model.0)),
            cell("to", model.map(|model| model.1)),
        ]);
        cells
    }

    /// The relation of the measured speed-ups to the model, in words.
    fn verdict(&self) -> String {
        let all = self
            .workloads
            .iter()
            .flat_map(|workload| self.counts.iter().map(move |&count| (workload, count)));
        let places: Vec<Place> =
            all.filter_map(|(workload, workers)| self.place(&workload.name(), workers)).collect();
        if places.is_empty() {
            return "Nothing has been measured on several workers yet.".to_owned();
        }
        let inside = places.iter().filter(|place| place.below <= 0.0 && place.above <= 0.0).count();
        let lowest = places
            .iter()
            .max_by(|a, b| a.below.total_cmp(&b.below))
            .filter(|place| place.below > 0.0);
        let highest = places
            .iter()
            .max_by(|a, b| a.above.total_cmp(&b.above))
            .filter(|place| place.above > 0.0);
        let mut words = format!(
            "Under RAND, {inside} of {} workloads lie within the model's range, or outside of it \
             in fewer than three quarters of the rounds. Its lower end holds for greedy scheduling \
             at no cost only.",
            places.len()
        );
        if let Some(place) = lowest {
            words +=
                &format!(" Farthest below it is {} ({:.0} %).", place.name, place.below * 100.0);
        }
        if let Some(place) = highest {
            words += &format!(
                " {} is {:.0} % above the upper end, which work and span do not allow: one worker \
                 took longer for the same work, by its caches or by noise.",
                place.name,
                place.above * 100.0
            );
        }
        words
    }

    fn place(&self, workload: &str, workers: usize) -> Option<Place> {
        let (low, high) = self.range(workload, workers)?;
        let rounds = self.speed_ups(workload, RAND, workers);
        let name = format!("{workload} on {workers} workers");
        let of = |difference: &dyn Fn(f64) -> f64| {
            let all: Vec<f64> = rounds.iter().map(|&speed_up| difference(speed_up)).collect();
            median(&all).map(|middle| if is_beyond(&all, 0.0) { middle } else { middle.min(0.0) })
        };
        let below = of(&|speed_up| 1.0 - speed_up / low)?;
        Some(Place { name, below, above: of(&|speed_up| speed_up / high - 1.0)? })
    }

    fn plot(&self, workload: &Workload, counts: &[usize]) -> Plot {
        let name = workload.name();
        let ranges = counts.iter().map(|&workers| self.range(&name, workers)).collect();
        let title = format!("{name}: speed-up over one worker");
        let plot = Plot::new(&format!("speedup-{}", workload.file()), title, Form::Lines)
            .axes("workers", "speed-up over one worker")
            .over(counts.iter().map(usize::to_string).collect())
            .before(Band { name: "model".into(), ranges });
        STRATEGIES.iter().fold(plot, |plot, &strategy| {
            let rounds = counts.iter().map(|&workers| self.speed_ups(&name, strategy, workers));
            plot.with(Series::of_rounds(strategy.name, &rounds.collect::<Vec<_>>()))
        })
    }
}

/// The position of a speed-up relative to the model's range: fractions of its ends; negative if it
/// does not reach them.
struct Place {
    name: String,
    below: f64,
    above: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Sample;
    use crate::setting::Scale;

    fn setting() -> Setting {
        Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) }
    }

    fn results(rounds: usize, together_s: f64) -> Results {
        let wall = |strategy, workers, wall| {
            (labels("stress 10", strategy, workers), vec![("wall_s", wall)])
        };
        let spanned = (labels("stress 10", SPAN, 1), vec![("parallelism_0", 4.0)]);
        let cases = [
            wall(SERIAL, 1, 0.8),
            wall(RAND.name, 1, 1.0),
            wall(RAND.name, 2, together_s),
            spanned,
        ];
        Results::of_rounds(rounds, cases)
    }

    fn report(results: &Results) -> (Table, String, Vec<Plot>) {
        let mut parts = experiment().report(results, &setting()).into_iter();
        let (Some(Part::Table(table)), Some(Part::Words(words))) = (parts.next(), parts.next())
        else {
            panic!("no table and words")
        };
        let plots = parts.map(|part| match part {
            Part::Plot(plot) => plot,
            other => panic!("{other:?}"),
        });
        (table, words, plots.collect())
    }

    /// Catches: a speed-up turned round, or the model of another number of workers.
    #[test]
    fn a_speed_up_stands_beside_the_models_range_and_the_papers() {
        let (table, words, plots) = report(&results(3, 0.625));
        let cells = table.shown(&["stress 10"]);
        // Workers, one worker over serial, parallelism, from 1 / (1/4 + 1/2) to 2, speed-up.
        assert_eq!(cells[1..7], ["2", "1.25", "4", "1.33", "2", "1.60"]);
        assert_eq!(cells[11..], ["278.4", "51.4", "63"]);
        assert!(words.contains("1 of 1 workloads lie within"), "{words}");
        let [plot] = &plots[..] else { panic!("{plots:?}") };
        assert_eq!((plot.x.as_str(), plot.categories.join(",").as_str()), ("workers", "1,2"));
        assert_eq!(plot.series[0].values, [Some(1.0), Some(1.6)]);
    }

    /// Catches: a claim that all is well with a speed-up that the model does not allow.
    #[test]
    fn what_lies_outside_of_the_range_is_named() {
        assert!(report(&results(3, 0.4)).1.contains("stress 10 on 2 workers is 25 % above"));
        assert!(report(&results(3, 1.0)).1.contains("below it is stress 10 on 2 workers (25 %)"));
    }

    /// Catches: a judgement from one round, or from rounds that do not agree.
    #[test]
    fn noise_is_no_finding() {
        for results in [Results::default(), results(1, 0.4)] {
            assert!(report(&results).1.starts_with("No verdict"));
        }
        let mut noisy = results(3, 0.3);
        for round in 3..5 {
            let metrics = vec![("wall_s", 0.6)];
            noisy.push(Sample { round, labels: labels("stress 10", RAND.name, 2), metrics });
            let metrics = vec![("wall_s", 1.0)];
            noisy.push(Sample { round, labels: labels("stress 10", RAND.name, 1), metrics });
        }
        let words = report(&noisy).1;
        assert!(
            words.contains("1 of 1 workloads lie within") && !words.contains("above"),
            "{words}"
        );
    }
}
