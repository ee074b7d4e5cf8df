//! A worklist that tunes itself: its threads and its speed over time.

use sinew::worklist::{Path, Row, Tuning};
use sinew::{Pool, PoolBuilder};
use sinew_apps::{Options, Record, Size};
use sinew_console::Failure;
use sinew_reproduce::report::{Form, Mark, Plot, Series};

use super::workers;
use crate::{pool, run, worklist};

/// The application, and a size whose run takes several times as long as tuning.
const APPLICATION: &str = "vacation";
const SIZE: &str = "n4-q60-u90-r16384-t20000";

/// The part of the run that is drawn, in times until the tuner has settled.
const DRAWN: f64 = 1.5;

/// A pool with the mapping that worklists have by default.
pub(super) fn placed(builder: PoolBuilder) -> Result<PoolBuilder, Failure> {
    let app = run::find(APPLICATION)?;
    Ok(pool::placed(builder, worklist::mapping(app).as_ref()))
}

/// Threads and speed as steps, and a mark for each setting that is tried.
pub(super) fn plot(pool: &Pool) -> Result<Plot, Failure> {
    let title = format!("A worklist that tunes itself: {APPLICATION}, {}", workers(pool));
    Ok(drawn(title, &path(pool)?))
}

/// The steps of the tuner in one run, whose result is checked.
fn path(pool: &Pool) -> Result<Path, Failure> {
    let app = run::find(APPLICATION)?;
    let record = Record::default();
    let options = Options {
        size: Size::Exact(SIZE.to_owned()),
        tuning: Some(Tuning::Auto),
        record: record.clone(),
        ..Options::default()
    };
    let problem = app.prepare(&options).map_err(Failure::usage)?;
    let answer = problem.parallel(pool).answer;
    let checked = problem.check(&answer);
    checked.map_err(|wrong| Failure::Wrong(format!("{APPLICATION}: wrong answer: {wrong}")))?;
    let path = record.take().path.filter(|path| !path.rows().is_empty());
    path.ok_or_else(|| Failure::Wrong(format!("{APPLICATION}: the run ended before it was tuned")))
}

fn drawn(title: String, path: &Path) -> Plot {
    let settled = path.settling().map(|settling| settling.counts.elapsed_ns as f64 / 1e6);
    let rows = cut(path.rows(), settled.map_or(f64::MAX, |settled| settled * DRAWN));
    let (rows, widths): (Vec<&Row>, Vec<f64>) = rows.into_iter().unzip();
    let column = |value: fn(&Row) -> f64| rows.iter().map(|row| Some(value(row))).collect();
    Plot::new("tuning", title, Form::Steps)
        .axes("time, ms", "threads; units per µs")
        .over(rows.iter().map(|row| row.epoch.to_string()).collect())
        .wide(widths.clone())
        .numbered()
        .with(Series::new("threads", column(|row| row.settings.threads as f64)))
        .with(Series::new("units per µs", column(units_per_us)))
        .marked(marks(&rows, &widths, settled))
}

/// The rows before `end`, each with its duration up to there, in milliseconds.
fn cut(rows: &[Row], end: f64) -> Vec<(&Row, f64)> {
    let with_width = |left: &mut f64, row| {
        let width = ms(row).min(*left);
        *left -= width;
        (width > 0.0).then_some((row, width))
    };
    rows.iter().scan(end, with_width).collect()
}

/// A mark where the tuner turns to another setting, and one where it has settled.
fn marks(rows: &[&Row], widths: &[f64], settled: Option<f64>) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    let mut begin = 0.0;
    for (row, width) in rows.iter().zip(widths) {
        let name = match settled {
            Some(settled) if begin >= settled => "settled".to_owned(),
            _ => row.state.to_string(),
        };
        if marks.last().is_none_or(|mark| mark.name != name) {
            marks.push(Mark { at: begin, name });
        }
        begin += width;
    }
    marks
}

fn ms(row: &Row) -> f64 {
    row.counts.elapsed_ns as f64 / 1e6
}

fn units_per_us(row: &Row) -> f64 {
    row.counts.commits as f64 / (ms(row) * 1e3)
}
