//! The STAMP suite's own programs in C: plain, and with transactions of TinySTM. Both sources are
//! from folders that the user names.

use super::rounds::Version;
use crate::runtimes::process::first_error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// How the suite's transactions call TinySTM.
const TINYSTM: &str = include_str!("../../rivals/tinystm.h");

/// Applications whose input both sides have, the option for the number of threads, and whether the
/// input is a file of the suite. The others get the parts of its name as options.
const PROGRAMS: [(&str, &str, bool); 3] =
    [("intruder", "-t", false), ("labyrinth", "-t", true), ("vacation", "-c", false)];

/// The versions that are programs of the suite.
pub(super) const VERSIONS: [Version; 2] = [Version::Suite, Version::SuiteSerial];

/// The programs, in a temporary folder.
#[derive(Debug)]
pub(super) struct Suite {
    sources: PathBuf,
    programs: TempDir,
}

impl Suite {
    /// Builds the programs of the suite in `sources` by its own makefiles, with TinySTM in
    /// `tinystm`, which was built there.
    ///
    /// # Errors
    ///
    /// One line: what is missing, or the first error of the build.
    pub(super) fn build(sources: &Path, tinystm: &Path) -> Result<Self, String> {
        let needs = [
            (sources, "lib/tm.h", "it is no STAMP suite"),
            (tinystm, "include/stm.h", "it is no TinySTM"),
            (tinystm, "lib/libstm.a", "run `make` there"),
        ];
        for (folder, file, then) in needs {
            if !folder.join(file).is_file() {
                return Err(format!("{} has no {file}: {then}", folder.display()));
            }
        }
        let programs = tempfile::tempdir();
        let programs = programs.map_err(|error| format!("no temporary folder: {error}"))?;
        let sources = sources.canonicalize().map_err(|error| error.to_string())?;
        let suite = Self { sources, programs };
        for folder in ["common", "lib"].into_iter().chain(PROGRAMS.map(|(app, ..)| app)) {
            suite.copy(folder).map_err(|error| format!("cannot copy {folder}: {error}"))?;
        }
        let header = suite.folder("tinystm").join("stm.h");
        let written = fs::create_dir(suite.folder("tinystm"));
        written
            .and_then(|()| fs::write(&header, TINYSTM))
            .map_err(|error| format!("cannot write {}: {error}", header.display()))?;
        for (app, version) in
            PROGRAMS.iter().flat_map(|(app, ..)| VERSIONS.map(|version| (app, version)))
        {
            suite.make(app, version, tinystm)?;
        }
        Ok(suite)
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.programs.path().join(name)
    }

    /// Copies the files of a folder of the suite, because its makefiles write beside them.
    fn copy(&self, name: &str) -> std::io::Result<()> {
        fs::create_dir(self.folder(name))?;
        for entry in fs::read_dir(self.sources.join(name))? {
            let path = entry?.path();
            // A build that somebody made there has other options.
            let is_source = path.extension().is_none_or(|extension| extension != "o");
            if let Some(file) = path.file_name().filter(|_| path.is_file() && is_source) {
                fs::copy(&path, self.folder(name).join(file))?;
            }
        }
        Ok(())
    }

    fn make(&self, app: &str, version: Version, tinystm: &Path) -> Result<(), String> {
        let mut make = Command::new("make");
        make.current_dir(self.folder(app)).arg("--always-make");
        if version == Version::Suite {
            let library = tinystm.canonicalize().map_err(|error| error.to_string())?;
            make.args(["-f", "Makefile.stm", "LIBS=-lstm -lpthread -lm"])
                .arg(format!("STM={}", self.folder("tinystm").display()))
                .env("CPATH", library.join("include"))
                .env("LIBRARY_PATH", library.join("lib"));
        } else {
            make.args(["-f", "Makefile.seq"]);
        }
        let output = make.output().map_err(|error| format!("cannot run make: {error}"))?;
        if !output.status.success() {
            return Err(first_error("make", &output.stderr));
        }
        fs::rename(self.folder(app).join(app), self.program(app, version))
            .map_err(|error| format!("make left no {app}: {error}"))
    }

    fn program(&self, app: &str, version: Version) -> PathBuf {
        self.folder(&format!("{app}-{version:?}"))
    }

    /// Whether an application of this size is among the programs.
    pub(super) fn has(&self, app: &str, size: &str) -> bool {
        self.arguments(app, size).is_some()
    }

    /// The program's input as its options, and the option for threads.
    fn arguments(&self, app: &str, size: &str) -> Option<(Vec<String>, &'static str)> {
        let &(_, threads, is_file) = PROGRAMS.iter().find(|(name, ..)| *name == app)?;
        let input = if is_file {
            let file = self.sources.join(app).join(format!("inputs/random-{size}.txt"));
            vec!["-i".to_owned(), file.is_file().then(|| file.display().to_string())?]
        } else {
            size.contains('-').then(|| size.split('-').map(|part| format!("-{part}")).collect())?
        };
        Some((input, threads))
    }

    /// Runs a program, which checks its own answer. Returns the seconds that it has measured.
    ///
    /// # Errors
    ///
    /// One line: it failed, or its output has no time.
    pub(super) fn run(
        &self,
        version: Version,
        app: &str,
        size: &str,
        threads: usize,
    ) -> Result<f64, String> {
        let (input, option) = self.arguments(app, size).ok_or("not in the suite")?;
        let output = Command::new(self.program(app, version))
            .args(input)
            .arg(format!("{option}{threads}"))
            .output()
            .map_err(|error| error.to_string())?;
        seconds(&output)
    }
}

/// The seconds in the output of a program.
fn seconds(output: &Output) -> Result<f64, String> {
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, messages.lines().next().unwrap_or_default()));
    }
    let time = text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        let value = value.split_whitespace().next()?;
        ["Time", "Elapsed time"].contains(&name.trim()).then(|| value.parse().ok())?
    });
    time.ok_or_else(|| {
        format!("no time in its output: {}", text.lines().last().unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    //! Blind to: programs of the suite that compute something else; they check their answers.
    use super::*;

    /// A suite of one program that prints what it was called with, and a TinySTM of empty files.
    fn folders() -> (TempDir, TempDir) {
        let (stamp, tinystm) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |folder: &TempDir, name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(&stamp, "lib/tm.h", "");
        write(&stamp, "common/empty", "");
        write(&stamp, "labyrinth/inputs/random-x1.txt", "");
        for app in PROGRAMS.map(|(app, ..)| app) {
            for kind in ["seq", "stm"] {
                let script = format!("#!/bin/sh\\necho {kind} $(STM) $$$$*\\necho Time = 0.5");
                let rule = format!("{app}:\n\tprintf '{script}\\n' > {app}; chmod +x {app}\n");
                write(&stamp, &format!("{app}/Makefile.{kind}"), &rule);
            }
        }
        write(&tinystm, "include/stm.h", "");
        write(&tinystm, "lib/libstm.a", "");
        (stamp, tinystm)
    }

    /// Catches: a program that is built by the other makefile or in the user's folder, an input
    /// that is not that of the size, and a time that is not found.
    #[test]
    fn programs_are_built_and_run_with_the_input_of_the_size() {
        if Command::new("make").arg("--version").output().is_err() {
            println!("skipped: make is not installed");
            return;
        }
        let (stamp, tinystm) = folders();
        let suite = Suite::build(stamp.path(), tinystm.path()).unwrap();
        assert!(!stamp.path().join("intruder/intruder").exists());
        assert!(suite.has("intruder", "a10-l128") && suite.has("labyrinth", "x1"));
        assert!(!suite.has("intruder", "tiny") && !suite.has("labyrinth", "x2"));
        assert!(!suite.has("yada", "1x1"));
        let run = |version| suite.run(version, "vacation", "n4-q60", 2);
        assert_eq!((run(Version::Suite), run(Version::SuiteSerial)), (Ok(0.5), Ok(0.5)));
        assert_eq!(suite.arguments("vacation", "n4-q60").unwrap().0, ["-n4", "-q60"]);
        let text = |version| fs::read_to_string(suite.program("vacation", version)).unwrap();
        assert!(text(Version::Suite).contains("stm /"), "{}", text(Version::Suite));
        assert!(text(Version::SuiteSerial).contains("seq "));
    }

    /// Catches: a folder without the suite or without TinySTM that is found out in the middle, and
    /// a reason of several lines.
    #[test]
    fn what_is_missing_is_one_line() {
        let (stamp, tinystm) = folders();
        let reason = |stamp: &TempDir, tinystm: &TempDir| {
            let why = Suite::build(stamp.path(), tinystm.path()).unwrap_err();
            assert!(!why.contains('\n'), "{why}");
            why
        };
        assert!(reason(&tinystm, &tinystm).contains("lib/tm.h"));
        assert!(reason(&stamp, &stamp).contains("include/stm.h"));
        fs::remove_file(tinystm.path().join("lib/libstm.a")).unwrap();
        assert!(reason(&stamp, &tinystm).contains("run `make` there"));
    }
}
