//! Measures of plain English: long lines, long sentences, sentences with a clause as their subject.
//!
//! Prose is what Markdown says outside of code, and what comments say in Rust. A table's cells are
//! sentences of their own.

use super::{Finding, SourceFile};

/// Columns that a line may have.
const MOST_COLUMNS: usize = 100;

/// Words that a sentence may have.
const MOST_WORDS: usize = 40;

/// Words that make a clause the subject of a sentence.
const CLAUSES: [&str; 3] = ["Who", "Whoever", "What"];

/// Lines over [`MOST_COLUMNS`], tables and links aside, which cannot be wrapped.
pub(super) fn long_lines(file: &SourceFile) -> Vec<Finding> {
    let is_fixed = |line: &str| {
        let text = line.trim_start().trim_start_matches(['/', '!']).trim_start();
        text.starts_with('|') || text.contains("](http")
    };
    let is_long =
        |(_, line): &(usize, &str)| line.chars().count() > MOST_COLUMNS && !is_fixed(line);
    let finding = |(index, line): (usize, &str)| Finding {
        line: index + 1,
        what: format!("{} columns, at most {MOST_COLUMNS}", line.chars().count()),
    };
    file.text.lines().enumerate().filter(is_long).map(finding).collect()
}

/// Sentences over [`MOST_WORDS`].
pub(super) fn long_sentences(file: &SourceFile) -> Vec<Finding> {
    let words = |sentence: &str| {
        sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
    };
    sentences(file)
        .into_iter()
        .filter(|(_, sentence)| words(sentence) > MOST_WORDS)
        .map(|(line, sentence)| Finding {
            line,
            what: format!(
                "a sentence of {} words, at most {MOST_WORDS}: {}",
                words(&sentence),
                shortened(&sentence)
            ),
        })
        .collect()
}

/// Sentences, but for questions, that begin with one of [`CLAUSES`].
pub(super) fn clauses_as_subjects(file: &SourceFile) -> Vec<Finding> {
    let begins = |sentence: &str| {
        let first = sentence.split_whitespace().next().unwrap_or_default();
        CLAUSES.contains(&first) && !sentence.ends_with('?')
    };
    sentences(file)
        .into_iter()
        .filter(|(_, sentence)| begins(sentence))
        .map(|(line, sentence)| Finding {
            line,
            what: format!("a clause as the subject: {}", shortened(&sentence)),
        })
        .collect()
}

fn shortened(sentence: &str) -> String {
    let words: Vec<&str> = sentence.split_whitespace().take(8).collect();
    format!("{} …", words.join(" "))
}

/// The sentences of a file, and the line where the paragraph of each begins.
fn sentences(file: &SourceFile) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut paragraph = (0, String::new());
    let mut is_code = false;
    for (index, line) in file.text.lines().enumerate() {
        let prose = prose_of(&file.path, line);
        let text = prose.unwrap_or_default();
        is_code = prose.is_some() && (is_code ^ text.starts_with("```"));
        let is_text = !is_code && !text.is_empty() && !text.starts_with("```");
        if !is_text || begins_paragraph(text) {
            split(&mut paragraph, &mut found);
        }
        if is_text && text.starts_with('|') {
            for cell in text.split('|') {
                split(&mut (index + 1, cell.to_owned()), &mut found);
            }
        } else if is_text {
            if paragraph.1.is_empty() {
                paragraph.0 = index + 1;
            }
            paragraph.1.push(' ');
            paragraph.1.push_str(text.trim_start_matches(['-', '*', '#', ' ']));
        }
    }
    split(&mut paragraph, &mut found);
    found
}

/// The prose of a line of a Markdown file, or of the comment on a line of Rust.
fn prose_of<'l>(path: &str, line: &'l str) -> Option<&'l str> {
    if path.ends_with(".md") {
        return Some(line.trim());
    }
    let comment = line.trim_start().strip_prefix("//")?;
    Some(comment.trim_start_matches(['/', '!']).trim())
}

fn begins_paragraph(text: &str) -> bool {
    let is_numbered =
        text.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    ["- ", "* ", "#", "|"].iter().any(|mark| text.starts_with(mark)) || is_numbered
}

/// Moves the sentences of a paragraph to `found`.
fn split(paragraph: &mut (usize, String), found: &mut Vec<(usize, String)>) {
    let (line, text) = std::mem::take(paragraph);
    let mut rest = text.trim();
    while !rest.is_empty() {
        let ends =
            [". ", "! ", "? "].iter().filter_map(|mark| rest.find(mark).map(|at| at + 1)).min();
        let (sentence, after) = rest.split_at(ends.unwrap_or(rest.len()));
        found.push((line, sentence.trim_matches([' ', '*', '_']).to_owned()));
        rest = after.trim_start();
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: abbreviations, which end a sentence here; clauses that begin in the middle.
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: text.to_owned() }
    }

    fn lines(found: &[Finding]) -> Vec<usize> {
        found.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_line_of_a_hundred_and_one_columns_is_long_unless_it_is_a_table() {
        let long = "x".repeat(101);
        let text = format!("{long}\n| {long} |\n{}\n//! | {long} |\n", &long[1..]);
        assert_eq!(lines(&long_lines(&file("a.md", &text))), [1]);
    }

    #[test]
    fn a_sentence_is_counted_over_the_lines_of_its_paragraph() {
        let half = "word ".repeat(21);
        let long = format!("Short one.\n\n{half}\n{half}. Short.\n");
        assert_eq!(lines(&long_sentences(&file("a.md", &long))), [3]);
        let comment = format!("fn f() {{\n    // {half}\n    // {half}\n}}\n");
        assert_eq!(lines(&long_sentences(&file("a.rs", &comment))), [2]);
        let apart = format!("{half}\n\n{half}\n- {half}\n- {half}\n| {half} | {half} |\n");
        assert_eq!(lines(&long_sentences(&file("a.md", &apart))), [0; 0]);
    }

    #[test]
    fn clauses_as_subjects_are_found_and_questions_are_not() {
        let text = "Who comes first wins. The worker waits. What is it? What is done is done.\n";
        assert_eq!(lines(&clauses_as_subjects(&file("a.md", text))), [1, 1]);
        assert_eq!(
            lines(&clauses_as_subjects(&file("a.rs", "let who = 1;\n//! Whoever waits parks.\n"))),
            [2]
        );
    }

    #[test]
    fn code_is_no_prose() {
        let code = format!("```text\nWho is here\n{}\n```\nThe end.\n", "word ".repeat(41));
        assert_eq!(lines(&clauses_as_subjects(&file("a.md", &code))), [0; 0]);
        assert_eq!(lines(&long_sentences(&file("a.md", &code))), [0; 0]);
    }
}
