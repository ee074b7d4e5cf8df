//! Tables: titles, rows of cells, and how they become text and CSV.
//!
//! As text a table is Markdown, with columns as wide as their widest cell, so that it can be read
//! in a terminal, too. Numbers
//! are rounded there to what is worth reading; the CSV has them in full.

use std::io;

/// A table with a name, which its file gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The name of its file, without the ending.
    pub name: String,
    /// The heading.
    pub title: String,
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// The content of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A word.
    Text(String),
    /// A number, rounded where it is shown.
    Number(f64),
    /// Not measured, or not published.
    Gap,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Number(number) } else { Self::Gap }
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self::Number(number as f64)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Gap, Into::into)
    }
}

/// A cell, below the title of its column.
pub fn cell(title: impl Into<String>, value: impl Into<Cell>) -> (String, Cell) {
    (title.into(), value.into())
}

impl Cell {
    fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.replace('|', "/"),
            Self::Number(value) => number(*value),
            Self::Gap => "-".to_owned(),
        }
    }

    fn in_full(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            // Adding 0 takes the sign off a negative zero.
            Self::Number(value) => (value + 0.0).to_string(),
            Self::Gap => String::new(),
        }
    }
}

/// A number as text: an integer from 1000, otherwise with three significant digits.
pub fn number(value: f64) -> String {
    // Adding 0 takes the sign off a negative zero.
    let (value, size) = (value + 0.0, value.abs());
    if value == value.trunc() && size < 1e15 {
        return format!("{value:.0}");
    }
    let digits = match size {
        s if s >= 999.5 => 0,
        s if s >= 99.95 => 1,
        s if s >= 9.995 => 1,
        s if s >= 0.0995 => 2,
        s if s >= 0.000_995 => 4,
        _ => return format!("{value:.2e}"),
    };
    format!("{value:.digits$}")
}

/// A difference in percent as text, with its sign and one digit after the point.
pub fn difference(percent: f64) -> String {
    // Adding 0 takes the sign off a negative zero.
    format!("{:+.1} %", (percent * 10.0).round() / 10.0 + 0.0)
}

impl Table {
    /// A table without rows.
    pub fn new(name: &str, title: impl Into<String>) -> Self {
        let (columns, rows) = (Vec::new(), Vec::new());
        Self { name: name.to_owned(), title: title.into(), columns, rows }
    }

    /// Adds a row of [`cell`]s. The first row sets the titles of the columns.
    ///
    /// # Panics
    ///
    /// If the titles differ from those of the first row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = (String, Cell)>) {
        let (titles, cells) = cells.into_iter().unzip();
        if self.rows.is_empty() {
            self.columns = titles;
        } else {
            assert_eq!(titles, self.columns, "{}: the titles of a row", self.name);
        }
        self.rows.push(cells);
    }

    /// The name of its file.
    pub fn file(&self) -> String {
        format!("{}.csv", self.name)
    }

    /// Whether nothing stands in it.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As Markdown, including the title.
    pub fn markdown(&self) -> String {
        let shown: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(Cell::shown).collect()).collect();
        let right: Vec<bool> = (0..self.columns.len()).map(|at| self.is_numeric(at)).collect();
        let width = |at: usize| {
            let cells = shown.iter().map(|row| &row[at]).chain([&self.columns[at]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(2)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let rule = widths.iter().zip(&right).map(|(&width, &right)| rule(width, right)).collect();
        let rows = [self.columns.clone(), rule].into_iter().chain(shown);
        let lines: String = rows.map(|row| line(&row, &widths, &right)).collect();
        format!("{}\n\n{lines}", self.title)
    }

    fn is_numeric(&self, at: usize) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| !matches!(row[at], Cell::Text(_)))
    }

    /// As CSV, with a line of titles first.
    ///
    /// # Errors
    ///
    /// Errors of the destination.
    pub fn csv(&self, destination: impl io::Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(destination);
        writer.write_record(&self.columns)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(Cell::in_full))?;
        }
        writer.flush()
    }
}

#[cfg(test)]
impl Table {
    /// The cells of the row that begins with `head`, as they are shown.
    #[track_caller]
    pub(crate) fn shown(&self, head: &[&str]) -> Vec<String> {
        let rows = self.rows.iter().map(|row| row.iter().map(Cell::shown).collect::<Vec<_>>());
        let found =
            rows.into_iter().find(|row| row.iter().zip(head).all(|(cell, head)| cell == head));
        found.unwrap_or_else(|| panic!("no row {head:?} in {}", self.markdown()))
    }
}

fn rule(width: usize, right: bool) -> String {
    if right { format!("{}:", "-".repeat(width - 1)) } else { "-".repeat(width) }
}

fn line(cells: &[String], widths: &[usize], right: &[bool]) -> String {
    let pad = |((cell, &width), &right): ((&String, &usize), &bool)| match right {
        true => format!(" {cell:>width$} |"),
        false => format!(" {cell:<width$} |"),
    };
    let cells: String = cells.iter().zip(widths).zip(right).map(pad).collect();
    format!("|{cells}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("speed", "How fast");
        let mut row = |app, speed_up, paper: Option<u32>| {
            table.row([cell("app, size", app), cell("speed-up", speed_up), cell("paper", paper)]);
        };
        row("fib | 43", 1.949_96, None);
        row("uts", 12.0, Some(63));
        table
    }

    /// Catches: columns that do not line up, and a cell that breaks the table.
    #[test]
    fn text_is_a_table_that_lines_up() {
        assert_eq!(
            table().markdown(),
            "How fast\n\n\
             | app, size | speed-up | paper |\n\
             | --------- | -------: | ----: |\n\
             | fib / 43  |     1.95 |     - |\n\
             | uts       |       12 |    63 |\n"
        );
    }

    /// Catches: rounded numbers, and commas that make two cells of one.
    #[test]
    fn csv_has_numbers_in_full_and_quotes_what_holds_a_comma() {
        let mut bytes = Vec::new();
        table().csv(&mut bytes).unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "\"app, size\",speed-up,paper\nfib | 43,1.94996,\nuts,12,63\n"
        );
    }

    /// Catches: digits that say more than was measured, or too few to tell values apart.
    #[test]
    fn numbers_are_shown_with_the_digits_that_count() {
        for (value, text) in [
            (0.0, "0"),
            (43.0, "43"),
            (157_477_250.0, "157477250"),
            (116_802.5, "116802"),
            (546.3, "546.3"),
            (12.345, "12.3"),
            (1.949, "1.95"),
            (0.123_45, "0.12"),
            (-0.0, "0"),
            (-0.05, "-0.0500"),
            (0.000_012_3, "1.23e-5"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(Cell::from(f64::NAN), Cell::Gap);
        assert_eq!(Cell::from(f64::INFINITY), Cell::Gap);
    }

    /// Catches: "-0" in a file or a sentence.
    #[test]
    fn a_zero_has_no_minus_sign() {
        assert_eq!(Cell::from(-0.0).in_full(), "0");
        for (percent, text) in [(-0.04, "+0.0 %"), (-0.06, "-0.1 %"), (20.0, "+20.0 %")] {
            assert_eq!(difference(percent), text);
        }
    }
}
