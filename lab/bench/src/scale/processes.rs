//! The processes that run cells: one of this binary for all that runs here, and one for each part.
//!
//! While one works the others wait for a line. A process that hangs or crashes is dropped, and the
//! next cell starts another one.

use super::parts;
use super::serve;
use super::subject::{Contender, Group, Place, Subject, not_too_long};
use crate::problem::{Case, Sample};
use crate::programs::builds::Build;
use crate::programs::server::{Request, Server, remove_settings};
use crate::runtimes::lines::Process;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// A cell that takes longer than this hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs of a program are repeated until a sample takes about this long.
const PROGRAM_NS: u64 = 15_000_000;

/// Why there is no sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) why: String,
    /// Whether other numbers of threads would fail as well.
    pub(super) of_all_teams: bool,
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        let of_all_teams = why.starts_with("hangs");
        Self { why, of_all_teams }
    }
}

/// A runner of cells.
pub(super) trait Run {
    /// Runs a cell once.
    fn run(
        &mut self,
        subject: &Subject,
        contender: &Contender,
        threads: usize,
    ) -> Result<Sample, Failure>;
}

/// All processes.
#[derive(Debug)]
pub(super) struct Processes {
    binary: PathBuf,
    is_tiny: bool,
    /// How many threads can run at once.
    cpus: usize,
    /// The programs of the parts, by name; the folder ends with this.
    programs: Vec<(String, PathBuf)>,
    _folder: TempDir,
    here: Option<Process>,
    openmp: Option<Process>,
}

impl Processes {
    /// Unpacks the parts of this binary.
    ///
    /// # Errors
    ///
    /// One line: there is no room for them.
    pub(super) fn new(is_tiny: bool, cpus: usize) -> Result<Self, String> {
        let binary = std::env::current_exe().map_err(|error| error.to_string())?;
        let folder =
            tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
        let unpack =
            |part: &parts::Part| Ok((part.name.clone(), parts::unpack(part, folder.path())?));
        let programs =
            parts::of(&binary)?.iter().map(unpack).collect::<Result<Vec<_>, String>>()?;
        Ok(Self { binary, is_tiny, cpus, programs, _folder: folder, here: None, openmp: None })
    }

    fn program(&self, part: &str) -> Option<&PathBuf> {
        self.programs.iter().find(|(name, _)| name == part).map(|(_, path)| path)
    }

    /// Whether the binary has what this contender needs.
    pub(super) fn has(&self, place: Place) -> bool {
        match place {
            Place::Here => true,
            Place::OpenMp { .. } => self.program("openmp").is_some(),
            Place::Program { part, .. } => self.program(part).is_some(),
        }
    }

    fn run_here(&mut self, line: &str) -> Result<Sample, String> {
        let mut process = match self.here.take() {
            Some(process) => process,
            None => {
                let mut command = Command::new(&self.binary);
                remove_settings(&mut command, std::env::vars_os().map(|(name, _)| name));
                command.arg("scale-cells").args(self.is_tiny.then_some("--tiny"));
                Process::start(&mut command)?
            }
        };
        // A process that failed is dropped, and so killed.
        let reply = process.ask(line, LIMIT)?;
        self.here = Some(process);
        serve::reply(&reply)
    }

    fn run_openmp(&mut self, problem: &str, threads: usize, case: &Case) -> Result<Sample, String> {
        let mut process = match self.openmp.take() {
            Some(process) => process,
            None => {
                let program = self.program("openmp").ok_or("no OpenMP in this binary")?;
                Process::start(&mut Command::new(program))?
            }
        };
        let line = format!("{problem} {threads} {} {} {}", case.size, case.kind, case.repeats);
        let reply = process.ask(&line, LIMIT)?;
        self.openmp = Some(process);
        serve::reply(&format!("done {}", reply.trim()))
    }

    fn run_program(
        &self,
        part: &str,
        name: &'static str,
        threads: usize,
    ) -> Result<Sample, String> {
        let program = self.program(part).ok_or("it is not in this binary")?;
        let origin = if part == "rayon-upstream" { "registry" } else { "path" };
        let build = Build {
            program: program.clone(),
            greeting: ["rayon-core", origin],
            threads_variable: "RAYON_NUM_THREADS",
        };
        let mut server = Server::start(&build, threads)?;
        let request = |repeats| Request { verb: "run", name, tiny: self.is_tiny, repeats };
        let first = server.ask(request(1))?;
        let most = if self.is_tiny { 1 } else { 1_000 };
        let repeats = (PROGRAM_NS / first.wall_ns.max(1)).clamp(1, most);
        let sample = server.ask(request(u32::try_from(repeats).unwrap_or(1)))?;
        Ok(Sample { ns: sample.wall_ns / repeats, answer: sample.answer })
    }
}

/// Whether it waits until all its threads have run: at the end of each loop, or after each change.
/// With fewer CPUs that takes as long as the system lets others run.
fn needs_cpus(subject: &Subject, contender: &Contender) -> bool {
    let spins = matches!(contender.place, Place::OpenMp { .. }) || contender.name == "fork_union";
    spins || subject.group == Group::Changes
}

impl Run for Processes {
    fn run(
        &mut self,
        subject: &Subject,
        contender: &Contender,
        threads: usize,
    ) -> Result<Sample, Failure> {
        if threads > self.cpus && needs_cpus(subject, contender) {
            let why = "left out: it waits for all its threads, and there are fewer CPUs";
            return Err(why.to_owned().into());
        }
        match contender.place {
            Place::Here => Ok(self.run_here(&serve::line(subject, contender.name, threads))?),
            Place::OpenMp { problem, probe } => {
                if let Some((case, work)) = probe {
                    let small = self.run_openmp(problem, threads, &case)?;
                    not_too_long(small.ns, work)?;
                }
                Ok(self.run_openmp(problem, threads, &subject.case)?)
            }
            Place::Program { part, name } => Ok(self.run_program(part, name, threads)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a cell of minutes that is run because its part takes milliseconds.
    #[test]
    fn a_cell_that_would_take_minutes_is_left_out() {
        assert_eq!(not_too_long(1_000_000, 2_999.0), Ok(()));
        let why = not_too_long(1_000_000, 60_000.0).unwrap_err();
        assert_eq!(why, "left out: it would take 60 s");
        assert!(!Failure::from(why).of_all_teams);
    }
}
