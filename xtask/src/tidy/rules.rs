//! The rules, each a function from a file to the lines that break it.
//!
//! | rule | why |
//! |---|---|
//! | `length` | a file holds one mechanism, in at most 600 lines |
//! | `header` | `//!` tells what a file contains |
//! | `safety` | an `unsafe` block without its proof is a guess |
//! | `forbids_unsafe` | `unsafe` lives in few crates, and the others say so |
//! | `facade` | atomics come from `sinew-sync`, so that models see them |
//! | `callers` | a panic about an argument names the line of the caller |
//! | `words` | what is not finished is not merged |
//! | `tests` | a test waits for a latch, never for a clock, and always runs |

use super::{Finding, SourceFile};

/// Lines a file may have.
const MOST_LINES: usize = 600;

/// Lines above an `unsafe` in which its proof may stand.
const PROOF_REACH: usize = 12;

/// Crates that may contain `unsafe`, and so cannot forbid it.
const UNSAFE_CRATES: [&str; 11] = [
    "sinew-sync",
    "sinew-deque",
    "sinew-core",
    "sinew-locality",
    "sinew-loops",
    "sinew-stm",
    "sinew-topology",
    "sinew-coord",
    "sinew-preload",
    "sinew-exec",
    "sinew-c",
];

/// A program that brings its own allocator.
const UNSAFE_PROGRAM: &str = "lab/bench/rayon/src/main.rs";

// Spelled in two halves, so that this file keeps its own rules.
const ATOMICS: [&str; 2] = [concat!("std::sync::", "atomic"), concat!("core::sync::", "atomic")];
const GROUPED_IMPORT: &str = concat!("use std::", "sync::{");
const UNFINISHED: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
const SLEEP: &str = concat!("thread::", "sleep");
const IGNORE: &str = concat!("#[", "ignore");
const UNSAFE_FORMS: [&str; 3] =
    [concat!("unsafe", " {"), concat!("unsafe", " impl"), concat!("unsafe", " extern")];

/// Above a function without `#[track_caller]` whose panics are about its arguments: why not.
const NO_CALLER: &str = "// Not track_caller: ";
/// Beginnings and ends of a condition in `# Panics` that is about a user's closure.
const PASSED_ON: [&[&str]; 2] = [
    &["As ", "With the payload", "A panic of ", "The caller does not"],
    &[" panics", " panic", " does"],
];

/// Everything that is wrong with `file`.
pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let mut found = Vec::new();
    length(file, &mut found);
    words(file, &mut found);
    if file.path.ends_with(".rs") {
        header(file, &mut found);
        safety(file, &mut found);
        forbids_unsafe(file, &mut found);
        facade(file, &mut found);
        callers(file, &mut found);
        tests(file, &mut found);
    }
    found
}

/// The lines of a file with their numbers, from 1.
fn lines(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    file.text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// The same without comments.
fn code(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    lines(file).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn report(found: &mut Vec<Finding>, line: usize, what: impl Into<String>) {
    found.push(Finding { line, what: what.into() });
}

fn length(file: &SourceFile, found: &mut Vec<Finding>) {
    let count = file.text.lines().count();
    if count > MOST_LINES && !file.path.ends_with(".md") {
        report(found, count, format!("{count} lines, at most {MOST_LINES}: split it by mechanism"));
    }
}

fn header(file: &SourceFile, found: &mut Vec<Finding>) {
    // Attributes of the crate may stand before its header.
    let first = lines(file).find(|(_, line)| !line.trim().is_empty() && !line.starts_with("#!["));
    if !first.is_some_and(|(_, line)| line.starts_with("//!")) {
        report(
            found,
            first.map_or(1, |(number, _)| number),
            "no `//!` header: say what the file contains",
        );
    }
}

fn safety(file: &SourceFile, found: &mut Vec<Finding>) {
    let all: Vec<&str> = file.text.lines().collect();
    for (number, line) in code(file) {
        let reach = number.saturating_sub(PROOF_REACH + 1);
        let proved = || all[reach..number].iter().any(|line| line.contains("SAFETY"));
        if UNSAFE_FORMS.iter().any(|form| line.contains(form)) && !proved() {
            report(found, number, "`unsafe` without a `SAFETY` comment above it");
        }
    }
}

fn forbids_unsafe(file: &SourceFile, found: &mut Vec<Finding>) {
    let crate_root = file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs");
    let is_exempt_crate =
        UNSAFE_CRATES.iter().any(|name| file.path == format!("crates/{name}/src/lib.rs"));
    let exempt = is_exempt_crate || file.path == UNSAFE_PROGRAM;
    if crate_root && !exempt && !file.text.contains("#![forbid(unsafe_code)]") {
        report(found, 1, "this crate has no `unsafe`: say `#![forbid(unsafe_code)]`");
    }
}

fn facade(file: &SourceFile, found: &mut Vec<Finding>) {
    // A model has its own counters outside the world that it models. An integration test or an
    // example is a user's program, and so is what `lab/bench/rayon` measures: it is built without
    // Sinew as well.
    let users = ["/tests/", "/examples/"].iter().any(|folder| file.path.contains(folder))
        || file.path.starts_with("lab/bench/rayon/");
    let is_model = ["/models.rs", "/loom.rs"].iter().any(|name| file.path.ends_with(name));
    let outside = is_model || users;
    // The library that is loaded into other people's programs is built without any other crate.
    let preloaded = file.path.starts_with("crates/sinew-preload/");
    if outside || preloaded || file.path.starts_with("crates/sinew-sync/") {
        return;
    }
    for (number, line) in code(file) {
        let nested = line.contains(GROUPED_IMPORT) && line.contains("atomic");
        if nested || ATOMICS.iter().any(|path| line.contains(path)) {
            report(
                found,
                number,
                "atomics come from `sinew_sync::atomic`, so that models see them",
            );
        }
    }
}

/// Public functions whose documentation says that they panic, and that hide the caller's line.
fn callers(file: &SourceFile, found: &mut Vec<Finding>) {
    let is_library = ["crates/", "compat/"].iter().any(|folder| file.path.starts_with(folder));
    if !is_library || file.path.contains("/tests/") {
        return;
    }
    let (mut panics, mut inside, mut excused) = (String::new(), false, false);
    for (number, line) in lines(file) {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("///").map(str::trim) {
            if text.starts_with('#') || text.starts_with("```") {
                inside = text == "# Panics";
            } else if inside {
                panics.extend([text, " "]);
            }
            continue;
        }
        inside = false;
        if line.starts_with("#[") || line.starts_with("//") {
            excused |= line.contains("track_caller]") || line.starts_with(NO_CALLER);
            continue;
        }
        let is_public = ["pub fn ", "pub const fn ", "pub unsafe fn "];
        let is_public = is_public.iter().any(|start| line.starts_with(start));
        if is_public && !excused && is_about_arguments(&panics) {
            let what = "it panics by its arguments or place: add `#[track_caller]`, or say why not";
            report(found, number, format!("{what} (`{NO_CALLER}…`)"));
        }
        panics.clear();
        excused = false;
    }
}

/// Whether the first condition of a section `# Panics` is about the function's arguments or the
/// place of its call, and not about a closure that it calls.
fn is_about_arguments(panics: &str) -> bool {
    let condition = panics.trim_start().split([',', ';', '.']).next().unwrap_or_default();
    let [starts, ends] = PASSED_ON;
    let is_passed_on = starts.iter().any(|start| condition.starts_with(start))
        || ends.iter().any(|end| condition.ends_with(end));
    !condition.is_empty() && !is_passed_on
}

fn words(file: &SourceFile, found: &mut Vec<Finding>) {
    for (number, line) in lines(file) {
        for word in UNFINISHED.iter().filter(|word| line.contains(**word)) {
            report(
                found,
                number,
                format!("`{word}`: finish it, or write down why it is not needed"),
            );
        }
    }
}

fn tests(file: &SourceFile, found: &mut Vec<Finding>) {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let mut testing = file.path.contains("/tests/")
        || matches!(name, "test.rs" | "tests.rs" | "models.rs" | "loom.rs");
    for (number, line) in code(file) {
        // By convention tests stand at the end of a file, so everything below this line is one.
        testing |= line.trim_start().starts_with("#[cfg(test)]");
        if testing && line.contains(SLEEP) {
            report(found, number, "a test that sleeps: wait for a latch or a hook");
        }
        if line.contains(IGNORE) {
            report(found, number, "an ignored test: print `skipped: reason` where it cannot run");
        }
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: `unsafe` and atomics that a macro spells, since rules look at lines; panics by
    //! arguments that `# Panics` names after those of closures.
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        check(&file)
            .into_iter()
            .map(|finding| format!("{}: {}", finding.line, finding.what))
            .collect()
    }

    #[track_caller]
    fn one(path: &str, text: &str, start: &str) {
        let found = findings(path, text);
        assert!(found.len() == 1 && found[0].starts_with(start), "{found:?}");
    }

    #[test]
    fn a_tidy_file_has_no_findings() {
        assert_eq!(findings("crates/a/src/b.rs", "//! A file.\n\nfn f() {}\n"), [""; 0]);
    }

    #[test]
    fn a_file_of_six_hundred_and_one_lines_is_too_long() {
        one("crates/a/src/b.rs", &format!("//! A file.\n{}", "\n".repeat(600)), "601: 601 lines");
        assert_eq!(
            findings("crates/a/src/b.rs", &format!("//! A file.\n{}", "\n".repeat(599))),
            [""; 0]
        );
    }

    #[test]
    fn a_header_may_follow_attributes_but_not_code() {
        assert_eq!(findings("a/src/lib.rs", "#![forbid(unsafe_code)]\n//! A crate.\n"), [""; 0]);
        one("a/src/b.rs", "use a::b;\n//! Late.\n", "1: no `//!` header");
    }

    #[test]
    fn an_unsafe_block_needs_its_proof_nearby() {
        let block = format!("let x = {} f() }};\n", UNSAFE_FORMS[0]);
        one("a/src/b.rs", &format!("//! A file.\n{block}"), "2: `unsafe`");
        assert_eq!(
            findings("a/src/b.rs", &format!("//! A file.\n// SAFETY: by I1.\n{block}")),
            [""; 0]
        );
        let far = "\n".repeat(PROOF_REACH + 1);
        one("a/src/b.rs", &format!("//! A file.\n// SAFETY: by I1.{far}{block}"), "15: `unsafe`");
    }

    #[test]
    fn a_crate_without_unsafe_says_so() {
        one("crates/sinew/src/lib.rs", "//! A crate.\n", "1: this crate has no `unsafe`");
        assert_eq!(findings("crates/sinew-core/src/lib.rs", "//! A crate.\n"), [""; 0]);
    }

    #[test]
    fn atomics_are_named_in_the_facade_only() {
        let direct = format!("//! A file.\nuse {}::AtomicU8;\n", ATOMICS[0]);
        for checked in ["crates/sinew-core/src/b.rs", "crates/sinew-core/src/bloom.rs"] {
            one(checked, &direct, "2: atomics come from");
        }
        for allowed in [
            "crates/sinew-sync/src/b.rs",
            "a/src/c/models.rs",
            "a/src/c/loom.rs",
            "a/tests/b.rs",
            "lab/bench/rayon/src/b.rs",
        ] {
            assert_eq!(findings(allowed, &direct), [""; 0]);
        }
        let grouped = format!("//! A file.\n{GROUPED_IMPORT}Arc, atomic::AtomicU8}};\n");
        one("a/src/b.rs", &grouped, "2: atomics");
        assert_eq!(
            findings("a/src/b.rs", &format!("//! A file.\n/// Like {}.\n", ATOMICS[0])),
            [""; 0]
        );
    }

    #[test]
    fn a_panic_by_an_argument_names_the_line_of_the_caller() {
        let path = "crates/a/src/b.rs";
        let function = |section: &str, above: &str| {
            let heading = "//! A file.\n/// Does.\n///\n/// # Panics\n///\n";
            format!("{heading}{section}\n{above}pub fn f() {{}}\n")
        };
        let argument = "/// If `n` is 0.\n///\n/// # Cost\n///\n/// None.";
        one(path, &function(argument, ""), "11: it panics by its arguments");
        one(path, &function(argument, "#[inline]\n"), "12: it panics by its arguments");
        for excuse in
            ["#[track_caller]\n", "#[inline]\n#[track_caller]\n", "// Not track_caller: x\n"]
        {
            assert_eq!(findings(path, &function(argument, excuse)), [""; 0]);
        }
        for passed_on in ["If `f` panics, with its payload.", "If `f` does.", "As [`g`]."] {
            assert_eq!(findings(path, &function(&format!("/// {passed_on}"), "")), [""; 0]);
        }
        assert_eq!(findings("lab/a/src/b.rs", &function(argument, "")), [""; 0]);
        assert_eq!(findings("crates/a/tests/b.rs", &function(argument, "")), [""; 0]);
    }

    #[test]
    fn unfinished_work_is_found_in_every_kind_of_file() {
        one("a.md", &format!("{}: later\n", UNFINISHED[0]), "1: `");
        one("a/src/b.rs", &format!("//! A file.\n// {}\n", UNFINISHED[1]), "2: `");
    }

    #[test]
    fn a_test_may_not_sleep_but_a_program_may() {
        let sleep = format!("fn f() {{ std::{SLEEP}(D) }}\n");
        assert_eq!(findings("a/src/b.rs", &format!("//! A file.\n{sleep}")), [""; 0]);
        for test in ["a/tests/b.rs", "a/src/c/loom.rs"] {
            one(test, &format!("//! A file.\n{sleep}"), "2: a test that sleeps");
        }
        one(
            "a/src/b.rs",
            &format!("//! A file.\n#[cfg(test)]\nmod tests {{\n{sleep}}}\n"),
            "4: a test that sleeps",
        );
    }

    #[test]
    fn an_ignored_test_is_found() {
        one("a/src/b.rs", &format!("//! A file.\n{IGNORE}]\nfn f() {{}}\n"), "2: an ignored test");
    }
}
