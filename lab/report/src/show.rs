//! A sheet as a table, and as a plot for each measure in it.

use maud::{Markup, PreEscaped, html};
use sinew_reproduce::report::svg;

use crate::columns::plots;
use crate::section::Shown;
use crate::sheet::Sheet;

/// More rows than this are counted rather than shown.
const ROWS: usize = 200;

/// Shows the file's plots and its table.
///
/// # Errors
///
/// If a line has more or fewer cells than the first.
pub(crate) fn show(text: &str) -> Result<Shown, String> {
    let sheet = Sheet::read(text)?;
    Ok(Shown::new(sheet.summary(), sheet.show()))
}

impl Sheet {
    /// One line: the number of rows, and the titles of the columns.
    fn summary(&self) -> String {
        let (rows, titles) = (self.rows.len(), self.titles.join(", "));
        format!("{rows} row{} of {titles}", if rows == 1 { "" } else { "s" })
    }

    /// As plots and a table.
    pub(crate) fn show(&self) -> Markup {
        html! {
            @for plot in plots(self) {
                figure { (PreEscaped(svg(&plot))) }
            }
            (self.table())
        }
    }

    /// The plots alone, each with this caption.
    pub(crate) fn figures(&self, caption: &str) -> Markup {
        html! {
            @for plot in plots(self) {
                figure { (PreEscaped(svg(&plot))) figcaption { (caption) } }
            }
        }
    }

    /// The table alone.
    pub(crate) fn table(&self) -> Markup {
        let more = self.rows.len().saturating_sub(ROWS);
        html! {
            div.wide { table {
                thead { tr { @for title in &self.titles { th { (title) } } } }
                tbody { @for row in self.rows.iter().take(ROWS) {
                    tr { @for cell in row { td.n[cell.parse::<f64>().is_ok()] { (cell) } } }
                } }
            } }
            @if more > 0 { p { "and " (more) " rows more" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: rows that are cut off without a word, text that becomes markup.
    #[test]
    fn a_long_sheet_says_how_much_is_missing() {
        let rows: String = (0..250).map(|row| format!("<b>{row},{row}\n")).collect();
        let page = show(&format!("name,value\n{rows}")).unwrap();
        assert_eq!(page.summary, "250 rows of name, value");
        let page = page.body.into_string();
        assert!(page.contains("and 50 rows more") && page.contains("&lt;b&gt;199"), "{page}");
        assert!(!page.contains("<b>"), "{page}");
    }

    /// Catches: a file cut off in the middle that is shown as if it were whole.
    #[test]
    fn a_line_that_is_cut_off_is_an_error_that_names_it() {
        let message = show("a,b\n1,2\n3\n").unwrap_err();
        assert!(message.contains("line: 3"), "{message}");
        assert!(show("").is_err());
    }
}
