//! JSON: what `sinew run --json` and its like print, lines of objects, and timelines.

use maud::{Markup, html};
use serde_json::{Deserializer, Map, Value};

use crate::sheet::Sheet;

/// Shows one object as a list of names and values, and several as a table, with plots.
///
/// # Errors
///
/// If the text is no JSON, or is cut off.
pub(crate) fn show(text: &str) -> Result<Markup, String> {
    let values: Result<Vec<Value>, _> = Deserializer::from_str(text).into_iter().collect();
    let mut values = values.map_err(|error| error.to_string())?;
    if let [Value::Array(many)] = &mut values[..] {
        values = std::mem::take(many);
    }
    match &values[..] {
        [] => Err("there is nothing in it".to_owned()),
        [Value::Object(one)] => Ok(timeline(one).unwrap_or_else(|| list(one))),
        many => Ok(table(many)?.show()),
    }
}

/// Timelines are for other programs to show.
fn timeline(object: &Map<String, Value>) -> Option<Markup> {
    let events = object.get("traceEvents")?.as_array()?;
    Some(html! { p { "A timeline of " (events.len()) " events: open the file at ui.perfetto.dev." } })
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
        row.iter().find(|(name, _)| name == title).map_or_else(String::new, |(_, value)| value.clone())
    };
    let rows = rows.iter().map(|row| titles.iter().map(|title| cell(row, title)).collect()).collect();
    Ok(Sheet { titles, rows })
}

/// Names and values, those of objects inside with both names.
fn flat(object: &Map<String, Value>) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for (name, value) in object {
        match value {
            Value::Object(inner) => {
                pairs.extend(
                    flat(inner).into_iter().map(|(inside, value)| (format!("{name}.{inside}"), value)),
                );
            }
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
        show(text).unwrap().into_string()
    }

    /// Would miss: values of objects inside, quotes around words, words that become markup.
    #[test]
    fn an_object_is_a_list() {
        let page = page(r#"{"app": "<fib>", "counters": {"stolen": 5}, "serial_s": [0.1, 0.2]}"#);
        for part in ["<td>&lt;fib&gt;</td>", "<th>counters.stolen</th><td>5</td>", "[0.1,0.2]"] {
            assert!(page.contains(part), "{page}");
        }
    }

    /// Would miss: lines of objects, which runs that are appended to one file leave.
    #[test]
    fn several_objects_are_a_table_with_plots() {
        for text in ["{\"n\":1,\"s\":2.5}\n{\"n\":2,\"s\":3}", "[{\"n\":1,\"s\":2.5},{\"n\":2,\"s\":3}]"] {
            let page = page(text);
            assert!(page.contains("<svg") && page.contains("2.5</td>"), "{page}");
        }
    }

    /// Would miss: thousands of events in a table, and half a file.
    #[test]
    fn timelines_are_named_and_broken_files_refused() {
        assert!(page(r#"{"traceEvents": [1, 2, 3]}"#).contains("3 events"));
        for text in ["", "{", "[1, 2]"] {
            assert!(show(text).is_err(), "{text}");
        }
    }
}
