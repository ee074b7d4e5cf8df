//! The tests that cannot run because they look inside rayon-core, each with its reason.
//!
//! Every test that uses only the public interface runs. A test is cut by making it conditional on a
//! false `cfg`, which leaves the rest of its file as it is. A listed test that no longer exists is
//! an error, so the list cannot outlive its reasons.

/// A test that is left out.
#[derive(Debug)]
pub(super) struct Cut {
    /// The file in the published package.
    pub(super) file: &'static str,
    pub(super) test: &'static str,
    pub(super) reason: &'static str,
}

/// All of them.
pub(super) const CUTS: [Cut; 2] = [
    Cut {
        file: "src/thread_pool/test.rs",
        test: "workers_stop",
        reason: "takes the private registry out of a pool and waits for its threads",
    },
    Cut {
        file: "src/thread_pool/test.rs",
        test: "sleeper_stop",
        reason: "takes the private registry out of a pool and waits for its threads",
    },
];

/// The text of `file` without the tests that `cuts` names in it.
///
/// # Errors
///
/// A test on the list is not in the file.
pub(super) fn apply(cuts: &[Cut], file: &str, text: &str) -> Result<String, String> {
    let mut text = text.to_owned();
    for cut in cuts.iter().filter(|cut| cut.file == file) {
        let start = find(&text, cut.test).ok_or_else(|| {
            format!("{file} has no test {}: take it off the list of what is cut", cut.test)
        })?;
        text.insert_str(start, "#[cfg(any())] // cut\n");
    }
    Ok(text)
}

/// The start of the line that defines the function `name`.
fn find(text: &str, name: &str) -> Option<usize> {
    let definition = format!("fn {name}(");
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with(&definition) {
            return Some(start);
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
            Err(format!("there is no {}: take {} off the list of what is cut", cut.file, cut.test))
        }
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a test that a macro spells.
    use super::*;

    const ONE: [Cut; 1] = [Cut { file: "a.rs", test: "inside", reason: "looks inside" }];

    #[test]
    fn a_cut_test_depends_on_nothing_and_the_others_stay() {
        let text = "#[test]\nfn inside_out() {}\n\n#[test]\nfn inside() {\n}\n";
        let cut =
            "#[test]\nfn inside_out() {}\n\n#[test]\n#[cfg(any())] // cut\nfn inside() {\n}\n";
        assert_eq!(apply(&ONE, "a.rs", text), Ok(cut.to_owned()));
        assert_eq!(apply(&ONE, "b.rs", text), Ok(text.to_owned()));
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
