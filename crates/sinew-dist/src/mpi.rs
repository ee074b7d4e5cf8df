//! The network of MPI.
//!
//! One thread of this crate makes all calls of MPI (`MPI_THREAD_FUNNELED`). The owner of the
//! [`Mpi`] exchanges messages with it through two queues, so messages move while the owner
//! computes.
//!
//! A send does not wait for its receiver: the thread tests it, and receives others' messages in the
//! meantime. It completes one send before it begins the next.
//!
//! # When a rank fails
//!
//! | what | who notices | within |
//! |---|---|---|
//! | a panic leaves the owner's thread | the destructor of [`Mpi`] | at once |
//! | a rank stops answering | the next rank: it expects a sign of life every 100 ms | [`SILENCE`] |
//! | a rank's process dies | `mpirun`, as a rule; otherwise the next rank | as above |
//!
//! Each ends the job by `MPI_Abort` with status 1, after a line that names the rank and the cause.
//! Rank 0 prints it, if it can, so that there is one line though several ranks notice. Time in
//! which this process itself was stopped does not count as the other's silence. The variable
//! `SINEW_DIST_SILENCE_MS` sets another limit; 0 turns signs of life off.
//!
//! # When a loss is survived
//!
//! `mpirun --enable-recovery` of Open MPI lets a job go on after a process has died. The rank that
//! notices ends the silent one, if it is on the same machine, and tells all others. Nothing is sent
//! to a lost rank any more. A send to it that has begun never completes, so the thread goes on
//! within that send. `MPI_Finalize` would wait for the lost rank; the thread does not call it then.
//! With `--enable-recovery`, `MPI_Abort` ends one process and `mpirun` returns 0. So ranks tell
//! each other of the end, and `mpirun` by a signal.
//!
//! # Cost
//!
//! A thread a rank, which looks at the network in gaps that grow from 20 µs to 1 ms while nothing
//! arrives. One copy of each message at each end.

use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use mpi::Threading;
use mpi::point_to_point::MatchedReceiveVec;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use sinew_policy::lifelines::Members;
use sinew_sync::lock::{Condvar, Mutex};

use crate::init_error::InitError;
use crate::link::{LOST, Link, Message, OWN_TAGS, Rank, State, Tag};
use crate::pulse::Pulse;
pub use crate::pulse::SILENCE;
use crate::threads::text_of;
use crate::wire;

/// A sign of life.
const BEAT: Tag = OWN_TAGS + 1;

/// The job ends; the contents are the line to print.
const END: Tag = OWN_TAGS + 2;

/// A rank asks what the receiver does, and the answer.
const ASK: Tag = OWN_TAGS + 3;
const TELL: Tag = OWN_TAGS + 4;

/// How long a rank waits until rank 0 has ended the job, and for what other ranks do.
const RELAY: Duration = Duration::from_millis(250);

const SHORTEST_GAP: Duration = Duration::from_micros(20);
const LONGEST_GAP: Duration = Duration::from_millis(1);

/// A process that cannot end the job through MPI ends itself after this time.
const LAST_RESORT: Duration = Duration::from_millis(700);

/// The time for a launcher to read the line that ends the job.
const LINE: Duration = Duration::from_millis(100);

/// The message of the last panic in this process.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// The variable by which `mpirun` tells its processes that they may survive others.
const RECOVERY: &str = "OMPI_MCA_orte_enable_recovery";

fn recovers() -> bool {
    std::env::var(RECOVERY).is_ok_and(|value| ["1", "true", "yes"].contains(&value.trim()))
}

enum Order {
    Send(Rank, Tag, Vec<u8>),
    Survive,
    GoOnWithout(Vec<Rank>),
    States(Sender<Vec<Option<String>>>),
    Abort(String),
    Finish,
}

/// The memory that the owner and the thread share.
#[derive(Debug, Default)]
struct Inbox {
    messages: Mutex<VecDeque<Message>>,
    arrived: Condvar,
    state: Mutex<Option<State>>,
    /// When a rank has asked for the state.
    asked: Mutex<Option<Instant>>,
}

/// A rank's end of MPI's network.
#[derive(Debug)]
pub struct Mpi {
    rank: Rank,
    size: u32,
    orders: Sender<Order>,
    inbox: Arc<Inbox>,
    /// Closed when MPI has ended.
    running: Receiver<()>,
}

impl Mpi {
    /// Starts MPI on a thread of its own.
    ///
    /// # Errors
    ///
    /// [`InitError::Mpi`]: MPI runs or has run in this process, or forbids threads.
    pub fn start() -> Result<Self, InitError> {
        remember_panics();
        let inbox = Arc::new(Inbox::default());
        let (orders, received) = channel();
        let (ready, started) = channel();
        let (runs, running) = channel();
        let filled = Arc::clone(&inbox);
        std::thread::Builder::new()
            .name("sinew-mpi".to_owned())
            .spawn(move || serve(&ready, received, filled, runs))
            .map_err(|error| InitError::Mpi(error.to_string()))?;
        let (rank, size) = started
            .recv()
            .unwrap_or_else(|_| Err("its thread has ended".to_owned()))
            .map_err(InitError::Mpi)?;
        Ok(Self { rank, size, orders, inbox, running })
    }

    fn order(&self, order: Order) {
        // The thread ends only after `Finish`, or with the process.
        let _ = self.orders.send(order);
    }

    fn end(&self, why: &str) -> ! {
        self.order(Order::Abort(why.to_owned()));
        std::thread::sleep(LAST_RESORT);
        std::process::exit(1)
    }
}

/// Keeps the message of the last panic, for the line that ends the job.
fn remember_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            *LAST_PANIC.lock() = text_of(info.payload()).to_owned();
            before(info);
        }));
    });
}

impl Link for Mpi {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn send(&mut self, to: Rank, tag: Tag, bytes: Vec<u8>) {
        self.order(Order::Send(to, tag, bytes));
    }

    fn poll(&mut self) -> Option<Message> {
        self.inbox.messages.lock().pop_front()
    }

    fn wait(&mut self, most: Duration) {
        let messages = self.inbox.messages.lock();
        if messages.is_empty() {
            drop(self.inbox.arrived.wait_for(messages, most.as_nanos() as u64));
        }
    }

    fn abort(&mut self, why: &str) -> ! {
        self.end(why)
    }

    fn survive(&mut self) -> Result<(), String> {
        if !recovers() {
            return Err("start it with `mpirun --enable-recovery` of Open MPI".to_owned());
        }
        self.order(Order::Survive);
        Ok(())
    }

    fn go_on_without(&mut self, lost: &[Rank]) {
        self.order(Order::GoOnWithout(lost.to_vec()));
    }

    fn note(&mut self, state: State) {
        *self.inbox.state.lock() = Some(state);
    }

    fn states(&mut self, within: Duration) -> Vec<Option<String>> {
        if self.inbox.asked.lock().is_some_and(|asked| asked.elapsed() < within) {
            return Vec::new();
        }
        let (reply, states) = channel();
        self.order(Order::States(reply));
        states.recv().unwrap_or_default()
    }
}

impl Drop for Mpi {
    /// Ends MPI; if the thread panics, the job.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let why = LAST_PANIC.lock().replace('\n', " ");
            self.end(&format!("panicked: {why}"));
        }
        self.order(Order::Finish);
        // Returns when the other end is gone.
        let _ = self.running.recv();
    }
}

type Ready = Sender<Result<(Rank, u32), String>>;

/// The thread that makes all calls of MPI. `runs` is gone when MPI has ended.
fn serve(ready: &Ready, orders: Receiver<Order>, inbox: Arc<Inbox>, runs: Sender<()>) {
    let Some((universe, level)) = mpi::initialize_with_threading(Threading::Funneled) else {
        let _ = ready.send(Err("it runs already, or has run, in this process".to_owned()));
        return;
    };
    if level < Threading::Funneled {
        let _ = ready.send(Err("this library allows no threads".to_owned()));
        return;
    }
    let world = universe.world();
    let _ = ready.send(Ok((world.rank() as Rank, world.size() as u32)));
    let mut server = Server::new(world, inbox, orders, runs);
    server.run();
    // Finalizes MPI.
    drop(universe);
}

struct Server {
    world: SimpleCommunicator,
    rank: Rank,
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
            world,
            rank,
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
        let mut gap = SHORTEST_GAP;
        loop {
            if self.receive() {
                gap = SHORTEST_GAP;
            }
            self.look_for_silence();
            self.give_sign();
            match self.orders.recv_timeout(gap) {
                Ok(Order::Send(to, tag, bytes)) => {
                    self.send(to, tag, &bytes);
                    gap = SHORTEST_GAP;
                }
                Ok(Order::Survive) => self.survives = true,
                Ok(Order::GoOnWithout(lost)) => {
                    lost.into_iter().for_each(|rank| self.lose(rank));
                    self.survives = false;
                }
                Ok(Order::States(reply)) => {
                    let _ = reply.send(self.ask());
                }
                Ok(Order::Abort(why)) => self.abort(self.rank, &why),
                Ok(Order::Finish) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => gap = (gap * 2).min(LONGEST_GAP),
            }
        }
        if !self.members.lost().is_empty() {
            self.stay();
        }
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
        let world = SimpleCommunicator::world();
        mpi::request::scope(|scope| {
            let process = world.process_at_rank(to as i32);
            let mut request = process.immediate_send_with_tag(scope, bytes, i32::from(tag));
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
        let Some(pulse) = self.pulse.as_mut().filter(|_| before != self.rank && !self.ending)
        else {
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

    /// Ends the job, or follows the end of it.
    fn end(&mut self, line: &[u8]) -> ! {
        if !line.is_empty() {
            self.ending = true;
            // One write, so that no other line is within.
            let _ = std::io::stderr().write_all(line);
            // MPICH's launcher loses what it has not read when the job ends.
            std::thread::sleep(LINE);
            if recovers() {
                self.send_to_all(END, &[]);
            }
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
