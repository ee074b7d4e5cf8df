//! The process that follows a command's share.
//!
//! It sleeps in one `poll` until the command ends, one of its processes registers or ends, or the
//! share changes, which another thread hears of. Then it divides the share anew, writes the page,
//! and moves threads. It ends with the command.
//!
//! # Order
//!
//! Teams shrink before their processors are taken away, and grow after they have been given more: a
//! team that spins with more threads than processors runs no faster than the system switches
//! between them. To grow, threads are first put on a processor each, and let go after some
//! milliseconds: some kernels leave threads that wake each other on one processor for a tenth of a
//! second though others are idle. The look for descendants is in these milliseconds, so that
//! nothing takes a processor from the team when it is let go. A command that has had the whole
//! machine all the time is not touched.
//!
//! # Turns
//!
//! With more programs than processors everybody's share is one thread on all of them. Processes of
//! several threads, where the library does not lower their teams, are on one of them at a time then
//! (`turns`).
//!
//! # Demand
//!
//! With neighbours it also looks, four times a second, how much processor time the command uses,
//! and says how many threads have something to do (`usage`).
//!
//! # Cost
//!
//! Nothing while nothing changes and the command has the whole machine; a look at the machine's
//! processes each second while it has less. With neighbours, some 10 µs a look and process of the
//! command, and for one that does not use all it has a look at the machine's processes, a hundredth
//! of a core unless there are a thousand. A change costs a system call per thread of the command,
//! and a look at the machine's processes for descendants; so does a turn, of which so many are left
//! out that it is a fiftieth of the time at most.

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
use crate::masks::{Masks, Thread, are_several, now, only};
use crate::page::Page;
use crate::share_source::{Grant, Job, ShareSource};
use crate::turns;
use crate::usage::{Allowance, Usage};

/// Between two looks at what the command uses, with neighbours: as many times as long as a look
/// took, within bounds.
const LOOK_PART: u32 = 100;
const LOOK_EVERY: Duration = Duration::from_millis(250);
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(1);

/// How long a team that grows may take to make its new threads, and how long they then stay on a
/// processor each.
const MAKING: Duration = Duration::from_millis(1);
const SPREAD: Duration = Duration::from_millis(5);

/// A turn is at least so many times as long as moving to its processor took.
const TURN_PART: u32 = 50;

/// Looks for new processes before giving up on a command that starts them faster than they can be
/// looked at.
const MOST_LOOKS: usize = 10;

/// A process of the command that has parallel regions.
#[derive(Debug)]
struct TeamProcess {
    slot: usize,
    pid: u32,
    /// Readable when the process has ended.
    ending: OwnedFd,
    /// The threads it was last told it may have; 0: none yet.
    threads: usize,
}

/// A command and its share.
struct ShareAgent<'a> {
    job: &'a Job,
    /// In the environment of all of the command's processes.
    mark: &'a [u8],
    page: &'a Page,
    grant: Grant,
    /// Readable when there is another one.
    wake: PipeReader,
    teams: Vec<TeamProcess>,
    masks: Masks,
    /// The command and its descendants, when it was last looked.
    processes: Vec<u32>,
    parents: Parents,
    /// When that was.
    searched: Instant,
    /// The threads that the last note for the watchdog names.
    noted_threads: Vec<Thread>,
    usage_meter: UsageMeter,
    turn: OwnTurn,
}

/// The processor that processes of several threads have now.
struct OwnTurn {
    /// None where the share is the command's alone.
    processor: Option<usize>,
    /// When it is time for another one; none where nobody takes turns.
    ends: Option<Instant>,
}

/// What the command uses.
struct UsageMeter {
    usage: Usage,
    /// Those whose time is counted: the command's family at the last look that saw all of it.
    counted: Vec<u32>,
    /// Their time at the last look, which was then.
    seconds: f64,
    at: Instant,
    next: Instant,
}

impl UsageMeter {
    /// For a command that has used so many `seconds`.
    fn new(job: &Job, seconds: f64) -> Self {
        let (counted, now) = (vec![job.program.pid], Instant::now());
        Self { usage: Usage::new(job.threads), counted, seconds, at: now, next: now + LOOK_EVERY }
    }

    /// For how many threads the command has work, as far as can be seen.
    fn measure(&mut self, job: &Job, granted: usize, neighbours: usize) -> usize {
        let began = Instant::now();
        let seconds = descendants::processor_time(&self.counted);
        let cores = (seconds - self.seconds).max(0.0) / (began - self.at).as_secs_f64().max(1e-3);
        let part = (job.cpus.len() as f64 / (neighbours + 1) as f64).min(1.0);
        let demand = self.usage.add_sample(cores, Allowance { granted, most: job.threads, part });
        (self.seconds, self.at) = (seconds, began);
        if self.usage.is_in_doubt(job.threads) {
            // Whoever was not counted is, from now on.
            self.counted = descendants::descendants(job.program.pid);
            self.seconds = descendants::processor_time(&self.counted);
        }
        self.next = began + (began.elapsed() * LOOK_PART).clamp(LOOK_EVERY, LOOK_AT_LEAST_EVERY);
        demand
    }
}

/// What has happened.
#[derive(Default)]
struct Events {
    command_ended: bool,
    registered: bool,
    granted: bool,
    ended: Vec<usize>,
}

/// Follows `shares` until the command has ended. `ready` is called once the first grant is in
/// force, or with why the command cannot be followed, and returns whether the command is
/// to be followed still. `mark` is in the environment of all of the
/// command's processes.
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

/// The means to follow a command.
struct Inputs {
    /// Readable when the command has ended.
    ending: OwnedFd,
    /// Readable when there is another grant.
    wake: PipeReader,
    /// The grants, the one at the beginning among them if there is one.
    grants: mpsc::Receiver<Grant>,
}

/// Takes all that the system may refuse, before the command is told that it is followed.
fn open_inputs(job: &Job, shares: &dyn ShareSource) -> io::Result<Inputs> {
    let ending = open_pidfd(job.program.pid)?;
    let (wake, waker) = io::pipe()?;
    let (send, grants) = mpsc::channel();
    // The receiver is gone only when nobody wants to know.
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
            let next = self.next_look(is_alone);
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
            } else if self.is_narrowed() && self.searched.elapsed() >= LOOK_AT_LEAST_EVERY {
                self.search_descendants();
            }
        }
    }

    /// When something is to be looked at though nothing happens; never for a command that has the
    /// whole machine.
    fn next_look(&self, is_alone: bool) -> Option<Instant> {
        let for_new = self.is_narrowed().then(|| self.searched + LOOK_AT_LEAST_EVERY);
        let shared = [Some(self.usage_meter.next), self.turn.ends].into_iter().flatten();
        for_new.into_iter().chain(shared.filter(|_| !is_alone)).min()
    }

    /// Whether what the command starts inherits less than the command began with.
    fn is_narrowed(&self) -> bool {
        self.job.follows && self.grant.cpus != self.job.cpus
    }

    /// Whether all of the command has the mask that it began with, and is to keep it.
    fn is_untouched(&self, pieces: &[Grant]) -> bool {
        let has_all = |piece: &Grant| piece.cpus == self.job.cpus;
        !self.is_narrowed() && pieces.iter().all(has_all) && self.masks.are_untouched()
    }

    /// Takes note of what the command has started since the last look. A process that leaves family
    /// and environment later is known by then, and gets back what it has inherited.
    fn search_descendants(&mut self) {
        self.processes = self.parents.descendants(self.job.program.pid);
        self.searched = Instant::now();
        self.masks.record_new(&self.processes);
        self.note_narrowed();
    }

    /// Leaves word of the threads that are narrowed, if they are others than before.
    fn note_narrowed(&mut self) {
        let narrowed = self.masks.narrowed();
        if narrowed != self.noted_threads {
            self.page.note_threads(&narrowed);
            self.noted_threads = narrowed;
        }
    }

    /// Looks whose turn it is, if it is time to or the programs are others; whether another
    /// processor is this command's now.
    fn takes_turn(&mut self, shares: &dyn ShareSource, are_others: bool) -> bool {
        let now = Instant::now();
        if !are_others && self.turn.ends.is_none_or(|ends| now < ends) {
            return false;
        }
        let (turn, left) = turns::now();
        let crowd = Some(shares)
            .filter(|_| self.job.follows && !self.job.lowers)
            .and_then(ShareSource::crowd);
        let processor = crowd.and_then(|crowd| turns::processor(&self.grant.cpus, crowd, turn));
        self.turn.ends = crowd.map(|_| now + left);
        std::mem::replace(&mut self.turn.processor, processor) != processor
    }

    /// Moves everybody to where this turn has them, now and then those who are new as well: until
    /// then they are where their parents were.
    fn move_to_turn(&mut self) {
        let began = Instant::now();
        if began - self.searched >= LOOK_EVERY {
            self.search_descendants();
        }
        let pieces = divide(&self.grant, self.teams.len());
        self.note_masks(&pieces);
        self.move_all(&pieces);
        let least = began + began.elapsed() * TURN_PART;
        self.turn.ends = self.turn.ends.map(|ends| ends.max(least));
    }

    /// Takes the last grant; whether it is another one. It is not where only the number of
    /// neighbours has changed.
    fn take_grant(&mut self, grants: &mpsc::Receiver<Grant>) -> bool {
        let _ = self.wake.read(&mut [0; 64]);
        let Some(grant) = grants.try_iter().last() else { return false };
        std::mem::replace(&mut self.grant, grant) != self.grant
    }

    /// Whether there is nobody to leave cores to, or nothing of this command's to be left.
    fn is_alone(&self, shares: &dyn ShareSource) -> bool {
        !self.job.follows || shares.neighbours() == 0
    }

    /// Says how much the command has to do, when it is time to look. Alone it has everything,
    /// whatever it does.
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

    /// Puts the share in force for everybody: at once for those who are known, then for those whom
    /// they have started since.
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

    /// Waits until something happens, or for so long.
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
        // A signal that is handled does not end the wait for good: nothing has happened then.
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

    /// Takes note of processes that have taken slots.
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
                // It has ended since, or is no process of the command's: then anybody may have the
                // slot.
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

    /// Puts the share in force for those who are known. Returns whether anybody's mask may have
    /// changed.
    fn apply_share(&mut self) -> bool {
        let pieces = divide(&self.grant, self.teams.len());
        // Who comes next is one more; its own number is written as soon as it has registered.
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

    /// Whether the process is to have more threads, on several processors. One that is new is about
    /// to make its team.
    fn is_growing(&self, index: usize, piece: &Grant) -> bool {
        piece.threads > self.teams[index].threads.max(1) && piece.cpus.len() > 1
    }

    /// Lets teams grow, a thread on each processor for a while: those that there are, and those
    /// that are made at once. Another grant ends the while: others wait for processors.
    fn grow(&mut self, growing: &[usize], pieces: &[Grant]) {
        if growing.is_empty() {
            return;
        }
        self.spread(growing, pieces);
        self.set_team_threads(growing, pieces);
        if self.waits_without_grant(MAKING) {
            self.spread(growing, pieces);
            let began = Instant::now();
            // Now, while each thread has a processor of its own: the look takes a processor from a
            // thread, which otherwise goes to where another one of its team is, and stays there.
            self.search_descendants();
            self.waits_without_grant(SPREAD.saturating_sub(began.elapsed()));
        }
    }

    /// Waits for so long, or until there is another grant; whether there is none.
    fn waits_without_grant(&self, time: Duration) -> bool {
        let mut files = [PollFd::new(&self.wake, PollFlags::IN)];
        // A signal that is handled ends the wait early, which does no harm.
        poll(&mut files, Timespec::try_from(time).ok().as_ref()).is_ok_and(|happened| happened == 0)
    }

    fn spread(&mut self, growing: &[usize], pieces: &[Grant]) {
        for &index in growing {
            self.masks.spread(self.teams[index].pid, &pieces[index].cpus);
        }
    }

    /// Tells these of the parties how many threads they may have.
    fn set_team_threads(&mut self, indices: &[usize], pieces: &[Grant]) {
        for &index in indices {
            let (team, threads) = (&mut self.teams[index], pieces[index].threads);
            self.page.set_threads(team.slot, threads);
            team.threads = threads;
        }
    }

    /// Leaves word of all masks that there may be before they are set: whoever has to undo it must
    /// know them.
    fn note_masks(&self, pieces: &[Grant]) {
        let mut noted: Vec<CpuSet> = self.masks.in_force().cloned().collect();
        noted.extend(pieces.iter().map(|piece| piece.cpus.clone()));
        noted.extend(self.grant.cpus.iter().map(only));
        noted.push(self.grant.cpus.clone());
        noted.sort_by_key(ToString::to_string);
        noted.dedup();
        self.page.note_masks(&noted, self.masks.bound());
    }

    /// Moves the parties to their pieces, and all other processes to the whole share; or those of
    /// several threads to the processor whose turn it is.
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

    /// The command has ended. What it leaves behind is nobody's business any more, and has the
    /// whole machine.
    fn restore_at_end(&mut self) {
        self.page.lift_all();
        if !self.job.follows || self.masks.are_untouched() {
            return;
        }
        let registered = self.teams.iter().map(|team| team.pid);
        for pid in descendants::marked(self.mark).into_iter().chain(registered) {
            self.masks.set(pid, &self.job.cpus);
        }
        self.masks.restore(&self.masks.narrowed());
    }
}

/// Undoes everything, after the agent has died.
pub(crate) fn restore_masks(job: &Job, page: &Page, mark: &[u8]) {
    page.lift_all();
    let (noted, bound) = page.noted_masks();
    let mut masks = Masks::new(&job.cpus, noted, bound);
    let mut all = descendants::descendants(job.program.pid);
    all.extend(descendants::marked(mark));
    for pid in all {
        masks.set(pid, &job.cpus);
    }
    masks.restore(&page.noted_threads());
}

/// A pipe's writing end that nobody writes to here, kept for those who open it by its number.
pub(crate) type Held = PipeWriter;
