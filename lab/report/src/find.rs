//! Finds files, and recognises the kind of each.
//!
//! A folder that an experiment has written is one section. Any other folder is looked through, in
//! the order of names; a file becomes a section by its ending. Links to folders are not followed,
//! so a search ends.

use std::fs;
use std::path::{Path, PathBuf};

use maud::html;

use crate::failure::Failure;
use crate::section::{Section, Shown};
use crate::{folder, markdown, object, show};

/// The files that were found.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The sections of the page, in the order of the paths.
    pub sections: Vec<Section>,
    /// Files that looked like results and could not be understood, and why: a line each.
    pub left_out: Vec<String>,
}

/// Gathers what lies at `paths`: folders of results, folders with such folders or files in them,
/// and single files.
///
/// # Errors
///
/// If a path that is named here cannot be read, or there is no result at all, or none that is
/// whole. A broken file among others is left out, and said to be.
pub fn gather(paths: &[PathBuf]) -> Result<Gathered, Failure> {
    let mut gathered = Gathered::default();
    for path in paths {
        // Said of the path itself, where the user has named it.
        fs::metadata(path).map_err(|error| Failure::unread(path, error))?;
        gathered.take(path)?;
    }
    match (gathered.sections.is_empty(), gathered.left_out.is_empty()) {
        (false, _) => Ok(gathered),
        (true, true) => Err(Failure::Nothing(paths.to_vec())),
        (true, false) => Err(Failure::Broken(gathered.left_out)),
    }
}

impl Gathered {
    fn take(&mut self, path: &Path) -> Result<(), Failure> {
        if !path.is_dir() {
            self.file(path);
            return Ok(());
        }
        match folder::read(path) {
            Some(found) => self.keep(path, found),
            None => self.look_through(path)?,
        }
        Ok(())
    }

    fn look_through(&mut self, folder: &Path) -> Result<(), Failure> {
        let fail = |error| Failure::unread(folder, error);
        let entries: Result<Vec<fs::DirEntry>, _> = fs::read_dir(folder).map_err(fail)?.collect();
        let mut entries = entries.map_err(fail)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let kind = entry.file_type().map_err(fail)?;
            if kind.is_file() {
                self.file(&entry.path());
            } else if kind.is_dir() {
                self.take(&entry.path())?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) {
        if let Some(found) = section(path) {
            self.keep(path, found);
        }
    }

    fn keep(&mut self, path: &Path, found: Result<Section, String>) {
        match found {
            Ok(section) => self.sections.push(section),
            Err(why) => self.left_out.push(format!("`{}`: {why}", path.display())),
        }
    }
}

/// The section of a file; `None` if it is not a result.
fn section(path: &Path) -> Option<Result<Section, String>> {
    let show: fn(&str, &Path) -> Result<Shown, String> = match path.extension()?.to_str()? {
        "csv" => |text, _| show::show(text),
        "json" | "jsonl" => |text, _| object::show(text),
        "md" => |text, path| {
            let folder = path.parent().unwrap_or(Path::new("."));
            Ok(Shown::new(first_line(text), markdown::show(text, folder)))
        },
        "txt" => |text, _| Ok(Shown::new(first_line(text), html! { pre { (text) } })),
        _ => return None,
    };
    let text = fs::read_to_string(path).map_err(|error| error.to_string());
    let body = text.and_then(|text| show(&text, path));
    Some(body.map(|body| Section::new(path.display().to_string(), body)))
}

/// The first line with words, without the mark of a heading.
fn first_line(text: &str) -> &str {
    let mut lines = text.lines().map(|line| line.trim_start_matches('#').trim());
    lines.find(|line| !line.is_empty()).unwrap_or("empty")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn titles(gathered: &Gathered) -> Vec<String> {
        let name = |section: &Section| section.title.rsplit('/').next().unwrap().to_owned();
        gathered.sections.iter().map(name).collect()
    }

    /// Catches: a kind of result that is not found, a file that is none, an order that changes
    /// from day to day.
    #[test]
    fn every_kind_of_result_is_found_in_the_order_of_names() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "d/speeds.csv", "a,b\n1,2\n");
        write(folder.path(), "b.txt", "bench");
        write(folder.path(), "c.json", r#"{"application": "fib"}"#);
        write(folder.path(), "a.md", "# Notes");
        write(folder.path(), "picture.png", "not for us");
        write(folder.path(), "none", "neither");
        let gathered = gather(&[folder.path().to_owned()]).unwrap();
        assert_eq!(titles(&gathered), ["a.md", "b.txt", "c.json", "speeds.csv"]);
        assert!(gathered.left_out.is_empty());
        let summaries: Vec<&str> =
            gathered.sections.iter().map(|section| section.shown.summary.as_str()).collect();
        assert_eq!(summaries, ["Notes", "bench", "an object", "1 row of a, b"]);
    }

    /// Catches: a report that fails, or is silent, because one file of many is broken.
    #[test]
    fn a_broken_file_is_left_out_and_named() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "broken.json", r#"{"application": "#);
        write(folder.path(), "fine.txt", "fine");
        fs::write(folder.path().join("latin.csv"), b"a\n\xff\n").unwrap();
        let gathered = gather(&[folder.path().to_owned()]).unwrap();
        assert_eq!(titles(&gathered), ["fine.txt"]);
        let lines = &gathered.left_out;
        assert!(
            lines.len() == 2 && lines[0].contains("broken.json") && lines[1].contains("latin.csv"),
            "{lines:?}"
        );
    }

    /// Catches: an empty page, and success, where all there was is cut off in the middle.
    #[test]
    fn nothing_but_broken_files_is_an_error_that_names_them() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "cut.trace.json", r#"{"traceEvents": [{"name": "wor"#);
        for path in [folder.path().to_owned(), folder.path().join("cut.trace.json")] {
            let message = gather(&[path]).unwrap_err().to_string();
            assert!(message.contains("cut.trace.json") && !message.contains('\n'), "{message}");
        }
    }

    /// Catches: an empty page where the user has mistyped a name, or named a folder without
    /// results.
    #[test]
    fn a_missing_path_and_an_empty_folder_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let message = gather(&[folder.path().to_owned()]).unwrap_err().to_string();
        assert!(
            message.contains(folder.path().to_str().unwrap()) && message.contains(".csv"),
            "{message}"
        );
        let message = gather(&[folder.path().join("gone")]).unwrap_err().to_string();
        assert!(message.contains("gone") && !message.contains('\n'), "{message}");
    }

    /// Catches: a search that never ends.
    #[cfg(unix)]
    #[test]
    fn a_folder_that_holds_itself_is_looked_through_once() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a.txt", "a");
        std::os::unix::fs::symlink(folder.path(), folder.path().join("again")).unwrap();
        assert_eq!(titles(&gather(&[folder.path().to_owned()]).unwrap()), ["a.txt"]);
    }
}
