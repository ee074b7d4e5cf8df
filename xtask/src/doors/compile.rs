//! Compilers of this machine, and programs from their source to their exit status.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command;

/// A language: its compilers, and the flags of every program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Language {
    pub(super) name: &'static str,
    /// Compilers by the names under which distributions install them.
    compilers: &'static [&'static str],
    pub(super) flags: &'static [&'static str],
}

const STRICT: [&str; 5] = ["-O2", "-Wall", "-Wextra", "-Werror", "-pedantic"];

pub(super) const C: Language =
    Language { name: "C", compilers: &["gcc", "clang"], flags: &["-std=c99"] };

pub(super) const CPP: Language =
    Language { name: "C++", compilers: &["g++", "clang++"], flags: &["-std=c++17"] };

impl Language {
    /// The compilers that are installed, each also by a name with a version (`clang-14`).
    pub(super) fn installed(self) -> Vec<String> {
        let versions = |name: &&str| {
            let numbered = (9..40).rev().map(|number| format!("{name}-{number}"));
            let mut names = std::iter::once((*name).to_owned()).chain(numbered);
            names.find(|name| starts(name))
        };
        self.compilers.iter().filter_map(versions).collect()
    }
}

/// Whether a program can be started.
pub(super) fn starts(name: &str) -> bool {
    let mut probe = Command::new(name);
    probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

/// How a program is linked with the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Shared,
    Static,
}

/// The library below a prefix, for which programs are compiled.
#[derive(Debug)]
pub(super) struct Library {
    pub(super) prefix: PathBuf,
}

impl Library {
    /// Compiles sources to a program.
    ///
    /// # Errors
    ///
    /// The command that failed.
    pub(super) fn compile<S: AsRef<OsStr>>(
        &self,
        compiler: &str,
        flags: &[&str],
        link: Link,
        sources: &[S],
        name: &str,
    ) -> Result<PathBuf, String> {
        let folder = self.prefix.join("programs");
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let program = folder.join(name);
        let mut command = Command::new(compiler);
        command.args(STRICT).args(flags).arg("-I").arg(self.prefix.join("include"));
        command.args(sources).arg("-o").arg(&program);
        let lib = self.prefix.join("lib");
        match link {
            Link::Shared => command.arg("-L").arg(&lib).arg("-lsinew"),
            Link::Static => command.arg(lib.join("libsinew.a")).args(["-ldl", "-lm", "-lgcc_s"]),
        };
        command.arg("-lpthread");
        command::run(&mut command)?;
        Ok(program)
    }

    /// Runs a program, below `tool` if that is not empty.
    ///
    /// # Errors
    ///
    /// The program ended with another status than 0.
    pub(super) fn run(&self, tool: &[&str], program: &Path) -> Result<(), String> {
        let mut command = match tool {
            [] => Command::new(program),
            [tool, arguments @ ..] => {
                let mut command = Command::new(tool);
                command.args(arguments).arg(program);
                command
            }
        };
        command::without_settings(&mut command);
        command.env("LD_LIBRARY_PATH", self.prefix.join("lib")).stdout(Stdio::null());
        command::run(&mut command).map_err(|why| format!("{}: {why}", program.display()))
    }
}

/// The files of a folder with an ending, in order.
///
/// # Errors
///
/// The folder cannot be read, or has none.
pub(super) fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|kind| kind == ending)).collect();
    files.sort();
    match files.is_empty() {
        true => Err(format!("{}: no file ends in .{ending}", folder.display())),
        false => Ok(files),
    }
}
