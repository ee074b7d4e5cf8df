//! Text tables, and the machine-readable report: the same figures with every single time.

use super::instructions::Count;
use super::options::Options;
use super::rounds::{Fault, Row, SINEW, UPSTREAM};
use super::server::Sample;
use super::verdicts::{Bar, Figures, Verdict, bars};
use crate::machine::Machine;
use crate::output::say;
use crate::statistics::Summary;
use crate::table::duration_of;
use serde::Serialize;

/// Everything that one run found out.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) machine: Machine,
    /// Processes that kept the machine busy meanwhile.
    pub(super) load: u16,
    /// Whether upstream was compared with itself.
    pub(super) same: bool,
    /// The skipped programs, each with the reason.
    pub(super) skipped: Vec<String>,
    pub(super) tables: Vec<Table>,
    pub(super) instructions: Vec<Count>,
}

impl Report {
    pub(super) fn new(machine: Machine, options: &Options) -> Self {
        let load = options.loaded.unwrap_or(0);
        let (skipped, tables, instructions) = (Vec::new(), Vec::new(), Vec::new());
        Self { machine, load, same: options.same, skipped, tables, instructions }
    }

    /// Notes, and prints, what cannot be done here.
    pub(super) fn skip(&mut self, why: String) {
        say!("  skipped: {why}");
        self.skipped.push(why);
    }
}

/// All programs with one number of threads.
#[derive(Debug, Serialize)]
pub(super) struct Table {
    threads: usize,
    rows: Vec<Line>,
    bars: Vec<Bar>,
}

/// One program.
#[derive(Debug, Serialize)]
struct Line {
    program: &'static str,
    repeats: u32,
    figures: Option<Figures>,
    fault: Option<Fault>,
    upstream: Vec<Sample>,
    sinew: Vec<Sample>,
    upstream_again: Vec<Sample>,
    serial: Vec<Sample>,
}

impl Line {
    fn new(row: Row, figures: Option<Figures>) -> Self {
        let [upstream, sinew, upstream_again] = row.samples;
        Self {
            program: row.entry.name,
            repeats: row.repeats,
            figures,
            fault: row.fault,
            upstream,
            sinew,
            upstream_again,
            serial: row.serial,
        }
    }
}

impl Table {
    /// The table of `rows`, with its bars if `has_bars`.
    pub(super) fn new(threads: usize, rows: Vec<Row>, has_bars: bool) -> Self {
        let figures: Vec<Option<Figures>> =
            rows.iter().map(|row| Figures::of(row).filter(|_| row.fault.is_none())).collect();
        let measured: Vec<(&Row, &Figures)> = rows
            .iter()
            .zip(&figures)
            .filter_map(|(row, figures)| Some((row, figures.as_ref()?)))
            .collect();
        let bars = if has_bars { bars(&measured) } else { Vec::new() };
        let rows =
            rows.into_iter().zip(figures).map(|(row, figures)| Line::new(row, figures)).collect();
        Self { threads, rows, bars }
    }

    /// Prints it; `other` is the name of upstream's rival. With `loops` the loops without rayon
    /// take the place of the processor times.
    pub(super) fn print(&self, other: &str, loops: bool) {
        let cpu = format!("CPU: {other}");
        let beside: &[&str] =
            if loops { &["loop", "ratio"] } else { &["CPU: upstream", &cpu, "ratio", "noise"] };
        let wall = ["program", "upstream", other, "ratio (middle half)", "noise"];
        let mut table = sinew_console::Table::new(&[&wall[..], beside, &["sinew is"]].concat());
        self.rows.iter().for_each(|line| table.row(cells(line, loops, beside.len())));
        say!("{}", table.render().trim_end());
        for Bar { what, details, met } in &self.bars {
            let mark = if *met { "met   " } else { "MISSED" };
            let colon = if details.is_empty() { "" } else { ": " };
            say!("  {mark}  {what}{colon}{}", details.join(", "));
        }
    }
}

/// The cells of a program, `beside` of them between the wall times and the verdict.
fn cells(line: &Line, loops: bool, beside: usize) -> Vec<String> {
    let name = line.program.to_owned();
    let nothing = || "-".to_owned();
    let Some(figures) = &line.figures else {
        let why = line.fault.as_ref().map_or("no times", |fault| &fault.why).to_owned();
        let mut cells = vec![nothing(); beside + 6];
        (cells[0], cells[beside + 5]) = (name, why);
        return cells;
    };
    let Figures { wall_ns, cpu_ns, wall, cpu, wall_noise, cpu_noise, serial, .. } = figures;
    let verdict = match figures.verdict {
        Verdict::Faster => "faster",
        Verdict::Even => "even",
        Verdict::Slower => "SLOWER",
    };
    let ratio = |ratio: &Summary| format!("{:.2}", ratio.median);
    let mut cells = vec![
        name,
        duration_of(wall_ns[UPSTREAM].median),
        duration_of(wall_ns[SINEW].median),
        with_middle_half(wall),
        ratio(wall_noise),
    ];
    cells.extend(match serial {
        _ if !loops => vec![
            duration_of(cpu_ns[UPSTREAM].median),
            duration_of(cpu_ns[SINEW].median),
            ratio(cpu),
            ratio(cpu_noise),
        ],
        Some([alone, by_alone]) => vec![duration_of(alone.median), ratio(by_alone)],
        None => vec![nothing(); beside],
    });
    cells.push(verdict.to_owned());
    cells
}

fn with_middle_half(ratio: &Summary) -> String {
    format!("{:.2} ({:.2} to {:.2})", ratio.median, ratio.lower, ratio.upper)
}

/// The error of a program, in one line.
pub(super) fn fault_line(row: &Row, threads: usize) -> Option<String> {
    let Fault { runner, why } = row.fault.as_ref()?;
    Some(format!("{} on {threads} threads by {runner}: {why}", row.entry.name))
}
