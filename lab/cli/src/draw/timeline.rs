//! The demo's loop that is changed while it runs, as spans of work.

use std::time::Duration;

use sinew::Pool;
use sinew_console::Failure;
use sinew_reproduce::report::{Form, Mark, Plot, Series, Span};

use super::workers;
use crate::timeline::{Column, Timeline, observe};

/// The planned time of the loop.
const PLANNED: Duration = Duration::from_millis(800);
/// Time between two observations.
const COLUMN: Duration = Duration::from_millis(4);

/// A row for each worker, a colour for each schedule, and a mark for each change.
pub(super) fn plot(pool: &Pool) -> Result<Plot, Failure> {
    let observed = observe(pool, PLANNED, COLUMN, |_| ())?;
    let end = if observed.answers.is_none() { ", and cancelled" } else { "" };
    let title = format!("A loop that is changed while it runs, on {}{end}", workers(pool));
    Ok(drawn(title, &observed.timeline))
}

fn drawn(title: String, timeline: &Timeline) -> Plot {
    let rows = timeline.columns.first().map_or(0, |column| column.work.len());
    let mark = |(at, name)| Mark { at, name };
    let changes = timeline.changes.iter();
    let changes = changes.map(|change| (ms(change.at), change.words.clone()));
    let plot = Plot::new("timeline", title, Form::Spans)
        .axes("time, ms", "")
        .over((0..rows).map(|worker| format!("worker {worker}")).collect())
        .marked(changes.map(mark).collect());
    series(&timeline.columns).into_iter().fold(plot, Plot::with)
}

/// The columns with work, for each schedule in the order of its first column.
fn series(columns: &[Column]) -> Vec<Series> {
    let mut series: Vec<(String, Vec<Span>)> = Vec::new();
    let mut from = 0.0;
    for column in columns {
        let (name, to) = (column.schedule.to_string(), ms(column.end));
        if series.iter().all(|(other, _)| *other != name) {
            series.push((name.clone(), Vec::new()));
        }
        let busy = (0..column.work.len()).filter(|&worker| column.work[worker] > 0);
        let spans = series.iter_mut().find(|(other, _)| *other == name);
        spans.into_iter().for_each(|(_, spans)| {
            spans.extend(busy.clone().map(|row| Span { row, from, to }));
        });
        from = to;
    }
    series.into_iter().map(|(name, spans)| Series::of_spans(name, spans)).collect()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew::Schedule;

    /// Catches: work in the row of another worker, in the colour of another schedule, or at another
    /// time.
    #[test]
    fn a_worker_has_a_span_for_its_columns_with_work_under_each_schedule() {
        let column = |end, work: [u64; 2], schedule| Column {
            end: Duration::from_millis(end),
            work: work.to_vec(),
            schedule,
        };
        let dynamic = Schedule::Dynamic { chunk: 16 };
        let columns = [
            column(4, [5, 0], Schedule::Static),
            column(9, [5, 1], Schedule::Static),
            column(13, [0, 2], dynamic),
            column(17, [1, 0], Schedule::Static),
        ];
        let span = |row, from, to| Span { row, from, to };
        let fixed = vec![span(0, 0.0, 9.0), span(0, 13.0, 17.0), span(1, 4.0, 9.0)];
        let drawn = series(&columns);
        assert_eq!(drawn.len(), 2);
        assert_eq!((&*drawn[0].name, &drawn[0].spans), ("static", &fixed));
        assert_eq!((&*drawn[1].name, &drawn[1].spans), ("dynamic:16", &vec![span(1, 9.0, 13.0)]));
    }
}
