//! A folder that an experiment has written: its report, with its plots in their places.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::markdown;
use crate::section::{Section, Shown};

/// Reads the folder; nothing if no experiment has written it.
pub(crate) fn read(folder: &Path) -> Option<Result<Section, String>> {
    let meta = fs::read_to_string(folder.join("meta.json")).ok()?;
    let meta: Value = serde_json::from_str(&meta).ok()?;
    let name = meta.get("experiment")?.as_str()?;
    let text =
        fs::read_to_string(folder.join("README.md")).map_err(|error| format!("README.md: {error}"));
    Some(text.map(|text| {
        let body = markdown::show(without_title(&text), folder);
        Section::new(name, Shown::new(summary(&meta, &text), body))
    }))
}

/// One line: the state, the title, and the size with the number of samples. A report says itself
/// that answers were wrong.
fn summary(meta: &Value, text: &str) -> String {
    let is_wrong = text.contains("**Some answers were wrong**");
    let state = match (is_wrong, meta["finished"].as_bool()) {
        (true, _) => "WRONG answers; ",
        (_, Some(false)) => "unfinished; ",
        _ => "",
    };
    let title = text.lines().next().and_then(|line| line.split_once(": ")).map(|(_, title)| title);
    let size = meta["size"].as_str().map_or_else(String::new, |size| format!("; size {size}"));
    let samples = meta["samples"].as_u64();
    let samples = samples.map_or_else(String::new, |samples| format!(", {samples} samples"));
    format!("{state}{}{size}{samples}", title.unwrap_or("an experiment"))
}

/// The section has a heading already.
fn without_title(text: &str) -> &str {
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("# ") => rest,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Catches: plots that are left behind in their files, and a heading that stands there
    /// twice.
    #[test]
    fn an_experiments_folder_is_one_section_with_its_plots() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).is_none());
        fs::write(folder.path().join("meta.json"), r#"{"experiment": "x-table1", "files": []}"#)
            .unwrap();
        assert!(read(folder.path()).unwrap().unwrap_err().contains("README.md"));
        fs::write(
            folder.path().join("README.md"),
            "# x-table1: fast\n\nHow **fast**.\n\n![speed](s.svg)\n",
        )
        .unwrap();
        fs::write(folder.path().join("s.svg"), "<svg><rect/></svg>").unwrap();
        let section = read(folder.path()).unwrap().unwrap();
        assert_eq!(section.title, "x-table1");
        assert_eq!(section.shown.summary, "fast");
        let body = section.shown.body.into_string();
        assert!(
            body.contains("<strong>fast</strong>") && body.contains("<svg><rect/></svg>"),
            "{body}"
        );
        assert!(!body.contains("<h1"), "{body}");
    }

    /// Catches: wrong answers or a run broken off that the summary does not name.
    #[test]
    fn the_summary_names_what_is_wrong_or_unfinished() {
        let meta = |end: bool| json!({"size": "quick", "samples": 21, "finished": end});
        let text = "# x: How fast\n\nRepeats.\n";
        assert_eq!(summary(&meta(true), text), "How fast; size quick, 21 samples");
        assert!(summary(&meta(false), text).starts_with("unfinished; How fast"));
        let wrong = format!("{text}\n**Some answers were wrong**; see below.\n");
        assert!(summary(&meta(true), &wrong).starts_with("WRONG answers; How fast"));
    }
}
