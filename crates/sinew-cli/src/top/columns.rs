//! Tables that fit into the terminal. The first column has the names of programs.

use sinew_console::Table;

/// Columns of a program's name that are shown before other columns are left out.
const NAME: usize = 12;
/// Blanks between two columns.
const GAP: usize = 2;

/// The table of these rows, in lines of `width`: the titles, a rule, and the rows. A column that
/// does not fit is left out, because a number that is cut is another number; later ones may fit.
/// Only a program's name is cut.
pub(super) fn table(titles: &[&str], rows: &[Vec<String>], width: usize) -> Vec<String> {
    let widest = |at: usize| {
        let cells = rows.iter().map(|cells| cells[at].as_str()).chain([titles[at]]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let name = widest(0).min(NAME);
    let (mut columns, mut rest) = (Vec::new(), width.saturating_sub(name));
    for at in 1..titles.len() {
        if let Some(left) = rest.checked_sub(GAP + widest(at)) {
            rest = left;
            columns.push(at);
        }
    }
    let mut table = Table::new(&select(titles[0], titles, &columns));
    for cells in rows {
        let name: String = cells[0].chars().take(name.saturating_add(rest)).collect();
        table.row(select(name, cells, &columns));
    }
    table.render().lines().map(str::to_owned).collect()
}

/// The first cell, and those of these columns.
fn select<T: Clone>(first: T, cells: &[T], columns: &[usize]) -> Vec<T> {
    [first].into_iter().chain(columns.iter().map(|&at| cells[at].clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two programs with one name, and with many cores.
    fn drawn(width: usize) -> Vec<String> {
        let titles = ["program", "pid", "threads", "demand", "weight", "cores", "for s"];
        let row = |pid: &str, cores: &str| {
            ["a-program-of-many-words", pid, "12", "12", "1.00", cores, "7"]
                .map(str::to_owned)
                .to_vec()
        };
        let rows = [row("1234567", "0,2,4,6,8,10,12,14,16,18"), row("1234568", "1,3,5,7,9,11-13")];
        table(&titles, &rows, width)
    }

    /// Catches: two programs of one name that look the same, and a long list of cores instead of
    /// the demand and the weight.
    #[test]
    fn programs_of_one_name_differ_on_a_narrow_terminal() {
        assert_eq!(
            drawn(60)[2..],
            [
                "a-program-of-many-w  1234567       12      12    1.00      7",
                "a-program-of-many-w  1234568       12      12    1.00      7"
            ]
        );
        for width in 21..100 {
            let lines = drawn(width);
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:?}");
            assert!(lines[2].contains(" 1234567") && lines[3].contains(" 1234568"), "{lines:?}");
        }
    }

    /// Catches: a column that is left out although it fits.
    #[test]
    fn a_wide_table_has_all_columns_and_the_whole_name() {
        for width in [90, usize::MAX] {
            let lines = drawn(width);
            assert!(lines[0].contains("cores"), "{lines:?}");
            assert!(lines[2].starts_with("a-program-of-many-words  1234567"), "{lines:?}");
        }
    }
}
