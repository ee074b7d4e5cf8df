//! Counts that only fall: what is not yet as it should be, for each part of the project, in
//! `xtask/tidy-counts.txt`.
//!
//! More findings than the file allows are an error, and so are fewer, until the file says so: else
//! they could come back unseen.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::{Finding, SourceFile, circles, modules, prose};

/// The file with the counts, relative to the root.
const FILE: &str = "xtask/tidy-counts.txt";

/// A finding and its file.
type Located = (String, Finding);

/// Something that is counted.
struct Rule {
    name: &'static str,
    find: fn(&[SourceFile]) -> Result<Vec<Located>, String>,
}

const RULES: [Rule; 4] = [
    Rule { name: "imports", find: upward_imports },
    Rule { name: "columns", find: |files| Ok(in_each(files, prose::long_lines)) },
    Rule { name: "words", find: |files| Ok(in_each(files, prose::long_sentences)) },
    Rule { name: "clauses", find: |files| Ok(in_each(files, prose::clauses_as_subjects)) },
];

/// A rule and a part of the project.
type Key = (String, String);

/// Holds the findings against the counts of the file.
///
/// # Errors
///
/// The counts that have risen or fallen, one a line.
pub(super) fn check(root: &Path, files: &[SourceFile]) -> Result<(), String> {
    let allowed = read(root)?;
    let found = tally(files)?;
    let mut wrong = String::new();
    for key in allowed.keys().chain(found.keys().filter(|key| !allowed.contains_key(*key))) {
        let (limit, count) =
            (allowed.get(key).copied().unwrap_or(0), found.get(key).map_or(0, Vec::len));
        let (rule, part) = key;
        if count > limit {
            let _ = write!(
                wrong,
                "\n{part}: {count} findings of `{rule}`, at most {limit}: `cargo xtask tidy \
                 --show {rule} {part}` lists them"
            );
        } else if count < limit {
            let _ = write!(
                wrong,
                "\n{part}: {count} findings of `{rule}` instead of {limit}: `cargo xtask tidy \
                 --lower` notes it"
            );
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{FILE}:{wrong}")) }
}

/// Writes the counts that have fallen.
///
/// # Errors
///
/// A file that cannot be read or written.
pub(super) fn lower(root: &Path, files: &[SourceFile]) -> Result<(), String> {
    let (allowed, found) = (read(root)?, tally(files)?);
    let mut text = String::new();
    for (key, limit) in &allowed {
        let count = found.get(key).map_or(0, Vec::len).min(*limit);
        if count > 0 {
            let _ = writeln!(text, "{} {} {count}", key.0, key.1);
        }
    }
    std::fs::write(root.join(FILE), text).map_err(|why| format!("cannot write {FILE}: {why}"))
}

/// Prints the findings of the rule called `name` in `part`.
///
/// # Errors
///
/// A rule that does not exist.
pub(super) fn show(files: &[SourceFile], name: &str, part: &str) -> Result<(), String> {
    let names = || RULES.map(|rule| rule.name).join(", ");
    let rule = RULES.iter().find(|rule| rule.name == name);
    let rule =
        rule.ok_or_else(|| format!("unknown count `{name}`; expected one of: {}", names()))?;
    for (path, finding) in
        (rule.find)(files)?.into_iter().filter(|(path, _)| path.starts_with(part))
    {
        println!("{path}:{}: {}", finding.line, finding.what);
    }
    Ok(())
}

fn tally(files: &[SourceFile]) -> Result<BTreeMap<Key, Vec<Located>>, String> {
    let mut found: BTreeMap<Key, Vec<Located>> = BTreeMap::new();
    for rule in &RULES {
        for located in (rule.find)(files)? {
            found.entry((rule.name.to_owned(), part_of(&located.0))).or_default().push(located);
        }
    }
    Ok(found)
}

/// The crate or document that a file belongs to.
fn part_of(path: &str) -> String {
    let nested = ["crates/", "lab/", "compat/"].iter().any(|folder| path.starts_with(folder));
    let depth = if nested { 2 } else { 1 };
    path.split('/').take(depth).collect::<Vec<_>>().join("/")
}

fn in_each(files: &[SourceFile], find: fn(&SourceFile) -> Vec<Finding>) -> Vec<Located> {
    let is_prose = |file: &&SourceFile| file.path.ends_with(".rs") || file.path.ends_with(".md");
    let located = |file: &SourceFile| {
        let path = file.path.clone();
        find(file).into_iter().map(move |finding| (path.clone(), finding)).collect::<Vec<_>>()
    };
    files.iter().filter(is_prose).flat_map(located).collect()
}

/// Imports that point up or lie on a circle across folders, in every crate.
fn upward_imports(files: &[SourceFile]) -> Result<Vec<Located>, String> {
    let roots = files.iter().filter_map(|file| {
        let folder =
            file.path.strip_suffix("lib.rs").or_else(|| file.path.strip_suffix("main.rs"))?;
        folder.ends_with("src/").then(|| folder.to_owned())
    });
    let mut found = Vec::new();
    for folder in roots.collect::<std::collections::BTreeSet<String>>() {
        let imports = modules::imports(&folder, files)?;
        for import in circles::offending(&imports) {
            let name = |path: &[String]| {
                if path.is_empty() { "the root".to_owned() } else { path.join("::") }
            };
            let what = format!(
                "{} imports {}, which leads back to it",
                name(&import.from),
                name(&import.to)
            );
            found.push((import.file.clone(), Finding { line: import.line, what }));
        }
    }
    Ok(found)
}

fn read(root: &Path) -> Result<BTreeMap<Key, usize>, String> {
    let text = std::fs::read_to_string(root.join(FILE))
        .map_err(|why| format!("cannot read {FILE}: {why}"))?;
    text.lines()
        .map(|line| parse(line).ok_or_else(|| format!("{FILE}: not `RULE PART COUNT`: `{line}`")))
        .collect()
}

fn parse(line: &str) -> Option<(Key, usize)> {
    let mut words = line.split(' ');
    let key = (words.next()?.to_owned(), words.next()?.to_owned());
    let count = words.next()?.parse().ok()?;
    words.next().is_none().then_some((key, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planted(up: bool) -> Vec<SourceFile> {
        let file =
            |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let below = if up { "use crate::above::X;\n" } else { "" };
        vec![
            file("crates/a/src/lib.rs", "mod above;\nmod below;\n"),
            file("crates/a/src/above.rs", "use crate::below::Y;\npub struct X;\n"),
            file("crates/a/src/below.rs", &format!("{below}pub struct Y;\n")),
        ]
    }

    #[test]
    fn a_planted_import_that_points_up_is_counted_with_the_one_that_it_ties() {
        let count = |up| {
            tally(&planted(up))
                .expect("Rust")
                .get(&("imports".to_owned(), "crates/a".to_owned()))
                .map_or(0, Vec::len)
        };
        assert_eq!((count(false), count(true)), (0, 2));
    }

    #[test]
    fn counts_that_rise_or_fall_are_errors_and_only_falling_ones_are_noted() {
        let root = std::env::temp_dir().join(format!("tidy-counts-{}", std::process::id()));
        std::fs::create_dir_all(root.join("xtask")).expect("a folder");
        let set = |text: &str| std::fs::write(root.join(FILE), text).expect("a file");
        let files = planted(true);
        set("");
        assert!(
            check(&root, &files)
                .expect_err("it has risen")
                .contains("crates/a: 2 findings of `imports`, at most 0")
        );
        lower(&root, &files).expect("written");
        assert!(check(&root, &files).is_err(), "a risen count is not noted");
        set("imports crates/a 3\n");
        assert!(check(&root, &files).expect_err("it has fallen").contains("instead of 3"));
        lower(&root, &files).expect("written");
        check(&root, &files).expect("as noted");
        std::fs::remove_dir_all(&root).expect("removed");
    }

    #[test]
    fn parts_are_crates_folders_and_documents() {
        assert_eq!(part_of("crates/a/src/b.rs"), "crates/a");
        assert_eq!(part_of("lab/bench/src/b.rs"), "lab/bench");
        assert_eq!(part_of("README.md"), "README.md");
    }
}
