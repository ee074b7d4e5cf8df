//! The parts of a report, independent of the output format.
//!
//! | file | contents |
//! |---|---|
//! | `table` | tables, and how they become text and CSV |
//! | `plot` | plots: what is shown |
//! | `svg` | plots as SVG |

mod plot;
mod svg;
mod table;

use crate::statistics::ENOUGH_ROUNDS;

pub use plot::{Band, Form, Mark, Plot, Series, Span};
pub use svg::svg;
pub use table::{Cell, Table, cell, difference, number};

/// A piece of a report.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// A paragraph.
    Words(String),
    /// A table, which is a CSV file as well.
    Table(Table),
    /// A plot, which is an SVG file.
    Plot(Plot),
}

impl Part {
    /// A paragraph that judges what so many rounds have shown; with too few of them, one that says
    /// so instead.
    pub fn verdict(rounds: usize, words: impl FnOnce() -> String) -> Self {
        if rounds >= ENOUGH_ROUNDS {
            return Self::words(words());
        }
        Self::words(format!(
            "No verdict: it takes {ENOUGH_ROUNDS} rounds at least, and there were {rounds}."
        ))
    }

    /// A paragraph.
    pub fn words(words: impl Into<String>) -> Self {
        Self::Words(words.into())
    }
}
