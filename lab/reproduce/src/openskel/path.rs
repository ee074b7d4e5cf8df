//! Figure 6.7: what the tuner does while a program runs: when each state begins, how many epochs it
//! takes, and the values of the parameters, epoch by epoch.
//!
//! Also what tuning costs: the part of the run until it has settled, and its processor time. Paths
//! are those of the first round.

use sinew::worklist::Path;
use sinew_policy::tune::{Row, State};

use super::applications::{Application, blocks, names};
use super::bench::{Bench, Way};
use super::ended;
use super::{OTHER_MACHINE, THREADS_ARE_FEW};
use crate::experiment::{About, Case, Experiment};
use crate::failure::Failure;
use crate::paper::openskel::PATH_WORDS;
use crate::report::{Form, Mark, Part, Plot, Series, Table, cell};
use crate::results::{Labels, Metrics, Results};
use crate::setting::Setting;

const ABOUT: About = About {
    name: "openskel-path",
    title: "the steps of the worklist's tuner, epoch by epoch, and their cost",
    publication: super::PUBLICATION,
    place: "Figure 6.7",
    caveats: &[THREADS_ARE_FEW, OTHER_MACHINE],
    repeat: super::REPEAT,
};

/// The experiment.
pub(super) fn experiment() -> Experiment {
    Experiment::new(ABOUT, blocks(cases), report)
}

/// Rows for what comes once all is settled, at most.
const ROWS: usize = 60;

/// The names of a row's values among the metrics of a run, each as often as there are rows.
const COLUMNS: [&str; 11] = [
    "epoch",
    "epochs",
    "elapsed_s",
    "state",
    "threads",
    "stealing",
    "lifespan",
    "coalescing",
    "swap_after",
    "aborts_a_commit",
    "stalls_a_commit",
];

const STATES: [State; 6] = [
    State::Start,
    State::Stealing,
    State::Threads,
    State::Helpers,
    State::Coalescing,
    State::SwapRetry,
];

fn labels(app: &str) -> Labels {
    vec![("application", app.to_owned())]
}

fn report(results: &Results, setting: &Setting) -> Vec<Part> {
    let applications = names(setting.scale);
    let mut parts = vec![
        Part::Table(costs(results, &applications)),
        Part::words(PATH_WORDS),
        Part::Table(paths(results, &applications)),
    ];
    parts.extend(applications.iter().flat_map(|app| plots(results, &labels(app), (app, app))));
    parts
}

/// The plots of the path of this case in its first round, by its names for files and titles.
pub(super) fn plots(results: &Results, case: &Labels, names: (&str, &str)) -> [Part; 2] {
    let path: Vec<Values> = results.rows(case, COLUMNS);
    let plots = [(SETTLING, settled_from(&path)), (WHOLE, path.len())];
    plots.map(|shown| Part::Plot(plot(names, shown, &path, results.rounds())))
}

fn cases(Application { name, size }: Application, setting: &Setting) -> Result<Vec<Case>, Failure> {
    let (bench, cores) =
        (Bench::listed(name, size, None, setting.worklists)?, setting.most_workers());
    let way = Way::Tuned { knobs: setting.worklists.knobs, cores };
    Ok(vec![Case::new(labels(name), move || {
        let (metrics, recorded) = bench.run_recorded(&way)?;
        let settling = recorded.path.as_ref().and_then(Path::settling);
        let epochs = settling.map(|settling| ("settled_after_epochs", settling.epochs as f64));
        let rows = recorded.path.as_ref().map(rows).unwrap_or_default();
        Ok([metrics, epochs.into_iter().collect(), rows].concat())
    })])
}

/// The rows of a path as metrics: all until it has settled; those after it are merged until there
/// are at most [`ROWS`]. So the rows stand for every epoch of the path.
pub(super) fn rows(path: &Path) -> Metrics {
    let settled = path.rows().iter().position(|row| row.state == State::SwapRetry);
    let (settling, settled) = path.rows().split_at(settled.unwrap_or(path.rows().len()));
    let every = settled.len().div_ceil(ROWS).max(1);
    let merged = settled.chunks(every).map(merged);
    settling.iter().copied().chain(merged).flat_map(|one| row(&one).collect::<Vec<_>>()).collect()
}

/// Rows in a row as one, with the settings of the first.
fn merged(rows: &[Row]) -> Row {
    let sum = |sum: Row, row: &Row| Row {
        epochs: sum.epochs + row.epochs,
        counts: sum.counts.plus(&row.counts),
        ..sum
    };
    rows[1..].iter().fold(rows[0], sum)
}

fn row(row: &Row) -> impl Iterator<Item = (&'static str, f64)> {
    let Row { epoch, epochs, state, settings, counts } = row;
    let state = STATES.iter().position(|other| other == state).unwrap_or_default();
    let bit = |on: bool| if on { 1.0 } else { 0.0 };
    let values = [
        *epoch as f64,
        *epochs as f64,
        counts.elapsed_ns as f64 / 1e9,
        state as f64,
        settings.threads as f64,
        bit(settings.stealing),
        f64::from(settings.lifespan),
        bit(settings.coalescing),
        f64::from(settings.swap_after.unwrap_or(0)),
        counts.abort_ratio(),
        counts.stall_ratio(),
    ];
    COLUMNS.into_iter().zip(values)
}

/// A row of a path, read back: the values of `COLUMNS`.
type Values = [f64; COLUMNS.len()];

fn first_path(results: &Results, app: &str) -> Vec<Values> {
    results.rows(&labels(app), COLUMNS)
}

fn costs(results: &Results, applications: &[String]) -> Table {
    let mut table = Table::new("costs", "What tuning took");
    for app in applications {
        let at = |metric| results.median(&[("application", app)], metric);
        let percent = |metric| at(metric).map(|share| share * 100.0);
        table.row([
            cell("application", app),
            cell("seconds", at("wall_s")),
            cell("ended with", ended::usual(results, &[("application", app)])),
            cell("settled after, epochs", at("settled_after_epochs")),
            cell("of the run, %", percent("settling_share")),
            cell("tuner, % of processor time", percent("tuning_share")),
        ]);
    }
    table
}

fn paths(results: &Results, applications: &[String]) -> Table {
    let mut table = Table::new("paths", "The tuner's path in the first round");
    for app in applications {
        for values in first_path(results, app) {
            let cells = COLUMNS.into_iter().zip(values).map(|(column, value)| match column {
                "state" => cell(column, STATES[value as usize].to_string()),
                _ => cell(column, value),
            });
            table.row([cell("application", app)].into_iter().chain(cells));
        }
    }
    table
}

/// The two plots of a path, as names of files and in words: settling may be a small part of it.
type Shown = (&'static str, &'static str);
const SETTLING: Shown = ("settling", "until it has settled");
const WHOLE: Shown = ("path", "in the whole run");

/// The parameters that the figure shows, and their columns.
const PARAMETERS: [(&str, &str); 3] =
    [("threads", "threads"), ("lifespan of helpers, words", "lifespan"), ("retries", "swap_after")];

/// The values of a column, row by row.
fn column<'a>(path: &'a [Values], name: &str) -> impl Iterator<Item = f64> + 'a {
    let at = COLUMNS.iter().position(|column| *column == name).expect("a name of a column");
    path.iter().map(move |values| values[at])
}

/// The number of rows before the state that goes on to the end of the run.
fn settled_from(path: &[Values]) -> usize {
    let last = |state: f64| STATES[state as usize] == State::SwapRetry;
    column(path, "state").position(last).unwrap_or(path.len())
}

/// Parameters over the epochs of the first rows, on an axis of ratios, as lifespans and retries
/// span decades. A row is as wide as the epochs that it stands for, and a mark is where a state
/// begins. A parameter has no value while its optimisation is off.
fn plot(
    (app, title): (&str, &str),
    ((file, shown), rows): (Shown, usize),
    path: &[Values],
    rounds: usize,
) -> Plot {
    let (marks, path) = (beginnings(path), &path[..rows]);
    let epochs: f64 = column(path, "epochs").sum();
    let title = format!("{title}: the tuner's states and parameters {shown}");
    let plot = Plot::new(&format!("{file}-{app}"), title, Form::Steps)
        .axes("epochs", "value of the parameter")
        .over(column(path, "epoch").map(|epoch| epoch.to_string()).collect())
        .wide(column(path, "epochs").collect())
        .numbered()
        .marked(marks.into_iter().filter(|mark| mark.at <= epochs).collect())
        .logarithmic()
        .made_of(format!("{epochs} epochs, round 1 of {rounds}"));
    PARAMETERS.into_iter().fold(plot, |plot, (name, of)| {
        let value = |value: f64| Some(value).filter(|&value| value > 0.0);
        plot.with(Series::new(name, column(path, of).map(value).collect()))
    })
}

/// A mark where a state begins. Those after stealing and after coalescing say how these ended.
fn beginnings(path: &[Values]) -> Vec<Mark> {
    let states: Vec<State> = column(path, "state").map(|state| STATES[state as usize]).collect();
    let mark = |at: usize| {
        let switched = |name| match column(&path[at..], name).next() {
            Some(on) if on > 0.0 => format!("{name} on"),
            _ => format!("{name} off"),
        };
        let name = match states[at] {
            state @ State::Threads => format!("{state} ({})", switched("stealing")),
            state @ State::SwapRetry => format!("{state} ({})", switched("coalescing")),
            state => state.to_string(),
        };
        column(&path[at..], "epoch").next().map(|at| Mark { at, name })
    };
    let begins = (0..path.len()).filter(|&at| at == 0 || states[at] != states[at - 1]);
    begins.filter_map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew::worklist::Knobs;
    use sinew_policy::tune::{Counts, Tuner};

    fn path(epochs: u64) -> Path {
        let mut tuner = Tuner::new(2, Knobs::default()).unwrap();
        let mut path = Path::new(10_000);
        for epoch in 0..epochs {
            let aborts = if epoch < 10 { 0 } else { epoch % 9 };
            path.push(&tuner.epoch(&Counts { commits: 10, aborts, stalls: 9, elapsed_ns: 1_000 }));
        }
        path
    }

    /// Catches: rows that lose their columns on the way through the samples, and a path of
    /// thousands of rows.
    #[test]
    fn a_path_goes_through_the_samples_as_it_was() {
        let results = Results::of([(labels("kmeans"), rows(&path(8)))]);
        let back = first_path(&results, "kmeans");
        assert_eq!(back.len(), path(8).rows().len());
        for (values, row) in back.iter().zip(path(8).rows()) {
            assert_eq!((values[0] as u64, values[1] as u64), (row.epoch, row.epochs));
            assert_eq!(STATES[values[3] as usize], row.state);
            assert_eq!(values[4] as usize, row.settings.threads);
        }
        assert!(rows(&path(2_000)).len() <= COLUMNS.len() * (2 * ROWS));
        assert!(first_path(&results, "yada").is_empty());
    }

    /// Catches: settling that looks like most of the run, since its few epochs are drawn as wide as
    /// the many after it, and epochs that are in no row.
    #[test]
    fn a_plot_is_as_wide_as_the_run_and_settling_is_a_part_of_it() {
        let quiet = |epochs: u64| {
            let (mut tuner, mut path) =
                (Tuner::new(2, Knobs::default()).unwrap(), Path::new(10_000));
            for _ in 0..epochs {
                path.push(&tuner.epoch(&Counts {
                    commits: 10,
                    aborts: 0,
                    stalls: 9,
                    elapsed_ns: 1_000,
                }));
            }
            path
        };
        for (path, epochs) in [(quiet(1_000), 1_000.0), (path(2_000), 2_000.0)] {
            let settling = path.settling().expect("it settles").epochs as f64;
            let results = Results::of([(labels("kmeans"), rows(&path))]);
            let back = first_path(&results, "kmeans");
            let end = |shown| {
                let drawn = plot(("kmeans", "kmeans"), shown, &back, 3);
                let widths = drawn.widths.expect("widths");
                assert_eq!(widths.len(), drawn.categories.len());
                widths.iter().sum::<f64>()
            };
            let (part, whole) = (end((SETTLING, settled_from(&back))), end((WHOLE, back.len())));
            assert_eq!((part, whole), (settling, epochs));
            assert!(settling < epochs / 20.0, "{settling}");
        }
    }

    /// Catches: states beside their epochs, parameters of optimisations that are off, and a title
    /// that does not say what the plot is made of.
    #[test]
    fn a_plot_shows_when_states_begin_and_the_values_of_parameters() {
        let results = Results::of([(labels("kmeans"), rows(&path(2_000)))]);
        let back = first_path(&results, "kmeans");
        let drawn = plot(("kmeans", "kmeans"), (WHOLE, back.len()), &back, 3);
        let names: Vec<&str> = drawn.marks.iter().map(|mark| mark.name.as_str()).collect();
        let last = ["threads (stealing on)", "coalescing", "swap-retry (coalescing on)"];
        assert_eq!(names, [&["start", "stealing"][..], &last].concat());
        let begins: Vec<f64> = drawn.marks.iter().map(|mark| mark.at).collect();
        assert_eq!(begins[..3], [0.0, 1.0, 2.0]);
        let series: Vec<&str> = drawn.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(series, ["threads", "retries"], "no helpers");
        assert_eq!(drawn.series[1].values[0], None, "not yet");
        assert_eq!(drawn.made_of.as_deref(), Some("2000 epochs, round 1 of 3"));
        let settling = plot(("kmeans", "kmeans"), (SETTLING, settled_from(&back)), &back, 3);
        assert_eq!(settling.marks.len(), 5, "and where it has settled");
    }
}
