//! A folder that an experiment has written: its report, with its plots in their places.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::markdown;
use crate::section::Section;

/// Reads the folder; nothing if no experiment has written it.
pub(crate) fn read(folder: &Path) -> Option<Result<Section, String>> {
    let meta = fs::read_to_string(folder.join("meta.json")).ok()?;
    let meta: Value = serde_json::from_str(&meta).ok()?;
    let name = meta.get("experiment")?.as_str()?;
    let text =
        fs::read_to_string(folder.join("README.md")).map_err(|error| format!("README.md: {error}"));
    Some(text.map(|text| Section::new(name, markdown::show(without_title(&text), folder))))
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
        let body = section.body.into_string();
        assert!(
            body.contains("<strong>fast</strong>") && body.contains("<svg><rect/></svg>"),
            "{body}"
        );
        assert!(!body.contains("<h1"), "{body}");
    }
}
