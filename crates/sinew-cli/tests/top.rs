//! Compares the output of `sinew top` with the rows of the table.
//!
//! Blind to: `top` on a terminal; its own tests draw it.
#![cfg(target_os = "linux")]

mod common;

use std::path::Path;
use std::process::Command;

use common::{sinew, until};
use serde_json::Value;
use sinew::Schedule;
use sinew_coord::{Coordinator, CpuSet, LastLoop, Member, Offer, OwnSettings, Policy, Row, Table};

fn printed(command: &mut Command) -> String {
    let out = command.output().expect("the command starts");
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

/// Waits for a value.
fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let mut value = None;
    until(what, || {
        value = attempt();
        value.is_some()
    });
    value.expect("a value")
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
            let value = |has: bool, value: String| has.then_some(value);
            let job = value(row.own_settings.job != 0, format!("{:x}", row.own_settings.job));
            is(text("job") == job, "another job")?;
            // No column if no program has a value.
            let has_jobs = rows.iter().any(|row| row.own_settings.job != 0);
            let none = |shown: bool| if shown { "-" } else { "" };
            is(cell("job") == job.as_deref().unwrap_or(none(has_jobs)), "another job")?;
            let assigned = value(row.assigned > 0, row.assigned.to_string());
            is(program["assigned"] == row.assigned, "other cores assigned")?;
            let has_assigned = rows.iter().any(|row| row.assigned > 0);
            let shown = assigned.as_deref().unwrap_or(none(has_assigned));
            is(cell("assigned") == shown, "other cores assigned")?;
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
        ("another job", |shown| shown.json["programs"][2]["job"] = 0xfeed.into()),
        ("another job", |shown| shown.text = shown.text.replace("feed", "-   ")),
        ("other cores assigned", |shown| shown.json["programs"][1]["assigned"] = 0.into()),
        ("other cores assigned", |shown| shown.text = shown.text.replace("assigned", "assignee")),
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
    let own = OwnSettings { schedule: Some(Schedule::Auto), cores: CpuSet::new(), job: 0 };
    let granted = LastLoop { schedule: Schedule::Dynamic { chunk: 7 }, named: false };
    let named = LastLoop { schedule: Schedule::Guided { min: 12345 }, named: true };
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
    let shown_as_it_is = || {
        let rows = table.read();
        let shown = eventually("the table as it is", || {
            let shown = Shown::new(&place);
            shown.agrees(&rows).map_err(|difference| println!("{difference}")).ok().map(|()| shown)
        });
        (rows, shown)
    };
    let (_, without_job) = shown_as_it_is();
    assert!(!without_job.text.contains("assigned") && !without_job.text.contains("job"));
    members[2].set_own_settings(&OwnSettings { job: 0xfeed, ..own });
    eventually("a job", || table.read().iter().find(|row| row.own_settings.job != 0).map(|_| ()));
    coordinator.assign(&[(&table.read()[1], 1)]).expect("a change");
    let (rows, shown) = shown_as_it_is();
    for (what, plant) in faults() {
        let mut other = shown.clone();
        plant(&mut other);
        let difference = other.agrees(&rows).expect_err(what);
        assert!(difference.starts_with(what), "instead of `{what}`: {difference}");
    }
    drop(members);
}
