//! The values that `sinew top` shows: programs and decisions, with the speed since the last update.

use std::collections::HashMap;

use serde_json::{Value, json};
use sinew_coord::{Decision, Policy, ProcessId, Row, Table};

use super::columns::table;

/// The columns of programs, on the screen and in plain text; a narrow terminal has those that fit.
const PROGRAMS: [&str; 13] = [
    "program",
    "pid",
    "threads",
    "demand",
    "assigned",
    "weight",
    "items/s",
    "cores",
    "shares",
    "for s",
    "job",
    "chosen",
    "last loop",
];

/// Columns for ranks of jobs, and for coordinators over machines. They are left out if no program
/// has a value in them.
const OF_JOBS: [&str; 2] = ["assigned", "job"];

/// The columns of decisions, on the screen.
pub(super) const DECISIONS: [&str; 5] = ["program", "pid", "decision", "s ago", "shares changed"];

/// A snapshot of the table, with the changes since the last one.
#[derive(Debug)]
pub(super) struct View {
    pub(super) rows: Vec<Row>,
    pub(super) decisions: Vec<Decision>,
    pub(super) policy: String,
    pub(super) cpus: usize,
    now_ns: u64,
    before: HashMap<ProcessId, u64>,
    before_ns: u64,
}

impl View {
    pub(super) fn new(table: Option<&Table>) -> Self {
        let mut view = Self {
            rows: Vec::new(),
            decisions: Vec::new(),
            policy: Policy::default().to_string(),
            cpus: table.map_or_else(sinew_coord::layout, |table| table.layout().clone()).len(),
            now_ns: table.map_or(0, Table::now_ns),
            before: HashMap::new(),
            before_ns: 0,
        };
        view.look(table);
        view
    }

    /// Reads the table; without a table there are no programs.
    pub(super) fn look(&mut self, table: Option<&Table>) {
        self.before = self.rows.iter().map(|row| (row.program, row.progress)).collect();
        let Some(table) = table else {
            self.rows.clear();
            return;
        };
        self.before_ns = std::mem::replace(&mut self.now_ns, table.now_ns());
        self.rows = table.read();
        // A killed program without a watcher may still be in the table.
        self.rows.retain(|row| row.program.is_alive());
        self.decisions = table.log();
        self.policy = table.policy().to_string();
    }

    /// The speed in items a second; `None` at the first reading.
    pub(super) fn rate(&self, row: &Row) -> Option<f64> {
        let before = *self.before.get(&row.program)?;
        let seconds = self.now_ns.saturating_sub(self.before_ns) as f64 / 1e9;
        (seconds > 0.0).then(|| row.progress.saturating_sub(before) as f64 / seconds)
    }

    pub(super) fn seconds_ago(&self, at_ns: u64) -> f64 {
        self.now_ns.saturating_sub(at_ns) as f64 / 1e9
    }

    /// The titles of the columns, and the cells of each program.
    pub(super) fn programs(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| self.cells(row)).collect();
        let is_shown = |at: &usize| {
            !OF_JOBS.contains(&PROGRAMS[*at]) || rows.iter().any(|cells| cells[*at] != "-")
        };
        let columns: Vec<usize> = (0..PROGRAMS.len()).filter(is_shown).collect();
        let titles = columns.iter().map(|at| PROGRAMS[*at]).collect();
        let cells = |row: &Vec<String>| columns.iter().map(|at| row[*at].clone()).collect();
        (titles, rows.iter().map(cells).collect())
    }

    /// A row's cells, in the order of [`PROGRAMS`].
    fn cells(&self, row: &Row) -> Vec<String> {
        vec![
            row.name.to_string(),
            row.program.pid.to_string(),
            row.grant.threads.to_string(),
            if row.stopped { "stopped".to_owned() } else { row.demand.to_string() },
            if row.assigned > 0 { row.assigned.to_string() } else { "-".to_owned() },
            format!("{:.2}", row.weight),
            self.rate(row).map_or_else(|| "-".into(), |rate| format!("{rate:.0}")),
            row.grant.cores.to_string(),
            row.epoch.to_string(),
            format!("{:.0}", self.seconds_ago(row.joined_ns)),
            job(row).unwrap_or_else(|| "-".to_owned()),
            chosen(row),
            last_loop(row),
        ]
    }

    /// A decision's cells, in the order of [`DECISIONS`]. Some are about no program.
    pub(super) fn cells_of(&self, decision: &Decision) -> Vec<String> {
        let (name, pid) = match decision.subject {
            0 => ("-".to_owned(), "-".to_owned()),
            pid => (decision.name.to_string(), pid.to_string()),
        };
        let ago = format!("{:.1}", self.seconds_ago(decision.at_ns));
        vec![name, pid, decision.reason.to_string(), ago, decision.changed.to_string()]
    }

    pub(super) fn title(&self) -> String {
        let given: usize = self
            .rows
            .iter()
            .filter(|row| row.demand > 0 && !row.stopped)
            .map(|row| row.grant.threads as usize)
            .sum();
        format!(
            "{} programs, {given} threads on {} CPUs, policy {}",
            self.rows.len(),
            self.cpus,
            self.policy
        )
    }

    /// The programs, in lines of `width`.
    pub(super) fn to_text(&self, width: usize) -> String {
        let (titles, rows) = self.programs();
        format!("{}\n\n{}\n", self.title(), table(&titles, &rows, width).join("\n"))
    }

    pub(super) fn to_json(&self) -> Value {
        let program = |row: &Row| {
            let speeds = row.curve.points().iter().map(|point| json!([point.cores, point.rate]));
            json!({
                "program": row.name.as_str(),
                "pid": row.program.pid,
                "watchdog": row.watchdog.map(|watchdog| watchdog.pid),
                "threads": row.grant.threads,
                "cores": row.grant.cores.iter().collect::<Vec<_>>(),
                "schedule": row.schedule.map(|schedule| schedule.to_string()),
                "own_schedule": row.own_schedule().map(|schedule| schedule.to_string()),
                "loop_schedule": row.last_loop.map(|last| last.schedule.to_string()),
                "loop_names_it": row.last_loop.map(|last| last.named),
                "own_cores": row.own_settings.cores.iter().collect::<Vec<_>>(),
                "demand": row.demand,
                "stopped": row.stopped,
                "assigned": row.assigned,
                "job": job(row),
                "min": row.min,
                "max": row.max,
                "weight": row.weight,
                "items": row.progress,
                "items_per_s": self.rate(row),
                "epoch": row.epoch,
                "joined_s_ago": self.seconds_ago(row.joined_ns),
                "speeds": speeds.collect::<Vec<_>>(),
            })
        };
        let decision = |decision: &Decision| {
            json!({
                "s_ago": self.seconds_ago(decision.at_ns),
                "reason": decision.reason.name(),
                "pid": decision.subject,
                "program": decision.name.as_str(),
                "by": decision.by,
                "programs": decision.programs,
                "changed": decision.changed,
            })
        };
        json!({
            "cpus": self.cpus,
            "policy": self.policy,
            "programs": self.rows.iter().map(program).collect::<Vec<_>>(),
            "decisions": self.decisions.iter().map(decision).collect::<Vec<_>>(),
        })
    }
}

/// The number of the job of which it is a rank, in hexadecimal digits, as readers of JSON may keep
/// only 53 bits of a number.
fn job(row: &Row) -> Option<String> {
    Some(row.own_settings.job).filter(|job| *job != 0).map(|job| format!("{job:x}"))
}

/// The settings that a program has chosen itself, as a cell.
fn chosen(row: &Row) -> String {
    let cores = Some(&row.own_settings.cores).filter(|cores| !cores.is_empty());
    let parts = [
        row.own_schedule().map(|schedule| schedule.to_string()),
        cores.map(|cores| format!("on {cores}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(" ") }
}

/// The schedule of the program's last loop, as a cell, and whether the loop chose it or the grant
/// did.
fn last_loop(row: &Row) -> String {
    let Some(last) = row.last_loop else { return "-".to_owned() };
    match row.schedule {
        _ if last.named => format!("{} own", last.schedule),
        Some(granted) if granted == last.schedule => format!("{} granted", last.schedule),
        _ => last.schedule.to_string(),
    }
}
