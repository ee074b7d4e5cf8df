//! A part of the page.

use maud::Markup;

/// A part of the page, with a heading of its own.
#[derive(Debug)]
pub struct Section {
    /// The heading: the place where it was found.
    pub title: String,
    /// The content.
    pub(crate) shown: Shown,
}

/// The content of a part. All text from the file is escaped in it.
#[derive(Debug)]
pub(crate) struct Shown {
    /// One line for the summary at the top of the page.
    pub(crate) summary: String,
    pub(crate) body: Markup,
}

impl Section {
    pub(crate) fn new(title: impl Into<String>, shown: Shown) -> Self {
        Self { title: title.into(), shown }
    }
}

impl Shown {
    pub(crate) fn new(summary: impl Into<String>, body: Markup) -> Self {
        Self { summary: summary.into(), body }
    }
}
