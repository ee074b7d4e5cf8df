//! A package of rayon's tests of iterators, for Sinew's own iterators in the place of rayon's.
//!
//! The package depends on a crate called `rayon` that has Sinew's prelude and iterators by rayon's
//! names: the one of `bench programs --chains`. The integration tests are unchanged; the unit tests
//! become integration tests, so that `crate` and `super` are the public interface. The examples in
//! the documentation become those of the package; its edition makes rustdoc build them as one
//! program.

use super::super::files;
use super::super::side::{RAYON, Side};
use super::super::upstream::Sources;
use super::cut::{self, Cut};
use super::examples;
use super::generate::{PROFILE, Tree};
use crate::command;
use std::path::Path;

/// The package.
const ITERATORS: &str = "rayon-iterator-tests";

/// The crate with Sinew's iterators by rayon's names.
const SHIM: &str = "lab/bench/rayon/shim";

/// The unit tests, and the names that they get.
const UNITS: [(&str, &str); 2] =
    [("src/iter/test.rs", "tests/unit-iter.rs"), ("src/slice/test.rs", "tests/unit-slice.rs")];

/// Imports of unit tests from inside of rayon, and the same from outside.
const IMPORTS: [(&str, &str); 4] = [
    ("#![cfg(test)]\n", ""),
    ("use super::*;", "use rayon::{Scope, iter::*};\nuse std::collections::LinkedList;"),
    ("rayon_core::", "rayon::"),
    ("crate::", "rayon::"),
];

/// Modules with examples that must not compile.
const COMPILE_FAIL: &str = "src/compile_fail/";

/// The root of the package.
const LIBRARY: &str = "//! Generated: the examples of rayon's iterators.\n\
                       pub mod examples;\nmod compile_fail;\n";

/// Files that are left out.
pub(super) const FILES: [(&str, &str); 5] = [
    ("src/iter/collect/test.rs", "drives the consumer in which rayon collects"),
    ("src/iter/find_first_last/test.rs", "drives the consumers with which rayon searches"),
    ("tests/producer_split_at.rs", "splits producers, which are the inside of rayon's iterators"),
    ("tests/named-threads.rs", "names the threads of rayon's global pool"),
    (
        "tests/octillion.rs",
        "has ranges of more numbers than a `usize` counts, which Sinew refuses with a panic",
    ),
];

/// Tests, lines and examples that are left out.
pub(super) const CUTS: [Cut; 11] = [
    Cut {
        file: "src/iter/par_bridge.rs",
        part: "/// use rayon::prelude::ParallelIterator;",
        reason: "imports no trait with Sinew's methods, which the whole prelude has",
    },
    Cut {
        file: "src/iter/test.rs",
        part: "check_indices_after_enumerate_split",
        reason: "splits a producer",
    },
    Cut { file: "src/iter/test.rs", part: "check_drops", reason: "splits a producer" },
    Cut {
        file: "src/iter/test.rs",
        part: "check_skip",
        reason: "Sinew calls no function for items that are skipped",
    },
    Cut {
        file: "src/iter/test.rs",
        part: "check_lengths",
        reason: "the longest and the shortest part are hints in Sinew",
    },
    Cut {
        file: "src/iter/test.rs",
        part: "count_repeat_n_clones",
        reason: "Sinew makes a clone for each part of a loop",
    },
    Cut {
        file: "src/iter/test.rs",
        part: "check_chunks_zero_size",
        reason: "expects the words of rayon's panic",
    },
    Cut {
        file: "src/slice/test.rs",
        part: "slice_chunk_by",
        reason: "counts comparisons; Sinew makes one more for each part of a loop",
    },
    Cut { file: "src/slice/test.rs", part: "sort!(par_sort_by, test_par_sort);", reason: ORDER },
    Cut {
        file: "src/slice/test.rs",
        part: "sort!(par_sort_unstable_by, test_par_sort_unstable);",
        reason: ORDER,
    },
    Cut {
        file: "tests/iter_panic.rs",
        part: "iter_panic_fuse",
        reason: "a panic ends every chain of Sinew early, with `panic_fuse` or without",
    },
];

/// Why sorts are not given comparisons that are no order.
const ORDER: &str =
    "compares at random; the standard library's sorts, which Sinew's use, may panic";

/// Lays the package out in `place`, with the rayon of `side`.
///
/// # Errors
///
/// The sources are not as expected, or something cannot be written.
pub(super) fn package(place: &Path, side: Side, sources: &Sources) -> Result<(), String> {
    let theirs = files::tree(&sources.rayon)?;
    let mut made = tests(&theirs)?;
    made.insert("src/lib.rs".to_owned(), LIBRARY.as_bytes().to_vec());
    made.insert("Cargo.toml".to_owned(), manifest(side).into_bytes());
    files::lay_out(place, &made)
}

/// The test files, made from the published `tree`.
fn tests(tree: &Tree) -> Result<Tree, String> {
    let names: Vec<&str> = tree.keys().map(String::as_str).collect();
    cut::check_files(&CUTS, &names)?;
    if let Some((lost, _)) = FILES.iter().find(|(file, _)| !names.contains(file)) {
        return Err(format!("there is no {lost}: take it off the list of what is left out"));
    }
    let (mut made, mut documented) = (Tree::new(), Vec::new());
    for (name, bytes) in tree.iter().filter(|(name, _)| is_taken(name)) {
        let text = std::str::from_utf8(bytes).map_err(|error| format!("{name}: {error}"))?;
        let text = cut::apply(&CUTS, name, text)?;
        if let Some((_, to)) = UNITS.iter().find(|(file, _)| file == name) {
            made.insert((*to).to_owned(), outside(&text).into_bytes());
        } else if name.starts_with("tests/") || name.starts_with(COMPILE_FAIL) {
            made.insert(name.clone(), text.into_bytes());
        } else {
            documented.push((name.as_str(), text));
        }
    }
    let examples = examples::module(documented.iter().map(|(name, text)| (*name, text.as_str())));
    made.insert("src/examples.rs".to_owned(), examples.into_bytes());
    Ok(made)
}

/// Whether a file has tests or examples that run.
fn is_taken(name: &str) -> bool {
    (name.starts_with("tests/") || name.starts_with("src/"))
        && !FILES.iter().any(|(file, _)| *file == name)
}

/// A unit test for the outside of its crate.
fn outside(text: &str) -> String {
    IMPORTS.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn manifest(side: Side) -> String {
    let rayon = match side {
        Side::Upstream => format!("rayon = \"={RAYON}\""),
        // A literal string: on some systems paths have backslashes.
        Side::Ours => format!("rayon = {{ path = '{}' }}", command::root().join(SHIM).display()),
    };
    format!(
        "[package]\nname = \"{ITERATORS}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [workspace]\n\n[dependencies]\n{rayon}\n\n\
         [dev-dependencies]\nrand = \"0.9\"\nrand_xorshift = \"0.4\"\n\n\
         [lints.rust]\nwarnings = \"allow\"\n\n{PROFILE}"
    )
}

#[cfg(test)]
mod tests {
    //! Blind to: whether what is made compiles, which the command itself meets.
    use super::*;

    /// Catches: a unit test that still looks inside, and a file or test that is lost.
    #[test]
    fn unit_tests_become_integration_tests() {
        assert_eq!(
            outside("#![cfg(test)]\nuse super::*;\nuse crate::prelude::*;\nuse rayon_core::*;\n"),
            "use rayon::{Scope, iter::*};\nuse std::collections::LinkedList;\n\
             use rayon::prelude::*;\nuse rayon::*;\n"
        );
    }

    /// Catches: a list that outlives what it names.
    #[test]
    fn what_is_left_out_must_be_there() {
        let file = |name: &str| (name.to_owned(), b"fn a() {}\n".to_vec());
        let why = tests(&[file("tests/a.rs")].into()).expect_err("files are missing");
        assert!(why.starts_with("there is no "), "{why}");
        let named = CUTS.iter().map(|cut| cut.file).chain(FILES.iter().map(|(file, _)| *file));
        let why = tests(&named.map(file).collect()).expect_err("tests are missing");
        assert!(why.contains("off the list of what is cut"), "{why}");
    }

    /// Catches: a kind of file that is lost, and one that is left out and comes along.
    #[test]
    fn sources_become_examples_and_files_that_are_left_out_do_not() {
        let parts = |file: &str| {
            let cuts = CUTS.iter().filter(|cut| cut.file == file);
            cuts.map(|cut| format!("{}\nfn {}() {{}}\n", cut.part, cut.part)).collect::<String>()
        };
        let named = CUTS.iter().map(|cut| cut.file).chain(FILES.iter().map(|(file, _)| *file));
        let named = named.map(|file| (file.to_owned(), parts(file).into_bytes()));
        let more = ["src/a.rs", "src/compile_fail/b.rs", "tests/c.rs", "benches/d.rs"];
        let more = more.map(|file| (file.to_owned(), b"/// ```\n/// e();\n/// ```\n".to_vec()));
        let made = tests(&named.chain(more).collect()).expect("all is there");
        let examples = String::from_utf8_lossy(&made["src/examples.rs"]);
        assert!(examples.contains("pub mod a_line_1 {}") && !examples.contains("b_line"));
        assert!(made.contains_key("src/compile_fail/b.rs") && made.contains_key("tests/c.rs"));
        assert!(made.keys().all(|name| is_taken(name) && !name.starts_with("benches/")));
    }

    /// Catches: a check of Sinew's iterators that has rayon's.
    #[test]
    fn only_our_side_has_our_iterators() {
        assert!(manifest(Side::Upstream).contains(&format!("rayon = \"={RAYON}\"")));
        assert!(manifest(Side::Ours).contains("shim' }"));
    }
}
