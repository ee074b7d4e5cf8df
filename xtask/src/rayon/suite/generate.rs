//! A workspace with rayon's sources and a package made of rayon-core's tests.
//!
//! rayon is copied unchanged: its tests are its own. The tests of rayon-core live inside of it. So
//! a package is made around them that offers the whole public interface as if it were its own:
//! there `crate::join` is `rayon_core::join`, and the test modules compile unchanged. The few
//! private helpers that they use are written anew, with the public interface.
//!
//! ```text
//! target/rayon/tests/ours/
//!   Cargo.toml   the workspace; for our side with the drop-in in the place of rayon-core
//!   rayon/       the published package
//!   core/        the tests, examples and `compile_fail` modules of rayon-core
//! ```

use super::super::files;
use super::super::side::Side;
use super::super::upstream::{self, Sources};
use super::{cut, examples};
use std::collections::BTreeMap;
use std::path::Path;

/// The package that is made around the tests of rayon-core.
pub(super) const CORE: &str = "rayon-core-tests";

/// The items besides the public interface that the test modules use, in its own words.
const HELPERS: &str = "
/// `registry::in_worker` runs a closure in the pool, as a scope does.
#[cfg(test)]
mod registry {
    pub fn in_worker<R: Send>(op: impl FnOnce(&(), bool) -> R + Send) -> R {
        rayon_core::scope(|_| op(&(), true))
    }
}

/// `unwind` wraps what the standard library has.
#[cfg(test)]
mod unwind {
    pub fn halt_unwinding<R>(op: impl FnOnce() -> R) -> std::thread::Result<R> {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(op))
    }
}
";

/// The tested crates are optimised a little, as in the workspace. The tests are not: their builds
/// take longer than they do.
pub(super) const PROFILE: &str =
    "[profile.dev]\ndebug = \"line-tables-only\"\n\n[profile.dev.package.\"*\"]\nopt-level = 1\n";

/// The libc dependency of the published manifest.
const LIBC: &str = "dev-dependencies.libc]\n";

pub(super) type Tree = BTreeMap<String, Vec<u8>>;

/// Lays the workspace out in `place`.
///
/// # Errors
///
/// The sources are not as expected, or something cannot be written.
pub(super) fn workspace(
    place: &Path,
    side: Side,
    version: &str,
    sources: &Sources,
) -> Result<(), String> {
    let manifest = format!(
        "[workspace]\nmembers = [\"rayon\", \"core\"]\nresolver = \"2\"\n\n{PROFILE}{}",
        upstream::patch(side)
    );
    files::put(&place.join("Cargo.toml"), manifest.as_bytes())?;
    files::lay_out(&place.join("rayon"), &published(files::tree(&sources.rayon)?))?;
    let core = core_package(&published(files::tree(&sources.rayon_core)?), version)?;
    files::lay_out(&place.join("core"), &core)
}

/// A published package without what cargo and its authors' tools keep beside the sources.
fn published(mut tree: Tree) -> Tree {
    tree.retain(|name, _| {
        !name.starts_with('.') && name != "Cargo.lock" && name != "Cargo.toml.orig"
    });
    tree
}

/// The package of rayon-core's tests, made from the published `tree`.
fn core_package(tree: &Tree, version: &str) -> Result<Tree, String> {
    let texts: BTreeMap<&str, &str> = tree
        .iter()
        .filter_map(|(name, bytes)| Some((name.as_str(), std::str::from_utf8(bytes).ok()?)))
        .collect();
    cut::check_files(&cut::CUTS, &texts.keys().copied().collect::<Vec<_>>())?;
    let mut made = Tree::new();
    for (&name, &text) in texts.iter().filter(|(name, _)| is_test(name)) {
        made.insert(name.to_owned(), cut::apply(&cut::CUTS, name, text)?.into_bytes());
    }
    let documented = texts.iter().filter(|(name, _)| name.starts_with("src/") && !is_test(name));
    let examples = examples::module(documented.map(|(name, text)| (*name, *text)));
    made.insert("src/examples.rs".to_owned(), examples.into_bytes());
    made.insert("src/lib.rs".to_owned(), library(&made).into_bytes());
    let theirs = texts.get("Cargo.toml").ok_or("rayon-core has no manifest")?;
    made.insert("Cargo.toml".to_owned(), manifest(theirs, version)?.into_bytes());
    Ok(made)
}

/// Whether the package of tests takes a file unchanged.
fn is_test(name: &str) -> bool {
    name.starts_with("tests/")
        || name.starts_with("src/compile_fail/")
        || name.ends_with("/test.rs")
}

/// The root of the package, with the test modules that are in `made`.
fn library(made: &Tree) -> String {
    let mut text = "//! Generated: the tests of rayon-core, for the rayon-core that this is built \
                    with.\n\
                    #![allow(warnings)]\n\npub use rayon_core::*;\n\npub mod examples;\nmod \
                    compile_fail;\n"
        .to_owned();
    for name in made.keys() {
        let inner = name.strip_prefix("src/").and_then(|name| name.strip_suffix("/test.rs"));
        if let Some(module) = inner {
            // `super::*` in a test module means the module that it tests: that, too, is the public
            // interface.
            text.push_str(&format!(
                "#[cfg(test)]\nmod {module} {{\n    use crate::*;\n    mod test;\n}}\n"
            ));
        } else if name == "src/test.rs" {
            text.push_str("#[cfg(test)]\nmod test;\n");
        }
    }
    text + HELPERS
}

/// The published manifest with another name, and with rayon-core as a dependency.
fn manifest(theirs: &str, version: &str) -> Result<String, String> {
    let mut text = theirs.to_owned();
    for (from, to) in [
        ("name = \"rayon-core\"", "name = \"rayon-core-tests\""),
        ("name = \"rayon_core\"", "name = \"rayon_core_tests\""),
        ("build = \"build.rs\"\n", "build = false\n"),
        ("links = \"rayon-core\"\n", ""),
        ("readme = \"README.md\"\n", ""),
        // The versions of rayon's own dependencies. With another set of features cargo would build
        // everything once for both packages and once more for each.
        (LIBC, "dev-dependencies.libc]\ndefault-features = false\n"),
    ] {
        if text.matches(from).count() != 1 {
            return Err(format!(
                "the manifest of rayon-core does not say `{}` once",
                from.trim_end()
            ));
        }
        text = text.replace(from, to);
    }
    Ok(format!("{text}\n[dependencies.rayon-core]\nversion = \"={version}\"\n"))
}

#[cfg(test)]
mod tests {
    //! Blind to: whether what is made compiles, which the command itself meets.
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"rayon-core\"\nbuild = \"build.rs\"\n\
                            links = \"rayon-core\"\n\
                            readme = \"README.md\"\n\n[lib]\nname = \"rayon_core\"\n\n\
                            [dev-dependencies.libc]\nversion = \"0.2\"\n";

    fn tree(files: &[(&str, &str)]) -> Tree {
        files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn the_manifest_changes_its_name_and_takes_a_dependency() {
        let made = manifest(MANIFEST, "1.13.100").expect("this manifest is known");
        assert!(made.contains("name = \"rayon-core-tests\"\nbuild = false\n\n[lib]"), "{made}");
        assert!(made.ends_with("[dependencies.rayon-core]\nversion = \"=1.13.100\"\n"), "{made}");
        assert!(manifest(&MANIFEST.replace("links", "lynx"), "1").is_err());
    }

    #[test]
    fn test_modules_are_children_of_modules_that_show_the_public_interface() {
        let made =
            library(&tree(&[("src/join/test.rs", ""), ("src/test.rs", ""), ("tests/a.rs", "")]));
        assert!(made.contains("mod join {\n    use crate::*;\n    mod test;\n}"), "{made}");
        assert!(made.contains("#[cfg(test)]\nmod test;\n") && !made.contains("mod a"), "{made}");
    }

    #[test]
    fn private_modules_do_not_come_along() {
        let pool = "fn workers_stop() {}\nfn sleeper_stop() {}\n";
        let files = [
            ("Cargo.toml", MANIFEST),
            ("src/registry.rs", "/// ```\n/// f();\n/// ```\nfn f() {}\n"),
            ("src/compile_fail/mod.rs", ""),
            ("src/thread_pool/test.rs", pool),
        ];
        let made = core_package(&tree(&files), "1.13.0").expect("this package is known");
        let names: Vec<&str> = made.keys().map(String::as_str).collect();
        let wanted = ["Cargo.toml", "src/compile_fail/mod.rs", "src/examples.rs", "src/lib.rs"];
        assert_eq!(names[..4], wanted);
        assert_eq!(names[4..], ["src/thread_pool/test.rs"]);
        assert!(core_package(&tree(&files[..3]), "1.13.0").is_err(), "what is cut must be there");
    }

    #[test]
    fn what_tools_keep_beside_the_sources_is_left_behind() {
        let all = tree(&[
            (".cargo-ok", ""),
            ("Cargo.lock", ""),
            ("Cargo.toml.orig", ""),
            ("src/lib.rs", ""),
        ]);
        assert_eq!(published(all), tree(&[("src/lib.rs", "")]));
    }
}
