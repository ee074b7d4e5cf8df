//! A pool that is to share the machine, in a program to which the system refuses something: where
//! the program would run without sharing, it runs alone, and says so in one line.

#![cfg(target_os = "linux")]

use sinew_core::Pool;
use std::env;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

/// Names the folder of the table to a program that shares.
const FOLDER: &str = "SINEW_TEST_FOLDER";

/// The program: this test, in a process of its own. It is the only test of its binary.
#[test]
fn program() {
    let builder = Pool::builder().threads(2);
    let builder = match env::var_os(FOLDER) {
        Some(folder) => builder.coordinate_in(folder),
        None => builder,
    };
    let pool = builder.build().expect("a pool");
    let sum = pool.run(|w| w.join(|w| w.join(|_| 1, |_| 2), |w| w.join(|_| 3, |_| 4)));
    assert_eq!(sum, ((1, 2), (3, 4)));
    // Waits until the pool has joined the others, or has failed to.
    drop(pool);
}

/// How programs are started, under some limit.
struct Trouble {
    folder: tempfile::TempDir,
    /// A line for the shell, and the user.
    setup: String,
    user: Option<u32>,
    shell: Vec<&'static str>,
}

impl Trouble {
    fn new(setup: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, setup: setup.to_owned(), user: None, shell: vec!["sh"] }
    }

    fn run(&self, shares: bool) -> Output {
        let mut command = Command::new(self.shell[0]);
        command.args(&self.shell[1..]).args([
            "-c",
            &format!("{} && exec \"$@\"", self.setup),
            "sh",
        ]);
        command.arg(env::current_exe().unwrap());
        command.args(["program", "--exact", "--nocapture", "--test-threads=1"]);
        // With backtraces, a thread without memory may wait forever for the lock of backtraces, in
        // the standard library's hook for missing memory.
        command.env_remove("RUST_BACKTRACE");
        if shares {
            command.env(FOLDER, self.folder.path().join("shared"));
        }
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command.stdin(Stdio::null()).output().expect("a shell")
    }

    /// Gives the program mounts of its own. Prints a reason and returns `false` if it then cannot
    /// run.
    fn has_own_mounts(&mut self) -> bool {
        let namespaces = [vec!["unshare", "-m", "sh"], vec!["unshare", "-Urm", "sh"]];
        let possible = namespaces.into_iter().any(|shell| {
            self.shell = shell;
            self.run(false).status.success()
        });
        if !possible {
            println!("skipped: no mount namespace can be made here");
        }
        possible
    }

    /// Whether the program said that it is alone; `None` if it does not even run without sharing.
    fn makes_it_alone(&self) -> Option<bool> {
        let plain = self.run(false);
        if !plain.status.success() {
            return None;
        }
        let shared = self.run(true);
        let said = String::from_utf8_lossy(&shared.stderr);
        let lines = said.lines().filter(|line| line.starts_with("sinew: ")).count();
        assert!(shared.status.success() && lines <= 1, "{}: {shared:?}", self.setup);
        Some(lines == 1)
    }
}

/// Whether some of the troubles made a program alone.
fn are_survived(troubles: impl IntoIterator<Item = Trouble>) -> bool {
    troubles.into_iter().filter(|trouble| trouble.makes_it_alone() == Some(true)).count() > 0
}

/// Catches: a thread for sharing that finds no memory when it starts, which ends the process.
#[test]
fn a_program_with_little_memory_runs_alone() {
    let kilobytes = (0..24).map(|step| 12_000 * 115_u64.pow(step / 4) / 100_u64.pow(step / 4));
    let steps = kilobytes.enumerate().map(|(step, kb)| kb + step as u64 % 4 * kb / 28);
    assert!(are_survived(steps.map(|kb| Trouble::new(&format!("ulimit -v {kb}")))));
}

/// Catches: a table that cannot be made, and ends the process.
#[test]
fn a_program_with_few_or_small_files_runs_alone() {
    assert!(are_survived((3..12).map(|files| Trouble::new(&format!("ulimit -n {files}")))));
    assert!(are_survived([0, 1, 64].map(|blocks| Trouble::new(&format!("ulimit -f {blocks}")))));
}

/// Catches: a thread for sharing that cannot be started, and takes the pool with it.
#[test]
fn a_program_with_few_processes_runs_alone() {
    // Of whom there are no processes: they would count.
    let user = 100_000 + std::process::id();
    let troubles = (1..10).map(|processes| {
        // Shells have two names for it. Root may have as many as it likes.
        let limit = ["-u", "-p"].map(|name| format!("ulimit {name} {processes}"));
        let setup = format!("if ({}) 2>/dev/null; then {0}; else {}; fi", limit[0], limit[1]);
        let mut trouble = Trouble::new(&setup);
        let ordinary = chown(trouble.folder.path(), Some(user), Some(user)).is_ok();
        trouble.user = ordinary.then_some(user);
        trouble
    });
    let troubles: Vec<_> = troubles.collect();
    let free = Trouble { setup: "true".into(), ..Trouble::new("") };
    let can_run = Trouble { user: troubles[0].user, ..free }.run(false).status.success();
    if !can_run {
        println!("skipped: an ordinary user cannot run the programs of this build");
        return;
    }
    assert!(are_survived(troubles));
}

/// Catches: a program that takes part without knowing itself or others.
#[test]
fn a_program_without_proc_runs_alone() {
    let mut trouble = Trouble::new("mount -t tmpfs none /proc");
    if trouble.has_own_mounts() {
        assert!(are_survived([trouble]));
    }
}

/// Catches: a table whose blocks are missing when they are written to, which ends the process with
/// SIGBUS.
#[test]
fn a_program_on_a_full_file_system_runs_alone() {
    for (kilobytes, is_alone) in [(4, true), (64, true), (300, true), (484, true), (1024, false)] {
        let mut trouble = Trouble::new("");
        let place = trouble.folder.path().display();
        trouble.setup = format!("mount -t tmpfs -o size={kilobytes}k none '{place}'");
        if !trouble.has_own_mounts() {
            return;
        }
        assert_eq!(trouble.makes_it_alone(), Some(is_alone), "{kilobytes} kB");
    }
}
