//! Spans in rows, and marks on the axis below.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::layout::{Layout, MARK_LINE};
use super::style::{Area, Chart, Drawn, FONT, INK, colour, font};
use crate::report::plot::Plot;

/// The part of a row's height that a span fills.
const FILLED: f64 = 0.7;

/// A rectangle for each span; the top row is row 0.
pub(super) fn spans(plot: &Plot, chart: &Chart<'_, '_>) -> Drawn {
    for (at, series) in plot.series.iter().enumerate() {
        for span in &series.spans {
            let middle = middle(plot, span.row);
            let corners = [(span.from, middle - FILLED / 2.0), (span.to, middle + FILLED / 2.0)];
            chart.plotting_area().draw(&Rectangle::new(corners, colour(at).filled()))?;
        }
    }
    Ok(())
}

/// The name of each row, beside it.
pub(super) fn rows(plot: &Plot, area: &Area<'_>, chart: &Chart<'_, '_>) -> Drawn {
    let beside = font(FONT).pos(Pos::new(HPos::Right, VPos::Center));
    for (row, name) in plot.categories.iter().enumerate() {
        let (x, y) = chart.backend_coord(&(0.0, middle(plot, row)));
        area.draw(&Text::new(name.clone(), (x - 8, y), beside.clone()))?;
    }
    Ok(())
}

fn middle(plot: &Plot, row: usize) -> f64 {
    plot.categories.len() as f64 - row as f64 - 0.5
}

/// A line for each mark, from the axis below up to its name.
pub(super) fn marks(plot: &Plot, layout: &Layout, area: &Area<'_>, chart: &Chart<'_, '_>) -> Drawn {
    let (_, frame) = chart.plotting_area().get_pixel_range();
    for (mark, line) in plot.marks.iter().zip(&layout.marks) {
        let (x, _) = chart.backend_coord(&(mark.at, 0.0));
        let top = frame.start - MARK_LINE * line;
        area.draw(&PathElement::new([(x, frame.end), (x, top - MARK_LINE / 2)], INK))?;
        let at = (x + 4, top - MARK_LINE);
        area.draw(&Text::new(mark.name.clone(), at, font(FONT)))?;
    }
    Ok(())
}
