//! Commands, coordinators and other programs that share a table.
#![allow(dead_code, unused_imports, reason = "each test file uses a part")]

#[path = "../../../sinew-exec/tests/common/compile.rs"]
pub(crate) mod compile;
#[path = "../../../sinew-exec/tests/common/processes.rs"]
pub(crate) mod processes;

pub(crate) use processes::*;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};

use sinew_coord::{FOLDER_VARIABLE, Policy};

/// The command, with its table in `folder`.
pub(crate) fn sinew(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.args(words).env(FOLDER_VARIABLE, folder);
    for name in ["SINEW_EXEC", "LD_PRELOAD", "OMP_NUM_THREADS"] {
        command.env_remove(name);
    }
    command
}

/// The options of a coordinator with this policy. The energy counters stand still, and are below
/// `folder`.
pub(crate) fn policy_words(folder: &Path, policy: Policy) -> Vec<String> {
    let words = vec!["--policy".to_owned(), policy.to_string()];
    if !policy.uses_power() {
        return words;
    }
    let powercap = folder.join("powercap");
    zone(&powercap);
    [words, vec!["--powercap".to_owned(), powercap.display().to_string()]].concat()
}

/// Makes the counter of a package below `powercap`, if there is none; returns its file.
pub(crate) fn zone(powercap: &Path) -> PathBuf {
    let zone = powercap.join("intel-rapl:0");
    std::fs::create_dir_all(&zone).expect("a folder");
    for (file, text) in
        [("name", "package-0\n"), ("max_energy_range_uj", "9000000\n"), ("energy_uj", "0\n")]
    {
        std::fs::write(zone.join(file), text).expect("a file");
    }
    zone.join("energy_uj")
}

/// The example of this name.
pub(crate) fn example(name: &str) -> Command {
    let mut path = std::env::current_exe().expect("a path");
    path.pop();
    path.pop();
    Command::new(path.join("examples").join(name))
}

/// A program with a pool that shares the machine, and adds the same numbers so many times.
pub(crate) fn pool(folder: &Path, rounds: u64) -> Command {
    let mut command = example("pool");
    command.arg(rounds.to_string()).env(FOLDER_VARIABLE, folder).env("SINEW_COORDINATE", "1");
    for name in ["SINEW_THREADS", "SINEW_EXEC", "LD_PRELOAD", "OMP_NUM_THREADS"] {
        command.env_remove(name);
    }
    command
}

/// The output of [`pool`].
pub(crate) const SUM: &str = "2999997\n";

/// A program that prints and waits for a line; killed at the end.
pub(crate) struct Program {
    pub(crate) child: Child,
    said: BufReader<ChildStdout>,
}

impl Program {
    pub(crate) fn start(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect(
            "`cargo test` builds the examples; for this test alone: cargo build --examples",
        );
        let said = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, said }
    }

    /// A command under `sinew exec` that prints `runs`, waits for a line, and exits with status 3.
    pub(crate) fn waiting(folder: &Path) -> Self {
        let shell = "echo runs; read line; exit 3";
        let mut program = Self::start(&mut sinew(folder, &["exec", "sh", "-c", shell]));
        assert_eq!(program.line(), "runs\n");
        program
    }

    /// Starts the example of this name, and waits for `begun`.
    pub(crate) fn neighbour(folder: &Path, words: &[&str]) -> Self {
        let mut command = example("neighbour");
        let mut program = Self::start(command.arg(folder).args(words));
        assert_eq!(program.line(), "begun\n");
        program
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("a line");
        line
    }

    /// The next line that contains `part`.
    pub(crate) fn line_with(&mut self, part: &str) -> String {
        loop {
            let line = self.line();
            assert!(!line.is_empty(), "no line with `{part}`");
            if line.contains(part) {
                return line;
            }
        }
    }

    /// Sends it its line, and waits for its exit.
    pub(crate) fn end(mut self) -> ExitStatus {
        let _ = self.child.stdin.take().map(|mut input| input.write_all(b"\n"));
        self.finish()
    }

    /// Sends a signal, and waits for its exit.
    pub(crate) fn end_by(mut self, signal: &str) -> ExitStatus {
        kill(signal, self.id());
        self.finish()
    }

    /// The same, and returns the unread output.
    pub(crate) fn output_by(mut self, signal: &str) -> Output {
        kill(signal, self.id());
        until("the end of a program", || !runs(self.child.id()));
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.said.read_to_end(&mut stdout).expect("its output");
        if let Some(mut errors) = self.child.stderr.take() {
            errors.read_to_end(&mut stderr).expect("its errors");
        }
        Output { status: self.child.wait().expect("its end"), stdout, stderr }
    }

    fn finish(&mut self) -> ExitStatus {
        until("the end of a program", || !runs(self.child.id()));
        let _ = self.said.read_to_end(&mut Vec::new());
        self.child.wait().expect("its end")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A coordinator that measures every 20 ms.
pub(crate) fn coordinator(folder: &Path, words: &[&str]) -> Program {
    let mut command = sinew(folder, &["coordinator", "--interval-ms", "20"]);
    let mut program = Program::start(command.args(words));
    assert!(program.line_with("policy").contains("table"));
    program
}
