//! Plots: values over categories, in series, perhaps before a band of what was expected; or spans
//! in rows.

use crate::statistics::{median, spread};

/// A plot with a name, which its file gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// The name of its file, without the ending.
    pub name: String,
    /// The heading.
    pub title: String,
    /// The meaning of the categories.
    pub x: String,
    /// The meaning of the values, and their unit.
    pub y: String,
    /// The kind of plot.
    pub form: Form,
    /// The categories from left to right, or the rows from top to bottom.
    pub categories: Vec<String>,
    /// The width of each category, if they differ.
    pub widths: Option<Vec<f64>>,
    /// The series, a colour each.
    pub series: Vec<Series>,
    /// The expected values, behind the measured ones.
    pub band: Option<Band>,
    /// A level worth a line of its own: 1 for ratios.
    pub level: Option<f64>,
    /// Places on the axis below with a line upwards each.
    pub marks: Vec<Mark>,
    /// Whether the axis below has numbers instead of the names of categories.
    pub is_numbered: bool,
    /// Whether equal ratios are equally far apart: twice as much and half as much.
    pub is_logarithmic: bool,
    /// The number of samples and rounds that it is made of, in words; `None`: medians of all
    /// rounds.
    pub made_of: Option<String>,
}

/// The kind of plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The bars of a category side by side.
    Bars,
    /// The bars of a category on top of each other.
    Stacked,
    /// A dot each.
    Dots,
    /// A dot each, those of a series joined by lines: for categories that are numbers.
    Lines,
    /// A level as wide as its category, joined to the next: for categories that are spans.
    Steps,
    /// Intervals in rows, over an axis with numbers: the categories are the rows.
    Spans,
}

/// A value for each category, where gaps stay empty; or spans.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The name of the series.
    pub name: String,
    /// One per category.
    pub values: Vec<Option<f64>>,
    /// The intervals, for [`Form::Spans`].
    pub spans: Vec<Span>,
    /// How far above and below each value its error bar reaches; none if this is empty.
    pub spreads: Vec<Option<f64>>,
}

/// An interval in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// The number of the row; the top one is 0.
    pub row: usize,
    /// Its beginning.
    pub from: f64,
    /// Its end.
    pub to: f64,
}

/// A place on the axis below.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// The place.
    pub at: f64,
    /// The name, which is written above the plot.
    pub name: String,
}

/// A range for each category.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// The name of the band.
    pub name: String,
    /// Lower and upper ends, one pair per category.
    pub ranges: Vec<Option<(f64, f64)>>,
}

impl Series {
    /// A series of this name.
    pub fn new(name: impl Into<String>, values: Vec<Option<f64>>) -> Self {
        Self { name: name.into(), values, spreads: Vec::new(), spans: Vec::new() }
    }

    /// A series of spans. Those that touch in a row become one, so that the picture stays small.
    pub fn of_spans(name: impl Into<String>, mut spans: Vec<Span>) -> Self {
        spans.sort_by(|a, b| a.row.cmp(&b.row).then(a.from.total_cmp(&b.from)));
        spans.dedup_by(|next, span| {
            let touches = next.row == span.row && next.from <= span.to;
            if touches {
                span.to = span.to.max(next.to);
            }
            touches
        });
        Self { spans, ..Self::new(name, Vec::new()) }
    }

    fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.values.iter().all(Option::is_none)
    }

    /// The same with error bars.
    pub fn spreads(mut self, spreads: Vec<Option<f64>>) -> Self {
        self.spreads = spreads;
        self
    }

    /// The medians of these rounds, a category each, with half the distance between the quartiles
    /// as error bars.
    pub fn of_rounds(name: impl Into<String>, rounds: &[Vec<f64>]) -> Self {
        let values = rounds.iter().map(|values| median(values)).collect();
        Self::new(name, values).spreads(rounds.iter().map(|values| spread(values)).collect())
    }

    /// The ends of the error bar of a category.
    pub(super) fn bar(&self, category: usize) -> Option<(f64, f64)> {
        let value = self.values.get(category).copied().flatten()?;
        let spread = self.spreads.get(category).copied().flatten()?;
        Some((value - spread, value + spread))
    }

    /// All values, and the ends of all error bars.
    fn extent(&self) -> impl Iterator<Item = f64> {
        let bars = (0..self.spreads.len()).filter_map(|at| self.bar(at));
        self.values.iter().flatten().copied().chain(bars.flat_map(<[f64; 2]>::from))
    }
}

impl Plot {
    /// A plot without series.
    pub fn new(name: &str, title: impl Into<String>, form: Form) -> Self {
        Self {
            name: name.to_owned(),
            title: title.into(),
            x: String::new(),
            y: String::new(),
            form,
            categories: Vec::new(),
            widths: None,
            series: Vec::new(),
            band: None,
            level: None,
            marks: Vec::new(),
            is_numbered: form == Form::Spans,
            is_logarithmic: false,
            made_of: None,
        }
    }

    /// The labels of the axes.
    pub fn axes(mut self, x: impl Into<String>, y: impl Into<String>) -> Self {
        (self.x, self.y) = (x.into(), y.into());
        self
    }

    /// The categories from left to right, or the rows from top to bottom.
    pub fn over(mut self, categories: Vec<String>) -> Self {
        self.categories = categories;
        self
    }

    /// The width of each category, relative to the others.
    pub fn wide(mut self, widths: Vec<f64>) -> Self {
        self.widths = Some(widths);
        self
    }

    /// Writes numbers below the axis instead of the names of categories: the sum of the widths up
    /// to there.
    pub fn numbered(mut self) -> Self {
        self.is_numbered = true;
        self
    }

    /// Marks places on the axis below.
    pub fn marked(mut self, marks: Vec<Mark>) -> Self {
        self.marks = marks;
        self
    }

    /// Adds a series, unless it has neither a value nor a span.
    pub fn with(mut self, series: Series) -> Self {
        if !series.is_empty() {
            self.series.push(series);
        }
        self
    }

    /// Draws a band behind the values.
    pub fn before(mut self, band: Band) -> Self {
        self.band = Some(band);
        self
    }

    /// Draws a line across, at a level that values are held against.
    pub fn level(mut self, level: f64) -> Self {
        self.level = Some(level);
        self
    }

    /// Draws ratios: on a logarithmic axis, with a line at 1.
    pub fn ratios(self) -> Self {
        self.level(1.0).logarithmic()
    }

    /// Draws values on a logarithmic axis; those that are not above 0 stay empty.
    pub fn logarithmic(self) -> Self {
        Self { is_logarithmic: true, ..self }
    }

    /// Says what it is made of, if not of the medians of all rounds.
    pub fn made_of(self, words: String) -> Self {
        Self { made_of: Some(words), ..self }
    }

    /// The same with a title that says what it is made of.
    pub(crate) fn after(self, rounds: usize) -> Self {
        let plural = if rounds == 1 { "" } else { "s" };
        let made_of = self.made_of.clone().unwrap_or_else(|| format!("{rounds} round{plural}"));
        Self { title: format!("{} ({made_of})", self.title), ..self }
    }

    /// The name of its file.
    pub fn file(&self) -> String {
        format!("{}.svg", self.name)
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// The beginning of each category, and the end of the last one. Categories that are alike have
    /// width 1.
    pub(super) fn edges(&self) -> Vec<f64> {
        let width = |at: usize| {
            self.widths.as_ref().map_or(1.0, |widths| widths.get(at).copied().unwrap_or(0.0))
        };
        let ends = (0..self.categories.len()).scan(0.0, |end, at| {
            *end += width(at);
            Some(*end)
        });
        std::iter::once(0.0).chain(ends).collect()
    }

    /// The end of the last category or span.
    pub(super) fn right(&self) -> f64 {
        let ends = self.series.iter().flat_map(|series| series.spans.iter().map(|span| span.to));
        let end = match self.form {
            Form::Spans => ends.fold(0.0, f64::max),
            _ => self.edges().last().copied().unwrap_or(0.0),
        };
        if end > 0.0 { end } else { 1.0 }
    }

    /// The height at which a value is drawn; `None` where its axis has no place for it.
    pub(super) fn height(&self, value: f64) -> Option<f64> {
        let height = if self.is_logarithmic { value.log2() } else { value };
        Some(height).filter(|height| height.is_finite())
    }

    /// The value at a height.
    pub(super) fn value(&self, height: f64) -> f64 {
        if self.is_logarithmic { height.exp2() } else { height }
    }

    /// The height of the highest value that must be seen.
    pub(super) fn highest(&self) -> f64 {
        let sums = (0..self.categories.len()).map(|at| self.values_at(at).sum::<f64>());
        let values = self.series.iter().flat_map(Series::extent);
        let tops: Vec<f64> =
            if self.form == Form::Stacked { sums.collect() } else { values.collect() };
        let ranges =
            self.band.iter().flat_map(|band| band.ranges.iter().flatten().map(|range| range.1));
        let all = tops.into_iter().chain(ranges).chain(self.level);
        all.filter_map(|value| self.height(value)).fold(0.0, f64::max)
    }

    /// The height of the lowest value that must be seen, not above 0.
    pub(super) fn lowest(&self) -> f64 {
        let values = self.series.iter().flat_map(Series::extent);
        let ranges =
            self.band.iter().flat_map(|band| band.ranges.iter().flatten().map(|range| range.0));
        values.chain(ranges).filter_map(|value| self.height(value)).fold(0.0, f64::min)
    }

    /// The values of a category, in the order of the series; gaps count as 0.
    pub(super) fn values_at(&self, at: usize) -> impl Iterator<Item = f64> {
        self.series
            .iter()
            .map(move |series| series.values.get(at).copied().flatten().unwrap_or(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(form: Form) -> Plot {
        Plot::new("p", "t", form)
            .over(vec!["a".into(), "b".into()])
            .with(Series::new("s", vec![Some(1.0), None]))
            .with(Series::new("t", vec![Some(2.0), Some(-0.5)]))
            .with(Series::new("empty", vec![None, None]))
    }

    /// Catches: bars that leave the plot at its top or bottom.
    #[test]
    fn the_scale_holds_every_value_and_every_stack() {
        assert_eq!((plot(Form::Bars).highest(), plot(Form::Bars).lowest()), (2.0, -0.5));
        assert_eq!(plot(Form::Stacked).highest(), 3.0);
        let band = Band { name: "model".into(), ranges: vec![None, Some((1.0, 7.0))] };
        assert_eq!(plot(Form::Dots).before(band).highest(), 7.0);
        assert_eq!(plot(Form::Bars).level(9.0).highest(), 9.0);
    }

    /// Catches: an error bar that leaves the plot, and half as much that is nearer to 1 than twice
    /// as much.
    #[test]
    fn the_scale_holds_every_error_bar_and_every_ratio() {
        let series = || Series::of_rounds("s", &[vec![1.0, 2.0, 3.0], vec![]]);
        assert_eq!((series().bar(0), series().bar(1)), (Some((1.5, 2.5)), None));
        let plot = || Plot::new("p", "t", Form::Dots).over(vec!["a".into(), "b".into()]);
        let with_bars = plot().with(series().spreads(vec![Some(3.0), Some(1.0)]));
        assert_eq!((with_bars.highest(), with_bars.lowest()), (5.0, -1.0));
        let values = vec![Some(2.0), Some(0.5), Some(0.0)];
        let ratios = plot().ratios().with(Series::new("r", values));
        assert_eq!((ratios.highest(), ratios.lowest()), (1.0, -1.0));
        assert_eq!((ratios.value(-1.0), ratios.height(0.0)), (0.5, None));
    }

    /// Catches: a category that is drawn as wide as another one which stands for less.
    #[test]
    fn categories_are_as_wide_as_they_are_said_to_be() {
        assert_eq!(plot(Form::Bars).edges(), [0.0, 1.0, 2.0]);
        assert_eq!(plot(Form::Steps).wide(vec![1.0, 9.0]).edges(), [0.0, 1.0, 10.0]);
        assert_eq!(plot(Form::Steps).wide(vec![3.0]).edges(), [0.0, 3.0, 3.0]);
        assert_eq!(Plot::new("p", "t", Form::Steps).edges(), [0.0]);
    }

    /// Catches: a rectangle for each of a thousand chunks, a span that covers what is between two,
    /// and one that reaches over to another row.
    #[test]
    fn spans_that_touch_in_a_row_are_one() {
        let span = |row, from, to| Span { row, from, to };
        let spans = vec![
            span(1, 0.0, 1.0),
            span(0, 2.0, 3.0),
            span(0, 0.0, 2.0),
            span(0, 4.0, 5.0),
            span(1, 1.0, 1.5),
        ];
        let plot = Plot::new("p", "t", Form::Spans).with(Series::of_spans("s", spans));
        let one = [span(0, 0.0, 3.0), span(0, 4.0, 5.0), span(1, 0.0, 1.5)];
        assert_eq!(plot.series[0].spans, one);
        assert_eq!(plot.right(), 5.0);
        let none = Plot::new("p", "t", Form::Spans).with(Series::of_spans("s", Vec::new()));
        assert!(none.is_empty() && none.right() == 1.0);
    }

    /// Catches: a figure of one round that looks like one of ten.
    #[test]
    fn a_title_says_what_the_figure_is_made_of() {
        let title = |plot: Plot, rounds| plot.after(rounds).title;
        assert_eq!(title(plot(Form::Bars), 1), "t (1 round)");
        assert_eq!(title(plot(Form::Bars), 10), "t (10 rounds)");
        assert_eq!(title(plot(Form::Bars).made_of("7 samples".into()), 3), "t (7 samples)");
    }

    /// Catches: a legend full of series that were never measured.
    #[test]
    fn a_series_without_values_is_not_drawn() {
        assert_eq!(plot(Form::Bars).series.len(), 2);
        assert!(Plot::new("p", "t", Form::Bars).with(Series::new("empty", vec![None])).is_empty());
    }
}
