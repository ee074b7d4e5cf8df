//! Runs of an application, as `sinew-lab run --json` prints them: what matters of each, and the
//! times as bars.

use maud::{Markup, PreEscaped, html};
use serde_json::{Map, Value};
use sinew_reproduce::report::{Form, Plot, Series, svg};

use crate::sheet::Sheet;

/// The names in a run, and the titles of their columns.
const COLUMNS: [(&str, &str); 9] = [
    ("application", "application"),
    ("size", "size"),
    ("ranks", "ranks"),
    ("workers", "workers"),
    ("serial_median_s", "serial, s"),
    ("parallel_median_s", "parallel, s"),
    ("speed_up", "speed-up"),
    ("answer", "answer"),
    ("right", "right"),
];

/// More runs than this are unreadable as text below an axis.
const DRAWN: usize = 24;
/// The cell of a missing value.
const GAP: &str = "-";

/// One run or more.
pub(crate) struct Runs<'a>(Vec<&'a Map<String, Value>>);

impl<'a> Runs<'a> {
    /// `None` if some of the objects are no runs.
    pub(crate) fn of(objects: &'a [Value]) -> Option<Self> {
        let runs: Option<Vec<_>> = objects.iter().map(Value::as_object).collect();
        let is_run = |run: &&Map<String, Value>| {
            run.get("application").is_some_and(Value::is_string)
                && ["serial_median_s", "parallel_median_s"]
                    .iter()
                    .all(|name| run.contains_key(*name))
        };
        runs.filter(|runs| !runs.is_empty() && runs.iter().all(is_run)).map(Self)
    }

    /// One line: whether the answers are right, and how fast the runs are.
    pub(crate) fn summary(&self) -> String {
        let wrong = self.0.iter().filter(|run| run.get("right") == Some(&Value::Bool(false)));
        let verdict = match (wrong.count(), self.0.len()) {
            (0, _) => String::new(),
            (_, 1) => "WRONG answer; ".to_owned(),
            (wrong, all) => format!("{wrong} of {all} answers WRONG; "),
        };
        let speeds = self.0.iter().filter_map(|run| run.get("speed_up")?.as_f64());
        let (least, most) = speeds.fold((f64::INFINITY, 0.0_f64), |(least, most), speed| {
            (least.min(speed), most.max(speed))
        });
        let speeds = match self.0.len() {
            _ if most == 0.0 => "no speed-up".to_owned(),
            1 => format!("speed-up {most:.2} on {} workers", cell(self.0[0], "workers")),
            _ => format!("speed-ups from {least:.2} to {most:.2}"),
        };
        let what = match &self.0[..] {
            [run] => format!("{} {}", cell(run, "application"), cell(run, "size")),
            runs => format!("{} runs", runs.len()),
        };
        format!("{verdict}{what}: {speeds}")
    }

    /// The times as bars, and a table with a row for each run.
    pub(crate) fn show(&self) -> Markup {
        let titles = COLUMNS.iter().map(|(_, title)| (*title).to_owned()).collect();
        let row =
            |run: &&Map<String, Value>| COLUMNS.iter().map(|(name, _)| cell(run, name)).collect();
        let table = Sheet { titles, rows: self.0.iter().map(row).collect() };
        let plot = self.plot().filter(|_| self.0.len() <= DRAWN);
        html! {
            @if let Some(plot) = plot { figure { (PreEscaped(svg(&plot))) } }
            (table.table())
        }
    }

    fn plot(&self) -> Option<Plot> {
        let times = |name: &str| -> Option<Vec<Option<f64>>> {
            self.0.iter().map(|run| run.get(name)?.as_f64().map(Some)).collect()
        };
        let (serial, parallel) = (times("serial_median_s")?, times("parallel_median_s")?);
        let name = |run: &&Map<String, Value>| {
            let parts = ["application", "size", "workers"].map(|name| cell(run, name));
            parts.into_iter().filter(|part| part != GAP).collect::<Vec<_>>().join(" ")
        };
        Some(
            Plot::new("", "median time", Form::Bars)
                .axes("application, size, workers", "seconds")
                .over(self.0.iter().map(name).collect())
                .with(Series::new("serial", serial))
                .with(Series::new("parallel", parallel)),
        )
    }
}

fn cell(run: &Map<String, Value>, name: &str) -> String {
    match run.get(name) {
        None | Some(Value::Null) => GAP.to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(right)) => if *right { "yes" } else { "NO" }.to_owned(),
        // Four digits tell as much as the clock does.
        Some(Value::Number(number)) if number.is_f64() => {
            number.as_f64().map_or_else(|| GAP.to_owned(), short)
        }
        Some(other) => other.to_string(),
    }
}

/// A number with four digits.
fn short(number: f64) -> String {
    let whole = number.abs().log10().floor().max(-9.0);
    let digits = if number == 0.0 { 0.0 } else { (3.0 - whole).clamp(0.0, 12.0) };
    format!("{number:.0$}", digits as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(speed_up: f64, right: bool) -> Value {
        json!({"application": "fib", "size": "30", "workers": 2, "serial_median_s": 0.012_345_678,
            "parallel_median_s": 0.006, "speed_up": speed_up, "answer": "<832040>", "right": right})
    }

    /// Catches: a wrong answer that the summary does not name, and the speed of another run.
    #[test]
    fn the_summary_has_the_verdict_and_the_speed() {
        let summary = |runs: &[Value]| Runs::of(runs).map(|runs| runs.summary());
        assert_eq!(summary(&[run(1.9, true)]).unwrap(), "fib 30: speed-up 1.90 on 2 workers");
        let both = [run(1.5, true), run(1.9, false)];
        assert_eq!(
            summary(&both).unwrap(),
            "1 of 2 answers WRONG; 2 runs: speed-ups from 1.50 to 1.90"
        );
        assert!(summary(&both[1..]).unwrap().starts_with("WRONG answer; fib 30"));
        assert!(summary(&[run(1.0, true), json!({"n": 1})]).is_none() && summary(&[]).is_none());
    }

    /// Catches: a dump of all counters instead of a table; words of a file that become markup.
    #[test]
    fn runs_are_a_table_with_short_numbers_and_labelled_bars() {
        let runs = [run(1.5, true), run(1.9, false)];
        let page = Runs::of(&runs).unwrap().show().into_string();
        for part in ["<td class=\"n\">0.01235</td>", ">NO</td>", "&lt;832040&gt;", "seconds"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(page.matches("<svg").count(), 1, "{page}");
    }

    #[test]
    fn numbers_have_four_digits() {
        for (number, text) in [(0.0, "0"), (1.5, "1.500"), (123.456, "123.5"), (1e-4, "0.0001000")]
        {
            assert_eq!(short(number), text);
        }
        assert_eq!([short(123_456.7), short(-0.012_34)], ["123457", "-0.01234"]);
    }
}
