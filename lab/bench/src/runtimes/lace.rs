//! Lace, a work-stealing framework in C, from a checkout or an installation that the user names:
//! fib with its programming interface, built by gcc and by clang.
//!
//! Lace passes the head of its stack from call to call in a register, and gcc expands a recursion
//! several times, which clang does not. So the two compilers' programs differ as much as runtimes
//! do.

use super::process::{Rival, first_error};
use crate::problem::Runtime;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = include_str!("../../rivals/lace.c");

/// The file that Lace's own build writes, with its defaults: nothing is counted.
const CONFIG: &str = "#define LACE_PIE_TIMES 0\n#define LACE_COUNT_TASKS 0\n\
                      #define LACE_COUNT_STEALS 0\n#define LACE_COUNT_SPLITS 0\n";

/// The programs: a row's name, and the names of its compiler.
pub(crate) const PROGRAMS: [(&str, &[&str]); 2] = [
    ("lace gcc", &["gcc"]),
    (
        "lace clang",
        &["clang", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14"],
    ),
];

/// A copy of Lace.
#[derive(Debug)]
pub(crate) enum Lace {
    /// The folder of its sources.
    Checkout(PathBuf),
    /// The prefix of an installation.
    Installed(PathBuf),
}

impl Lace {
    /// The Lace at `path`.
    ///
    /// # Errors
    ///
    /// One line: there is none.
    pub(crate) fn at(path: &Path) -> Result<Self, String> {
        let sources = path.join("src");
        if sources.join("lace.c").is_file() && sources.join("lace.h").is_file() {
            Ok(Self::Checkout(sources))
        } else if path.join("include/lace.h").is_file() {
            Ok(Self::Installed(path.to_owned()))
        } else {
            Err(format!("no Lace in {}: neither src/lace.c nor include/lace.h", path.display()))
        }
    }

    /// Builds and starts the program of each compiler; in place of a program the reason why it is
    /// missing.
    pub(crate) fn start(&self) -> [Result<Rival, String>; 2] {
        PROGRAMS.map(|(name, compilers)| {
            self.start_one(name, compilers).map_err(|why| format!("{name}: {why}"))
        })
    }

    fn start_one(&self, name: &'static str, compilers: &[&str]) -> Result<Rival, String> {
        let compiler = compilers
            .iter()
            .find(|compiler| Command::new(compiler).arg("--version").output().is_ok())
            .ok_or_else(|| format!("no C compiler ({})", compilers[0]))?;
        let folder =
            tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
        let program = folder.path().join("lace");
        self.build(compiler, folder.path(), &program)?;
        Rival::run(Runtime::Lace, name, &program)
    }

    fn build(&self, compiler: &str, folder: &Path, program: &Path) -> Result<(), String> {
        for (name, text) in [("fib.c", SOURCE), ("lace_config.h", CONFIG)] {
            fs::write(folder.join(name), text)
                .map_err(|error| format!("cannot write {name}: {error}"))?;
        }
        let output = Command::new(compiler)
            .args(["-std=gnu11", "-O3", "-o"])
            .arg(program)
            .arg(folder.join("fib.c"))
            .args(self.flags(folder))
            .arg("-pthread")
            .output()
            .map_err(|error| format!("no C compiler ({compiler}): {error}"))?;
        if output.status.success() { Ok(()) } else { Err(first_error(compiler, &output.stderr)) }
    }

    /// Where the compiler finds its header and its library.
    fn flags(&self, config: &Path) -> Vec<OsString> {
        let folder = |flag: &str, path: &Path| {
            let mut flag = OsString::from(flag);
            flag.push(path);
            flag
        };
        match self {
            Self::Checkout(sources) => vec![
                folder("-I", sources),
                folder("-I", config),
                "-DLACE_USE_MMAP=1".into(),
                sources.join("lace.c").into(),
            ],
            Self::Installed(prefix) => vec![
                folder("-I", &prefix.join("include")),
                folder("-L", &prefix.join("lib")),
                "-llace".into(),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    //! Blind to: a Lace that computes something else; every run compares its results.
    use super::*;

    #[test]
    fn a_folder_without_lace_is_one_line_of_reason() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let why = Lace::at(folder.path()).expect_err("it is empty");
        assert!(!why.contains('\n') && why.contains("no Lace in"), "{why}");
    }

    #[test]
    fn a_checkout_has_sources_and_an_installation_a_header() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let touch = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "").expect("a file");
        };
        touch("include/lace.h");
        assert!(matches!(Lace::at(folder.path()), Ok(Lace::Installed(_))));
        ["src/lace.c", "src/lace.h"].iter().for_each(|name| touch(name));
        assert!(matches!(Lace::at(folder.path()), Ok(Lace::Checkout(_))));
    }
}
