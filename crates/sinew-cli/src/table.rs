//! A plain-text table: a line of titles, columns as wide as their widest cell, right-aligned
//! numbers.

use std::io;

/// Titles and rows, all of the same length.
#[derive(Debug)]
pub(crate) struct Table {
    titles: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(titles: &[&str]) -> Self {
        Self { titles: titles.iter().map(|&title| title.to_owned()).collect(), rows: Vec::new() }
    }

    /// # Panics
    ///
    /// If the number of cells differs from the number of titles.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.titles.len(), "a cell a title");
        self.rows.push(cells.into_iter().map(unsigned_zero).collect());
    }

    /// The same table as comma-separated values, titles first.
    pub(crate) fn to_csv(&self) -> io::Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for cells in [&self.titles].into_iter().chain(&self.rows) {
            writer.write_record(cells)?;
        }
        let bytes = writer.into_inner().map_err(|error| error.into_error())?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }

    pub(crate) fn render(&self) -> String {
        let columns: Vec<Column> = (0..self.titles.len()).map(|at| self.column(at)).collect();
        let rule = columns.iter().map(|column| "-".repeat(column.width)).collect();
        let rows = [&self.titles, &rule].into_iter().chain(&self.rows);
        rows.map(|cells| line(&columns, cells)).collect()
    }

    fn column(&self, at: usize) -> Column {
        let cells = self.rows.iter().map(|cells| &cells[at]);
        let width = cells.clone().chain([&self.titles[at]]).map(|cell| cell.chars().count()).max();
        let numeric = !self.rows.is_empty() && cells.clone().all(|cell| is_number(cell));
        Column { width: width.unwrap_or(0), numeric }
    }
}

struct Column {
    width: usize,
    numeric: bool,
}

fn line(columns: &[Column], cells: &[String]) -> String {
    let pad = |(column, cell): (&Column, &String)| match column.numeric {
        true => format!("{cell:>width$}", width = column.width),
        false => format!("{cell:<width$}", width = column.width),
    };
    let cells: Vec<String> = columns.iter().zip(cells).map(pad).collect();
    format!("{}\n", cells.join("  ").trim_end())
}

/// `cell` without the minus sign of a negative number that was rounded to zero.
pub(crate) fn unsigned_zero(cell: String) -> String {
    let rest = cell.strip_prefix('-').filter(|rest| {
        let number = rest.split(' ').next().and_then(|word| word.parse::<f64>().ok());
        number == Some(0.0)
    });
    rest.map(str::to_owned).unwrap_or(cell)
}

/// Whether a cell is a number, with or without a unit, or a dash in place of one.
fn is_number(cell: &str) -> bool {
    let number = cell.split(' ').next().unwrap_or(cell);
    cell == "-" || (number.parse::<f64>().is_ok() && cell.split(' ').count() <= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_to_the_left_and_numbers_to_the_right() {
        let mut table = Table::new(&["name", "time", "note"]);
        table.row(vec!["fib".into(), "12.5 s".into(), "żółw".into()]);
        table.row(vec!["nqueens".into(), "-".into(), "2 x 2".into()]);
        assert_eq!(
            table.render(),
            "name       time  note\n-------  ------  -----\nfib      12.5 s  żółw\nnqueens       \
             -  2 x 2\n"
        );
    }

    /// Catches: a zero with a minus sign, and a sign removed from a number that is not zero.
    #[test]
    fn a_zero_has_no_minus_sign() {
        for (cell, shown) in [
            ("-0 %", "0 %"),
            ("-0.0", "0.0"),
            ("-0", "0"),
            ("-0.1", "-0.1"),
            ("-5 %", "-5 %"),
            ("-", "-"),
            ("-0-3", "-0-3"),
            ("+0.0", "+0.0"),
        ] {
            assert_eq!(unsigned_zero(cell.to_owned()), shown);
        }
        let mut table = Table::new(&["error %"]);
        table.row(vec![format!("{:+.1}", -0.04)]);
        assert_eq!(table.render(), "error %\n-------\n    0.0\n");
        assert_eq!(table.to_csv().unwrap(), "error %\n0.0\n");
    }

    #[test]
    fn a_table_without_rows_is_its_titles() {
        assert_eq!(Table::new(&["a", "bc"]).render(), "a  bc\n-  --\n");
    }
}
