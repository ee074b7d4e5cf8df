//! The tests that cannot run, for example because they look inside rayon-core, each with its
//! reason.
//!
//! Every other test runs. A test is cut by making it conditional on a false `cfg`, and a line of
//! one by a comment, which leaves the rest of its file as it is. A cut line of an example cuts the
//! example. A listed test that no longer
//! exists is an error, so the list cannot outlive its reasons.

/// The beginning of a line that is cut.
pub(super) const LINE: &str = "// cut: ";

/// A test, or a line, that is left out.
#[derive(Debug)]
pub(super) struct Cut {
    /// The file in the published package.
    pub(super) file: &'static str,
    /// The name of the test, or the line without the space before it.
    pub(super) part: &'static str,
    pub(super) reason: &'static str,
}

/// Those of rayon-core.
pub(super) const CUTS: [Cut; 2] = [
    Cut {
        file: "src/thread_pool/test.rs",
        part: "workers_stop",
        reason: "takes the private registry out of a pool and waits for its threads",
    },
    Cut {
        file: "src/thread_pool/test.rs",
        part: "sleeper_stop",
        reason: "takes the private registry out of a pool and waits for its threads",
    },
];

/// The text of `file` without the tests and lines that `cuts` names in it.
///
/// # Errors
///
/// Something on the list is not in the file.
pub(super) fn apply(cuts: &[Cut], file: &str, text: &str) -> Result<String, String> {
    let mut text = text.to_owned();
    for cut in cuts.iter().filter(|cut| cut.file == file) {
        let (start, mark) = find(&text, cut.part).ok_or_else(|| {
            format!("{file} has no test {}: take it off the list of what is cut", cut.part)
        })?;
        text.insert_str(start, mark);
    }
    Ok(text)
}

/// The start of the line that defines the function `part`, or that is `part`, and what cuts it.
fn find(text: &str, part: &str) -> Option<(usize, &'static str)> {
    let definition = format!("fn {part}(");
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with(&definition) {
            return Some((start, "#[cfg(any())] // cut\n"));
        }
        if line.trim() == part {
            return Some((start, LINE));
        }
        start += line.len();
    }
    None
}

/// Checks that every file of `cuts` is among `files`.
///
/// # Errors
///
/// A file on the list is not there.
pub(super) fn check_files(cuts: &[Cut], files: &[&str]) -> Result<(), String> {
    match cuts.iter().find(|cut| !files.contains(&cut.file)) {
        None => Ok(()),
        Some(cut) => {
            Err(format!("there is no {}: take {} off the list of what is cut", cut.file, cut.part))
        }
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a test that a macro spells.
    use super::*;

    const ONE: [Cut; 1] = [Cut { file: "a.rs", part: "inside", reason: "looks inside" }];

    #[test]
    fn a_cut_test_depends_on_nothing_and_the_others_stay() {
        let text = "#[test]\nfn inside_out() {}\n\n#[test]\nfn inside() {\n}\n";
        let cut =
            "#[test]\nfn inside_out() {}\n\n#[test]\n#[cfg(any())] // cut\nfn inside() {\n}\n";
        assert_eq!(apply(&ONE, "a.rs", text), Ok(cut.to_owned()));
        assert_eq!(apply(&ONE, "b.rs", text), Ok(text.to_owned()));
    }

    #[test]
    fn a_cut_line_becomes_a_comment() {
        let cut = [Cut { file: "a.rs", part: "check(inside());", reason: "looks inside" }];
        let text = "fn f() {\n    check(outside());\n    check(inside());\n}\n";
        let without = "fn f() {\n    check(outside());\n// cut:     check(inside());\n}\n";
        assert_eq!(apply(&cut, "a.rs", text), Ok(without.to_owned()));
    }

    #[test]
    fn a_listed_test_that_is_gone_is_an_error() {
        let why = apply(&ONE, "a.rs", "#[test]\nfn outside() {}\n").expect_err("nothing to cut");
        assert!(why.contains("a.rs has no test inside"), "{why}");
        let why = check_files(&ONE, &["b.rs"]).expect_err("no such file");
        assert!(why.contains("there is no a.rs"), "{why}");
        assert_eq!(check_files(&ONE, &["a.rs", "b.rs"]), Ok(()));
    }
}
