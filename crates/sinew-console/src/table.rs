//! A plain-text table: a line of titles, columns as wide as their widest cell, right-aligned
//! numbers.

/// Titles and rows, all of the same length.
#[derive(Debug)]
pub struct Table {
    titles: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(titles: &[&str]) -> Self {
        Self { titles: titles.iter().map(|&title| title.to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If the number of cells differs from the number of titles.
    #[track_caller]
    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.titles.len(), "a cell a title");
        self.rows.push(cells.into_iter().map(unsigned_zero).collect());
    }

    /// Titles and rows, in this order.
    pub fn records(&self) -> impl Iterator<Item = &[String]> {
        [&self.titles].into_iter().chain(&self.rows).map(Vec::as_slice)
    }

    /// The table as text, a line for each row.
    pub fn render(&self) -> String {
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
pub fn unsigned_zero(cell: String) -> String {
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
        assert!(table.records().eq([["error %".to_owned()], ["0.0".to_owned()]]));
    }

    #[test]
    fn a_table_without_rows_is_its_titles() {
        assert_eq!(Table::new(&["a", "bc"]).render(), "a  bc\n-  --\n");
    }
}
