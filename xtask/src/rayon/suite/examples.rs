//! The examples in a crate's documentation, as a module of their own.
//!
//! They document items of the published package; here each stands on an empty module, and so is
//! compiled and run against whichever crate the test package is built with.

use super::cut;
use std::fmt::Write as _;

/// One fenced block of a documentation comment.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    /// The line where it opens, from 1.
    line: usize,
    /// The text after the fence, which tells rustdoc how to treat the example.
    kind: String,
    text: Vec<String>,
    /// Whether a line of it is cut, and so all of it is left out.
    is_cut: bool,
}

/// The examples of `files`, each a name and a text, as the source of one module.
pub(super) fn module<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = "//! Generated: the examples of a documentation.\n".to_owned();
    for (file, text) in files {
        for example in find(text).iter().filter(|example| !example.is_cut) {
            write(&mut out, file, example);
        }
    }
    out
}

fn write(out: &mut String, file: &str, example: &Example) {
    let stem = file.trim_start_matches("src/").trim_end_matches(".rs").replace(['/', '-'], "_");
    // Writing to a string cannot fail.
    let _ = write!(out, "\n/// {file}, line {}\n///\n/// ```{}\n", example.line, example.kind);
    for line in &example.text {
        let _ = writeln!(out, "///{}{line}", if line.is_empty() { "" } else { " " });
    }
    let _ = write!(out, "/// ```\npub mod {stem}_line_{} {{}}\n", example.line);
}

/// The fenced blocks in the line comments of `text`.
fn find(text: &str) -> Vec<Example> {
    let mut found = Vec::new();
    let mut open: Option<Example> = None;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with(cut::LINE) {
            open = open.map(|example| Example { is_cut: true, ..example });
            continue;
        }
        let Some(comment) = documentation(line) else {
            // A comment that ends inside a block was none of ours.
            open = None;
            continue;
        };
        match (open.take(), comment.trim_start().strip_prefix("```")) {
            (None, Some(kind)) => {
                open = Some(Example {
                    line: index + 1,
                    kind: kind.trim().to_owned(),
                    text: Vec::new(),
                    is_cut: false,
                });
            }
            (Some(example), Some(_)) => found.push(example),
            (Some(mut example), None) => {
                example.text.push(comment.to_owned());
                open = Some(example);
            }
            (None, None) => {}
        }
    }
    found
}

/// The text of a line that is a documentation comment, without the space that follows its mark.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    Some(text.strip_prefix(' ').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    //! Blind to: examples in block comments and in `#[doc]` attributes.
    use super::*;

    #[test]
    fn an_example_keeps_its_kind_and_its_text() {
        let text = "//! A crate.\n\n    /// Spawns.\n    ///\n    /// ```ignore-wasm\n    \
                    /// # use a as b;\n    \
                    /// b::f(|| {\n    ///     1\n    /// });\n    /// ```\n    fn f() {}\n";
        let found = find(text);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].kind.as_str()), (5, "ignore-wasm"));
        assert_eq!(found[0].text, ["# use a as b;", "b::f(|| {", "    1", "});"]);
    }

    #[test]
    fn examples_of_several_files_stand_on_modules_of_their_own() {
        let text = "/// ```\n/// one();\n///\n/// two();\n/// ```\nfn f() {}\n";
        let made = module([("src/lib.rs", text), ("src/join/mod.rs", text)].into_iter());
        let wanted = "/// src/join/mod.rs, line 1\n///\n/// ```\n/// one();\n///\n\
                      /// two();\n/// ```\n\
                      pub mod join_mod_line_1 {}\n";
        assert!(made.ends_with(wanted) && made.contains("pub mod lib_line_1 {}"), "{made}");
    }

    /// Catches: a cut line that takes the next example with it, or that leaves a part of its own.
    #[test]
    fn an_example_with_a_cut_line_is_left_out() {
        let text = "/// ```\n// cut: /// one();\n/// two();\n/// ```\n///\n/// ```\n/// three();\n\
                    /// ```\nfn f() {}\n";
        let made = module([("src/lib.rs", text)].into_iter());
        assert!(!made.contains("two") && made.contains("lib_line_6 {}"), "{made}");
    }

    #[test]
    fn code_is_not_documentation() {
        assert_eq!(find("// ```\n// f();\n// ```\nlet s = \"```\";\n"), []);
    }
}
