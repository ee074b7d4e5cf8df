//! A loop that is changed while it runs, as a timeline; the demo shows it before its table, and
//! `draw timeline` makes a picture of it.
//!
//! The loop is a map-array whose first half of tasks is heavy. Another thread changes its threads,
//! schedule and mapping by a script, and counts each worker's tasks since the last column of the
//! picture. On a terminal the demo redraws the picture at once; otherwise it prints the finished
//! timeline. The results are checked like all others.

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

/// The schedule before the first change.
const FIRST: Schedule = Schedule::Static;

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
pub(crate) struct Timeline {
    /// From left to right, without gaps.
    pub(crate) columns: Vec<Column>,
    /// The changes so far.
    pub(crate) changes: Vec<Changed>,
}

/// A part of the time.
#[derive(Debug)]
pub(crate) struct Column {
    /// Its end, from the beginning of the loop.
    pub(crate) end: Duration,
    /// The work of each worker.
    pub(crate) work: Vec<u64>,
    /// The schedule at its end.
    pub(crate) schedule: Schedule,
}

/// A change that was made.
#[derive(Debug)]
pub(crate) struct Changed {
    /// The column in which it takes effect.
    pub(crate) column: usize,
    /// When it was made, from the beginning of the loop.
    pub(crate) at: Duration,
    /// Its description.
    pub(crate) words: String,
}

/// A loop that was changed while it ran; its results are right.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) timeline: Timeline,
    /// The number of changes that the control has seen.
    changes: u64,
    /// The number of results, unless the loop was cancelled.
    pub(crate) answers: Option<usize>,
}

/// Runs the loop for about `planned`, and shows it; fails if a result is wrong.
pub(crate) fn show(pool: &Pool, planned: Duration) -> Result<(), Failure> {
    let live = io::stdout().is_terminal();
    let mut drawn = Ok(0);
    let redraw_live = |timeline: &Timeline| {
        if live && let Ok(lines) = drawn {
            drawn = redraw(timeline, lines);
        }
    };
    let observed = observe(pool, planned, COLUMN.min(planned / 40), redraw_live)?;
    let printed =
        if live { drawn.map(drop) } else { output::print(&observed.timeline.draw('#', '.')) };
    let words = match observed.answers {
        Some(answers) => format!(
            "The loop was changed {} times while it ran; its {answers} answers are right.\n",
            observed.changes
        ),
        None => format!("This machine is busy: the loop was cancelled after {LONGEST:?}.\n"),
    };
    Ok(printed.and(output::print(&words))?)
}

/// Runs the loop for about `planned`, and observes it; fails if a result is wrong. `see` gets the
/// timeline after each `column`.
pub(crate) fn observe(
    pool: &Pool,
    planned: Duration,
    column: Duration,
    see: impl FnMut(&Timeline) + Send,
) -> Result<Observed, Failure> {
    let workers = pool.max_threads();
    let workload = workload(workers, planned);
    let (control, done) =
        (Control::new(), (0..workers).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
    let (end, ended) = channel::<()>();
    let joined = thread::scope(|s| {
        let stage = Stage { control: &control, done: &done, planned, column };
        let direct = s.spawn(move || stage.direct(&ended, see));
        let answers = pool.run(|_| {
            let tasks = over(workload.tasks()).control(&control).schedule(FIRST);
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
        direct.join().map(|timeline| (answers, timeline))
    });
    let (answers, timeline) =
        joined.map_err(|_| Failure::Wrong("the timeline could not be drawn".to_owned()))?;
    let answers = answers.ok();
    if let Some(answers) = &answers {
        let checked = workload.check(answers);
        checked.map_err(|wrong| Failure::Wrong(format!("the changed loop: {wrong}")))?;
    }
    let changes = control.snapshot().changes;
    Ok(Observed { timeline, changes, answers: answers.map(|answers| answers.len()) })
}

/// Tasks that keep the workers busy for about the planned time, calibrated by one task.
fn workload(workers: usize, planned: Duration) -> Workload {
    const TRIAL: u32 = 100_000;
    let trial = Workload::uniform(1, TRIAL);
    let time = |_| {
        let began = Instant::now();
        let _ = trial.serial();
        began.elapsed()
    };
    // The shortest of some: the first one runs while the processor is still slow.
    let shortest = (0..5).map(time).min().unwrap_or_default();
    let repetition_s = shortest.as_secs_f64() / f64::from(TRIAL);
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
    column: Duration,
}

impl Stage<'_> {
    /// Runs until the loop has ended.
    fn direct(&self, ended: &Receiver<()>, mut see: impl FnMut(&Timeline)) -> Timeline {
        let (began, mut timeline, mut before) =
            (Instant::now(), Timeline::default(), vec![0; self.done.len()]);
        let (mut script, mut schedule) = (SCRIPT.iter().peekable(), FIRST);
        loop {
            let at = began.elapsed();
            while let Some((_, change)) = script.next_if(|(due, _)| self.planned * *due / 100 <= at)
            {
                let words = change.make(self.control, self.done.len());
                if let Change::Schedule(next) = change {
                    schedule = *next;
                }
                timeline.changes.push(Changed { column: timeline.columns.len(), at, words });
            }
            if at > LONGEST {
                self.control.cancel();
            }
            let is_over = ended.recv_timeout(self.column) != Err(RecvTimeoutError::Timeout);
            let work = self.since(&mut before);
            timeline.columns.push(Column { end: began.elapsed(), work, schedule });
            see(&timeline);
            if is_over {
                return timeline;
            }
        }
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
        let workers = self.columns.first().map_or(0, |column| column.work.len());
        let mut text = String::from("\nA loop that is changed while it runs:\n");
        for worker in 0..workers.min(LINES) {
            let cells =
                self.columns.iter().map(|column| if column.work[worker] > 0 { busy } else { idle });
            let _ = writeln!(text, "  worker {worker:<3} {}", cells.collect::<String>());
        }
        if workers > LINES {
            let _ = writeln!(text, "  and {} more", workers - LINES);
        }
        let _ = writeln!(text, "  changes    {}", self.marks());
        for (number, change) in self.changes.iter().enumerate() {
            let _ = writeln!(text, "    {} {}", number + 1, change.words);
        }
        text
    }

    /// The number of each change below the column of its time.
    fn marks(&self) -> String {
        let last = self.changes.last().map_or(0, |change| change.column + 1);
        let mark = |column| {
            let at = self.changes.iter().rposition(|change| change.column == column)?;
            char::from_digit(at as u32 + 1, 10)
        };
        (0..last).map(|column| mark(column).unwrap_or(' ')).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(work: &[&[u64]], changes: &[(usize, &str)]) -> Timeline {
        let column =
            |work: &&[u64]| Column { end: Duration::ZERO, work: work.to_vec(), schedule: FIRST };
        let change = |(column, words): &(usize, &str)| Changed {
            column: *column,
            at: Duration::ZERO,
            words: (*words).to_owned(),
        };
        Timeline {
            columns: work.iter().map(column).collect(),
            changes: changes.iter().map(change).collect(),
        }
    }

    /// Catches: swapped lines of workers, and a change at a wrong column.
    #[test]
    fn a_timeline_has_a_line_a_worker_and_a_number_a_change() {
        let changes = [(0, "1 thread"), (2, "2 threads")];
        let timeline = timeline(&[&[5, 0], &[7, 0], &[1, 2]], &changes);
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
        let why = format!("no mapping: {}", "because ".repeat(20));
        let timeline = timeline(&[&[1, 0][..]; 120], &[(99, &why), (100, "1 thread")]);
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
        let timeline = timeline(&[&[1; 40]], &[]);
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
