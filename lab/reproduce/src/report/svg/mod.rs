//! Plots as SVG.
//!
//! `plotters` draws axes, bars and lines. The legend and the names of categories, rows and marks
//! are placed here, because they determine the margins.
//!
//! | file | contents |
//! |---|---|
//! | `style` | colours, also those of a dark page |
//! | `layout` | margins, and the lines of legend and names |
//! | `spans` | spans in rows, and marks |

mod layout;
mod spans;
mod style;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use self::layout::{LEGEND_LINE, Layout, entry_width, legend_names, text_width};
use self::style::{Area, BAND, Chart, Drawn, FONT, INK, LINE, MARGIN, PAPER, STYLE, colour, font};
use super::plot::{Form, Plot, Series};
use super::table::number;

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
        Form::Spans => spans::spans(plot, &chart)?,
    }
    level(plot, &mut chart)?;
    match plot.form {
        Form::Spans => spans::rows(plot, &area, &chart)?,
        _ if plot.is_numbered => (),
        _ => categories(plot, layout, &area, &chart)?,
    }
    spans::marks(plot, layout, &area, &chart)?;
    let (_, frame) = chart.plotting_area().get_pixel_range();
    if !plot.x.is_empty() {
        let below = font(FONT).pos(Pos::new(HPos::Center, VPos::Top));
        let at = ((layout.width - layout.right) / 2, frame.end + layout.below + 2);
        area.draw(&Text::new(plot.x.clone(), at, below))?;
    }
    area.present()
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

/// Category `n` reaches from edge n to edge n + 1. Row `n` is the nth from the top, and 1 high.
fn axes<'b>(
    plot: &Plot,
    layout: &Layout,
    area: &Area<'b>,
) -> Result<Chart<'b, 'b>, DrawingAreaErrorKind<std::io::Error>> {
    let is_spans = plot.form == Form::Spans;
    let rows = plot.categories.len().max(1) as f64;
    let highest = plot.highest();
    let top = if highest > 0.0 { highest * 1.06 } else { 1.0 };
    let values = if is_spans { 0.0..rows } else { plot.lowest() * 1.06..top };
    let (below, x_numbers, y_numbers) = match (plot.is_numbered, is_spans) {
        (false, _) => (0, 0, 7),
        (true, false) => (layout.below, 8, 4),
        (true, true) => (layout.below, 8, 0),
    };
    let mut chart = ChartBuilder::on(area)
        .margin_top(layout.above())
        .margin_left(MARGIN + 4)
        .margin_right(MARGIN + layout.right)
        .margin_bottom(layout.below - below + FONT + 12)
        .x_label_area_size(below)
        .y_label_area_size(layout.left)
        .build_cartesian_2d(0.0..plot.right(), values)?;
    let height = |height: &f64| number(plot.value(*height));
    let mut mesh = chart.configure_mesh();
    if !plot.is_numbered {
        mesh.disable_x_mesh();
    }
    if is_spans {
        mesh.disable_y_mesh();
    }
    mesh.x_labels(x_numbers)
        .x_label_formatter(&|value| number(*value))
        .y_labels(y_numbers)
        .y_label_formatter(&height)
        .label_style(font(FONT))
        .axis_desc_style(font(FONT))
        .axis_style(INK)
        .bold_line_style(LINE)
        .light_line_style(TRANSPARENT);
    // An empty text would be a blank line.
    if !plot.y.is_empty() {
        mesh.y_desc(plot.y.clone());
    }
    mesh.draw()?;
    Ok(chart)
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

/// The dots of a category stand side by side, so that equal values are all seen. Over numbers a
/// dot is at the beginning of its category, and each series has a symbol of its own.
fn dots(plot: &Plot, chart: &mut Chart<'_, '_>) -> Drawn {
    if plot.is_numbered {
        return symbols(plot, chart);
    }
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

fn symbols(plot: &Plot, chart: &mut Chart<'_, '_>) -> Drawn {
    let edges = plot.edges();
    for (at, series) in plot.series.iter().enumerate() {
        for (category, value) in values(plot, series) {
            let (place, style) = ((edges[category], value), colour(at).stroke_width(1));
            match at % 4 {
                0 => chart.plotting_area().draw(&Circle::new(place, 2, style))?,
                1 => chart.plotting_area().draw(&Cross::new(place, 2, style))?,
                2 => chart.plotting_area().draw(&TriangleMarker::new(place, 3, style))?,
                _ => chart.plotting_area().draw(&Circle::new(place, 1, colour(at).filled()))?,
            }
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
    let ends = [(0.0, level), (plot.right(), level)];
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
    Ok(())
}

#[cfg(test)]
mod tests {
    //! Blind to: a picture that is ugly.
    use super::*;
    use std::collections::HashSet;

    use crate::report::{Band, Mark, Span};

    fn plot(form: Form) -> Plot {
        if form == Form::Spans {
            return spans();
        }
        Plot::new("p", "Speed-up & <bounds>", form)
            .axes("workload", "speed-up")
            .over(vec!["stress 10".into(), "a long name of a workload".into(), "uts".into()])
            .with(Series::new("random", vec![Some(1.5), None, Some(1.75)]))
            .with(Series::new("set", vec![Some(1.25), Some(1.0), Some(2.0)]))
            .before(Band { name: "model".into(), ranges: vec![Some((1.0, 2.0)), None, None] })
            .level(1.0)
    }

    /// Two rows, two series and a mark.
    fn spans() -> Plot {
        let span = |row, from, to| Span { row, from, to };
        Plot::new("p", "Speed-up & <bounds>", Form::Spans)
            .axes("workload, ms", "speed-up")
            .over(vec!["uts".into(), "model".into()])
            .with(Series::of_spans("random", vec![span(0, 0.0, 50.0), span(1, 10.0, 40.0)]))
            .with(Series::of_spans("set", vec![span(0, 50.0, 100.0)]))
            .marked(vec![Mark { at: 50.0, name: "a change".into() }])
    }

    const FORMS: [Form; 6] =
        [Form::Bars, Form::Stacked, Form::Dots, Form::Lines, Form::Steps, Form::Spans];

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

    /// Catches: samples of two workers that look alike, and one beside its place on the axis.
    #[test]
    fn samples_over_numbers_have_symbols_at_their_places() {
        let plot = Plot::new("p", "t", Form::Dots).over(vec![String::new(); 3]);
        let plot = plot.wide(vec![30.0, 50.0, 20.0]).numbered();
        let plot = plot.with(Series::new("a", vec![Some(1.0), None, Some(2.0)]));
        let picture = svg(&plot.with(Series::new("b", vec![None, Some(1.0), None])));
        let circles = picture.lines().filter(|line| line.starts_with("<circle"));
        let xs: Vec<i32> = circles.map(|line| attribute(line, "cx")).collect();
        assert!(xs.len() == 2 && (xs[1] - xs[0] - 480).abs() <= 1, "80 % of 600: {xs:?}");
        let crosses = picture.matches("<line").count() + picture.matches("<polyline").count();
        let plain = Plot::new("p", "t", Form::Dots).over(vec![String::new()]).numbered();
        let plain = svg(&plain.with(Series::new("a", vec![Some(2.0)])));
        let lines = plain.matches("<line").count() + plain.matches("<polyline").count();
        assert!(crosses > lines, "{picture}");
    }

    /// Catches: names of categories written over each other.
    #[test]
    fn long_names_are_written_upwards() {
        let many = (0..20).map(|at| format!("a long name, number {at}")).collect();
        let values = vec![Some(1.0); 20];
        let plot = Plot::new("p", "t", Form::Dots).over(many).with(Series::new("s", values));
        assert!(Layout::of(&plot).upright && svg(&plot).contains("rotate(270"));
    }

    /// The number of this attribute in an element.
    fn attribute(element: &str, name: &str) -> i32 {
        let value =
            element.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} in {element}"))
    }

    /// Catches: rows upside down, a span in the colour of another series, spans that do not follow
    /// the numbers below, and a mark at another place.
    #[test]
    fn a_span_is_in_its_row_and_as_wide_as_its_interval() {
        let picture = svg(&spans());
        let at = |series: usize| {
            let RGBColor(red, green, blue) = colour(series);
            let fill = format!("fill=\"#{red:02X}{green:02X}{blue:02X}\"");
            let drawn = picture.lines().filter(move |line| line.contains(&fill));
            // The first one is in the legend.
            let place = |line| ["x", "y", "width"].map(|name| attribute(line, name));
            drawn.skip(1).map(place).collect::<Vec<_>>()
        };
        let (random, set) = (at(0), at(1));
        let ([first, second], [third]) = (&random[..], &set[..]) else {
            panic!("{random:?} and {set:?}")
        };
        assert!(first[1] == third[1] && first[1] < second[1], "{random:?} and {set:?}");
        let near = |a: i32, b: i32| (a - b).abs() <= 1;
        assert!(near(first[0] + first[2], third[0]) && near(first[2], third[2]));
        assert!(near(second[2], first[2] * 3 / 5) && second[0] > first[0]);
        let mark = picture.lines().position(|line| line == "a change").expect("a name");
        assert!(near(attribute(picture.lines().nth(mark - 1).unwrap(), "x") - 4, third[0]));
        assert!(picture.contains("\n100\n"), "the number at the end");
    }

    /// Catches: a blank line, at which an HTML block of Markdown ends.
    #[test]
    fn no_line_of_a_picture_is_blank() {
        for form in FORMS {
            for plot in [plot(form), plot(form).axes("", "")] {
                let picture = svg(&plot);
                assert!(picture.lines().all(|line| !line.trim().is_empty()), "{picture}");
            }
        }
    }
}
