//! JSON: what `sinew-lab run --json` and its like print, lines of objects, timelines, and what
//! `bench --json` writes: objects with lists of objects inside, which become tables of their own.

use maud::{Markup, html};
use serde_json::{Deserializer, Map, Value};

use crate::run::Runs;
use crate::section::Shown;
use crate::sheet::Sheet;

/// The most lists inside of lists that are laid out as tables.
const DEEPEST: usize = 4;
/// Groups of rows with bars of their own.
const DRAWN: usize = 40;
/// The statistic by which summaries of many values are drawn.
const MEDIAN: &str = "median";
/// The cell of a missing value.
const GAP: &str = "-";

/// Shows runs by what matters of them, one object as a list of names and values, with a table for
/// each list of objects in it, and several as a table; with plots.
///
/// # Errors
///
/// If the text is no JSON, or is cut off.
pub(crate) fn show(text: &str) -> Result<Shown, String> {
    let values: Result<Vec<Value>, _> = Deserializer::from_str(text).into_iter().collect();
    let mut values = values.map_err(|error| error.to_string())?;
    if let [Value::Array(many)] = &mut values[..] {
        values = std::mem::take(many);
    }
    match &values[..] {
        [] => Err("there is nothing in it".to_owned()),
        [Value::Object(one)] => match timeline(one) {
            Some(timeline) => Ok(timeline),
            None => Ok(with_runs(&values, whole(one)?, "an object")),
        },
        many => Ok(with_runs(many, table(many)?.show(), &format!("{} objects", many.len()))),
    }
}

/// The table of these runs, with all values to unfold; or all values, if the objects are no runs.
fn with_runs(objects: &[Value], all: Markup, what: &str) -> Shown {
    let Some(runs) = Runs::of(objects) else { return Shown::new(what, all) };
    let body = html! { (runs.show()) details { summary { "all values" } (all) } };
    Shown::new(runs.summary(), body)
}

/// One object: its values, and a table for each list of objects.
fn whole(object: &Map<String, Value>) -> Result<Markup, String> {
    let lists = object.iter().filter_map(|(name, value)| Some((name, objects(value)?)));
    let found = lists.flat_map(|(name, rows)| lists_in(name, vec![rows.to_vec()], DEEPEST));
    let tables: Result<Vec<_>, String> =
        found.map(|(name, groups)| Ok((name, grouped(&groups)?))).collect();
    let tables = tables?;
    Ok(html! {
        (list(object))
        @for (name, table) in tables { h3 { (name) } (table) }
    })
}

/// The elements, if there are some and all are objects.
fn objects(value: &Value) -> Option<&[Value]> {
    let many = value.as_array()?;
    (!many.is_empty() && many.iter().all(Value::is_object)).then_some(many)
}

/// This list, or, where its objects have lists of objects themselves, each of those, a group of
/// rows for each owner, with what that says of itself in each row.
fn lists_in(name: &str, groups: Vec<Vec<Value>>, depth: usize) -> Vec<(String, Vec<Vec<Value>>)> {
    let rows = || groups.iter().flatten().filter_map(Value::as_object);
    let mut inner: Vec<&String> = Vec::new();
    for (inside, _) in rows().flatten().filter(|(_, value)| objects(value).is_some()) {
        if !inner.contains(&inside) {
            inner.push(inside);
        }
    }
    if inner.is_empty() || depth == 0 {
        return vec![(name.to_owned(), groups)];
    }
    let of = |inside: &String| {
        let owned =
            rows().filter_map(|owner| Some(joined(owner, inside, objects(owner.get(inside)?)?)));
        lists_in(&format!("{name}.{inside}"), owned.collect(), depth - 1)
    };
    inner.into_iter().flat_map(of).collect()
}

/// These rows, with all in front that their owner says of itself; what has a name of its owner's is
/// told apart from it.
fn joined(owner: &Map<String, Value>, list: &str, rows: &[Value]) -> Vec<Value> {
    let own = || owner.iter().filter(|(_, value)| objects(value).is_none());
    let row = |row: &Value| {
        let mut all: Map<String, Value> =
            own().map(|(name, value)| (name.clone(), value.clone())).collect();
        for (name, value) in row.as_object().into_iter().flatten() {
            let is_taken = own().any(|(taken, _)| taken == name);
            let name = if is_taken { format!("{list}.{name}") } else { name.clone() };
            all.insert(name, value.clone());
        }
        Value::Object(all)
    };
    rows.iter().map(row).collect()
}

/// All rows in a table, and bars for each group.
fn grouped(groups: &[Vec<Value>]) -> Result<Markup, String> {
    let all: Vec<Value> = groups.iter().flatten().cloned().collect();
    let all = table(&all)?;
    let sheets: Result<Vec<(Sheet, String)>, String> =
        groups.iter().take(DRAWN).map(|group| Ok(to_draw(&table(group)?))).collect();
    let (sheets, left) = (sheets?, groups.len().saturating_sub(DRAWN));
    Ok(html! {
        @for (sheet, caption) in sheets { (sheet.figures(&caption)) }
        @if left > 0 { p { (left) " more without a plot" } }
        (all.table())
    })
}

/// The columns of a table that are drawn: medians, if there are any, over the words that
/// distinguish rows; and the words that all rows have in common, as a caption.
fn to_draw(sheet: &Sheet) -> (Sheet, String) {
    let has_medians = sheet.titles.iter().any(|title| title.ends_with(MEDIAN));
    let cells = |column: usize| sheet.rows.iter().map(move |row| row[column].as_str());
    let is_number = |column: usize| {
        cells(column).any(|cell| cell != GAP)
            && cells(column).all(|cell| cell == GAP || cell.parse::<f64>().is_ok())
    };
    let is_word = |column: usize| !cells(column).any(|cell| cell.starts_with('['));
    let varies = |column: usize| cells(column).any(|cell| cell != sheet.rows[0][column]);
    let mut caption = Vec::new();
    let (mut words, mut measures) = (Vec::new(), Vec::new());
    for column in 0..sheet.titles.len() {
        match is_number(column) {
            true if !has_medians || sheet.titles[column].ends_with(MEDIAN) => measures.push(column),
            // Numbers beside medians tell rows apart, too: how many threads.
            _ if is_word(column) && varies(column) => words.push(column),
            false if is_word(column) && sheet.rows[0][column] != GAP => {
                caption.push(sheet.rows[0][column].clone());
            }
            _ => {}
        }
    }
    let label =
        |row: &[String]| words.iter().map(|&at| row[at].as_str()).collect::<Vec<_>>().join(", ");
    let titles = std::iter::once("row".to_owned())
        .chain(measures.iter().map(|&at| sheet.titles[at].clone()));
    let row = |row: &Vec<String>| {
        std::iter::once(label(row)).chain(measures.iter().map(|&at| row[at].clone())).collect()
    };
    (
        Sheet { titles: titles.collect(), rows: sheet.rows.iter().map(row).collect() },
        caption.join(", "),
    )
}

/// Timelines are for other programs to show.
fn timeline(object: &Map<String, Value>) -> Option<Shown> {
    let summary = format!("a timeline of {} events", object.get("traceEvents")?.as_array()?.len());
    let body = html! { p { (summary) ": open the file at ui.perfetto.dev." } };
    Some(Shown::new(summary, body))
}

fn list(object: &Map<String, Value>) -> Markup {
    html! { div.wide { table { tbody {
        @for (name, value) in flat(object) { tr { th { (name) } td { (value) } } }
    } } } }
}

/// A column for each name that any of the objects has.
fn table(objects: &[Value]) -> Result<Sheet, String> {
    let rows: Option<Vec<_>> = objects.iter().map(|value| value.as_object().map(flat)).collect();
    let rows = rows.ok_or("a list of something else than objects")?;
    let mut titles: Vec<String> = Vec::new();
    for (name, _) in rows.iter().flatten() {
        if !titles.contains(name) {
            titles.push(name.clone());
        }
    }
    let cell = |row: &[(String, String)], title: &String| {
        row.iter()
            .find(|(name, _)| name == title)
            .map_or_else(String::new, |(_, value)| value.clone())
    };
    let rows =
        rows.iter().map(|row| titles.iter().map(|title| cell(row, title)).collect()).collect();
    Ok(Sheet { titles, rows })
}

/// Names and values, those of objects inside with both names.
fn flat(object: &Map<String, Value>) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for (name, value) in object {
        match value {
            Value::Object(inner) => {
                pairs.extend(
                    flat(inner)
                        .into_iter()
                        .map(|(inside, value)| (format!("{name}.{inside}"), value)),
                );
            }
            Value::Null => pairs.push((name.clone(), GAP.to_owned())),
            // These have tables of their own.
            list if objects(list).is_some() => {}
            Value::String(text) => pairs.push((name.clone(), text.clone())),
            other => pairs.push((name.clone(), other.to_string())),
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> String {
        show(text).unwrap().body.into_string()
    }

    /// Catches: values of objects inside, quotes around words, words that become markup.
    #[test]
    fn an_object_is_a_list() {
        let page = page(r#"{"app": "<fib>", "counters": {"stolen": 5}, "serial_s": [0.1, 0.2]}"#);
        for part in ["<td>&lt;fib&gt;</td>", "<th>counters.stolen</th><td>5</td>", "[0.1,0.2]"] {
            assert!(page.contains(part), "{page}");
        }
    }

    /// Catches: a benchmark's comparisons in one cell, without a plot; rows of two comparisons
    /// thrown together, or a list that is lost.
    #[test]
    fn lists_of_objects_are_tables_with_bars() {
        let row = |name: &str, ns: f64| {
            format!(
                r#"{{"name": "{name}", "threads": 2, "ns": [1, 2],
                "speed_up": {{"median": {ns}}}}}"#
            )
        };
        let case = |case: &str| {
            let rows = [row("ours", 2.5), row("theirs", 1.5)].join(",");
            format!(
                r#"{{"problem": "fib", "case": "{case}", "rows": [{rows}],
                "bars": [{{"met": true}}]}}"#
            )
        };
        let text = format!(
            r#"{{"rounds": 7, "machine": {{"cpus": 2}}, "skipped": [], "comparisons": [{},{}],
            "measurements": [{{"n": 1, "s": 2}}]}}"#,
            case("small"),
            case("large")
        );
        let page = page(&text);
        for part in [
            "<h3>comparisons.rows</h3>",
            "<h3>comparisons.bars</h3>",
            "<h3>measurements</h3>",
            "<th>speed_up.median</th>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        for part in [">theirs</td>", ">large</td>", "<th>machine.cpus</th><td>2</td>"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("{&quot;"), "{page}");
        assert_eq!(page.matches(">ours</td>").count(), 2, "{page}");
        assert_eq!(page.matches("<svg").count(), 2, "{page}");
        assert!(page.contains("<figcaption>small, fib</figcaption>"), "{page}");
    }

    /// Catches: a run that is shown as numbers alone.
    #[test]
    fn one_run_is_two_bars() {
        let page =
            page(r#"{"application": "fib", "serial_median_s": 0.5, "parallel_median_s": 0.25}"#);
        assert!(page.contains("<svg") && page.contains("parallel"), "{page}");
        let (summary, all) = (page.find("<table>"), page.find("all values"));
        assert!(summary.is_some() && summary < all, "{page}");
    }

    /// Catches: lines of objects, which runs that are appended to one file leave.
    #[test]
    fn several_objects_are_a_table_with_plots() {
        for text in
            ["{\"n\":1,\"s\":2.5}\n{\"n\":2,\"s\":3}", "[{\"n\":1,\"s\":2.5},{\"n\":2,\"s\":3}]"]
        {
            let page = page(text);
            assert!(page.contains("<svg") && page.contains("2.5</td>"), "{page}");
        }
    }

    /// Catches: thousands of events in a table, and half a file.
    #[test]
    fn timelines_are_named_and_broken_files_refused() {
        assert!(page(r#"{"traceEvents": [1, 2, 3]}"#).contains("3 events"));
        for text in ["", "{", "[1, 2]"] {
            assert!(show(text).is_err(), "{text}");
        }
    }
}
