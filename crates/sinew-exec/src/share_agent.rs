//! The share agent: the process that follows a command's share.
//!
//! It sleeps in one `poll` until the command ends, one of its processes registers or ends, or
//! another thread reports a new share. Then it divides the share again, writes the page, and moves
//! threads. It ends with the command.
//!
//! # Order
//!
//! Teams shrink before they lose processors, and grow after they get more. A team that spins with
//! more threads than processors runs no faster than the system switches between them.
//!
//! To grow, threads are first put on a processor each, and released after some milliseconds. Some
//! kernels leave threads that wake each other on one processor for a tenth of a second though
//! others are idle. The search for descendants takes place in these milliseconds, so that it takes
//! no processor from the team afterwards. A command that has had the whole machine all the time is
//! not touched.
//!
//! # Turns
//!
//! If there are more programs than processors, each program's share is one thread on all of them.
//! Then processes of several threads, whose teams the library does not lower, run on one processor
//! at a time (`turns`).
//!
//! # Demand
//!
//! With neighbours, the share agent measures four times a second how much processor time the
//! command uses, and reports how many threads have work (`usage`).
//!
//! # Cost
//!
//! Nothing while nothing changes and the command has the whole machine; a search of the machine's
//! processes each second while it has less. With neighbours, each measurement costs some 10 µs a
//! process of the command. A command that does not use all that it has also costs a search of the
//! machine's processes: a hundredth of a core up to a thousand processes.
//!
//! A change costs a system call for each thread of the command, and a search of the machine's
//! processes for descendants. A turn costs as much; turns are skipped so that they take a fiftieth
//! of the time at most.

use std::collections::HashSet;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use sinew_preload::layout::SLOTS;
use sinew_topology::CpuSet;

use crate::descendants::{self, Parents};
use crate::divide::divide;
use crate::limit_mark;
use crate::masks::{Masks, Thread, are_several, now, only};
use crate::page::Page;
use crate::share_source::{Grant, Job, ShareSource};
use crate::turns::{self, processor_time};
use crate::usage::{Allowance, Usage};

/// The time between two measurements of the command's usage, with neighbours: this many times the
/// duration of a measurement, within bounds.
const MEASURE_PART: u32 = 100;
const MEASURE_EVERY: Duration = Duration::from_millis(250);
const MEASURE_AT_LEAST_EVERY: Duration = Duration::from_secs(1);

/// The time in which a growing team may start its new threads, and the time for which they then
/// stay on a processor each.
const MAKING: Duration = Duration::from_millis(1);
const SPREAD: Duration = Duration::from_millis(5);

/// A turn lasts at least this many times as long as the move to its processor took in processor
/// time.
const TURN_PART: u32 = 50;

/// Searches for new processes before giving up on a command that starts them faster than they are
/// found.
const MOST_LOOKS: usize = 10;

/// A process of the command that has parallel regions.
#[derive(Debug)]
struct TeamProcess {
    slot: usize,
    pid: u32,
    /// Readable when the process has ended.
    ending: OwnedFd,
    /// The number of threads that it was last told; 0: none yet.
    threads: usize,
}

/// A command and its share.
struct ShareAgent<'a> {
    job: &'a Job,
    /// A variable in the environment of all of the command's processes.
    mark: &'a [u8],
    page: &'a Page,
    grant: Grant,
    /// Readable when another grant exists.
    wake: PipeReader,
    teams: Vec<TeamProcess>,
    masks: Masks,
    /// The processes of the command at the last search.
    processes: Vec<u32>,
    parents: Parents,
    /// The time of that search.
    searched: Instant,
    /// The threads in the last note for the watchdog.
    noted_threads: Vec<Thread>,
    usage_meter: UsageMeter,
    turn: OwnTurn,
}

/// The present turn of processes of several threads.
struct OwnTurn {
    /// Their processor; `None` if the command has its share to itself.
    processor: Option<usize>,
    /// The end of the turn; `None` if the command takes no turns.
    ends: Option<Instant>,
}

/// Measures the command's processor time.
struct UsageMeter {
    usage: Usage,
    /// The processes whose time is counted: those of the last search that found all of them.
    counted: Vec<u32>,
    /// Their time at the last measurement.
    seconds: f64,
    at: Instant,
    next: Instant,
}

impl UsageMeter {
    /// For a command that has used `seconds` so far.
    fn new(job: &Job, seconds: f64) -> Self {
        let (counted, now) = (vec![job.program.pid], Instant::now());
        Self {
            usage: Usage::new(job.threads),
            counted,
            seconds,
            at: now,
            next: now + MEASURE_EVERY,
        }
    }

    /// The number of threads for which the command seems to have work.
    fn measure(&mut self, job: &Job, granted: usize, neighbours: usize) -> usize {
        let began = Instant::now();
        let seconds = descendants::processor_time(&self.counted);
        let cores = (seconds - self.seconds).max(0.0) / (began - self.at).as_secs_f64().max(1e-3);
        let part = (job.cpus.len() as f64 / (neighbours + 1) as f64).min(1.0);
        let demand = self.usage.add_sample(cores, Allowance { granted, most: job.threads, part });
        (self.seconds, self.at) = (seconds, began);
        if self.usage.is_in_doubt(job.threads) {
            // Processes that were not counted are counted from now on.
            self.counted = descendants::descendants(job.program.pid);
            self.seconds = descendants::processor_time(&self.counted);
        }
        self.next =
            began + (began.elapsed() * MEASURE_PART).clamp(MEASURE_EVERY, MEASURE_AT_LEAST_EVERY);
        demand
    }
}

/// The events that ended a wait.
#[derive(Default)]
struct Events {
    command_ended: bool,
    registered: bool,
    granted: bool,
    ended: Vec<usize>,
}

/// Follows `shares` until the command has ended. `ready` is called once the first grant is in
/// force, or with the reason why the command cannot be followed. It returns whether the command
/// still waits to be followed. `mark` is in the environment of all of the command's processes.
///
/// # Errors
///
/// The command cannot be watched.
pub(crate) fn follow(
    job: &Job,
    page: &Page,
    registrations: PipeReader,
    shares: &Arc<dyn ShareSource>,
    mark: &[u8],
    ready: impl FnOnce(Option<&io::Error>) -> bool,
) -> io::Result<()> {
    let inputs = open_inputs(job, &**shares);
    let Inputs { ending, wake, grants } = match inputs {
        Ok(inputs) => inputs,
        Err(error) => {
            ready(Some(&error));
            return Err(error);
        }
    };
    let whole = Grant { cpus: job.cpus.clone(), threads: job.cpus.len() };
    let mut agent = ShareAgent {
        job,
        mark,
        page,
        grant: grants.try_iter().last().unwrap_or(whole),
        wake,
        teams: Vec::new(),
        masks: Masks::new(&job.cpus, [], []),
        processes: vec![job.program.pid],
        parents: Parents::default(),
        searched: Instant::now(),
        noted_threads: Vec::new(),
        usage_meter: UsageMeter::new(job, 0.0),
        turn: OwnTurn { processor: None, ends: Some(Instant::now()) },
    };
    agent.apply_share();
    if ready(None) {
        agent.run(&ending, registrations, &grants, &**shares);
    }
    shares.leave();
    agent.restore_at_end();
    Ok(())
}

/// The descriptors and channels that a share agent waits for.
struct Inputs {
    /// Readable when the command has ended.
    ending: OwnedFd,
    /// Readable when another grant exists.
    wake: PipeReader,
    /// The grants, the first one among them if there is one.
    grants: mpsc::Receiver<Grant>,
}

/// Opens everything that the system may refuse, before the command is told that it is followed.
fn open_inputs(job: &Job, shares: &dyn ShareSource) -> io::Result<Inputs> {
    let ending = open_pidfd(job.program.pid)?;
    let (wake, waker) = io::pipe()?;
    let (send, grants) = mpsc::channel();
    // If the receiver is gone, the share agent has ended.
    shares.on_change(Box::new(move |grant| {
        let _ = send.send(grant).is_ok() && (&waker).write_all(&[0]).is_ok();
    }))?;
    Ok(Inputs { ending, wake, grants })
}

fn open_pidfd(pid: u32) -> io::Result<OwnedFd> {
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
    Ok(pidfd_open(number, PidfdFlags::empty())?)
}

impl ShareAgent<'_> {
    fn run(
        &mut self,
        ending: &OwnedFd,
        mut registrations: PipeReader,
        grants: &mpsc::Receiver<Grant>,
        shares: &dyn ShareSource,
    ) {
        let mut is_alone = self.is_alone(shares);
        loop {
            let next = self.next_step(is_alone);
            let timeout = next.map(|next| next.saturating_duration_since(Instant::now()));
            let events = self.wait(ending, &registrations, timeout);
            if events.command_ended {
                return;
            }
            is_alone = self.is_alone(shares);
            self.report_demand(shares, is_alone);
            let is_other = events.granted && self.take_grant(grants);
            let takes_turn = self.takes_turn(shares, events.granted);
            if events.registered {
                self.register(&mut registrations);
            }
            if is_other || events.registered || !events.ended.is_empty() {
                self.remove(&events.ended);
                self.apply_share_to_all();
            } else if takes_turn {
                self.move_to_turn();
            } else if self.is_narrowed() && self.searched.elapsed() >= MEASURE_AT_LEAST_EVERY {
                self.search_descendants();
            }
        }
    }

    /// The time of the next step without an event; `None` for a command that has the whole machine.
    fn next_step(&self, is_alone: bool) -> Option<Instant> {
        let for_new = self.is_narrowed().then(|| self.searched + MEASURE_AT_LEAST_EVERY);
        let shared = [Some(self.usage_meter.next), self.turn.ends].into_iter().flatten();
        for_new.into_iter().chain(shared.filter(|_| !is_alone)).min()
    }

    /// Whether new processes of the command inherit a narrower mask than the command began with.
    fn is_narrowed(&self) -> bool {
        self.job.follows && self.grant.cpus != self.job.cpus
    }

    /// Whether all of the command has the mask that it began with, and keeps it.
    fn is_untouched(&self, pieces: &[Grant]) -> bool {
        let has_all = |piece: &Grant| piece.cpus == self.job.cpus;
        !self.is_narrowed() && pieces.iter().all(has_all) && self.masks.are_untouched()
    }

    /// Records the processes that the command has started since the last search.
    fn search_descendants(&mut self) {
        self.processes = self.parents.descendants(self.job.program.pid);
        let mut left = limit_mark::processes_of(self.job.program);
        left.retain(|pid| !self.processes.contains(pid));
        self.processes.append(&mut left);
        self.searched = Instant::now();
        self.masks.record_new(&self.processes);
        self.note_narrowed();
    }

    /// Notes the narrowed threads for the watchdog, if they changed.
    fn note_narrowed(&mut self) {
        let narrowed = self.masks.narrowed();
        if narrowed != self.noted_threads {
            self.page.note_threads(&narrowed);
            self.noted_threads = narrowed;
        }
    }

    /// Computes the present turn, if the last one is over or the programs changed. Returns whether
    /// the command's processor changed.
    fn takes_turn(&mut self, shares: &dyn ShareSource, are_others: bool) -> bool {
        let now = Instant::now();
        if !are_others && self.turn.ends.is_none_or(|ends| now < ends) {
            return false;
        }
        let crowd = Some(shares)
            .filter(|_| self.job.follows && !self.job.lowers)
            .and_then(ShareSource::crowd);
        let turn = crowd.map(|crowd| (crowd, turns::now(crowd)));
        let processor =
            turn.and_then(|(crowd, (number, _))| turns::processor(&self.grant.cpus, crowd, number));
        self.turn.ends = turn.map(|(_, (_, left))| now + left);
        std::mem::replace(&mut self.turn.processor, processor) != processor
    }

    /// Moves all processes to the processor of this turn. Now and then it searches for new ones as
    /// well; until then they stay where their parents were.
    fn move_to_turn(&mut self) {
        let (began, used) = (Instant::now(), processor_time());
        if began - self.searched >= MEASURE_EVERY {
            self.search_descendants();
        }
        let pieces = divide(&self.grant, self.teams.len());
        self.note_masks(&pieces);
        self.move_all(&pieces);
        // Not the time that passed: on a busy machine this thread waits for a processor, and a
        // program that stays behind shares one while another is idle (T1).
        let least = began + processor_time().saturating_sub(used) * TURN_PART;
        self.turn.ends = self.turn.ends.map(|ends| ends.max(least));
    }

    /// Takes the last grant. Returns whether it differs; it does not if only the number of
    /// neighbours changed.
    fn take_grant(&mut self, grants: &mpsc::Receiver<Grant>) -> bool {
        let _ = self.wake.read(&mut [0; 64]);
        let Some(grant) = grants.try_iter().last() else { return false };
        std::mem::replace(&mut self.grant, grant) != self.grant
    }

    /// Whether the command has no neighbours, or does not follow its share.
    fn is_alone(&self, shares: &dyn ShareSource) -> bool {
        !self.job.follows || shares.neighbours() == 0
    }

    /// Reports the command's demand when it is time to measure. A command without neighbours needs
    /// no demand.
    fn report_demand(&mut self, shares: &dyn ShareSource, is_alone: bool) {
        if is_alone {
            self.usage_meter =
                UsageMeter::new(self.job, descendants::processor_time(&[self.job.program.pid]));
        } else if self.usage_meter.next <= Instant::now() {
            shares.set_demand(self.usage_meter.measure(
                self.job,
                self.grant.threads,
                shares.neighbours(),
            ));
        }
    }

    /// Applies the share to all processes: at once to the known ones, then to those that they have
    /// started since.
    fn apply_share_to_all(&mut self) {
        if !self.apply_share() {
            return;
        }
        for _ in 0..MOST_LOOKS {
            let searched = now();
            let before = std::mem::take(&mut self.processes);
            self.search_descendants();
            if self.processes.iter().all(|pid| before.contains(pid)) {
                self.masks.set_searched(searched);
                break;
            }
            self.apply_share();
        }
    }

    /// Waits for an event, or until `timeout` has passed.
    fn wait(
        &self,
        ending: &OwnedFd,
        registrations: &PipeReader,
        timeout: Option<Duration>,
    ) -> Events {
        let fixed = [ending.as_fd(), registrations.as_fd(), self.wake.as_fd()];
        let all = fixed.into_iter().chain(self.teams.iter().map(|team| team.ending.as_fd()));
        let mut files: Vec<PollFd<'_>> =
            all.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)).collect();
        // A handled signal ends the wait early, without any event.
        let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
        let _ = poll(&mut files, timeout.as_ref());
        let happened = |file: &PollFd<'_>| !file.revents().is_empty();
        Events {
            command_ended: happened(&files[0]),
            registered: happened(&files[1]),
            granted: happened(&files[2]),
            ended: (0..self.teams.len()).filter(|index| happened(&files[3 + index])).collect(),
        }
    }

    /// Records the processes that have taken slots.
    fn register(&mut self, registrations: &mut PipeReader) {
        let mut slots = [0; 64];
        let count = registrations.read(&mut slots).unwrap_or(0);
        for slot in
            slots[..count].iter().map(|slot| usize::from(*slot)).filter(|slot| *slot < SLOTS)
        {
            let pid = self.page.pid(slot);
            let known = self.teams.iter().any(|team| team.pid == pid);
            match open_pidfd(pid) {
                Ok(ending)
                    if !known && descendants::belongs(pid, self.job.program.pid, self.mark) =>
                {
                    self.teams.push(TeamProcess { slot, pid, ending, threads: 0 });
                }
                // It has ended since, or is no process of the command's. Then the slot is free for
                // any process.
                _ if !known => self.page.free(slot),
                _ => {}
            }
        }
    }

    fn remove(&mut self, ended: &[usize]) {
        for &index in ended.iter().rev() {
            let team = self.teams.remove(index);
            self.page.free(team.slot);
        }
    }

    /// Applies the share to the known processes. Returns whether a mask may have changed.
    fn apply_share(&mut self) -> bool {
        let pieces = divide(&self.grant, self.teams.len());
        // The next process to register is one more. Its own number is written when it registers.
        let next = divide(&self.grant, self.teams.len() + 1);
        self.page.set_job_threads(next.first().map_or(1, |piece| piece.threads));
        let (growing, others): (Vec<_>, Vec<_>) =
            (0..pieces.len()).partition(|&index| self.is_growing(index, &pieces[index]));
        self.set_team_threads(&others, &pieces);
        if !self.job.follows || self.is_untouched(&pieces) {
            self.set_team_threads(&growing, &pieces);
            return false;
        }
        self.note_masks(&pieces);
        self.masks.forget_ended();
        self.grow(&growing, &pieces);
        self.move_all(&pieces);
        true
    }

    /// Whether the process gets more threads, on several processors. A new process is about to make
    /// its team.
    fn is_growing(&self, index: usize, piece: &Grant) -> bool {
        piece.threads > self.teams[index].threads.max(1) && piece.cpus.len() > 1
    }

    /// Lets teams grow. Present threads, and those that are made at once, stay on a processor each
    /// for a while. Another grant ends that time: other programs wait for processors.
    fn grow(&mut self, growing: &[usize], pieces: &[Grant]) {
        if growing.is_empty() {
            return;
        }
        self.spread(growing, pieces);
        self.set_team_threads(growing, pieces);
        if self.waits_without_grant(MAKING) {
            self.spread(growing, pieces);
            let began = Instant::now();
            // Now, while each thread has a processor of its own. The search takes a processor from
            // a thread; afterwards that thread would move to a processor of another thread of its
            // team, and stay there.
            self.search_descendants();
            self.waits_without_grant(SPREAD.saturating_sub(began.elapsed()));
        }
    }

    /// Waits for `time`, or until another grant exists. Returns whether none does.
    fn waits_without_grant(&self, time: Duration) -> bool {
        let mut files = [PollFd::new(&self.wake, PollFlags::IN)];
        // A handled signal ends the wait early, which does no harm.
        poll(&mut files, Timespec::try_from(time).ok().as_ref()).is_ok_and(|happened| happened == 0)
    }

    fn spread(&mut self, growing: &[usize], pieces: &[Grant]) {
        for &index in growing {
            self.masks.spread(self.teams[index].pid, &pieces[index].cpus);
        }
    }

    /// Tells these processes how many threads they may have.
    fn set_team_threads(&mut self, indices: &[usize], pieces: &[Grant]) {
        for &index in indices {
            let (team, threads) = (&mut self.teams[index], pieces[index].threads);
            self.page.set_threads(team.slot, threads);
            team.threads = threads;
        }
    }

    /// Notes all masks that may be in force from now on, before they are set: the watchdog must
    /// know them to restore the first ones.
    fn note_masks(&self, pieces: &[Grant]) {
        let mut noted: Vec<CpuSet> = self.masks.in_force().cloned().collect();
        noted.extend(pieces.iter().map(|piece| piece.cpus.clone()));
        noted.extend(self.grant.cpus.iter().map(only));
        noted.push(self.grant.cpus.clone());
        noted.sort_by_key(ToString::to_string);
        noted.dedup();
        self.page.note_masks(&noted, self.masks.bound());
    }

    /// Moves the registered processes to their pieces, and all others to the whole share. Processes
    /// of several threads go to the processor of this turn instead, if there is one.
    fn move_all(&mut self, pieces: &[Grant]) {
        let registered: HashSet<u32> = self.teams.iter().map(|team| team.pid).collect();
        let teams = self.teams.iter().zip(pieces).map(|(team, piece)| (team.pid, &piece.cpus));
        let others = self.processes.iter().filter(|pid| !registered.contains(pid));
        let turn = self.turn.processor.map(only);
        for (pid, cpus) in teams.chain(others.map(|pid| (*pid, &self.grant.cpus))) {
            let turn = turn.as_ref().filter(|_| are_several(pid));
            self.masks.set(pid, turn.unwrap_or(cpus));
        }
        self.masks.end_unused();
        self.note_narrowed();
    }

    /// Restores the first mask of all processes that the command leaves behind, after it has ended.
    fn restore_at_end(&mut self) {
        self.page.lift_all();
        if !self.job.follows || self.masks.are_untouched() {
            return;
        }
        let registered = self.teams.iter().map(|team| team.pid);
        let left = limit_mark::processes_of(self.job.program);
        for pid in descendants::marked(self.mark).into_iter().chain(left).chain(registered) {
            self.masks.set(pid, &self.job.cpus);
        }
        self.masks.restore(&self.masks.narrowed());
    }
}

/// Restores the first mask of all processes, after the share agent has died.
pub(crate) fn restore_masks(job: &Job, page: &Page, mark: &[u8]) {
    page.lift_all();
    let (noted, bound) = page.noted_masks();
    let mut masks = Masks::new(&job.cpus, noted, bound);
    let mut known = HashSet::new();
    // Again for those that began with the mask of a parent that was not restored yet.
    for _ in 0..MOST_LOOKS {
        let mut all = descendants::descendants(job.program.pid);
        all.extend(descendants::marked(mark));
        all.extend(limit_mark::processes_of(job.program));
        all.retain(|pid| known.insert(*pid));
        if all.is_empty() {
            break;
        }
        for pid in all {
            masks.set(pid, &job.cpus);
        }
    }
    masks.restore(&page.noted_threads());
}

/// The writing end of a pipe. It is never written to here, and stays open for processes that open
/// it by its number.
pub(crate) type Held = PipeWriter;
