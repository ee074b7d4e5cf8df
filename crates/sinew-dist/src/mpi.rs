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
//! | a rank stops answering | the next rank: it expects a sign of life every 200 ms | [`SILENCE`] |
//! | a rank's process dies | `mpirun`, as a rule; otherwise the next rank | as above |
//!
//! Each ends the job by `MPI_Abort` with status 1, after a line that names the rank and the cause.
//! Time in which this process itself was stopped does not count as the other's silence. The
//! variable `SINEW_DIST_SILENCE_MS` sets another limit; 0 turns it off.
//!
//! # Cost
//!
//! A thread a rank, which looks at the network in gaps that grow from 20 µs to 1 ms while nothing
//! arrives. One copy of each message at each end.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mpi::Threading;
use mpi::point_to_point::MatchedReceiveVec;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use sinew_sync::lock::{Condvar, Mutex};

use crate::init_error::InitError;
use crate::link::{Link, Message, Rank, Tag};
use crate::threads::text_of;

/// How long a rank may give no sign of life.
pub const SILENCE: Duration = Duration::from_millis(1_500);

const BEAT: Duration = Duration::from_millis(200);

/// The tag of signs of life, which calls do not use.
const BEAT_TAG: Tag = 0x7fff;

const SHORTEST_GAP: Duration = Duration::from_micros(20);
const LONGEST_GAP: Duration = Duration::from_millis(1);

/// A process that cannot end the job through MPI ends itself after this time.
const LAST_RESORT: Duration = Duration::from_millis(400);

/// The time for a launcher to read the line that ends the job.
const LINE: Duration = Duration::from_millis(100);

/// The message of the last panic in this process.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

enum Order {
    Send(Rank, Tag, Vec<u8>),
    Abort(String),
    Finish,
}

#[derive(Debug, Default)]
struct Inbox {
    messages: Mutex<VecDeque<Message>>,
    arrived: Condvar,
}

/// A rank's end of MPI's network.
#[derive(Debug)]
pub struct Mpi {
    rank: Rank,
    size: u32,
    orders: Sender<Order>,
    inbox: Arc<Inbox>,
    thread: Option<JoinHandle<()>>,
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
        let filled = Arc::clone(&inbox);
        let thread = std::thread::Builder::new()
            .name("sinew-mpi".to_owned())
            .spawn(move || serve(&ready, &received, filled))
            .map_err(|error| InitError::Mpi(error.to_string()))?;
        let (rank, size) = started
            .recv()
            .unwrap_or_else(|_| Err("its thread has ended".to_owned()))
            .map_err(InitError::Mpi)?;
        Ok(Self { rank, size, orders, inbox, thread: Some(thread) })
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
}

impl Drop for Mpi {
    /// Ends MPI; if the thread panics, the job.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let why = LAST_PANIC.lock().replace('\n', " ");
            self.end(&format!("panicked: {why}"));
        }
        self.order(Order::Finish);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

type Ready = Sender<Result<(Rank, u32), String>>;

/// The thread that makes all calls of MPI.
fn serve(ready: &Ready, orders: &Receiver<Order>, inbox: Arc<Inbox>) {
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
    let mut server = Server::new(world, inbox);
    server.run(orders);
    // The end of `universe` finalizes MPI.
}

struct Server {
    world: SimpleCommunicator,
    inbox: Arc<Inbox>,
    pulse: Option<Pulse>,
}

/// Signs of life: sent to the next rank, expected from the one before.
struct Pulse {
    limit: Duration,
    /// The time of the last look, when the last sign was sent, and for how long none has come.
    looked: Instant,
    sent: Instant,
    silent: Duration,
}

impl Server {
    fn new(world: SimpleCommunicator, inbox: Arc<Inbox>) -> Self {
        let limit = std::env::var("SINEW_DIST_SILENCE_MS").ok().and_then(|text| text.parse().ok());
        let limit = limit.map_or(SILENCE, Duration::from_millis);
        let now = Instant::now();
        let alone = world.size() < 2 || limit.is_zero();
        let silent = Duration::ZERO;
        let pulse = (!alone).then_some(Pulse { limit, looked: now, sent: now, silent });
        Self { world, inbox, pulse }
    }

    fn run(&mut self, orders: &Receiver<Order>) {
        let mut gap = SHORTEST_GAP;
        loop {
            if self.receive() {
                gap = SHORTEST_GAP;
            }
            self.look_for_silence();
            self.give_sign();
            match orders.recv_timeout(gap) {
                Ok(Order::Send(to, tag, bytes)) => {
                    self.send(to, tag, &bytes);
                    gap = SHORTEST_GAP;
                }
                Ok(Order::Abort(why)) => self.abort(self.world.rank(), &why),
                Ok(Order::Finish) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => gap = (gap * 2).min(LONGEST_GAP),
            }
        }
    }

    /// Receives all that has arrived. Whether there was anything.
    fn receive(&mut self) -> bool {
        let mut any = false;
        while let Some(found) = self.world.any_process().immediate_matched_probe() {
            let (bytes, status) = found.matched_receive_vec::<u8>();
            let (from, tag) = (status.source_rank() as Rank, status.tag() as Tag);
            if let Some(pulse) = &mut self.pulse
                && from as i32 == before(&self.world)
            {
                pulse.silent = Duration::ZERO;
            }
            if tag != BEAT_TAG {
                self.inbox.messages.lock().push_back(Message { from, tag, bytes });
                self.inbox.arrived.notify_all();
                any = true;
            }
        }
        any
    }

    fn send(&mut self, to: Rank, tag: Tag, bytes: &[u8]) {
        if i32::try_from(bytes.len()).is_err() {
            let why = format!("a message of {} bytes is longer than MPI allows", bytes.len());
            self.abort(self.world.rank(), &why);
        }
        let world = SimpleCommunicator::world();
        mpi::request::scope(|scope| {
            let to = world.process_at_rank(to as i32);
            let mut request = to.immediate_send_with_tag(scope, bytes, i32::from(tag));
            while let Err(again) = request.test() {
                request = again;
                self.receive();
                self.look_for_silence();
                std::thread::yield_now();
            }
        });
    }

    fn give_sign(&mut self) {
        let next = (self.world.rank() + 1) % self.world.size();
        match &mut self.pulse {
            Some(pulse) if pulse.sent.elapsed() >= BEAT => pulse.sent = Instant::now(),
            _ => return,
        }
        self.send(next as Rank, BEAT_TAG, &[]);
    }

    fn look_for_silence(&mut self) {
        let Some(pulse) = &mut self.pulse else { return };
        // A longer gap between two looks is this process's own.
        pulse.silent += pulse.looked.elapsed().min(BEAT / 4);
        pulse.looked = Instant::now();
        if pulse.silent > pulse.limit {
            let why = format!("gave no sign of life for {:.1} s", pulse.silent.as_secs_f64());
            self.abort(before(&self.world), &why);
        }
    }

    fn abort(&self, rank: i32, why: &str) -> ! {
        // MPICH's launcher loses what it has not read when the job ends.
        let size = self.world.size();
        let line = format!("sinew-dist: rank {rank} of {size}: {why}; the job ends\n");
        eprint!("{line}");
        std::thread::sleep(LINE);
        self.world.abort(1)
    }
}

/// The rank that gives signs of life to this one.
fn before(world: &SimpleCommunicator) -> i32 {
    (world.rank() + world.size() - 1) % world.size()
}
