//! The program: a map-array in a pool, changed while it runs by what the program is given of the
//! machine.
//!
//! It communicates by lines with the process that started it. It receives a [`Job`] and sends
//! [`Said::Ready`]; any line lets it begin; [`Said`] has the other messages.

use sinew::iter::LoopOptions;
use std::convert::Infallible;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use sinew::iter::ParIter;
use sinew::{Cancelled, Control, Mapping, Pool, Schedule, over};
use sinew_apps::collatz::{Workload, apply};
use sinew_coord::{Member, Offer, Share, Table};

use super::job::{Finished, Job, Order, Said, Until, Way};
use crate::common::place::{placed, requesting};
use crate::failure::Failure;
use crate::queues::pinned;

/// Between two looks at how much is done.
const PROGRESS: Duration = Duration::from_millis(1);

/// Runs as a program, controlled through `input`; messages go to `output`. Ends early and
/// successfully if `input` is closed.
///
/// # Errors
///
/// An invalid message, a closed output, or a pool or table that cannot be opened.
pub fn run_program(mut input: impl BufRead + Send, mut output: impl Write) -> Result<(), Failure> {
    let Some(line) = hear(&mut input) else { return Ok(()) };
    let order: Order = serde_json::from_str(&line)
        .map_err(|error| Failure::impossible(format!("this is no job: {error}: {line}")))?;
    let (mapping, job) = (order.mapping()?, order.job);
    let workload = job.workload();
    say(&mut output, &Said::Ready)?;
    if hear(&mut input).is_none() {
        return Ok(());
    }
    let running = requesting(mapping.as_ref(), || Running::begin(&job, &workload))?;
    let outcome = match job.until {
        Until::Done { tell_at } => running.once(tell_at, || say(&mut output, &Said::Part))?,
        Until::Told => running.until_told(input)?,
    };
    say(&mut output, &Said::Done(outcome))
}

/// A line, if there is another one.
fn hear(input: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    // A program without a row has no message.
    input.read_line(&mut line).ok().filter(|&bytes| bytes > 0).map(|_| line)
}

fn say(output: &mut impl Write, said: &Said) -> Result<(), Failure> {
    let line = serde_json::to_string(said).map_err(Failure::impossible)?;
    writeln!(output, "{line}").and_then(|()| output.flush()).map_err(Failure::impossible)
}

/// A program at work.
struct Running<'j> {
    workload: &'j Workload,
    schedule: Schedule,
    /// Whether its loop has the control.
    is_plastic: bool,
    control: Control,
    pool: Pool,
    /// Its own place in the table, and how often it looks there.
    member: Option<(Member, Duration)>,
    began: Instant,
}

/// The messages of a program that does its tasks once.
enum Event {
    Part,
    Done(Result<Vec<u64>, Cancelled>),
}

impl<'j> Running<'j> {
    fn begin(job: &Job, workload: &'j Workload) -> Result<Self, Failure> {
        let began = Instant::now();
        // No external thread: it would not be moved.
        let floating = Pool::builder().threads(job.threads).external_slot(false);
        let builder =
            if job.pinned { pinned(job.threads) } else { placed(floating, Mapping::None) };
        let builder = match &job.way {
            Way::Shares(folder) => builder.coordinate_in(folder),
            Way::On(cpus) => builder.threads(cpus.len()).mapping(Mapping::Explicit(cpus.clone())),
            Way::Fixed | Way::Anarchic | Way::Looks { .. } => builder,
        };
        let pool = builder.build().map_err(Failure::impossible)?;
        let member = match &job.way {
            Way::Looks { folder, every_ms } => {
                Some((join(job, folder)?, Duration::from_millis(*every_ms)))
            }
            Way::Fixed | Way::Anarchic | Way::On(_) | Way::Shares(_) => None,
        };
        let schedule = Schedule::Dynamic { chunk: job.chunk };
        let (control, is_plastic) = (Control::new(), job.way != Way::Fixed);
        Ok(Self { workload, schedule, is_plastic, control, pool, member, began })
    }

    /// All tasks.
    fn tasks(&self) -> Result<Vec<u64>, Cancelled> {
        let Self { workload, schedule, control, pool, .. } = self;
        pool.run(|_| {
            let tasks = over(workload.tasks()).default_schedule(*schedule);
            if !self.is_plastic {
                return Ok(tasks.map_array(workload.table(), apply).collect());
            }
            let tasks = tasks.control(control);
            tasks.map_array(workload.table(), apply).collect()
        })
    }

    /// Follows what the program is given, until `ended`.
    fn follow(&self, ended: &Receiver<Infallible>) {
        let Some((member, every)) = &self.member else { return };
        if every.is_zero() {
            let control = self.control.clone();
            return member.on_change(move |share| change(&control, share));
        }
        let mut seen = None;
        loop {
            let epoch = member.epoch();
            if seen.replace(epoch) != Some(epoch) {
                change(&self.control, &member.share());
            }
            if ended.recv_timeout(*every) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    /// Does all tasks once; calls `tell` when this part of them is done.
    fn once(
        &self,
        tell_at: Option<f64>,
        mut tell: impl FnMut() -> Result<(), Failure>,
    ) -> Result<Finished, Failure> {
        let (happened, happens) = mpsc::channel();
        if let Some(part) = tell_at {
            self.call_at(part, happened.clone());
        }
        let (end, ended) = mpsc::channel();
        let answers = thread::scope(|s| {
            s.spawn(move || self.follow(&ended));
            s.spawn(move || {
                // The reader is gone only after an error.
                let _ = happened.send(Event::Done(self.tasks()));
                drop(end);
            });
            loop {
                match happens.recv().map_err(Failure::impossible)? {
                    Event::Part => tell()?,
                    Event::Done(answers) => return answers.map_err(Failure::impossible),
                }
            }
        })?;
        let seconds = self.began.elapsed().as_secs_f64();
        Ok(self.outcome(seconds, answers.len() as u64, Some(&answers)))
    }

    fn call_at(&self, part: f64, call: Sender<Event>) {
        let mut call = Some(call);
        self.control.on_progress(PROGRESS, move |now| {
            if let Some(call) = call.take_if(|_| now.fraction() >= part) {
                let _ = call.send(Event::Part);
            }
        });
    }

    /// Does the tasks again and again; counts those between two lines, after which it ends.
    fn until_told(&self, mut input: impl BufRead + Send) -> Result<Finished, Failure> {
        let (end, ended) = mpsc::channel();
        let mut last = None;
        let (seconds, tasks) = thread::scope(|s| {
            s.spawn(move || self.follow(&ended));
            let counting = s.spawn(move || {
                let counted = self.count(&mut input);
                self.control.cancel();
                counted
            });
            while let Ok(answers) = self.tasks() {
                last = Some(answers);
            }
            drop(end);
            counting.join().map_err(|_| Failure::impossible("the count of tasks was lost"))
        })?;
        Ok(self.outcome(seconds, tasks, last.as_deref()))
    }

    /// Seconds and tasks between two lines.
    fn count(&self, input: &mut impl BufRead) -> (f64, u64) {
        let mut look = || {
            hear(input);
            (Instant::now(), self.control.snapshot().done)
        };
        let ((began, before), (ended, after)) = (look(), look());
        (ended.duration_since(began).as_secs_f64(), after - before)
    }

    fn outcome(&self, seconds: f64, tasks: u64, answers: Option<&[u64]>) -> Finished {
        let checked = answers.map_or(Ok(()), |answers| self.workload.check(answers));
        let wrong = checked.err().map(|wrong| wrong.to_string());
        Finished { seconds, tasks, changes: self.changes(), wrong }
    }

    /// The first share is no change.
    fn changes(&self) -> u64 {
        let shares = self.pool.share().map_or(0, |share| share.epoch.saturating_sub(1));
        self.control.snapshot().changes + shares
    }
}

fn join(job: &Job, folder: &Path) -> Result<Member, Failure> {
    let table = Table::open(folder).map_err(Failure::impossible)?;
    let threads = u32::try_from(job.threads).unwrap_or(u32::MAX);
    Member::join(&table, Offer::new(&job.name).max(threads)).map_err(Failure::impossible)
}

/// The effect of a share on a loop: its threads, on these cores, and its schedule if one is named.
fn change(control: &Control, share: &Share) {
    control.set_threads(share.threads.max(1) as usize);
    // A core that has just been taken from the process: its threads stay where they are.
    let _ = control.set_mapping(&Mapping::Explicit(share.cores.iter().collect()));
    if let Some(schedule) = share.schedule {
        control.set_schedule(schedule);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, BufReader, Read};

    use sinew_coord::{Name, Policy, Row};

    use super::*;
    use crate::plastic::programs::{Access, Standing};

    fn job(way: Way, until: Until) -> Job {
        let (name, access) = ("first".to_owned(), Access::Random);
        let (tasks, repeats, entries) = (300, 40, 256);
        let (threads, pinned, chunk) = (2, false, 1);
        Job { name, access, tasks, repeats, entries, threads, pinned, chunk, way, until }
    }

    /// All messages of a program whose input lines exist from the beginning.
    fn says(job: &Job, lines: &str) -> Vec<Said> {
        let input = format!("{}\n{lines}", serde_json::to_string(&Order::of(job)).unwrap());
        let mut output = Vec::new();
        run_program(input.as_bytes(), &mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn outcome(said: &[Said]) -> &Finished {
        let Some(Said::Done(outcome)) = said.last() else { panic!("{said:?}") };
        assert_eq!(outcome.wrong, None);
        outcome
    }

    /// Catches: tasks that are left out, a part that is not told of, and a program that does not
    /// follow its share, in whichever way it stands to others.
    #[test]
    fn a_program_does_its_tasks_in_every_way() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("shared");
        let tell_at = |way: &Way| (*way != Way::Fixed).then_some(0.0);
        let cpu = sinew_topology::Limits::read().allowed().iter().last();
        let mut ways = vec![Way::Fixed, Way::Anarchic, Way::On(cpu.into_iter().collect())];
        if cfg!(target_os = "linux") {
            let looks = |every_ms| Way::Looks { folder: place.clone(), every_ms };
            ways.extend([Way::Shares(place.clone()), looks(0), looks(1)]);
        }
        for way in ways {
            let looks = matches!(way, Way::Looks { .. });
            let done = Until::Done { tell_at: tell_at(&way) };
            let said = says(&job(way, done), "go\n");
            assert_eq!(said[0], Said::Ready);
            let outcome = outcome(&said);
            assert_eq!(outcome.tasks, 300);
            assert!(looks || outcome.changes == 0);
            let told = says(&job(Way::Anarchic, Until::Told), "go\nmark\nstop\n");
            assert_eq!(told.len(), 2);
        }
    }

    /// Its input goes on when the pool's loops follow the granted schedule.
    struct WhenFollowed(Table);

    impl Read for WhenFollowed {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let follows = |row: &Row| row.last_loop.map(|last| last.schedule) == Some(GRANTED);
            while !self.0.read().iter().any(follows) {
                thread::yield_now();
            }
            buffer[..GO_ON.len()].copy_from_slice(GO_ON);
            Ok(GO_ON.len())
        }
    }

    const GO_ON: &[u8] = b"mark\nstop\n";
    const GRANTED: Schedule = Schedule::Dynamic { chunk: 9 };

    /// Catches: a program without others that the coordinator does not reach, and one that it
    /// changes more often than it says.
    #[test]
    fn a_coordinator_changes_a_lone_program_once() {
        if !cfg!(target_os = "linux") {
            println!("skipped: programs share a table on Linux only");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("shared");
        let binary = std::env::current_exe().unwrap();
        let name = Name::new(&binary.file_stem().unwrap().to_string_lossy());
        let script = format!("when {name} joins {name} threads 2 schedule {GRANTED}");
        let standing = Standing::start(&place, Policy::Script, script.parse().unwrap()).unwrap();
        let job = Order::of(&job(Way::Shares(place.clone()), Until::Told));
        let job = serde_json::to_string(&job).unwrap();
        let rest = BufReader::new(WhenFollowed(Table::open(&place).unwrap()));
        let mut output = Vec::new();
        run_program(format!("{job}\ngo\n").as_bytes().chain(rest), &mut output).unwrap();
        drop(standing);
        let text = String::from_utf8(output).unwrap();
        let said: Vec<Said> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(outcome(&said).changes, 1);
    }

    /// Catches: a request that stays in the process of the experiment, or that moves programs whose
    /// places are what a case is about.
    #[test]
    fn a_program_has_the_mapping_that_the_user_requests() {
        let mapping = |job: &Job, asked: Option<&Mapping>| {
            let line = requesting(asked, || serde_json::to_string(&Order::of(job)).unwrap());
            let order: Order = serde_json::from_str(&line).unwrap();
            let begin =
                || Running::begin(&order.job, &order.job.workload()).unwrap().pool.mapping();
            requesting(order.mapping().unwrap().as_ref(), begin)
        };
        let asked = [None, Some(&Mapping::Scatter), Some(&Mapping::None)];
        let done = Until::Done { tell_at: None };
        let anarchic = Job { threads: 1, ..job(Way::Anarchic, done) };
        let wanted = [Mapping::None, Mapping::Scatter, Mapping::None];
        assert_eq!(asked.map(|asked| mapping(&anarchic, asked)), wanted);
        let pinned = Job { pinned: true, way: Way::Fixed, ..anarchic.clone() };
        let wanted = [Mapping::Compact, Mapping::Scatter, Mapping::None];
        assert_eq!(asked.map(|asked| mapping(&pinned, asked)), wanted);
        let cpus: Vec<usize> = sinew_topology::Limits::read().allowed().iter().take(1).collect();
        let on = Job { way: Way::On(cpus.clone()), ..anarchic };
        assert_eq!(
            asked.map(|asked| mapping(&on, asked)),
            [(); 3].map(|()| { Mapping::Explicit(cpus.clone()) })
        );
    }

    /// Catches: a program that outlives its parent, or begins without the command.
    #[test]
    fn a_program_to_whom_nobody_speaks_ends() {
        let done = Until::Done { tell_at: None };
        assert_eq!(says(&job(Way::Anarchic, done), ""), [Said::Ready]);
        outcome(&says(&job(Way::Anarchic, Until::Told), "go\n"));
        assert!(run_program(&b""[..], Vec::new()).is_ok());
        let error = run_program(&b"nonsense\n"[..], Vec::new()).unwrap_err().to_string();
        assert!(error.contains("nonsense"), "{error}");
    }
}
