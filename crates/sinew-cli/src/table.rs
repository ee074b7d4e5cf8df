//! A table in plain text: a line of titles, columns as wide as their widest cell, numbers to the right.

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
    /// If there are not as many cells as titles.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.titles.len(), "a cell a title");
        self.rows.push(cells);
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

/// A number, with or without a unit, or a dash in place of one.
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
            "name       time  note\n-------  ------  -----\nfib      12.5 s  żółw\nnqueens       -  2 x 2\n"
        );
    }

    #[test]
    fn a_table_without_rows_is_its_titles() {
        assert_eq!(Table::new(&["a", "bc"]).render(), "a  bc\n-  --\n");
    }
}
