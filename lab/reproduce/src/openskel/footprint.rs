//! Figure 7.1: which pages the workers touch, over time.
//!
//! Each worker samples its transactions; see [`Touch`]. Pages are numbered by their addresses,
//! without those that no sample shows, so that what lies far apart in
//! the address space lies side by side here.

use std::collections::BTreeSet;

use sinew::worklist::Touch;
use sinew_policy::worklist::Settings;

use super::OTHER_MACHINE;
use super::applications::{Application, blocks, names};
use super::bench::{Bench, Way};
use crate::experiment::{About, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::openskel::FOOTPRINT_WORDS;
use crate::report::{Form, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Metrics, Results};
use crate::setting::Setting;

const ABOUT: About = About {
    name: "openskel-footprint",
    title: "pages that the transactions of each worker touch, over time",
    publication: super::PUBLICATION,
    place: "Figure 7.1",
    caveats: &[
        Caveat {
            unless: Need::Workers(WORKERS),
            words: "There are four workers, as there, on however many processors. On fewer they \
                take turns, so that each worker's accesses come in runs.",
        },
        OTHER_MACHINE,
    ],
    repeat: [1; 3],
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks(cases), report)
}

/// Number of workers, whatever the setting.
const WORKERS: usize = 4;

/// Attempts of a worker for a sample: no divisor of what programs do in rounds.
const EVERY: u64 = 7;

/// Samples of a run that are kept, as evenly as they come.
const KEPT: usize = 2_000;

/// Parts of the pages, for the table.
const REGIONS: usize = 32;

/// The names of a sample's values among the metrics of a run, each as often as there are samples.
const COLUMNS: [&str; 3] = ["worker", "at_s", "page"];

/// A sample: worker, seconds, and the number of the page.
type Sampled = [f64; 3];

fn labels(app: &str) -> Labels {
    vec![("application", app.to_owned())]
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let applications = names(setting.scale);
    let table = table(results, &applications, WORKERS);
    let mut parts = vec![Part::Table(table), Part::words(FOOTPRINT_WORDS)];
    let plot = |app: &String| Part::Plot(plot(results, app, WORKERS));
    parts.extend(applications.iter().map(plot));
    parts
}

fn cases(Application { name, size }: Application, setting: &Setting) -> Result<Vec<Case>, Failure> {
    let bench = Bench::listed(name, size, None, setting.worklists)?;
    let way = Way::settings(Settings::baseline(WORKERS).stealing(true), WORKERS);
    Ok(vec![Case::new(labels(name), move || {
        let (metrics, recorded) = bench.run_sampled(&way, EVERY)?;
        Ok([metrics, samples(&recorded.touches)].concat())
    })])
}

/// The number of pages and of samples, and those samples that are kept.
fn samples(touches: &[Touch]) -> Metrics {
    let pages: BTreeSet<usize> = touches.iter().map(|touch| touch.page).collect();
    let pages: Vec<usize> = pages.into_iter().collect();
    let number = |page: usize| pages.partition_point(|&other| other < page) as f64;
    let kept = touches.iter().step_by(touches.len().div_ceil(KEPT).max(1));
    let values = kept.flat_map(|touch| {
        let values = [touch.worker as f64, touch.at.as_secs_f64(), number(touch.page)];
        COLUMNS.into_iter().zip(values)
    });
    [("pages", pages.len() as f64), ("samples", touches.len() as f64)]
        .into_iter()
        .chain(values)
        .collect()
}

/// The samples of the first round, read back.
fn first_run(results: &Results, app: &str) -> Vec<Sampled> {
    results.rows(&labels(app), COLUMNS)
}

/// The number of pages that they are numbered by: each round sees other pages.
fn first_pages(results: &Results, app: &str) -> f64 {
    results.rows(&labels(app), ["pages"]).first().map_or(0.0, |[pages]| *pages)
}

fn table(results: &Results, applications: &[String], workers: usize) -> Table {
    let title =
        format!("How much of the pages each worker touches, in {REGIONS} regions of as many pages");
    let mut table = Table::new("footprint", &title);
    for app in applications {
        let at = |metric| results.median(&[("application", app)], metric);
        let spread = Spread::of(&first_run(results, app), first_pages(results, app), workers);
        table.row([
            cell("application", app),
            cell("samples", at("samples")),
            cell("pages seen", at("pages")),
            cell("of the regions, a worker, %", spread.as_ref().map(|spread| spread.each * 100.0)),
            cell("all workers, %", spread.map(|spread| spread.all * 100.0)),
        ]);
    }
    table
}

/// The spread of samples over the pages, as fractions of the regions.
#[derive(Debug, PartialEq)]
struct Spread {
    /// The fraction that a worker touches on average.
    each: f64,
    /// The fraction that all workers touch.
    all: f64,
}

impl Spread {
    fn of(samples: &[Sampled], pages: f64, workers: usize) -> Option<Self> {
        let regions = REGIONS.min(pages as usize);
        let mut touched = vec![vec![false; regions]; workers];
        for &[worker, _, page] in samples {
            *touched
                .get_mut(worker as usize)?
                .get_mut((page / pages * regions as f64) as usize)? = true;
        }
        let part = |count: usize| count as f64 / regions as f64;
        let each =
            touched.iter().map(|touched| part(touched.iter().filter(|&&touched| touched).count()));
        let each = each.sum::<f64>() / workers as f64;
        let all =
            (0..regions).filter(|&region| touched.iter().all(|touched| touched[region])).count();
        (regions > 0).then(|| Self { each, all: part(all) })
    }
}

/// Every sample that was kept at its time and page, a series for each worker.
fn plot(results: &Results, app: &str, workers: usize) -> Plot {
    let mut samples = first_run(results, app);
    samples.sort_by(|[_, one, _], [_, other, _]| one.total_cmp(other));
    let first = results.rows(&labels(app), ["samples"]);
    let all = first.first().map_or(samples.len() as f64, |[samples]| *samples);
    let rounds = results.rounds();
    let made_of = format!("{} of {all} samples, round 1 of {rounds}", samples.len());
    // A sample is where the part before it ends.
    let times: Vec<f64> = [0.0].into_iter().chain(samples.iter().map(|[_, at, _]| *at)).collect();
    let after = times.windows(2).map(|pair| pair[1] - pair[0]).chain([0.0]).collect();
    let title = format!("{app}: memory pages that each worker accesses");
    let plot = Plot::new(&format!("footprint-{app}"), title, Form::Dots)
        .axes("time, s", "memory page")
        .over(vec![String::new(); times.len()])
        .wide(after)
        .numbered()
        .made_of(made_of);
    (0..workers).fold(plot, |plot, worker| {
        let is_ours = |[by, ..]: &Sampled| *by as usize == worker;
        let page = |sample: &Sampled| is_ours(sample).then_some(sample[2]);
        let pages = [None].into_iter().chain(samples.iter().map(page)).collect();
        plot.with(Series::new(format!("worker {worker}"), pages))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Sample;
    use crate::setting::Scale;
    use std::time::Duration;

    /// Two workers, of which the first touches all of ten pages far apart, and the second the upper
    /// half.
    fn metrics() -> Metrics {
        let mut record = Vec::new();
        for turn in 0..100_u64 {
            let page = (turn as usize * 7) % 10;
            record.push((0, turn, 1_000 * page));
            record.push((1, turn, 1_000 * (5 + page / 2)));
        }
        let touches = record
            .into_iter()
            .map(|(worker, ms, page)| Touch::new(worker, Duration::from_millis(ms), page));
        samples(&touches.collect::<Vec<_>>())
    }

    /// Catches: samples of the wrong worker or page on their way through the results.
    #[test]
    fn what_each_worker_touches_is_told_apart() {
        let results = Results::of([(labels("kmeans"), metrics())]);
        let samples = first_run(&results, "kmeans");
        assert_eq!(samples.len(), 200);
        assert_eq!(Spread::of(&samples, 10.0, 2), Some(Spread { each: 0.75, all: 0.5 }));
        assert_eq!(Spread::of(&[], 0.0, 2), None);
    }

    /// Catches: a footprint of as many workers as this machine has processors.
    #[test]
    fn four_workers_are_sampled_on_any_machine() {
        let setting = Setting::new(Scale::Quick, 1);
        let block = experiment().blocks(&setting).into_iter().find(|block| block.name == "kmeans");
        let mut case = (block.unwrap().prepare)().unwrap().pop().unwrap();
        let metrics = (case.run)().unwrap();
        let workers =
            metrics.iter().find(|(name, _)| *name == "ended_threads").map(|(_, count)| *count);
        assert_eq!(workers, Some(4.0), "{metrics:?}");
    }

    /// Catches: pages of one round that are looked for among those of another, so that the row is
    /// lost where the first round saw the most pages.
    #[test]
    fn rounds_that_see_fewer_pages_than_the_first_lose_no_row() {
        let mut results = Results::of([(labels("vacation"), metrics())]);
        for round in 1..3 {
            let few = vec![("pages", 4.0), ("samples", 8.0)];
            results.push(Sample { round, labels: labels("vacation"), metrics: few });
        }
        let row = table(&results, &["vacation".to_owned()], 2).shown(&["vacation"]);
        assert_eq!(row[1..], ["8", "4", "75", "50"]);
    }

    /// Catches: a plot that leaves samples out, shows one at another time or as another worker's,
    /// or does not say how many there are.
    #[test]
    fn a_dot_is_an_access_of_a_worker_to_a_page_at_its_time() {
        let results = Results::of_rounds(3, [(labels("kmeans"), metrics())]);
        let drawn = plot(&results, "kmeans", 2);
        let dots = |worker: usize| drawn.series[worker].values.iter().flatten().count();
        assert_eq!((drawn.series.len(), dots(0), dots(1)), (2, 100, 100));
        let mut time = 0.0;
        for (at, width) in drawn.widths.iter().flatten().enumerate() {
            let turn = (time * 1e3_f64).round() as usize;
            if let Some(page) = drawn.series[0].values[at] {
                assert_eq!(page as usize, (turn * 7) % 10, "at {time}");
            }
            time += width;
        }
        assert!((time - 0.099).abs() < 1e-9, "{time}");
        assert_eq!(drawn.made_of.as_deref(), Some("200 of 200 samples, round 1 of 3"));
        assert!(plot(&results, "yada", 2).is_empty());
    }
}
