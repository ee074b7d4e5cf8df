//! Plots as SVG.
//!
//! `plotters` draws axes, bars and lines. The legend and the names of the categories are placed
//! here, because they determine the margins. Ink and background carry colours that occur nowhere
//! else, which a style sheet in the picture exchanges where the reader prefers a dark page.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::plot::{Form, Plot, Series};
use super::table::number;

const INK: RGBColor = RGBColor(0x22, 0x22, 0x23);
const LINE: RGBColor = RGBColor(0xdd, 0xdd, 0xde);
const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xfe);
const BAND: RGBColor = RGBColor(0xbb, 0xbb, 0xbc);

/// The colours of a dark page, in place of those above.
const STYLE: &str = "<style>@media (prefers-color-scheme: dark) {[fill=\"#FFFFFE\"]{fill:#16181c} \
    [fill=\"#222223\"]{fill:#e4e4e4} [stroke=\"#222223\"]{stroke:#e4e4e4} \
    [stroke=\"#DDDDDE\"]{stroke:#3a3d42} [fill=\"#BBBBBC\"]{fill:#50545a}}</style>";

/// Okabe and Ito's colours, which the colour-blind can tell apart, without the yellow and the black
/// that one of both pages swallows.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x2b, 0x83, 0xba),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x8a, 0x8d, 0x3f),
    RGBColor(0x8b, 0x6f, 0xc0),
];

const FONT: i32 = 13;
const LEGEND_LINE: i32 = 20;
const HEIGHT: i32 = 300;
const MARGIN: i32 = 12;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Draws a plot.
///
/// # Panics
///
/// Not in practice: a picture in memory can always be drawn.
pub fn svg(plot: &Plot) -> String {
    let layout = Layout::of(plot);
    let mut text = String::new();
    draw(plot, &layout, &mut text).expect("a picture in memory can be drawn");
    match text.find('>') {
        // After the opening tag, which declares the size; scalable beyond it.
        Some(end) => text.insert_str(end + 1, STYLE),
        None => text.push_str(STYLE),
    }
    text
}

/// The layout.
struct Layout {
    width: i32,
    height: i32,
    /// Lines of the legend, as series by number; one past the last is the band.
    legend: Vec<Vec<usize>>,
    /// Room for the names of the categories below the axis.
    below: i32,
    /// Whether these names are written upwards.
    upright: bool,
}

impl Layout {
    fn of(plot: &Plot) -> Self {
        let bars = if plot.form == Form::Bars { plot.series.len() } else { 1 };
        let room_each = (14 * bars as i32 + 16).max(34);
        let width = (120 + room_each * plot.categories.len() as i32).clamp(480, 1600);
        let longest = plot.categories.iter().map(|name| text_width(name)).max().unwrap_or(0);
        let upright = longest + 8 > (width - 110) / (plot.categories.len() as i32).max(1);
        let below = if upright { longest + 10 } else { FONT + 10 };
        let legend = legend_lines(plot, width - 2 * MARGIN);
        let height = HEIGHT + below + LEGEND_LINE * legend.len() as i32 + 60;
        Self { width, height, legend, below, upright }
    }

    /// The vertical position of the axes, from the top.
    fn top(&self) -> i32 {
        MARGIN + 24 + LEGEND_LINE * self.legend.len() as i32
    }
}

/// An estimate: the reader's font is not known here.
fn text_width(text: &str) -> i32 {
    text.chars().count() as i32 * FONT * 5 / 10
}

fn entry_width(name: &str) -> i32 {
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

fn legend_names(plot: &Plot) -> Vec<&str> {
    let series = plot.series.iter().map(|series| series.name.as_str());
    series.chain(plot.band.iter().map(|band| band.name.as_str())).collect()
}

/// Series beyond the palette have its colours darker, then lighter, then darker still.
fn colour(series: usize) -> RGBColor {
    let RGBColor(red, green, blue) = COLOURS[series % COLOURS.len()];
    let turn = series / COLOURS.len();
    // 1 keeps the colour; nearer to 0 it is nearer to black or white.
    let kept = 0.6_f64.powi(turn.div_ceil(2) as i32);
    let towards = if turn % 2 == 1 { 0.0 } else { 255.0 };
    let shade = |part: u8| (towards + (f64::from(part) - towards) * kept) as u8;
    RGBColor(shade(red), shade(green), shade(blue))
}

fn draw(plot: &Plot, layout: &Layout, text: &mut String) -> Drawn {
    let size = (layout.width as u32, layout.height as u32);
    let area = SVGBackend::with_string(text, size).into_drawing_area();
    area.fill(&PAPER)?;
    area.draw(&Text::new(plot.title.clone(), (MARGIN, MARGIN), font(FONT + 2)))?;
    legend(plot, layout, &area)?;
    let mut chart = axes(plot, layout, &area)?;
    band(plot, &mut chart)?;
    match plot.form {
        Form::Bars => bars(plot, &mut chart)?,
        Form::Stacked => stacks(plot, &mut chart)?,
        Form::Dots => dots(plot, &mut chart)?,
        Form::Lines => lines(plot, &mut chart)?,
        Form::Steps => steps(plot, &mut chart)?,
    }
    level(plot, &mut chart)?;
    categories(plot, layout, &area, &chart)?;
    area.present()
}

fn font(size: i32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

fn legend(plot: &Plot, layout: &Layout, area: &Area<'_>) -> Drawn {
    let names = legend_names(plot);
    for (line, entries) in layout.legend.iter().enumerate() {
        let y = MARGIN + 24 + line as i32 * LEGEND_LINE;
        let mut x = MARGIN;
        for &at in entries {
            let fill = if at < plot.series.len() { colour(at) } else { BAND };
            area.draw(&Rectangle::new([(x, y + 2), (x + 12, y + 12)], fill.filled()))?;
            area.draw(&Text::new(names[at].to_owned(), (x + 17, y), font(FONT)))?;
            x += entry_width(names[at]);
        }
    }
    Ok(())
}

/// Category `n` reaches from edge n to edge n + 1.
fn axes<'b>(
    plot: &Plot,
    layout: &Layout,
    area: &Area<'b>,
) -> Result<Chart<'b, 'b>, DrawingAreaErrorKind<std::io::Error>> {
    let highest = plot.highest();
    let top = if highest > 0.0 { highest * 1.06 } else { 1.0 };
    let mut chart = ChartBuilder::on(area)
        .margin_top(layout.top())
        .margin_left(MARGIN + 4)
        .margin_right(MARGIN)
        .margin_bottom(layout.below + FONT + 12)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..right(plot), plot.lowest() * 1.06..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .y_labels(7)
        .y_label_formatter(&|&height| number(plot.value(height)))
        .y_desc(plot.y.clone())
        .label_style(font(FONT))
        .axis_desc_style(font(FONT))
        .axis_style(INK)
        .bold_line_style(LINE)
        .light_line_style(TRANSPARENT)
        .draw()?;
    Ok(chart)
}

/// The end of the last category.
fn right(plot: &Plot) -> f64 {
    plot.edges().last().copied().filter(|&end| end > 0.0).unwrap_or(1.0)
}

/// A part of a category's width, from its left end on.
fn within(edges: &[f64], category: usize, part: f64) -> f64 {
    edges[category] + part * (edges[category + 1] - edges[category])
}

fn band(plot: &Plot, chart: &mut Chart<'_, '_>) -> Drawn {
    let Some(band) = &plot.band else { return Ok(()) };
    let edges = plot.edges();
    for (at, range) in band.ranges.iter().take(plot.categories.len()).enumerate() {
        let heights = range.and_then(|(low, high)| plot.height(low).zip(plot.height(high)));
        if let Some((low, high)) = heights {
            let corners = [(within(&edges, at, 0.15), low), (within(&edges, at, 0.85), high)];
            chart.plotting_area().draw(&Rectangle::new(corners, BAND.filled()))?;
        }
    }
    Ok(())
}

fn bar(chart: &mut Chart<'_, '_>, x: (f64, f64), y: (f64, f64), series: usize) -> Drawn {
    chart.plotting_area().draw(&Rectangle::new([(x.0, y.0), (x.1, y.1)], colour(series).filled()))
}

fn bars(plot: &Plot, chart: &mut Chart<'_, '_>) -> Drawn {
    let (edges, each) = (plot.edges(), 0.8 / plot.series.len().max(1) as f64);
    for (at, series) in plot.series.iter().enumerate() {
        let left = 0.1 + each * at as f64;
        for (category, value) in values(plot, series) {
            let x = [left, left + each * 0.92].map(|part| within(&edges, category, part));
            bar(chart, x.into(), (0.0, value), at)?;
            error_bar(plot, chart, series, (category, (x[0] + x[1]) / 2.0), INK)?;
        }
    }
    Ok(())
}

fn stacks(plot: &Plot, chart: &mut Chart<'_, '_>) -> Drawn {
    let edges = plot.edges();
    for category in 0..plot.categories.len() {
        let x = (within(&edges, category, 0.2), within(&edges, category, 0.8));
        let mut height = 0.0;
        for (at, value) in plot.values_at(category).enumerate() {
            bar(chart, x, (height, height + value), at)?;
            height += value;
        }
    }
    Ok(())
}

/// The dots of a category stand side by side, so that equal values are all seen.
fn dots(plot: &Plot, chart: &mut Chart<'_, '_>) -> Drawn {
    let (edges, each) = (plot.edges(), 0.6 / plot.series.len().max(1) as f64);
    for (at, series) in plot.series.iter().enumerate() {
        for (category, value) in values(plot, series) {
            let x = within(&edges, category, 0.2 + each * (at as f64 + 0.5));
            chart.plotting_area().draw(&Circle::new((x, value), 4, colour(at).filled()))?;
            error_bar(plot, chart, series, (category, x), colour(at))?;
        }
    }
    Ok(())
}

/// Draws the error bar of a category at `x`, if it has one.
fn error_bar(
    plot: &Plot,
    chart: &mut Chart<'_, '_>,
    series: &Series,
    (category, x): (usize, f64),
    ink: RGBColor,
) -> Drawn {
    let Some((low, high)) = series.bar(category) else { return Ok(()) };
    let Some(high) = plot.height(high) else { return Ok(()) };
    let ends = vec![(x, plot.height(low).unwrap_or(plot.lowest())), (x, high)];
    chart.plotting_area().draw(&PathElement::new(ends, ink.stroke_width(1)))
}

fn lines(plot: &Plot, chart: &mut Chart<'_, '_>) -> Drawn {
    let edges = plot.edges();
    for (at, series) in plot.series.iter().enumerate() {
        // Error bars stand side by side, so that all are seen.
        let part = match series.spreads.is_empty() {
            true => 0.5,
            false => 0.3 + 0.4 * (at as f64 + 0.5) / plot.series.len() as f64,
        };
        let x = |category| within(&edges, category, part);
        let points: Vec<(f64, f64)> =
            values(plot, series).map(|(category, value)| (x(category), value)).collect();
        for (category, _) in values(plot, series) {
            error_bar(plot, chart, series, (category, x(category)), colour(at))?;
        }
        chart.draw_series(LineSeries::new(points.clone(), colour(at).stroke_width(2)))?;
        chart.draw_series(
            points.into_iter().map(|point| Circle::new(point, 4, colour(at).filled())),
        )?;
    }
    Ok(())
}

fn steps(plot: &Plot, chart: &mut Chart<'_, '_>) -> Drawn {
    let edges = plot.edges();
    for (at, series) in plot.series.iter().enumerate() {
        let ends = |(category, value): (usize, f64)| {
            [(edges[category], value), (edges[category + 1], value)]
        };
        let points = values(plot, series).flat_map(ends);
        chart.draw_series(LineSeries::new(points, colour(at).stroke_width(2)))?;
    }
    Ok(())
}

/// The heights of the values that exist and have a category, with its number.
fn values(plot: &Plot, series: &Series) -> impl Iterator<Item = (usize, f64)> {
    let values = series.values.iter().take(plot.categories.len());
    values.enumerate().filter_map(|(at, value)| Some((at, plot.height((*value)?)?)))
}

fn level(plot: &Plot, chart: &mut Chart<'_, '_>) -> Drawn {
    let Some(level) = plot.level.and_then(|level| plot.height(level)) else { return Ok(()) };
    let ends = [(0.0, level), (right(plot), level)];
    chart.draw_series(LineSeries::new(ends, INK.stroke_width(1)))?;
    Ok(())
}

fn categories(plot: &Plot, layout: &Layout, area: &Area<'_>, chart: &Chart<'_, '_>) -> Drawn {
    let (_, frame) = chart.plotting_area().get_pixel_range();
    let (edges, upwards) = (plot.edges(), FontTransform::Rotate270);
    let mut free = i32::MIN;
    for (at, name) in plot.categories.iter().enumerate() {
        let (x, _) = chart.backend_coord(&(within(&edges, at, 0.5), 0.0));
        let half = if layout.upright { FONT / 2 } else { text_width(name) / 2 };
        // A name that would be written over the one before it is left out.
        if x - half < free {
            continue;
        }
        free = x + half;
        let style = if layout.upright {
            ("sans-serif", FONT)
                .into_font()
                .transform(upwards.clone())
                .color(&INK)
                .pos(Pos::new(HPos::Right, VPos::Center))
        } else {
            font(FONT).pos(Pos::new(HPos::Center, VPos::Top))
        };
        area.draw(&Text::new(name.clone(), (x, frame.end + 6), style))?;
    }
    let below = Pos::new(HPos::Center, VPos::Top);
    let at = (layout.width / 2, frame.end + layout.below + 2);
    area.draw(&Text::new(plot.x.clone(), at, font(FONT).pos(below)))
}

#[cfg(test)]
mod tests {
    //! Blind to: a picture that is ugly.
    use super::*;
    use std::collections::HashSet;

    use crate::report::Band;

    fn plot(form: Form) -> Plot {
        Plot::new("p", "Speed-up & <bounds>", form)
            .axes("workload", "speed-up")
            .over(vec!["stress 10".into(), "a long name of a workload".into(), "uts".into()])
            .with(Series::new("random", vec![Some(1.5), None, Some(1.75)]))
            .with(Series::new("set", vec![Some(1.25), Some(1.0), Some(2.0)]))
            .before(Band { name: "model".into(), ranges: vec![Some((1.0, 2.0)), None, None] })
            .level(1.0)
    }

    const FORMS: [Form; 5] = [Form::Bars, Form::Stacked, Form::Dots, Form::Lines, Form::Steps];

    /// Catches: markup that no viewer opens, or a title that breaks it.
    #[test]
    fn every_form_is_drawn_with_title_axes_units_and_legend() {
        for form in FORMS {
            let picture = svg(&plot(form));
            assert!(
                picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"),
                "{picture}"
            );
            for words in [
                "Speed-up &amp; &lt;bounds&gt;",
                "workload",
                "speed-up",
                "random",
                "set",
                "model",
                "uts",
            ] {
                assert!(picture.contains(words), "{form:?}: {words}");
            }
        }
    }

    /// Catches: a colour that changes its spelling, so that a dark page keeps black ink.
    #[test]
    fn ink_and_paper_are_exchanged_on_a_dark_page() {
        let picture = svg(&plot(Form::Bars));
        let (style, drawing) = picture.split_once("</style>").unwrap();
        assert!(style.contains("prefers-color-scheme: dark"));
        for colour in [
            "fill=\"#FFFFFE\"",
            "fill=\"#222223\"",
            "stroke=\"#222223\"",
            "stroke=\"#DDDDDE\"",
            "fill=\"#BBBBBC\"",
        ] {
            assert!(style.contains(colour) && drawing.contains(colour), "{colour}");
        }
    }

    /// Catches: a division by the number of categories or series.
    #[test]
    fn a_plot_of_nothing_is_an_empty_frame() {
        for form in FORMS {
            assert!(svg(&Plot::new("p", "t", form)).contains("</svg>"));
        }
    }

    /// Catches: a ninth series in the colour of the first, and one that looks like another.
    #[test]
    fn every_series_has_a_colour_of_its_own() {
        let distance = |a: RGBColor, b: RGBColor| {
            let parts = [(a.0, b.0), (a.1, b.1), (a.2, b.2)];
            parts.into_iter().map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum::<u32>()
        };
        for series in 0..40 {
            for other in 0..series {
                let far = distance(colour(series), colour(other));
                assert!(far >= 100, "{other} and {series}: {far}");
            }
        }
        let mut plot = Plot::new("p", "t", Form::Bars).over(vec!["x".into()]);
        for at in 0..9 {
            plot = plot.with(Series::new(format!("s{at}"), vec![Some(1.0)]));
        }
        let picture = svg(&plot);
        let (_, drawing) = picture.split_once("</style>").unwrap();
        let fills = drawing.split("fill=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let colours: HashSet<&str> = fills.filter(|fill| fill.starts_with('#')).collect();
        // Besides ink and paper.
        assert_eq!(colours.len(), 9 + 2, "{colours:?}");
    }

    /// Catches: spans of equal width for different weights, and overlapping names of narrow ones.
    #[test]
    fn a_step_is_as_wide_as_its_span() {
        let names = ["e0", "e1", "e2", "e3", "e4", "e5"].map(str::to_owned).to_vec();
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(Some).to_vec();
        let plot = Plot::new("p", "t", Form::Steps).over(names).with(Series::new("s", values));
        let plot = plot.wide(vec![1.0, 1.0, 1.0, 1.0, 1.0, 995.0]);
        let picture = svg(&plot);
        let line = picture
            .split("<polyline")
            .find(|line| line.contains("stroke-width=\"2\""))
            .expect("a line");
        let points =
            line.split("points=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("points");
        let xs: Vec<f64> = points
            .split_whitespace()
            .map(|point| point.split(',').next().unwrap().parse().unwrap())
            .collect();
        let (first, last, settled) = (xs[0], xs[xs.len() - 1], xs[xs.len() - 2]);
        assert!((settled - first) / (last - first) < 0.01, "{points}");
        let has = |name: &str| picture.lines().any(|line| line == name);
        let named = ["e0", "e1", "e2", "e3", "e4", "e5"].map(has);
        assert_eq!(named, [true, false, false, false, false, true], "{picture}");
    }

    /// Catches: an error bar that is left out in one of the forms.
    #[test]
    fn every_value_with_a_spread_has_an_error_bar() {
        for form in [Form::Bars, Form::Dots, Form::Lines] {
            let lines = |spreads| {
                let series = Series::new("s", vec![Some(1.0), Some(2.0)]).spreads(spreads);
                let plot = Plot::new("p", "t", form).over(vec!["a".into(), "b".into()]);
                svg(&plot.with(series)).matches("<polyline").count()
            };
            assert_eq!(lines(vec![Some(0.5), Some(0.25)]) - lines(vec![None, None]), 2, "{form:?}");
        }
    }

    /// Catches: names of categories written over each other.
    #[test]
    fn long_names_are_written_upwards() {
        let many = (0..20).map(|at| format!("a long name, number {at}")).collect();
        let values = vec![Some(1.0); 20];
        let plot = Plot::new("p", "t", Form::Dots).over(many).with(Series::new("s", values));
        assert!(Layout::of(&plot).upright && svg(&plot).contains("rotate(270"));
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
