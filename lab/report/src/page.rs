//! The whole page, with a summary of all results first: one file, readable in light and dark, that
//! loads nothing and runs nothing.

use maud::{DOCTYPE, PreEscaped, html};

use crate::section::Section;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #222223; --paper: #fffffe;
  --line: #dddde0; --shade: #f3f3f5; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e4e4; --paper: #16181c; --line: #3a3d42; --shade: #202329; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 72rem; margin: 0 auto; padding: 1rem; }
a { color: inherit; } summary { cursor: pointer; }
section { border-top: 1px solid var(--line); margin-top: 2rem; }
.wide, pre { overflow-x: auto; } figure { margin: 1rem 0; overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .2rem .5rem; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
th { background: var(--shade); }
pre { background: var(--shade); padding: .6rem; font-size: 12px; }
code { background: var(--shade); }
";

/// The page as HTML.
pub fn page(title: &str, sections: &[Section]) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                nav { table {
                    thead { tr { th { "result" } th { "summary" } } }
                    tbody { @for (at, section) in sections.iter().enumerate() { tr {
                        td { a href={ "#s" (at) } { (section.title) } }
                        td { (section.shown.summary) }
                    } } }
                } }
                @for (at, section) in sections.iter().enumerate() {
                    section id={ "s" (at) } { h2 { (section.title) } (section.shown.body) }
                }
            }
        }
    };
    markup.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::Shown;

    /// Catches: a page that needs the network, or a title that becomes markup.
    #[test]
    fn the_page_is_whole_and_needs_nothing_else() {
        let sections = [
            Section::new("a & b", Shown::new("<3 rows", html! { p { "text" } })),
            Section::new("c", Shown::new("", html! {})),
        ];
        let page = page("<Tonight>", &sections);
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
        for part in [
            "&lt;Tonight&gt;",
            "<td>&lt;3 rows</td>",
            "href=\"#s1\"",
            "id=\"s1\"",
            "a &amp; b",
            "prefers-color-scheme: dark",
        ] {
            assert!(page.contains(part), "{page}");
        }
        for foreign in ["http", "<script", "<link", "url(", "@import", "src="] {
            assert!(!page.contains(foreign), "{foreign}");
        }
    }
}
