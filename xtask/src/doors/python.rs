//! The Python package: installed into an environment of its own, with the packages that it serves,
//! and tested there.
//!
//! The tests run after `pip install` as a user would type it, so they see the wheel, not the
//! sources. numba's own tests of parallel backends run as well, with Sinew in the place of its
//! OpenMP layer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::compile::starts;
use super::numba;
use crate::command;

/// Packages that build ours, that it serves, and that its tests use besides.
const OTHERS: [&str; 7] = [
    "setuptools>=70",
    "setuptools-rust>=1.10",
    "numba",
    "joblib",
    "threadpoolctl",
    "scikit-learn",
    "tbb",
];

/// Tests beside the package's own.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct PythonOptions {
    /// Run all of numba's tests of parallel functions as well, and those that fail with its own
    /// OpenMP layer (more than half an hour).
    #[arg(long)]
    numba_tests: bool,
}

/// Installs the package and runs its tests, or returns why that is not possible here.
///
/// # Errors
///
/// The first command that failed.
pub(crate) fn python(options: &PythonOptions) -> Result<Option<String>, String> {
    if !cfg!(target_os = "linux") {
        return Ok(Some("the package is for Linux".to_owned()));
    }
    if !starts("python3") {
        return Ok(Some("no python3".to_owned()));
    }
    let folder = command::output_folder("python");
    let Some(python) = environment(&folder)? else {
        return Ok(Some("python3 has no venv".to_owned()));
    };
    let pip = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(arguments);
        command
    };
    let others = pip(&["install"]).args(OTHERS).stderr(Stdio::null()).status();
    if !others.is_ok_and(|status| status.success()) {
        return Ok(Some(format!("pip cannot install {}", OTHERS.join(", "))));
    }
    let source = command::root().join("python");
    let mut install = pip(&["install", "--no-build-isolation", "--no-deps", "--force-reinstall"]);
    command::run(install.arg(&source))?;
    let mut tests = Command::new(&python);
    tests.args(["-m", "unittest", "discover"]).current_dir(source.join("tests"));
    run(&mut tests)?;
    numba::selected(&python, &folder)?;
    page(&python)?;
    if options.numba_tests {
        numba::compare(&python)?;
    }
    Ok(None)
}

fn run(command: &mut Command) -> Result<(), String> {
    command::without_settings(command);
    command::run(command)
}

/// The interpreter of an environment in `folder`, which is made if it is not there.
fn environment(folder: &Path) -> Result<Option<PathBuf>, String> {
    let python = folder.join("bin/python");
    if !python.exists() {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(folder).stdout(Stdio::null());
        if !venv.status().map_err(|error| format!("python3: {error}"))?.success() {
            return Ok(None);
        }
    }
    Ok(Some(python))
}

/// Runs the programs of the language's page.
fn page(python: &Path) -> Result<(), String> {
    let page = command::root().join("docs/python.md");
    let text = fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
    let mut programs = 0;
    for block in text.split("```python\n").skip(1) {
        let program = block.split("```").next().unwrap_or_default();
        run(Command::new(python).args(["-c", program]))?;
        programs += 1;
    }
    match programs {
        0 => Err(format!("{}: it has no program", page.display())),
        _ => Ok(()),
    }
}
