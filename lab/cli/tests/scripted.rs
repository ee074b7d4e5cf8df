//! Applications under a coordinator's script, compared with the rows of the table.
//!
//! Blind to: `sinew top`, which has tests of its own.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use sinew::Schedule;
use sinew_coord::{Coordinator, FOLDER_VARIABLE, LastLoop, Policy, Row, Table};
use sinew_sync::atomic::{AtomicBool, Ordering};

/// Time after which a step counts as hanging. Generous, because the machine may be busy.
const LIMIT: Duration = Duration::from_secs(180);

fn sinew(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew-lab"));
    command.env(FOLDER_VARIABLE, folder).args(words);
    command
}

fn printed(command: &mut Command) -> String {
    let out = command.output().expect("the command starts");
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

/// A command; killed at the end.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A coordinator with a script for all programs of the command; it ends when this is dropped.
struct Scripted {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Scripted {
    fn new(place: &Path, asks: &str) -> Self {
        let script = format!("when sinew-lab joins sinew-lab {asks}\n");
        let script = script.parse().expect("a script");
        let table = Table::open(place).expect("a table");
        let mut coordinator =
            Coordinator::start(&table, Policy::Script, script).expect("a coordinator");
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let coordinate = move || {
            // Relaxed: it publishes nothing.
            let is_over = || told.load(Ordering::Relaxed);
            while !is_over() {
                let version = table.version();
                coordinator.step().expect("a step");
                coordinator.wait_unless(version, Duration::from_millis(20), is_over);
            }
        };
        Self { over, thread: Some(std::thread::spawn(coordinate)) }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        // Relaxed: see above.
        self.over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map_or(Ok(()), JoinHandle::join);
        assert!(ended.is_ok() || std::thread::panicking(), "the coordinator has failed");
    }
}

/// An application, and the number of runs.
fn application(place: &Path, name: &str, schedule: Option<&str>, runs: u64) -> Command {
    let runs = runs.to_string();
    let mut command = sinew(place, &["run", name, "--size", "tiny", "--threads", "2", "--json"]);
    command.args(["--repeat", &runs]).args(schedule.iter().flat_map(|word| ["--schedule", word]));
    command
}

/// Chunks of all runs.
fn chunks(json: &str) -> u64 {
    let report: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(report["right"], true);
    report["counters"]["chunks"].as_u64().expect("a count")
}

/// The masks of the working threads of a process' pool.
fn masks(pid: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let works = |path: &PathBuf| {
        let name = read(path.join("comm"));
        let number = name.trim().strip_prefix("sinew-").map(str::parse::<usize>);
        number.is_some_and(|number| number.is_ok())
    };
    let mask = |path: PathBuf| {
        let status = read(path.join("status"));
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.map(|list| list.trim().to_owned())
    };
    threads.map(|entry| entry.path()).filter(works).filter_map(mask).collect()
}

/// Starts an application, and waits until `is_so` holds for its row while it runs. Returns its
/// chunks at the end, and the number of its runs.
fn watch(
    place: &Path,
    (name, schedule): (&str, Option<&str>),
    is_so: impl Fn(&Row) -> bool,
) -> (u64, u64) {
    let table = Table::open(place).expect("a table");
    let began = Instant::now();
    for runs in (0..).map(|round| 100 << round) {
        assert!(began.elapsed() < LIMIT, "{name}: {:?}", table.log());
        let mut command = application(place, name, schedule, runs);
        let command = command.env("SINEW_COORDINATE", "1").stdout(Stdio::piped());
        let mut program = Program(command.spawn().expect("the command starts"));
        let output = program.0.stdout.take().expect("its output");
        let reader = std::thread::spawn(move || std::io::read_to_string(output).expect("text"));
        let mut seen = false;
        while program.0.try_wait().expect("its status").is_none() {
            seen = seen || table.read().iter().any(&is_so);
            std::thread::park_timeout(Duration::from_millis(1));
        }
        let json = reader.join().expect("its output");
        if seen {
            return (chunks(&json), runs);
        }
    }
    unreachable!("more runs than can be counted")
}

/// Catches: an application that names a schedule by itself, so that the script's is shown and
/// ignored; a row that does not show this. Threads that run on other CPUs than the row
/// says. A user's schedule that gives way. Runs two applications, four with `SINEW_DEEP=1`.
#[test]
fn applications_under_a_script_do_what_their_rows_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("shared");
    let all = sinew_coord::layout().cores();
    let cpu = all.iter().last().expect("a CPU");
    let coordinator = Scripted::new(&place, &format!("threads 1 cores {cpu} schedule dynamic:1"));
    let dynamic = Schedule::Dynamic { chunk: 1 };
    let names = ["collatz", "heat", "gauss", "floyd-warshall"];
    let tried = if std::env::var_os("SINEW_DEEP").is_some() { names.len() } else { 2 };
    for name in &names[..tried] {
        let alone = |schedule| chunks(&printed(&mut application(&place, name, Some(schedule), 1)));
        let [least, most] = ["static", "dynamic:1"].map(alone);
        assert!(least < most, "{name}: {least} and {most} do not tell schedules apart");
        let open = |row: &Row| {
            let grant = (row.grant.threads, row.grant.cores.iter().collect::<Vec<_>>());
            let masks = masks(row.program.pid);
            row.last_loop == Some(LastLoop { schedule: dynamic, named: false })
                && (row.schedule, row.own_schedule(), grant)
                    == (Some(dynamic), None, (1, vec![cpu]))
                && !masks.is_empty()
                && masks.iter().all(|mask| *mask == cpu.to_string())
        };
        let (done, runs) = watch(&place, (name, None), open);
        let own = printed(&mut application(&place, name, None, 1));
        let fewest = chunks(&own) * runs;
        assert!(done <= most * runs && (done > fewest || fewest == most * runs), "{name}: {done}");
        let named = |row: &Row| {
            row.last_loop == Some(LastLoop { schedule: Schedule::Static, named: true })
                && row.own_schedule() == Some(Schedule::Static)
        };
        let (done, runs) = watch(&place, (name, Some("static")), named);
        assert!(done <= least * runs, "{name}: {done} chunks, {least} a run without a script");
    }
    drop(coordinator);
}
