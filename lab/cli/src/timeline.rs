//! A loop that is changed while it runs, drawn as a timeline; the demo shows it before its table.
//!
//! The loop is a map-array whose first half of tasks is heavy. Another thread changes its threads,
//! schedule and mapping by a script, and counts each worker's tasks since the last change of the
//! picture. On a terminal it redraws the picture at once; otherwise the finished timeline is
//! printed. The results are checked like all others.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use sinew::prelude::*;
use sinew_apps::collatz::{Workload, apply};
use sinew_sync::atomic::{AtomicU64, Ordering};

use sinew_console::{Failure, output};

/// Time between two columns.
const COLUMN: Duration = Duration::from_millis(20);

/// The loop is cancelled after this time.
const LONGEST: Duration = Duration::from_secs(2);

/// The greatest number of workers with a line each.
const LINES: usize = 16;

/// Longer lines would wrap on a terminal, and could not be erased.
const WIDTH: usize = 78;

const TASKS: usize = 20_000;

/// Duration of a heavy task relative to a light one.
const LIGHTER: u32 = 100;

/// The changes and their times, in hundredths of the planned time.
const SCRIPT: [(u32, Change); 6] = [
    (0, Change::Threads(Some(1))),
    (15, Change::Threads(None)),
    (45, Change::Schedule(Schedule::Dynamic { chunk: 16 })),
    (60, Change::Mapping(Mapping::Compact)),
    (72, Change::Threads(Some(1))),
    (87, Change::Threads(None)),
];

#[derive(Debug, Clone, PartialEq)]
enum Change {
    /// This number, or all.
    Threads(Option<usize>),
    Schedule(Schedule),
    Mapping(Mapping),
}

impl Change {
    /// Applies the change, and returns its description.
    fn make(&self, control: &Control, workers: usize) -> String {
        match self {
            Self::Threads(threads) => {
                let threads = threads.unwrap_or(workers);
                control.set_threads(threads);
                format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
            }
            Self::Schedule(schedule) => {
                control.set_schedule(*schedule);
                schedule.to_string()
            }
            Self::Mapping(mapping) => match control.set_mapping(mapping) {
                Ok(()) => mapping.to_string(),
                Err(why) => format!("no mapping: {why}"),
            },
        }
    }
}

/// The observations so far.
#[derive(Debug, Default)]
struct Timeline {
    /// For each column the work of each worker.
    columns: Vec<Vec<u64>>,
    /// The column of each change, and its description.
    changes: Vec<(usize, String)>,
}

/// Runs the loop for about `planned`, and shows it; fails if a result is wrong.
pub(crate) fn show(pool: &Pool, planned: Duration) -> Result<(), Failure> {
    let workers = pool.max_threads();
    let workload = workload(workers, planned);
    let (control, done) =
        (Control::new(), (0..workers).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
    let (end, ended) = channel::<()>();
    let answers = thread::scope(|s| {
        let stage =
            Stage { control: &control, done: &done, planned, live: io::stdout().is_terminal() };
        let direct = s.spawn(move || stage.direct(&ended));
        let answers = pool.run(|_| {
            let tasks = over(workload.tasks()).control(&control).schedule(Schedule::Static);
            let answers = tasks.map_array(workload.table(), |task, table| {
                let answer = apply(task, table);
                let worker = sinew::run(|w| w.index());
                // Relaxed: a statistic.
                done[worker].fetch_add(u64::from(task.repeats()), Ordering::Relaxed);
                answer
            });
            answers.collect::<Vec<_>>()
        });
        drop(end);
        direct.join().map(|printed| (answers, printed))
    });
    let (answers, printed) =
        answers.map_err(|_| Failure::Wrong("the timeline could not be drawn".to_owned()))?;
    let words = match answers {
        Ok(answers) => {
            workload
                .check(&answers)
                .map_err(|wrong| Failure::Wrong(format!("the changed loop: {wrong}")))?;
            let changes = control.snapshot().changes;
            format!(
                "The loop was changed {changes} times while it ran; its {} answers are right.\n",
                answers.len()
            )
        }
        Err(Cancelled) => {
            format!("This machine is busy: the loop was cancelled after {LONGEST:?}.\n")
        }
    };
    Ok(printed.and(output::print(&words))?)
}

/// Tasks that keep the workers busy for about the planned time, calibrated by one task.
fn workload(workers: usize, planned: Duration) -> Workload {
    const TRIAL: u32 = 5_000;
    let trial = Workload::uniform(1, TRIAL);
    let began = Instant::now();
    let _ = trial.serial();
    let repetition_s = began.elapsed().as_secs_f64() / f64::from(TRIAL);
    // One worker runs in the script's first step and its last but one. In the others fewer than all
    // are busy, because static shares are uneven.
    let work_s = planned.as_secs_f64() * (0.3 + 0.55 * workers as f64);
    let heavy = work_s / (TASKS / 2) as f64 / repetition_s;
    Workload::biased(TASKS, (heavy as u32).max(LIGHTER), (heavy as u32 / LIGHTER).max(1), 2)
}

/// The thread that changes the loop and observes it.
struct Stage<'a> {
    control: &'a Control,
    done: &'a [AtomicU64],
    planned: Duration,
    live: bool,
}

impl Stage<'_> {
    /// Runs until the loop has ended.
    fn direct(&self, ended: &Receiver<()>) -> io::Result<()> {
        let (began, mut timeline, mut before) =
            (Instant::now(), Timeline::default(), vec![0; self.done.len()]);
        let column = COLUMN.min(self.planned / 40);
        let mut script = SCRIPT.iter().peekable();
        let mut drawn = Ok(0);
        loop {
            let elapsed = began.elapsed();
            while let Some((_, change)) =
                script.next_if(|(at, _)| self.planned * *at / 100 <= elapsed)
            {
                timeline
                    .changes
                    .push((timeline.columns.len(), change.make(self.control, self.done.len())));
            }
            if elapsed > LONGEST {
                self.control.cancel();
            }
            let is_over = ended.recv_timeout(column) != Err(RecvTimeoutError::Timeout);
            timeline.columns.push(self.since(&mut before));
            if self.live {
                drawn = drawn.and_then(|lines| redraw(&timeline, lines));
            }
            if is_over {
                break;
            }
        }
        if !self.live {
            return output::print(&timeline.draw('#', '.'));
        }
        drawn.map(drop)
    }

    fn since(&self, before: &mut [u64]) -> Vec<u64> {
        let now = self.done.iter().map(|done| done.load(Ordering::Relaxed));
        now.zip(before).map(|(now, before)| now - std::mem::replace(before, now)).collect()
    }
}

/// Replaces the picture of `lines` lines; returns its new number of lines.
fn redraw(timeline: &Timeline, lines: usize) -> io::Result<usize> {
    let text = fitting(&timeline.draw('█', '·'));
    let back = if lines == 0 { String::new() } else { format!("\x1b[{lines}A\x1b[J") };
    output::print(&format!("{back}{text}"))?;
    Ok(text.lines().count())
}

/// The text, with lines cut to the width.
fn fitting(text: &str) -> String {
    let line = |line: &str| line.chars().take(WIDTH).chain(['\n']).collect::<String>();
    text.lines().map(line).collect()
}

impl Timeline {
    /// A line per worker, one with the numbers of the changes, and their descriptions.
    fn draw(&self, busy: char, idle: char) -> String {
        let workers = self.columns.first().map_or(0, Vec::len);
        let mut text = String::from("\nA loop that is changed while it runs:\n");
        for worker in 0..workers.min(LINES) {
            let cells =
                self.columns.iter().map(|column| if column[worker] > 0 { busy } else { idle });
            let _ = writeln!(text, "  worker {worker:<3} {}", cells.collect::<String>());
        }
        if workers > LINES {
            let _ = writeln!(text, "  and {} more", workers - LINES);
        }
        let _ = writeln!(text, "  changes    {}", self.marks());
        for (number, (_, what)) in self.changes.iter().enumerate() {
            let _ = writeln!(text, "    {} {what}", number + 1);
        }
        text
    }

    /// The number of each change below the column of its time.
    fn marks(&self) -> String {
        let last = self.changes.last().map_or(0, |(column, _)| column + 1);
        let mark = |column| {
            let at = self.changes.iter().rposition(|(changed, _)| *changed == column)?;
            char::from_digit(at as u32 + 1, 10)
        };
        (0..last).map(|column| mark(column).unwrap_or(' ')).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: swapped lines of workers, and a change at a wrong column.
    #[test]
    fn a_timeline_has_a_line_a_worker_and_a_number_a_change() {
        let changes = vec![(0, "1 thread".to_owned()), (2, "2 threads".to_owned())];
        let timeline = Timeline { columns: vec![vec![5, 0], vec![7, 0], vec![1, 2]], changes };
        let lines: Vec<String> = timeline.draw('#', '.').lines().map(str::to_owned).collect();
        assert_eq!(
            lines[2..],
            [
                "  worker 0   ###",
                "  worker 1   ..#",
                "  changes    1 2",
                "    1 1 thread",
                "    2 2 threads"
            ]
        );
    }

    /// Catches: a line that wraps, so that the terminal has more lines than are erased; a line that
    /// is lost, or cut although it fits.
    #[test]
    fn what_is_drawn_again_and_again_fits_into_its_lines() {
        let changes = vec![
            (99, format!("no mapping: {}", "because ".repeat(20))),
            (100, "1 thread".to_owned()),
        ];
        let timeline = Timeline { columns: vec![vec![1, 0]; 120], changes };
        let (whole, cut) = (timeline.draw('█', '·'), fitting(&timeline.draw('█', '·')));
        assert!(whole.lines().any(|line| line.chars().count() > WIDTH));
        assert!(cut.lines().all(|line| line.chars().count() <= WIDTH) && cut.ends_with('\n'));
        assert_eq!(whole.lines().count(), cut.lines().count());
        assert!(whole.lines().zip(cut.lines()).all(|(whole, cut)| whole.starts_with(cut)));
        assert!(cut.contains("    2 1 thread\n"));
    }

    /// Catches: a line for each of a thousand workers.
    #[test]
    fn many_workers_are_counted_instead() {
        let timeline = Timeline { columns: vec![vec![1; 40]], changes: Vec::new() };
        assert!(timeline.draw('#', '.').contains("and 24 more"));
    }

    /// Catches: a script that does not fit into the planned time, or is out of order.
    #[test]
    fn the_script_is_over_before_the_plan_is() {
        assert!(SCRIPT.is_sorted_by_key(|(at, _)| *at) && SCRIPT.iter().all(|(at, _)| *at < 100));
        let pool = Pool::builder().threads(2).build().unwrap();
        show(&pool, Duration::from_millis(40)).unwrap();
    }
}
