//! Lists for a usual terminal: a name, its description beside it, and a remark below that.

use textwrap::{Options, WordSplitter, fill};

/// The columns of a usual terminal.
const WIDTH: usize = 80;
/// Blanks between the longest name and the descriptions.
const GAP: usize = 2;

/// An entry of a list.
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) remark: String,
}

/// These entries, in lines of at most 80 columns.
pub(crate) fn render(entries: &[Entry<'_>]) -> String {
    let longest = entries.iter().map(|entry| entry.name.chars().count()).max().unwrap_or(0);
    entries.iter().map(|entry| entry.render(longest + GAP)).collect()
}

/// A line above a list, or several.
pub(crate) fn heading(words: &str) -> String {
    fill(words, WIDTH) + "\n"
}

impl Entry<'_> {
    fn render(&self, margin: usize) -> String {
        let blank = " ".repeat(margin);
        let lines = |first: &str, words: &str| {
            // Sizes and names have hyphens inside, and are copied.
            let options = Options::new(WIDTH).word_splitter(WordSplitter::NoHyphenation);
            fill(words, options.initial_indent(first).subsequent_indent(&blank)) + "\n"
        };
        let name = format!("{:<margin$}", self.name);
        lines(&name, self.description) + &lines(&blank, &self.remark)
    }
}
