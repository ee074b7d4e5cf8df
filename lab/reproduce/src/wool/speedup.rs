//! Figure 5: speed-up under four ways to choose a victim, against the model's bounds.
//!
//! Speed-up is relative to one worker of the same program, as there; what one worker costs over
//! serial code is a column of its own.

use super::strategies::{RAND, STRATEGIES, Strategy, TWO_FIELD};
use super::workloads::{Workload, blocks, workloads};
use super::{FEW_WORKERS, INTERRUPTIONS, OTHER_PROCESSOR, model, timed};
use crate::common::profiled;
use crate::experiment::{About, Case, Experiment};
use crate::failure::Failure;
use crate::paper;
use crate::report::{Band, Cell, Form, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Results};
use crate::setting::Setting;

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
const SPAN: &str = "span";

fn labels(workload: &str, strategy: &str, workers: usize) -> Labels {
    vec![
        ("workload", workload.to_owned()),
        ("strategy", strategy.to_owned()),
        ("workers", workers.to_string()),
    ]
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let (workloads, counts) = (workloads(setting.scale), setting.parallel_counts());
    let view = View { results, workloads, counts };
    let mut parts = vec![Part::Table(view.table()), Part::words(view.verdict())];
    parts.extend(view.counts.iter().map(|&workers| Part::Plot(view.plot(workers))));
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
    let (profiling, spanning) = (workload.prepare_briefly()?, workload.span_workers());
    let span = Case::new(labels(&name, SPAN, spanning), move || {
        profiled(&profiling, &RAND.conditions(spanning))
    });
    let mut cases = vec![serial, span, case(RAND, 1), case(TWO_FIELD, 1)];
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
        let workers = workers.to_string();
        let alone = [("workload", workload), ("strategy", strategy.alone().name), ("workers", "1")];
        let together =
            [("workload", workload), ("strategy", strategy.name), ("workers", workers.as_str())];
        self.results.ratio(&alone, &together, "wall_s")
    }

    fn parallelism(&self, workload: &str) -> Option<f64> {
        self.results.largest(&[("workload", workload), ("strategy", SPAN)], "parallelism_0")
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
            "Under RAND, {inside} of {} workloads lie within the model's range, whose lower end \
             holds for greedy scheduling at no cost only.",
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
        let (speed_up, (low, high)) =
            (self.speed_up(workload, RAND, workers)?, self.range(workload, workers)?);
        let name = format!("{workload} on {workers} workers");
        Some(Place { name, below: 1.0 - speed_up / low, above: speed_up / high - 1.0 })
    }

    fn plot(&self, workers: usize) -> Plot {
        let names: Vec<String> = self.workloads.iter().map(Workload::name).collect();
        let ranges = names.iter().map(|name| self.range(name, workers)).collect();
        let title = format!("Speed-up on {workers} workers");
        let mut plot = Plot::new(&format!("speedup-{workers}"), title, Form::Dots)
            .axes("workload", "speed-up over one worker")
            .over(names.clone())
            .before(Band { name: "model".into(), ranges })
            .level(1.0);
        for strategy in STRATEGIES {
            let values = names.iter().map(|name| self.speed_up(name, strategy, workers)).collect();
            plot = plot.with(Series::new(strategy.name, values));
        }
        plot
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
    use crate::setting::Scale;

    fn setting() -> Setting {
        Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) }
    }

    fn results(together_s: f64) -> Results {
        let wall = |strategy, workers, wall| {
            (labels("stress 10", strategy, workers), vec![("wall_s", wall)])
        };
        let spanned = (labels("stress 10", SPAN, 1), vec![("parallelism_0", 4.0)]);
        Results::of([
            wall(SERIAL, 1, 0.8),
            wall(RAND.name, 1, 1.0),
            wall(RAND.name, 2, together_s),
            spanned,
        ])
    }

    fn report(results: &Results) -> (Table, String, usize) {
        let mut parts = experiment().report(results, &setting()).into_iter();
        match (parts.next(), parts.next()) {
            (Some(Part::Table(table)), Some(Part::Words(words))) => (table, words, parts.count()),
            other => panic!("{other:?}"),
        }
    }

    /// Catches: a speed-up turned round, or the model of another number of workers.
    #[test]
    fn a_speed_up_stands_beside_the_models_range_and_the_papers() {
        let (table, words, plots) = report(&results(0.625));
        let cells = table.shown(&["stress 10"]);
        // Workers, one worker over serial, parallelism, from 1 / (1/4 + 1/2) to 2, speed-up.
        assert_eq!(cells[1..7], ["2", "1.25", "4", "1.33", "2", "1.60"]);
        assert_eq!(cells[11..], ["278.4", "51.4", "63"]);
        assert!(words.contains("1 of 1 workloads lie within"), "{words}");
        assert_eq!(plots, 1);
    }

    /// Catches: a claim that all is well with a speed-up that the model does not allow.
    #[test]
    fn what_lies_outside_of_the_range_is_named() {
        assert!(report(&results(0.4)).1.contains("stress 10 on 2 workers is 25 % above"));
        assert!(report(&results(1.0)).1.contains("below it is stress 10 on 2 workers (25 %)"));
        assert!(report(&Results::default()).1.contains("Nothing has been measured"));
    }
}
