//! Figures 7.4 and 7.5: where threads sit, and on which nodes pages lie, with the baseline
//! otherwise.
//!
//! Pages have one place on a machine of one node: then only threads are placed.

use sinew_policy::worklist::{Choice, Mapping, Pages, Settings};
use sinew_topology::Machine;

use super::applications::{Application, blocks};
use super::bench::{Bench, Way, plain};
use super::comparison::Comparison;
use super::{ONE_NODE, OTHER_MACHINE};
use crate::experiment::{About, Case, Caveat, Experiment, Need};
use crate::failure::Failure;
use crate::paper::openskel::PLACES_WORDS;
use crate::report::{Part, Table, cell};
use crate::results::{Labels, Results};
use crate::setting::Setting;

const ABOUT: About = About {
    name: "openskel-places",
    title: "thread mappings and page placements of the worklist: scatter, compact, the system; \
        first touch, cyclic, bound",
    publication: super::PUBLICATION,
    place: "Figures 7.4 and 7.5",
    caveats: &[
        Caveat {
            unless: Need::Packages(2),
            words: "Scatter and compact are the same places where all cores of a machine have a \
                worker, and nearly so where they share all but the nearest caches.",
        },
        ONE_NODE,
        OTHER_MACHINE,
    ],
    repeat: super::REPEAT,
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks(cases), report)
}

const SERIAL: &str = "serial";
pub(super) const SCATTER: &str = "scatter";
pub(super) const COMPACT: &str = "compact";
pub(super) const SYSTEM: &str = "the system";
pub(super) const CYCLIC: &str = "pages cyclic";
pub(super) const BOUND: &str = "pages bound";
const PLACES: [&str; 5] = [SCATTER, COMPACT, SYSTEM, CYCLIC, BOUND];

/// The baseline at a place, with this number of workers; `None` if there is only one node for the
/// pages.
fn way(place: &str, workers: usize, nodes: usize) -> Option<Way> {
    let baseline = plain(Settings::baseline(workers));
    let choice = match place {
        SCATTER => baseline,
        COMPACT => Choice { mapping: Mapping::Compact, ..baseline },
        SYSTEM => return Some(Way::Floating(workers)),
        _ if nodes < 2 => return None,
        CYCLIC => Choice { pages: Pages::Cyclic, ..baseline },
        _ => Choice { pages: Pages::BindLocal, ..baseline },
    };
    Some(Way::Fixed { choice, cores: workers })
}

fn labels(app: &str, place: &str, workers: usize) -> Labels {
    vec![
        ("application", app.to_owned()),
        ("place", place.to_owned()),
        ("workers", workers.to_string()),
    ]
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let comparison = Comparison::new(results, setting, ["place", "workers"], SCATTER);
    let verdict = Part::verdict(results.rounds(), || comparison.verdict(&PLACES[1..], &[]));
    let mut parts = vec![Part::Table(table(&comparison)), verdict, Part::words(PLACES_WORDS)];
    parts.extend(comparison.plots(SERIAL, &PLACES, &[]));
    parts
}

fn cases(Application { name, size }: Application, setting: &Setting) -> Result<Vec<Case>, Failure> {
    let (bench, nodes) =
        (Bench::listed(name, size, None, setting.worklists)?, Machine::host().nodes().len());
    let serial = bench.clone();
    let mut cases = vec![Case::new(labels(name, SERIAL, 1), move || serial.serial())];
    for &workers in &setting.threads {
        for place in PLACES {
            let Some(way) = way(place, workers, nodes) else { continue };
            let bench = bench.clone();
            cases.push(Case::new(labels(name, place, workers), move || bench.run(&way)));
        }
    }
    Ok(cases)
}

fn table(comparison: &Comparison<'_>) -> Table {
    let mut table = Table::new("places", "Thread mappings and page placements");
    for app in &comparison.applications {
        for (place, &workers) in PLACES
            .into_iter()
            .flat_map(|place| comparison.counts.iter().map(move |workers| (place, workers)))
        {
            let Some(seconds) = comparison.median(app, (place, workers), "wall_s") else {
                continue;
            };
            let improvement =
                comparison.improvement(app, (place, workers)).filter(|_| place != SCATTER);
            table.row([
                cell("application", app),
                cell("place", place),
                cell("workers", workers),
                cell("seconds", seconds),
                cell("over scatter, %", improvement),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;

    /// Catches: a place that is another, and pages that are placed where there is one node.
    #[test]
    fn each_place_differs_from_the_baseline_in_one_respect() {
        let choice = |place| match way(place, 2, 2) {
            Some(Way::Fixed { choice, .. }) => (choice.mapping, choice.pages),
            other => panic!("{place}: {other:?}"),
        };
        assert_eq!(choice(SCATTER), (Mapping::Scatter, Pages::FirstTouch));
        assert_eq!(choice(COMPACT), (Mapping::Compact, Pages::FirstTouch));
        assert_eq!(choice(CYCLIC), (Mapping::Scatter, Pages::Cyclic));
        assert_eq!(choice(BOUND), (Mapping::Scatter, Pages::BindLocal));
        assert_eq!(way(SYSTEM, 2, 1), Some(Way::Floating(2)));
        assert_eq!([CYCLIC, BOUND].map(|place| way(place, 2, 1)), [None, None]);
    }

    /// Catches: an improvement turned round, and an average over all numbers of workers instead
    /// of the best.
    #[test]
    fn places_are_compared_with_scatter() {
        let wall =
            |place, workers, wall_s| (labels("kmeans", place, workers), vec![("wall_s", wall_s)]);
        let results = Results::of_rounds(
            3,
            [
                wall(SERIAL, 1, 2.5),
                wall(SCATTER, 1, 2.0),
                wall(COMPACT, 1, 2.0),
                wall(SCATTER, 2, 1.5),
                wall(COMPACT, 2, 1.25),
            ],
        );
        let setting = Setting { threads: vec![1, 2], ..Setting::new(Scale::Quick, 2) };
        let parts = experiment().report(&results, &setting);
        let [Part::Table(table), Part::Words(words), _, Part::Plot(plot)] = &parts[..] else {
            panic!("{parts:?}")
        };
        assert_eq!(table.shown(&["kmeans", COMPACT, "2"])[4], "20.0");
        assert_eq!(plot.series[1].values, [Some(1.25), Some(2.0)], "over the serial version");
        assert!(words.contains("compact: +20.0 %") && !words.contains("bound"), "{words}");
    }
}
