//! The columns of a table that are drawn, their axis, and their series.
//!
//! The first column is what it is all about: where it holds numbers, they are the axis; words there
//! are categories, unless another column has the numbers that they belong to. Words in other
//! columns tell series apart. Every other column of numbers is a measure, and gets a plot.
//!
//! | first column | other words | plot of a measure |
//! |---|---|---|
//! | numbers | none | a line over the numbers |
//! | numbers | some | a line for each combination of words, or dots where these do not all go through all numbers |
//! | words | any | a bar for each combination of words |

use sinew_reproduce::report::{Form, Plot, Series};

use crate::sheet::Sheet;

/// A plot with more series than there are colours tells nothing.
const SERIES: usize = 8;
/// A plot with more places than this is unreadable as text below an axis.
const PLACES: usize = 64;
/// More measures than this are left to the table.
const MEASURES: usize = 12;

/// The plots that a sheet deserves; none if it has no numbers, or too many of everything.
pub(crate) fn plots(sheet: &Sheet) -> Vec<Plot> {
    let Some(shape) = Shape::of(sheet) else { return Vec::new() };
    shape.measures.iter().take(MEASURES).map(|&measure| shape.plot(measure)).collect()
}

/// The roles of columns: axis, series, measure.
struct Shape<'s> {
    sheet: &'s Sheet,
    form: Form,
    /// The place of each row on the axis, as a number among `places`.
    at: Vec<usize>,
    places: Vec<String>,
    /// The series of each row, as a number among `names`.
    series: Vec<usize>,
    names: Vec<String>,
    measures: Vec<usize>,
}

impl<'s> Shape<'s> {
    fn of(sheet: &'s Sheet) -> Option<Self> {
        let numeric: Vec<bool> =
            (0..sheet.titles.len()).map(|column| is_numeric(sheet, column)).collect();
        let (at_numbers, words) = (numeric.first()?, words(&numeric));
        let measures = (1..numeric.len()).filter(|&column| numeric[column]).collect();
        let label = |columns: &[usize]| {
            sheet.rows.iter().map(|row| joined(row, columns)).collect::<Vec<_>>()
        };
        let (x, names) = if *at_numbers {
            (label(&[0]), label(&words))
        } else {
            let all: Vec<usize> = [0].into_iter().chain(words).collect();
            (label(&all), vec![String::new(); sheet.rows.len()])
        };
        let ((at, places), (series, names)) = (numbered(&x), numbered(&names));
        let shape = Self { sheet, form: Form::Bars, at, places, series, names, measures };
        shape.is_readable().then(|| Self { form: shape.form(*at_numbers), ..shape })
    }

    fn is_readable(&self) -> bool {
        (2..=PLACES).contains(&self.places.len()) && self.names.len() <= SERIES
    }

    fn form(&self, numbers: bool) -> Form {
        let every_pair_once = self.at.len() == self.places.len() * self.names.len();
        match (numbers, every_pair_once) {
            (false, _) => Form::Bars,
            (true, true) => Form::Lines,
            (true, false) => Form::Dots,
        }
    }

    fn plot(&self, measure: usize) -> Plot {
        let title = &self.sheet.titles[measure];
        let plot = Plot::new("", title, self.form)
            .axes(self.sheet.titles[0].clone(), title.clone())
            .over(self.places.clone());
        let series = |name: usize| Series::new(self.name(name, title), self.values(measure, name));
        (0..self.names.len()).map(series).fold(plot, Plot::with)
    }

    fn name(&self, series: usize, measure: &str) -> String {
        match self.names[series].as_str() {
            "" => measure.to_owned(),
            words => words.to_owned(),
        }
    }

    /// The last value wins where there are several.
    fn values(&self, measure: usize, series: usize) -> Vec<Option<f64>> {
        let mut values = vec![None; self.places.len()];
        let rows = self.sheet.rows.iter().zip(self.at.iter().zip(&self.series));
        for (row, (&at, _)) in rows.filter(|(_, (_, of))| **of == series) {
            values[at] = number(&row[measure]).or(values[at]);
        }
        values
    }
}

/// The columns of words behind the first.
fn words(numeric: &[bool]) -> Vec<usize> {
    (1..numeric.len()).filter(|&column| !numeric[column]).collect()
}

/// Whether the column has a number, and otherwise only numbers and gaps.
fn is_numeric(sheet: &Sheet, column: usize) -> bool {
    let mut cells =
        sheet.rows.iter().map(|row| row[column].as_str()).filter(|cell| !is_gap(cell)).peekable();
    cells.peek().is_some() && cells.all(|cell| number(cell).is_some())
}

fn is_gap(cell: &str) -> bool {
    matches!(cell.trim(), "" | "-")
}

fn number(cell: &str) -> Option<f64> {
    cell.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

fn joined(row: &[String], columns: &[usize]) -> String {
    let cells: Vec<&str> = columns.iter().map(|&column| row[column].as_str()).collect();
    cells.join(", ")
}

/// Numbers different texts in the order in which they first come up.
fn numbered(texts: &[String]) -> (Vec<usize>, Vec<String>) {
    let mut different: Vec<String> = Vec::new();
    let number = |text: &String| {
        different.iter().position(|known| known == text).unwrap_or_else(|| {
            different.push(text.clone());
            different.len() - 1
        })
    };
    (texts.iter().map(number).collect(), different)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(titles: &[&str], rows: &[&[&str]]) -> Sheet {
        let owned = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
        Sheet { titles: owned(titles), rows: rows.iter().map(|row| owned(row)).collect() }
    }

    /// Catches: policies thrown together into one line, a measure taken for an axis.
    #[test]
    fn words_beside_a_number_are_a_line_each() {
        let rows: &[&[&str]] = &[
            &["1", "near", "5", "x"],
            &["1", "far", "6", "x"],
            &["2", "near", "3", "x"],
            &["2", "far", "-", "x"],
        ];
        let plots = plots(&sheet(&["workers", "victims", "time us", "note"], rows));
        assert_eq!(plots.len(), 1);
        assert_eq!(
            (plots[0].form, plots[0].x.as_str(), plots[0].y.as_str()),
            (Form::Lines, "workers", "time us")
        );
        assert_eq!(plots[0].categories, ["1", "2"]);
        assert_eq!(plots[0].series[0], Series::new("near, x", vec![Some(5.0), Some(3.0)]));
        assert_eq!(plots[0].series[1], Series::new("far, x", vec![Some(6.0), None]));
    }

    /// Catches: a line through states that have nothing to do with each other.
    #[test]
    fn words_that_change_along_the_axis_are_dots() {
        let rows: &[&[&str]] =
            &[&["0", "threads", "2"], &["1", "threads", "1"], &["2", "helpers", "1"]];
        let plots = plots(&sheet(&["epoch", "state", "threads"], rows));
        assert_eq!(plots[0].form, Form::Dots);
        assert_eq!(plots[0].series[1], Series::new("helpers", vec![None, None, Some(1.0)]));
    }

    /// Catches: names of programs on a numeric axis.
    #[test]
    fn words_in_front_are_bars() {
        let rows: &[&[&str]] = &[&["fib", "one", "1.5"], &["uts", "two", "2"]];
        let plots = plots(&sheet(&["program", "size", "ratio"], rows));
        assert_eq!(
            (plots[0].form, plots[0].categories.clone()),
            (Form::Bars, vec!["fib, one".into(), "uts, two".into()])
        );
        assert_eq!(plots[0].series, [Series::new("ratio", vec![Some(1.5), Some(2.0)])]);
    }

    /// Catches: an empty or unreadable plot.
    #[test]
    fn what_cannot_be_read_is_not_drawn() {
        assert!(plots(&sheet(&["a", "b"], &[])).is_empty());
        assert!(plots(&sheet(&["a", "b"], &[&["1", "2"]])).is_empty());
        let rows: Vec<Vec<String>> =
            (0..1000).map(|row| vec![row.to_string(), "1".into()]).collect();
        assert!(plots(&Sheet { titles: vec!["a".into(), "b".into()], rows }).is_empty());
    }
}
