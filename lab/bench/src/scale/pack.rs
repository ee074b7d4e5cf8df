//! Making one file for other machines: this binary, which is linked statically, with programs that
//! are built here as its parts.

use super::options::PackOptions;
use super::parts::{self, Part};
use super::subjects::CORES;
use crate::output::say;
use crate::problem::Runtime;
use crate::programs::builds::{Build, Provider};
use crate::runtimes::process;
use std::fs;
use std::path::Path;

/// Builds the parts and writes the file.
///
/// # Errors
///
/// One line: a rayon program that does not build, or a file that cannot be written. Without a
/// static OpenMP the file is made all the same.
pub(super) fn run(options: &PackOptions) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut all = Vec::new();
    let program = folder.path().join("openmp");
    match process::build(Runtime::OpenMp, folder.path(), &program, &["-static"]) {
        Ok(()) => all.push(part("openmp", &program)?),
        Err(why) => say!("openmp: not linked: {why}"),
    }
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../compat/rayon-core");
    let ours = ours.canonicalize().map_err(|error| format!("{}: {error}", ours.display()))?;
    for ((_, name), provider) in CORES.into_iter().zip([Provider::Upstream, Provider::Core(ours)]) {
        let build = Build::linked(&provider, Some(&options.target))?;
        all.push(part(name, &build.program)?);
    }
    let binary = std::env::current_exe().map_err(|error| error.to_string())?;
    let bytes = fs::read(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    parts::write_program(&options.out, &parts::attached(&bytes, &all))?;
    let names: Vec<&str> = all.iter().map(|part| part.name.as_str()).collect();
    say!("{}: bench with {}", options.out.display(), names.join(", "));
    Ok(())
}

fn part(name: &str, program: &Path) -> Result<Part, String> {
    let bytes = fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
    Ok(Part { name: name.to_owned(), bytes })
}
