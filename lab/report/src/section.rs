//! A part of the page.

use maud::Markup;

/// A part of the page, with a heading of its own.
#[derive(Debug)]
pub struct Section {
    /// The heading: the place where it was found.
    pub title: String,
    /// The content. All text from the file is escaped in it.
    pub(crate) body: Markup,
}

impl Section {
    pub(crate) fn new(title: impl Into<String>, body: Markup) -> Self {
        Self { title: title.into(), body }
    }
}
