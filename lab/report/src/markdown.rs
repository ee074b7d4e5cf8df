//! Reports in Markdown, with the pictures they name put in their places.
//!
//! A picture must lie in the same folder and must be of our own making: plain shapes. Anything else
//! is named instead of shown, so that a page never runs or loads what a stranger has written into a
//! file. HTML inside the Markdown is shown as text for the same reason.

use std::fs;
use std::path::Path;

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html::push_html};

/// Contents that our pictures never have: programs, external references, and other documents.
const FOREIGN: [&str; 6] =
    ["<script", "javascript:", "<foreignobject", "<image", "<use", "http-equiv"];

/// Shows the text; pictures are looked for in `folder`.
pub(crate) fn show(text: &str, folder: &Path) -> Markup {
    let mut events = Parser::new_ext(text, Options::ENABLE_TABLES);
    let mut shown = Vec::new();
    while let Some(event) = events.next() {
        match event {
            Event::Start(Tag::Image { dest_url, .. }) => {
                let caption = caption(&mut events);
                shown.push(Event::Html(CowStr::from(
                    picture(folder, &dest_url, &caption).into_string(),
                )));
            }
            Event::Html(raw) | Event::InlineHtml(raw) => shown.push(Event::Text(raw)),
            Event::Start(Tag::Link { .. }) | Event::End(TagEnd::Link) => {}
            other => shown.push(other),
        }
    }
    let mut out = String::new();
    push_html(&mut out, shown.into_iter());
    PreEscaped(out)
}

/// The words of a picture, up to its end.
fn caption<'a>(events: &mut impl Iterator<Item = Event<'a>>) -> String {
    let mut words = String::new();
    for event in events {
        match event {
            Event::Text(text) | Event::Code(text) => words.push_str(&text),
            Event::End(TagEnd::Image) => break,
            _ => {}
        }
    }
    words
}

fn picture(folder: &Path, file: &str, caption: &str) -> Markup {
    match read(folder, file) {
        Some(svg) => html! { figure { (PreEscaped(svg)) figcaption { (caption) } } },
        None => html! { em { (caption) " (the picture " (file) " cannot be shown)" } },
    }
}

fn read(folder: &Path, file: &str) -> Option<String> {
    let inside = Path::new(file).file_name() == Some(file.as_ref());
    let svg = fs::read_to_string(inside.then(|| folder.join(file))?).ok()?;
    let lower = svg.to_lowercase();
    let ours = lower.trim_start().starts_with("<svg")
        && FOREIGN.iter().all(|word| !lower.contains(word))
        && !has_handler(&lower);
    ours.then_some(svg)
}

/// Whether an attribute says what to run when something happens.
fn has_handler(svg: &str) -> bool {
    let ends_a_name = |c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'');
    svg.split(ends_a_name).any(|word| word.starts_with("on") && word.contains('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, svg: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("p.svg"), svg).unwrap();
        show(text, folder.path()).into_string()
    }

    /// Catches: a table that becomes a line of bars.
    #[test]
    fn tables_become_tables() {
        let page = shown("| a | b |\n|---|--:|\n| x < y | 2 |\n", "");
        assert!(page.contains("<td>x &lt; y</td>") && page.contains("<table>"), "{page}");
    }

    /// Catches: a result file that runs a program in the reader's browser, or reads another
    /// folder's files.
    #[test]
    fn what_a_stranger_wrote_is_neither_run_nor_loaded() {
        for text in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "[x](javascript:alert(1))",
        ] {
            let page = shown(text, "");
            assert!(
                !page.contains("<script") && !page.contains("<img") && !page.contains("<a"),
                "{page}"
            );
        }
        for svg in [
            "<svg><script>1</script></svg>",
            "<svg onload=alert(1)></svg>",
            "<svg/onload=alert(1)></svg>",
            "<svg><image href='http://x'/></svg>",
            "<html></html>",
        ] {
            let page = shown("![it](p.svg)", svg);
            assert!(page.contains("cannot be shown") && !page.contains("<svg"), "{page}");
        }
        assert!(shown("![it](../p.svg)", "<svg></svg>").contains("cannot be shown"));
        assert!(shown("![it](p.svg)", "<svg></svg>").contains("<svg></svg>"));
    }
}
