//! The packages: a line each, with and without a library.

use super::build::Folder;
use crate::command;
use std::fs;
use std::path::{Path, PathBuf};

/// The features of `sinew` that a program may want.
const FEATURES: [&str; 6] =
    ["coordinate", "csv", "experiments", "locality", "profile", "transactions"];

/// The release of rayon beside which Sinew is measured.
const RAYON: &str = "=1.12.0";

/// The loop, with the names of both libraries.
const PARALLEL: &str = "v.par_iter().for_each(|x| println!(\"{x}\"));";

/// The call in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    ForEach,
    Join,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Library {
    None,
    Sinew,
    Rayon,
    DropIn,
}

/// A package.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) call: Call,
    library: Library,
    /// A feature of `sinew`. The program does not call what it adds.
    feature: Option<&'static str>,
}

/// Where the packages are that one is compared with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base {
    /// The same line without a library.
    pub(super) plain: usize,
    pub(super) rayon: usize,
}

impl Base {
    /// Those for `call`, or for a loop where there are none.
    pub(super) fn of(programs: &[&Program], call: Call) -> Self {
        let at = |library| {
            let is_one = |program: &&Program| program.library == library && program.call == call;
            programs.iter().position(is_one).unwrap_or(0)
        };
        Self { plain: at(Library::None), rayon: at(Library::Rayon) }
    }
}

/// Every package, the compared ones first.
pub(super) fn all() -> Vec<Program> {
    let mut all = Vec::new();
    for (call, word) in [(Call::ForEach, "for_each"), (Call::Join, "join")] {
        for (library, name) in [
            (Library::None, "none"),
            (Library::Sinew, "sinew"),
            (Library::Rayon, "rayon"),
            (Library::DropIn, "drop-in"),
        ] {
            all.push(Program { name: format!("{name}, {word}"), call, library, feature: None });
        }
    }
    all.extend(FEATURES.map(|feature| Program {
        name: format!("sinew, {feature}"),
        call: Call::ForEach,
        library: Library::Sinew,
        feature: Some(feature),
    }));
    all
}

impl Program {
    /// Whether others are compared with this one.
    pub(super) fn is_base(&self) -> bool {
        matches!(self.library, Library::None | Library::Rayon)
    }

    pub(super) fn is_named(&self, part: Option<&str>) -> bool {
        part.is_none_or(|part| self.name.contains(part))
    }

    /// Writes the package below `place`.
    pub(super) fn lay_out(&self, place: &Path) -> Result<Folder, String> {
        let folder = place.join(self.name.replace(", ", "-"));
        let cannot = |what: &Path, error| format!("cannot write {}: {error}", what.display());
        let source = folder.join("src");
        fs::create_dir_all(&source).map_err(|error| cannot(&source, error))?;
        for (name, text) in [("Cargo.toml", self.manifest()), ("src/main.rs", self.source())] {
            let file = folder.join(name);
            fs::write(&file, text).map_err(|error| cannot(&file, error))?;
        }
        // The releases of other packages that the repository uses, here as well.
        let lock = folder.join("Cargo.lock");
        fs::copy(command::root().join("Cargo.lock"), &lock)
            .map_err(|error| cannot(&lock, error))?;
        Ok(Folder { path: folder, name: self.name.clone(), library: self.folder() })
    }

    /// The package of this repository on which it is built.
    fn folder(&self) -> Option<PathBuf> {
        match self.library {
            Library::None | Library::Rayon => None,
            Library::Sinew => Some(command::root().join("crates").join("sinew")),
            Library::DropIn => Some(command::root().join(command::DROP_IN)),
        }
    }

    fn manifest(&self) -> String {
        let library = self.folder().map_or(String::new(), |folder| quoted(&folder));
        let features = self.feature.map_or(String::new(), |name| format!("\"{name}\""));
        let rayon = format!("rayon = \"{RAYON}\"\n");
        let dependencies = match self.library {
            Library::None => String::new(),
            Library::Sinew => {
                format!("sinew = {{ path = {library}, features = [{features}] }}\n")
            }
            Library::Rayon => rayon,
            Library::DropIn => {
                format!("{rayon}\n[patch.crates-io]\nrayon-core = {{ path = {library} }}\n")
            }
        };
        // A workspace of its own, so that cargo does not look for one above it.
        format!(
            "[package]\nname = \"one\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\n{dependencies}"
        )
    }

    fn source(&self) -> String {
        let (import, call) = match (self.call, self.library) {
            (Call::ForEach, Library::None) => ("", "v.iter().for_each(|x| println!(\"{x}\"));"),
            (Call::ForEach, Library::Sinew) => ("use sinew::prelude::*;\n", PARALLEL),
            (Call::ForEach, _) => ("use rayon::prelude::*;\n", PARALLEL),
            (Call::Join, Library::None) => {
                ("", "println!(\"{}\", v[0]);\n    println!(\"{}\", v[1]);")
            }
            (Call::Join, Library::Sinew) => {
                ("", "sinew::join(|| println!(\"{}\", v[0]), || println!(\"{}\", v[1]));")
            }
            (Call::Join, _) => {
                ("", "rayon::join(|| println!(\"{}\", v[0]), || println!(\"{}\", v[1]));")
            }
        };
        format!("{import}fn main() {{\n    let v = vec![1_u64, 2, 3];\n    {call}\n}}\n")
    }
}

/// A path as a string of TOML.
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a feature that was added or renamed, and is not measured.
    #[test]
    fn every_feature_of_the_library_is_measured() {
        let manifest = fs::read_to_string(command::root().join("crates/sinew/Cargo.toml")).unwrap();
        let features = manifest.split("[features]").nth(1).unwrap().split("\n[").next().unwrap();
        let names = features.lines().filter(|line| !line.starts_with('#'));
        let names = names.filter_map(|line| Some(line.split_once(" = ")?.0));
        assert!(names.filter(|name| *name != "shuttle").eq(FEATURES));
    }

    /// Catches: packages that share a folder, and calls without a base.
    #[test]
    fn every_package_has_a_name_of_its_own_and_a_base_for_its_call() {
        let all = all();
        let names: std::collections::BTreeSet<&str> =
            all.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        let all: Vec<&Program> = all.iter().collect();
        for program in &all {
            let base = Base::of(&all, program.call);
            for (at, library) in [(base.plain, Library::None), (base.rayon, Library::Rayon)] {
                assert_eq!((all[at].call, all[at].library), (program.call, library));
            }
        }
    }
}
