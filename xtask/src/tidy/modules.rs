//! The modules of a crate and what they import from each other, read from the source.
//!
//! A module is a file. A path such as `crate::a::b::Name` leads to the file that defines `Name`:
//! through inline modules and through `pub use`. Tests import what they like, so modules under a
//! `cfg` that names `test` are left out.
//!
//! # Not handled
//!
//! Method calls and fields, which no path names; paths that a macro builds from parts.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, Meta, UseTree, Visibility};

use super::SourceFile;

/// The names from the root of a crate to a module; none for the root.
pub(super) type ModulePath = Vec<String>;

/// One module needs another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Import {
    pub(super) from: ModulePath,
    pub(super) to: ModulePath,
    /// The file of `from`, and the first line that names `to`.
    pub(super) file: String,
    pub(super) line: usize,
}

/// A path as it stands in the source.
struct Mention {
    module: ModulePath,
    segments: Vec<String>,
    line: usize,
}

/// The contents of one file.
#[derive(Default)]
struct Contents {
    mentions: Vec<Mention>,
    /// Names that `pub use` adds to a module, and the path that each stands for.
    exports: BTreeMap<(ModulePath, String), Vec<String>>,
    /// Modules that only tests compile.
    tests: BTreeSet<ModulePath>,
    /// Modules in files of their own or inline.
    modules: BTreeSet<ModulePath>,
}

/// The imports between the files of the crate whose sources lie below `folder`, each pair of
/// modules once.
///
/// # Errors
///
/// A file that is not Rust.
pub(super) fn imports(folder: &str, files: &[SourceFile]) -> Result<Vec<Import>, String> {
    let mut contents = Contents::default();
    let mut paths = BTreeMap::new();
    for file in files {
        let Some(inside) = file.path.strip_prefix(folder).and_then(|rest| rest.strip_suffix(".rs"))
        else {
            continue;
        };
        let module = module_of(inside);
        let parsed = syn::parse_file(&file.text).map_err(|why| format!("{}: {why}", file.path))?;
        contents.modules.insert(module.clone());
        paths.insert(module.clone(), file.path.clone());
        let mut reader = Reader { module, contents: &mut contents };
        reader.visit_file(&parsed);
    }
    Ok(resolve(&contents, &paths))
}

/// `a/b`, `a/b/mod` → `[a, b]`; `lib`, `main` → `[]`.
fn module_of(inside: &str) -> ModulePath {
    let mut names: ModulePath = inside.split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|last| last == "mod") || matches!(inside, "lib" | "main") {
        names.pop();
    }
    names
}

fn resolve(contents: &Contents, paths: &BTreeMap<ModulePath, String>) -> Vec<Import> {
    let is_test = |module: &[String]| contents.tests.iter().any(|test| module.starts_with(test));
    let mut found: BTreeMap<(ModulePath, ModulePath), (String, usize)> = BTreeMap::new();
    for mention in contents.mentions.iter().filter(|mention| !is_test(&mention.module)) {
        let Some(to) = target(contents, &mention.module, &mention.segments, 8) else { continue };
        let (from, to) = (file_of(paths, &mention.module), file_of(paths, &to));
        if from != to && !is_test(&to) {
            let place = (paths[&from].clone(), mention.line);
            let first = found.entry((from, to)).or_insert_with(|| place.clone());
            first.1 = first.1.min(place.1);
        }
    }
    let import = |((from, to), (file, line))| Import { from, to, file, line };
    found.into_iter().map(import).collect()
}

/// The innermost module around `module` that has a file.
fn file_of(paths: &BTreeMap<ModulePath, String>, module: &[String]) -> ModulePath {
    let lengths = (0..=module.len()).rev();
    lengths
        .map(|length| module[..length].to_vec())
        .find(|path| paths.contains_key(path))
        .unwrap_or_default()
}

/// The module that defines the last of `segments`, seen from `module`; `None` for what lies outside
/// of the crate.
fn target(
    contents: &Contents,
    module: &[String],
    segments: &[String],
    detours: usize,
) -> Option<ModulePath> {
    let (mut here, rest) = start(contents, module, segments)?;
    for (index, name) in rest.iter().enumerate() {
        let mut inner = here.clone();
        inner.push(name.clone());
        if contents.modules.contains(&inner) {
            here = inner;
        } else if let Some(export) = contents.exports.get(&(here.clone(), name.clone())) {
            let path: Vec<String> = export.iter().chain(&rest[index + 1..]).cloned().collect();
            let through =
                if detours == 0 { None } else { target(contents, &here, &path, detours - 1) };
            return Some(through.unwrap_or(here));
        } else {
            break;
        }
    }
    Some(here)
}

/// The module at which a path begins, and what follows.
fn start<'s>(
    contents: &Contents,
    module: &[String],
    segments: &'s [String],
) -> Option<(ModulePath, &'s [String])> {
    let mut here = module.to_vec();
    match segments.first()?.as_str() {
        "crate" => return Some((Vec::new(), &segments[1..])),
        "self" => return Some((here, &segments[1..])),
        "super" => {
            let ups = segments.iter().take_while(|name| *name == "super").count();
            here.truncate(here.len().checked_sub(ups)?);
            return Some((here, &segments[ups..]));
        }
        name => here.push(name.to_owned()),
    }
    contents.modules.contains(&here).then(|| (module.to_vec(), segments))
}

/// Walks through a file.
struct Reader<'c> {
    module: ModulePath,
    contents: &'c mut Contents,
}

impl Reader<'_> {
    fn mention(&mut self, segments: Vec<String>, line: usize) {
        // `crate` alone is the one of `pub(crate)` in a macro.
        if segments == ["crate"] {
            return;
        }
        self.contents.mentions.push(Mention { module: self.module.clone(), segments, line });
    }

    /// `crate::…` and `super::…` among the tokens of a macro call.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut line = 0;
        for tree in tokens {
            match tree {
                TokenTree::Ident(name) => {
                    let begins = name == "crate" || name == "super";
                    if begins && path.is_empty() {
                        line = name.span().start().line;
                    }
                    if begins || !path.is_empty() {
                        path.push(name.to_string());
                    }
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {}
                other => {
                    if !path.is_empty() {
                        self.mention(std::mem::take(&mut path), line);
                    }
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        if !path.is_empty() {
            self.mention(path, line);
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !attributes(item).iter().any(is_for_tests) || matches!(item, Item::Mod(_)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.module.push(item.ident.to_string());
        self.contents.modules.insert(self.module.clone());
        if item.attrs.iter().any(is_for_tests) {
            self.contents.tests.insert(self.module.clone());
        }
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_export = !matches!(item.vis, Visibility::Inherited);
        let mut leaves = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut leaves);
        let line = item.use_token.span.start().line;
        for (name, path) in leaves {
            if is_export {
                self.contents.exports.insert((self.module.clone(), name), path.clone());
            }
            self.mention(path, line);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(first) = path.segments.first().filter(|_| path.segments.len() > 1) {
            let segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.mention(segments, first.ident.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.tokens(call.tokens.clone());
    }
}

/// Every name that a `use` brings in, and its path.
fn flatten(tree: &UseTree, prefix: &mut Vec<String>, leaves: &mut Vec<(String, Vec<String>)>) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, leaves);
            prefix.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, leaves)),
        UseTree::Name(name) if name.ident == "self" => {
            leaves.push((prefix.last().cloned().unwrap_or_default(), prefix.clone()));
        }
        UseTree::Name(name) => {
            let path = prefix.iter().cloned().chain([name.ident.to_string()]).collect();
            leaves.push((name.ident.to_string(), path));
        }
        UseTree::Rename(rename) => {
            let path = prefix.iter().cloned().chain([rename.ident.to_string()]).collect();
            leaves.push((rename.rename.to_string(), path));
        }
        _ => leaves.push(("*".to_owned(), prefix.clone())),
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Fn(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        _ => &[],
    }
}

/// A `cfg` that names `test`, `loom` or `shuttle`, and does not say `not`.
fn is_for_tests(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    let text = list.tokens.to_string();
    let names =
        |word: &str| text.split(|mark: char| !mark.is_alphanumeric()).any(|part| part == word);
    let is_model = text == "loom" || text == "shuttle";
    list.path.is_ident("cfg") && (is_model || names("test") && !text.starts_with("not"))
}

#[cfg(test)]
mod tests {
    //! Blind to: method calls, fields, and names that a macro makes.
    use super::*;

    fn arrows(sources: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| SourceFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        let files: Vec<SourceFile> = sources.iter().map(file).collect();
        let arrow = |import: Import| {
            format!("{}->{}:{}", import.from.join("/"), import.to.join("/"), import.line)
        };
        imports("src/", &files).expect("the sources are Rust").into_iter().map(arrow).collect()
    }

    #[test]
    fn imports_lead_to_the_file_that_defines_the_name() {
        let sources = [
            ("src/lib.rs", "mod a;\nmod b;\npub use b::inner::Thing;\n"),
            ("src/a.rs", "use crate::Thing;\nfn f() { crate::b::g(); }\n"),
            ("src/b/mod.rs", "pub mod inner;\npub fn g() {}\n"),
            ("src/b/inner.rs", "pub struct Thing;\n"),
        ];
        assert_eq!(arrows(&sources), ["->b/inner:3", "a->b:2", "a->b/inner:1"]);
    }

    #[test]
    fn relative_paths_groups_globs_renames_and_macros_are_followed() {
        let sources = [
            ("src/lib.rs", "mod a;\nmod b;\n"),
            ("src/a/mod.rs", "mod c;\nuse super::b::{X as Y, self};\n"),
            ("src/a/c.rs", "use super::super::b::*;\nfn f() { println!(\"{}\", super::z()); }\n"),
            ("src/b.rs", "pub struct X;\n"),
        ];
        assert_eq!(arrows(&sources), ["a->b:2", "a/c->a:2", "a/c->b:1"]);
    }

    #[test]
    fn a_visibility_in_a_macro_is_no_import() {
        let sources = [
            ("src/lib.rs", "mod a;\nstruct X;\n"),
            ("src/a.rs", "make! { pub(crate) fn f() {} pub(super) fn g() { crate::h() } }\n"),
        ];
        assert_eq!(arrows(&sources), ["a->:1"]);
    }

    #[test]
    fn tests_import_what_they_like() {
        let sources = [
            ("src/lib.rs", "mod a;\nmod b;\n#[cfg(all(test, not(loom)))]\nmod checks;\n"),
            (
                "src/a.rs",
                "#[cfg(test)]\nmod tests {\n use crate::b::X;\n}\n#[cfg(test)]\nuse crate::b::Y;\n",
            ),
            ("src/b.rs", "#[cfg(not(test))]\nuse crate::a::Z;\n"),
            ("src/checks.rs", "use crate::a::Z;\n"),
        ];
        assert_eq!(arrows(&sources), ["b->a:2"]);
    }
}
