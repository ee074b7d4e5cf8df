//! The thread that makes all calls of MPI.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use mpi::Threading;
use mpi::point_to_point::MatchedReceiveVec;
use mpi::topology::{InterCommunicator, MergeOrder, SimpleCommunicator};
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};
use sinew_policy::lifelines::Members;

use super::slots::{lack, refusal, slots};
use super::{Inbox, Order, recovers};
use crate::link::{LOST, Message, OWN_TAGS, Rank, Tag};
use crate::pulse::Pulse;
use crate::wire;

/// A sign of life.
const BEAT: Tag = OWN_TAGS + 1;

/// The job ends; the contents are the line to print.
const END: Tag = OWN_TAGS + 2;

/// A rank asks what the receiver does, and the answer.
const ASK: Tag = OWN_TAGS + 3;
const TELL: Tag = OWN_TAGS + 4;

/// The sender sends nothing more.
const LAST: Tag = OWN_TAGS + 5;

/// How long a rank waits until rank 0 has ended the job, and for what other ranks do.
const RELAY: Duration = Duration::from_millis(250);

const SHORTEST_GAP: Duration = Duration::from_micros(20);
const LONGEST_GAP: Duration = Duration::from_millis(1);

/// How long the thread looks without gaps for what the owner waits for.
const EAGER: Duration = Duration::from_micros(200);

/// The time for a launcher to read the line that ends the job.
const LINE: Duration = Duration::from_millis(100);

/// The place of this process in its job.
pub(super) struct Place {
    pub(super) rank: Rank,
    pub(super) size: u32,
    pub(super) joined: bool,
}

type Ready = Sender<Result<Place, String>>;

/// The thread that makes all calls of MPI. `runs` is gone when MPI has ended.
pub(super) fn serve(ready: &Ready, orders: Receiver<Order>, inbox: Arc<Inbox>, runs: Sender<()>) {
    let Some((universe, level)) = mpi::initialize_with_threading(Threading::Funneled) else {
        let _ = ready.send(Err("it runs already, or has run, in this process".to_owned()));
        return;
    };
    if level < Threading::Funneled {
        let _ = ready.send(Err("this library allows no threads".to_owned()));
        return;
    }
    let world = universe.world();
    let parent = world.parent();
    let joined = parent.is_some();
    let world = parent.map_or(world, |parent| merge(parent, MergeOrder::High));
    let (rank, size) = (world.rank() as Rank, world.size() as u32);
    let _ = ready.send(Ok(Place { rank, size, joined }));
    let mut server = Server::new(world, inbox, orders, runs);
    server.run();
    // The end of a communicator would be a call of all ranks, and MPI ends here.
    std::mem::forget(Rc::clone(&server.world));
    drop(universe);
}

/// The communicator of the ranks on both sides. Old ones are the lower side.
fn merge(sides: InterCommunicator, order: MergeOrder) -> SimpleCommunicator {
    let all = sides.merge(order);
    // All ranks of both sides are here. At its end MPI would do it, when some may be gone.
    drop(sides);
    all
}

/// The time until the thread looks at the network again.
struct Gap {
    length: Duration,
    /// Since when there is none, because the owner waits.
    closed: Option<Instant>,
}

impl Gap {
    fn new() -> Self {
        Self { length: SHORTEST_GAP, closed: None }
    }

    fn length(&self) -> Duration {
        if self.closed.is_some() { Duration::ZERO } else { self.length }
    }

    fn close(&mut self) {
        self.closed = Some(Instant::now());
    }

    /// Nothing has happened in a gap.
    fn grow(&mut self) {
        if let Some(since) = self.closed {
            self.closed = (since.elapsed() < EAGER).then_some(since);
            std::thread::yield_now();
        } else {
            self.length = (self.length * 2).min(LONGEST_GAP);
        }
    }
}

struct Server {
    world: Rc<SimpleCommunicator>,
    rank: Rank,
    /// The ranks to which this one has sent any message.
    met: BTreeSet<Rank>,
    /// Whether no message comes any more from the rank before this one.
    before_is_done: bool,
    inbox: Arc<Inbox>,
    orders: Receiver<Order>,
    runs: Option<Sender<()>>,
    pulse: Option<Pulse>,
    members: Members,
    survives: bool,
    /// The states of other ranks, as told.
    told: Vec<Option<String>>,
    ending: bool,
}

impl Server {
    fn new(
        world: SimpleCommunicator,
        inbox: Arc<Inbox>,
        orders: Receiver<Order>,
        runs: Sender<()>,
    ) -> Self {
        let (rank, size) = (world.rank() as Rank, world.size() as u32);
        Self {
            world: Rc::new(world),
            rank,
            met: BTreeSet::new(),
            before_is_done: false,
            inbox,
            orders,
            runs: Some(runs),
            pulse: (size > 1).then(Pulse::new).flatten(),
            members: Members::all(size),
            survives: false,
            told: Vec::new(),
            ending: false,
        }
    }

    /// Serves until the owner is done.
    fn run(&mut self) {
        let mut gap = Gap::new();
        loop {
            if self.receive() {
                gap = Gap::new();
            }
            self.look_for_silence();
            self.give_sign();
            match self.orders.recv_timeout(gap.length()) {
                Ok(Order::Send(to, tag, bytes)) => {
                    self.send(to, tag, &bytes);
                    gap = Gap::new();
                }
                Ok(Order::Look) => gap.close(),
                Ok(Order::Survive) => self.survives = true,
                Ok(Order::GoOnWithout(lost)) => {
                    lost.into_iter().for_each(|rank| self.lose(rank));
                    self.survives = false;
                }
                Ok(Order::Grow(more, reply)) => {
                    let _ = reply.send(self.grow(more));
                }
                Ok(Order::States(reply)) => {
                    let _ = reply.send(self.ask());
                }
                Ok(Order::Abort(why)) => self.abort(self.rank, &why),
                Ok(Order::Finish) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => gap.grow(),
            }
        }
        if !self.members.lost().is_empty() {
            self.stay();
        }
        self.say_last();
    }

    /// Returns when all messages of all ranks have been received. No sign of life follows.
    fn say_last(&mut self) {
        // Nothing overtakes the messages before it.
        for rank in self.met.clone() {
            self.send(rank, LAST, &[]);
        }
        self.pulse = None;
        self.wait_for_all();
    }

    /// Waits until all ranks do. Receives in the meantime.
    fn wait_for_all(&mut self) {
        let world = Rc::clone(&self.world);
        let mut barrier = world.immediate_barrier();
        while let Err(again) = barrier.test() {
            barrier = again;
            self.receive();
            self.look_for_silence();
            self.give_sign();
            std::thread::yield_now();
        }
    }

    /// Starts `more` ranks. All ranks do that at once. Returns the number of all ranks.
    fn grow(&mut self, more: u32) -> Result<u32, String> {
        self.wait_for_all();
        if let Some(why) = lack(&mpi::environment::library_version().unwrap_or_default()) {
            return Err(why);
        }
        let root = self.world.process_at_rank(0);
        // As rank 0 sees it, since it starts them, and so that all ranks decide alike.
        let mut slots = slots().unwrap_or(u32::MAX);
        root.broadcast_into(&mut slots);
        if let Some(why) = refusal(self.world.size() as u32, more, slots) {
            return Err(why);
        }
        let program = std::env::current_exe().map_err(|error| format!("no program: {error}"))?;
        let mut command = Command::new(program);
        command.args(std::env::args_os().skip(1));
        self.say_last();
        let sides = self.world.process_at_rank(0).spawn(&command, more as i32);
        (self.before_is_done, self.pulse) = (false, Pulse::new());
        let sides = sides.map_err(|error| error.to_string())?;
        let all = Rc::new(merge(sides, MergeOrder::Low));
        let size = all.size() as u32;
        // All its ranks are here, and it has no message left. Open MPI 5 would not end otherwise.
        drop(std::mem::replace(&mut self.world, all));
        self.met.clear();
        self.members = Members::all(size);
        Ok(size)
    }

    /// Lets the owner go on without the end of MPI, which would wait for lost ranks.
    fn stay(&mut self) -> ! {
        self.runs = None;
        loop {
            std::thread::park();
        }
    }

    /// Receives all that has arrived. Whether there was anything.
    fn receive(&mut self) -> bool {
        let mut any = false;
        while let Some(found) = self.world.any_process().immediate_matched_probe() {
            let (bytes, status) = found.matched_receive_vec::<u8>();
            let (from, tag) = (status.source_rank() as Rank, status.tag() as Tag);
            if let Some(pulse) = &mut self.pulse
                && from == before(&self.members, self.rank)
            {
                pulse.heard((tag == BEAT).then_some(&bytes));
            }
            any |= tag != BEAT;
            self.read(Message { from, tag, bytes });
        }
        any
    }

    fn read(&mut self, message: Message) {
        match message.tag {
            BEAT => {}
            LOST => {
                let lost = wire::unpack(&message.bytes).unwrap_or(message.from);
                self.lose(lost);
            }
            // Rank 0 prints one line.
            END if self.ending && self.rank == 0 => {}
            END => self.end(&message.bytes),
            ASK => {
                *self.inbox.asked.lock() = Some(Instant::now());
                let state = self.state();
                self.send(message.from, TELL, state.as_bytes());
            }
            LAST => self.before_is_done |= message.from == before(&self.members, self.rank),
            TELL => {
                let text = String::from_utf8_lossy(&message.bytes).into_owned();
                if let Some(told) = self.told.get_mut(message.from as usize) {
                    *told = Some(text);
                }
            }
            _ => self.deliver(message),
        }
    }

    fn deliver(&self, message: Message) {
        self.inbox.messages.lock().push_back(message);
        self.inbox.arrived.notify_all();
    }

    fn state(&self) -> String {
        let state = *self.inbox.state.lock();
        state.map_or_else(|| "has made no call".to_owned(), |state| state.to_string())
    }

    /// The states of all ranks.
    fn ask(&mut self) -> Vec<Option<String>> {
        self.told = vec![None; self.world.size() as usize];
        self.told[self.rank as usize] = Some(self.state());
        self.send_to_all(ASK, &[]);
        let start = Instant::now();
        while self.told.contains(&None) && start.elapsed() < RELAY {
            self.receive();
            self.give_sign();
            std::thread::sleep(SHORTEST_GAP);
        }
        std::mem::take(&mut self.told)
    }

    fn send_to_all(&mut self, tag: Tag, bytes: &[u8]) {
        let (own, members) = (self.rank, self.members.clone());
        members.iter().filter(|rank| *rank != own).for_each(|rank| self.send(rank, tag, bytes));
    }

    fn send(&mut self, to: Rank, tag: Tag, bytes: &[u8]) {
        if i32::try_from(bytes.len()).is_err() {
            let why = format!("a message of {} bytes is longer than MPI allows", bytes.len());
            self.abort(self.rank, &why);
        }
        if !self.members.has(to) {
            return;
        }
        self.met.insert(to);
        let world = Rc::clone(&self.world);
        mpi::request::scope(|scope| {
            let (process, number) = (world.process_at_rank(to as i32), i32::from(tag));
            let mut request = match tag {
                LAST => process.immediate_synchronous_send_with_tag(scope, bytes, number),
                _ => process.immediate_send_with_tag(scope, bytes, number),
            };
            let start = Instant::now();
            while let Err(again) = request.test() {
                request = again;
                if self.ending && start.elapsed() > RELAY {
                    self.exit();
                }
                self.receive();
                self.look_for_silence();
                if !self.members.has(to) {
                    // This send never completes, and MPI uses `bytes` until then.
                    self.run();
                    self.stay();
                }
                std::thread::yield_now();
            }
        });
    }

    fn give_sign(&mut self) {
        let next = self.members.at((self.members.place(self.rank) + 1) % self.members.count());
        if next != self.rank
            && let Some(sign) = self.pulse.as_mut().and_then(Pulse::beat)
        {
            self.send(next, BEAT, &sign);
        }
    }

    fn look_for_silence(&mut self) {
        let before = before(&self.members, self.rank);
        let quiet = self.ending || self.before_is_done;
        let Some(pulse) = self.pulse.as_mut().filter(|_| before != self.rank && !quiet) else {
            return;
        };
        let Some(silence) = pulse.silence() else { return };
        if recovers() {
            pulse.end_before();
        }
        if !self.survives {
            let why = format!("gave no sign of life for {:.1} s", silence.as_secs_f64());
            self.abort(before, &why);
        }
        self.lose(before);
        self.send_to_all(LOST, &wire::pack(&before));
    }

    /// A rank is lost. The owner is told.
    fn lose(&mut self, rank: Rank) {
        if rank == self.rank {
            // The others have given this one up: it was stopped, or too slow.
            std::process::exit(1);
        }
        if !self.members.has(rank) {
            return;
        }
        if !self.survives {
            self.abort(rank, "is lost");
        }
        let changes = before(&self.members, self.rank) == rank;
        self.members.lose(rank);
        if let Some(pulse) = self.pulse.as_mut().filter(|_| changes) {
            pulse.begin_again();
        }
        self.deliver(Message { from: rank, tag: LOST, bytes: Vec::new() });
    }

    /// Ends the job, because of `rank`. Rank 0 does it, if it can.
    fn abort(&mut self, rank: Rank, why: &str) -> ! {
        let size = self.world.size();
        let line = format!("sinew-dist: rank {rank} of {size}: {why}; the job ends\n");
        if self.rank != 0 && rank != 0 && !self.ending {
            self.ending = true;
            self.send(0, END, line.as_bytes());
            let start = Instant::now();
            while start.elapsed() < RELAY {
                self.receive();
                std::thread::sleep(SHORTEST_GAP);
            }
        }
        self.end(line.as_bytes())
    }

    /// Ends the job, and tells all ranks, so that none writes a line as well: a job may end slowly.
    /// Without a line another rank ends it.
    fn end(&mut self, line: &[u8]) -> ! {
        if line.is_empty() && !recovers() {
            std::thread::sleep(RELAY);
        } else if !line.is_empty() {
            self.ending = true;
            // One write, so that no other line is within.
            let _ = std::io::stderr().write_all(line);
            // MPICH's launcher loses what it has not read when the job ends.
            std::thread::sleep(LINE);
            self.send_to_all(END, &[]);
        }
        self.exit()
    }

    fn exit(&self) -> ! {
        if recovers() {
            end_launcher();
        }
        self.world.abort(1)
    }
}

/// Tells `mpirun`, or its daemon on this machine, to end the job. With `--enable-recovery` it
/// returns 0 whatever its ranks do, and not if it is told to end.
fn end_launcher() {
    let parent = std::os::unix::process::parent_id();
    let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
    if ["mpirun", "mpiexec", "orterun", "orted"].contains(&name.trim())
        && let Some(parent) = rustix::process::Pid::from_raw(parent as i32)
    {
        let _ = rustix::process::kill_process(parent, rustix::process::Signal::TERM);
    }
}

/// The rank that gives signs of life to `rank`.
fn before(members: &Members, rank: Rank) -> Rank {
    let count = members.count();
    members.at((members.place(rank) + count - 1) % count)
}
