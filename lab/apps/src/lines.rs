//! Input files with a record on each line: numbers between blanks, `#` before remarks.
//!
//! An error in a file names the file, the line and the expected content.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::options::Error;

/// A file, read as a whole.
#[derive(Debug)]
pub(crate) struct Lines {
    path: PathBuf,
    text: String,
}

/// A line that says something.
#[derive(Debug, Clone)]
pub(crate) struct Record<'l> {
    lines: &'l Lines,
    number: usize,
    pub(crate) fields: Vec<&'l str>,
}

impl Lines {
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path);
        let text = text.map_err(|source| Error::File { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), text })
    }

    /// The lines without remarks, those that are blank left out.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let numbered = (1..).zip(self.text.lines());
        numbered.filter_map(|(number, line)| {
            let told = line.split('#').next().unwrap_or_default();
            let fields: Vec<&str> = told.split_whitespace().collect();
            (!fields.is_empty()).then_some(Record { lines: self, number, fields })
        })
    }

    /// Something is missing where the file ends.
    pub(crate) fn ends_before(&self, what: &str) -> Error {
        self.wrong(self.text.lines().count() + 1, format!("the file ends before {what}"))
    }

    fn wrong(&self, line: usize, problem: String) -> Error {
        Error::Input { path: self.path.clone(), line, problem }
    }
}

impl<'l> Record<'l> {
    /// Something is wrong with this line.
    pub(crate) fn wrong(&self, problem: impl Into<String>) -> Error {
        self.lines.wrong(self.number, problem.into())
    }

    /// The fields from the second on as numbers, each of which has to be `right`.
    pub(crate) fn numbers<T: FromStr>(
        &self,
        expected: &str,
        right: fn(&T) -> bool,
    ) -> Result<Vec<T>, Error> {
        let number = |field: &&'l str| {
            let number = field.parse().ok().filter(right);
            number.ok_or_else(|| self.wrong(format!("`{field}` is no {expected}")))
        };
        self.fields[1..].iter().map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Lines {
        Lines { path: "maze.txt".into(), text: text.to_owned() }
    }

    /// Catches: a line number that counts records instead of lines.
    #[test]
    fn remarks_and_blank_lines_say_nothing() {
        let lines = lines("# a grid\n\nd 1 2\r\n   \np 3 # and so on\n");
        let records: Vec<Record<'_>> = lines.records().collect();
        let fields: Vec<(usize, &[&str])> =
            records.iter().map(|record| (record.number, &*record.fields)).collect();
        assert_eq!(fields, [(3, &["d", "1", "2"][..]), (5, &["p", "3"])]);
        assert_eq!(records[0].numbers("number", |_: &u32| true).unwrap(), [1, 2]);
    }

    /// Catches: a message without the place or without the value.
    #[test]
    fn what_is_wrong_is_said_with_file_line_and_value() {
        let lines = lines("p 1\np 1 x -2\n");
        let record = lines.records().nth(1).unwrap();
        let message = record.numbers("number", |_: &u32| true).unwrap_err().to_string();
        assert_eq!(message, "`maze.txt`, line 2: `x` is no number");
        let message = lines.ends_before("the size").to_string();
        assert_eq!(message, "`maze.txt`, line 3: the file ends before the size");
    }

    #[test]
    fn a_file_that_is_missing_is_named() {
        let message = Lines::read(Path::new("/nowhere/x.txt")).unwrap_err().to_string();
        assert!(message.contains("/nowhere/x.txt") && message.contains("--path"), "{message}");
    }
}
