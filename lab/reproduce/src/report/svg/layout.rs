//! Where the parts of a picture are: the legend, the names of the categories and those of the marks
//! determine its margins.

use super::style::{FONT, MARGIN};
use crate::report::plot::{Form, Mark, Plot};

pub(super) const LEGEND_LINE: i32 = 20;
const HEIGHT: i32 = 300;
/// The height of the axes over numbers, and their width.
const NUMBERED: (i32, i32) = (180, 600);
/// The height of a row of spans.
const ROW: i32 = 28;
/// The height of a line with names of marks.
pub(super) const MARK_LINE: i32 = 16;
/// Room for the numbers and the meaning of the values, beside the axis.
const VALUES: i32 = 64;

/// The layout.
pub(super) struct Layout {
    pub(super) width: i32,
    pub(super) height: i32,
    /// Lines of the legend, as series by number; one past the last is the band.
    pub(super) legend: Vec<Vec<usize>>,
    /// For each mark the line of its name; the lowest one is 0.
    pub(super) marks: Vec<i32>,
    /// Room for the names of rows or the numbers of values beside the axis.
    pub(super) left: i32,
    /// Room for a title that is wider than the plot, and for names of marks that are wider than
    /// what is right of their mark.
    pub(super) right: i32,
    /// Room for the names of the categories or for numbers below the axis.
    pub(super) below: i32,
    /// Whether the names of the categories are written upwards.
    pub(super) upright: bool,
}

impl Layout {
    pub(super) fn of(plot: &Plot) -> Self {
        let mut layout = if plot.is_numbered { Self::numbered(plot) } else { Self::named(plot) };
        let wider = (title_width(&plot.title) + 2 * MARGIN - layout.width).max(0);
        (layout.width, layout.right) = (layout.width + wider, layout.right + wider);
        layout.legend = legend_lines(plot, layout.width - 2 * MARGIN);
        layout.height += layout.above() + layout.below + FONT + 12;
        layout
    }

    /// The height is that of the axes alone.
    fn named(plot: &Plot) -> Self {
        let bars = if plot.form == Form::Bars { plot.series.len() } else { 1 };
        let room_each = (14 * bars as i32 + 16).max(34);
        let width = (120 + room_each * plot.categories.len() as i32).clamp(480, 1600);
        let longest = longest(&plot.categories);
        let upright = longest + 8 > (width - 110) / (plot.categories.len() as i32).max(1);
        let below = if upright { longest + 10 } else { FONT + 10 };
        let (legend, marks) = (Vec::new(), Vec::new());
        Self { width, height: HEIGHT, legend, marks, left: VALUES, right: 0, below, upright }
    }

    /// The height is that of the axes alone.
    fn numbered(plot: &Plot) -> Self {
        let (height, left) = match plot.form {
            Form::Spans => (ROW * plot.categories.len().max(1) as i32, longest(&plot.categories)),
            _ => (NUMBERED.0, VALUES),
        };
        let names = mark_names(plot, NUMBERED.1);
        let ends = names.iter().map(|(_, end)| *end);
        // The picture's margin is free, too.
        let right = ends.max().map_or(0, |end| (end - NUMBERED.1 - MARGIN).max(0));
        let (legend, below, upright) = (Vec::new(), FONT + 10, false);
        let width = NUMBERED.1 + left + right + 2 * MARGIN + 4;
        Self { width, height, legend, marks: mark_lines(&names), left, right, below, upright }
    }

    /// The vertical position of the axes, from the top.
    pub(super) fn above(&self) -> i32 {
        let lines = self.marks.iter().max().map_or(0, |line| line + 1);
        MARGIN + 24 + LEGEND_LINE * self.legend.len() as i32 + MARK_LINE * lines
    }
}

/// The beginning and the end of each mark's name, from the left end of an axis of this width.
fn mark_names(plot: &Plot, width: i32) -> Vec<(i32, i32)> {
    let name = |Mark { at, name }: &Mark| {
        let begin = (at / plot.right() * f64::from(width)) as i32;
        (begin, begin + text_width(name) + 12)
    };
    plot.marks.iter().map(name).collect()
}

/// The line of each name: above all names that begin below it, so that no mark crosses a name.
fn mark_lines(names: &[(i32, i32)]) -> Vec<i32> {
    let mut lines = vec![0; names.len()];
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&at| names[at].0);
    for (place, &at) in order.iter().enumerate().rev() {
        let below = order[place + 1..].iter().filter(|&&next| names[next].0 < names[at].1);
        lines[at] = below.map(|&next| lines[next] + 1).max().unwrap_or(0);
    }
    lines
}

fn longest(names: &[String]) -> i32 {
    names.iter().map(|name| text_width(name)).max().unwrap_or(0)
}

/// An estimate: the reader's font is not known here.
pub(super) fn text_width(text: &str) -> i32 {
    text.chars().count() as i32 * FONT * 5 / 10
}

/// The same of a title, which is larger.
fn title_width(title: &str) -> i32 {
    text_width(title) * (FONT + 2) / FONT
}

pub(super) fn entry_width(name: &str) -> i32 {
    text_width(name) + 36
}

fn legend_lines(plot: &Plot, width: i32) -> Vec<Vec<usize>> {
    let mut lines: Vec<Vec<usize>> = Vec::new();
    let mut used = width;
    for (at, name) in legend_names(plot).iter().enumerate() {
        if used + entry_width(name) > width {
            lines.push(Vec::new());
            used = 0;
        }
        used += entry_width(name);
        lines.last_mut().expect("the first entry opens a line").push(at);
    }
    lines
}

pub(super) fn legend_names(plot: &Plot) -> Vec<&str> {
    let series = plot.series.iter().map(|series| series.name.as_str());
    series.chain(plot.band.iter().map(|band| band.name.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Series;

    /// Catches: names of marks over each other, or a mark through the name of another one.
    #[test]
    fn names_of_marks_that_are_close_are_above_each_other() {
        assert_eq!(mark_lines(&[(0, 50), (60, 90)]), [0, 0]);
        assert_eq!(mark_lines(&[(0, 50), (40, 90), (80, 120)]), [2, 1, 0]);
        assert_eq!(mark_lines(&[(10, 20), (0, 200), (100, 130)]), [0, 1, 0]);
        assert_eq!(mark_lines(&[(0, 10), (0, 10)]), [1, 0]);
    }

    /// Catches: a last name that is cut at the picture's edge.
    #[test]
    fn a_name_beside_the_edge_widens_the_picture() {
        let mark = |name: &str| vec![Mark { at: 1.0, name: name.to_owned() }];
        let width = |marks| Layout::of(&Plot::new("p", "t", Form::Spans).marked(marks)).width;
        assert!(width(mark("a long name at the end")) > width(Vec::new()) + 80);
    }

    /// Catches: a long title that is cut at the picture's edge.
    #[test]
    fn a_long_title_widens_the_picture_and_not_the_plot() {
        let of = |title: &str| Layout::of(&Plot::new("p", title, Form::Bars));
        let (short, long) = (of("t"), of(&"a long title ".repeat(9)));
        assert!(long.width > short.width + 100, "{}", long.width);
        assert_eq!(long.width - long.right, short.width - short.right);
    }

    /// Catches: a legend that runs out of the picture.
    #[test]
    fn a_long_legend_takes_several_lines() {
        let mut plot = Plot::new("p", "t", Form::Bars).over(vec!["x".into()]);
        for at in 0..12 {
            plot =
                plot.with(Series::new(format!("a series with a long name, {at}"), vec![Some(1.0)]));
        }
        let lines = legend_lines(&plot, 480);
        assert!(lines.len() > 1 && lines.concat() == (0..12).collect::<Vec<_>>());
    }
}
