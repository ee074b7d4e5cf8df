//! Programs under a coordinator's script: compares the output of `sinew top` with the rows of the
//! table, and real applications with both.
//!
//! Blind to: `top` on a terminal; its own tests draw it.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use sinew::Schedule;
use sinew_coord::{
    Coordinator, CpuSet, FOLDER_VARIABLE, LastLoop, Member, Offer, OwnSettings, Policy, Row, Table,
};

/// Time after which a step counts as hanging. Generous, because the machine may be busy.
const LIMIT: Duration = Duration::from_secs(180);

fn sinew(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinew"));
    command.env(FOLDER_VARIABLE, folder).args(words);
    command
}

fn printed(command: &mut Command) -> String {
    let out = command.output().expect("the command starts");
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        assert!(began.elapsed() < LIMIT, "never {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// One output of `top`, as JSON and as text.
#[derive(Debug, Clone)]
struct Shown {
    json: Value,
    text: String,
}

impl Shown {
    fn new(folder: &Path) -> Self {
        let once = ["top", "--once", "--interval-ms", "1"];
        let text = printed(&mut sinew(folder, &once));
        let json = printed(sinew(folder, &once).arg("--json"));
        Self { json: serde_json::from_str(&json).expect("JSON"), text }
    }

    /// The cells of each program, with their titles.
    fn cells(&self) -> Vec<Vec<(String, String)>> {
        let lines = self.text.lines().skip_while(|line| !line.starts_with("program"));
        let lines: Vec<&str> = lines.collect();
        let rule = lines.get(1).copied().unwrap_or_default();
        let mut columns = Vec::new();
        for (at, _) in
            rule.match_indices('-').filter(|&(at, _)| at == 0 || &rule[at - 1..at] == " ")
        {
            columns.push(at);
        }
        let cells = |line: &str| -> Vec<String> {
            let end = |k: usize| columns.get(k + 1).copied().unwrap_or(usize::MAX).min(line.len());
            let cell =
                |k: usize| line.get(columns[k]..end(k)).unwrap_or_default().trim().to_owned();
            (0..columns.len()).map(cell).collect()
        };
        let titles = lines.first().map(|line| cells(line)).unwrap_or_default();
        let rows = lines.iter().skip(2);
        rows.map(|line| titles.iter().cloned().zip(cells(line)).collect()).collect()
    }

    /// Compares the output with the table.
    fn agrees(&self, rows: &[Row]) -> Result<(), String> {
        let programs = self.json["programs"].as_array().ok_or("no programs")?;
        let cells = self.cells();
        if (programs.len(), cells.len()) != (rows.len(), rows.len()) {
            return Err(format!("another number of programs: {self:?}"));
        }
        for ((row, program), cells) in rows.iter().zip(programs).zip(&cells) {
            let is = |holds: bool, what: &str| {
                holds.then_some(()).ok_or_else(|| format!("{what}: {row:?}, {program}, {cells:?}"))
            };
            let text = |name: &str| program[name].as_str().map(str::to_owned);
            let cell = |title: &str| {
                cells.iter().find(|(name, _)| name == title).map_or("", |(_, cell)| cell.as_str())
            };
            let own = row
                .own_settings
                .schedule
                .or(row.last_loop.filter(|last| last.named).map(|l| l.schedule));
            let word = |schedule: Option<Schedule>| schedule.map(|schedule| schedule.to_string());
            let cores: Vec<usize> = row.grant.cores.iter().collect();
            is(text("program").as_deref() == Some(row.name.as_str()), "another name")?;
            is(cell("program") == row.name.as_str(), "another name")?;
            is(program["threads"] == row.grant.threads, "other threads")?;
            is(cell("threads") == row.grant.threads.to_string(), "other threads")?;
            is(program["cores"] == serde_json::json!(cores), "other cores")?;
            is(cell("cores") == row.grant.cores.to_string(), "other cores")?;
            is(text("schedule") == word(row.schedule), "another schedule granted")?;
            is(text("own_schedule") == word(own), "another schedule of its own")?;
            is(
                word(own).is_none_or(|own| cell("chosen").starts_with(&own)),
                "another schedule of its own",
            )?;
            is(
                text("loop_schedule") == word(row.last_loop.map(|last| last.schedule)),
                "another loop",
            )?;
            let named = row.last_loop.map_or(Value::Null, |last| last.named.into());
            is(program["loop_names_it"] == named, "another loop")?;
            let shown = row.last_loop.map_or("-".to_owned(), |last| {
                let granted = row.schedule == Some(last.schedule) && !last.named;
                let how = if last.named { " own" } else { [" granted", ""][usize::from(!granted)] };
                format!("{}{how}", last.schedule)
            });
            is(cell("last loop") == shown, "another loop")?;
        }
        Ok(())
    }
}

/// The message about a difference, and the change that causes it.
type Fault = (&'static str, fn(&mut Shown));

/// Outputs with one error each.
fn faults() -> Vec<Fault> {
    vec![
        ("other threads", |shown| shown.json["programs"][0]["threads"] = 7.into()),
        ("other cores", |shown| shown.json["programs"][1]["cores"] = serde_json::json!([])),
        ("another schedule granted", |shown| shown.json["programs"][0]["schedule"] = Value::Null),
        ("another schedule of its own", |shown| {
            shown.json["programs"][1]["own_schedule"] = Value::Null;
        }),
        ("another loop", |shown| shown.json["programs"][0]["loop_schedule"] = "stealing".into()),
        ("another loop", |shown| shown.json["programs"][1]["loop_names_it"] = false.into()),
        ("another loop", |shown| shown.text = shown.text.replace(" own", "    ")),
        ("another number of programs", |shown| {
            shown.text = shown.text.lines().take(5).map(|line| format!("{line}\n")).collect();
        }),
    ]
}

/// Catches: a program, a share or a schedule that `top` shows wrongly, or not at all; and a
/// comparison that finds nothing.
#[test]
fn top_prints_what_the_rows_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("shared");
    let table = Table::open(&place).expect("a table");
    let all = table.layout().cores();
    let script = "at 0 open threads 1 schedule dynamic:7\nat 0 named schedule static\n";
    let script = script.parse().expect("a script");
    let mut coordinator =
        Coordinator::start(&table, Policy::Script, script).expect("a coordinator");
    let own = OwnSettings { schedule: Some(Schedule::Auto), cores: CpuSet::new() };
    let granted = LastLoop { schedule: Schedule::Dynamic { chunk: 7 }, named: false };
    let named = LastLoop { schedule: Schedule::Tapered { min: 12345 }, named: true };
    let loops = [("open", Some(granted)), ("named", Some(named)), ("set", None), ("default", None)];
    let members: Vec<Member> = loops
        .into_iter()
        .map(|(name, last)| {
            let own_settings = if name == "set" { own.clone() } else { OwnSettings::default() };
            let member =
                Member::join(&table, Offer::on(name, all.clone(), 64).own_settings(own_settings))
                    .expect("a row");
            member.set_last_loop(
                last.or(Some(LastLoop { schedule: Schedule::Stealing, named: false })),
            );
            member
        })
        .collect();
    members[3].set_last_loop(None);
    eventually("a table at rest", || {
        coordinator.step().expect("a step");
        let rows = table.read();
        let asked = rows.iter().filter(|row| row.request.is_some()).count();
        (asked == 2 && rows[0].schedule.is_some() && rows[1].schedule.is_some()).then_some(())
    });
    let rows = table.read();
    let shown = eventually("the table as it is", || {
        let shown = Shown::new(&place);
        shown.agrees(&rows).map_err(|difference| println!("{difference}")).ok().map(|()| shown)
    });
    for (what, plant) in faults() {
        let mut other = shown.clone();
        plant(&mut other);
        let difference = other.agrees(&rows).expect_err(what);
        assert!(difference.starts_with(what), "instead of `{what}`: {difference}");
    }
    drop(members);
}

/// A command; killed at the end.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A coordinator with a script for all programs of the command.
fn coordinate(place: &Path, asks: &str) -> Program {
    let path = place.with_extension("script");
    std::fs::write(&path, format!("when sinew joins sinew {asks}\n")).expect("a script");
    let script = path.to_str().expect("a name in UTF-8");
    let words = ["coordinator", "--policy", "script", "--script", script, "--interval-ms", "20"];
    let mut child =
        sinew(place, &words).stdout(Stdio::piped()).spawn().expect("the command starts");
    let mut said = BufReader::new(child.stdout.take().expect("its output"));
    let program = Program(child);
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    assert!(line.starts_with("policy script"), "{line}");
    // Reads the rest of the output, so that the coordinator does not block.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    program
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
/// ignored; a row and a `top` that do not show this. Threads that run on other CPUs than the row
/// says. A user's schedule that gives way. Runs two applications, four with `SINEW_DEEP=1`.
#[test]
fn applications_under_a_script_do_what_their_rows_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("shared");
    let all = sinew_coord::layout().cores();
    let cpu = all.iter().last().expect("a CPU");
    let coordinator = coordinate(&place, &format!("threads 1 cores {cpu} schedule dynamic:1"));
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
