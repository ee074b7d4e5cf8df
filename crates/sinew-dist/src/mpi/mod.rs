//! The network of MPI.
//!
//! One thread of this crate makes all calls of MPI (`MPI_THREAD_FUNNELED`). The owner of the
//! [`Mpi`] exchanges messages with it through two queues, so messages move while the owner
//! computes.
//!
//! A send does not wait for its receiver: the thread tests it, and receives others' messages in the
//! meantime. It completes one send before it begins the next.
//!
//! # When a job grows
//!
//! `MPI_Comm_spawn` starts ranks, if `mpirun` has slots for them (`slots`). The communicator of all
//! ranks, old and new, replaces the former one, in which no message is on the way any more: each
//! rank has sent a last one as below.
//!
//! `MPI_Finalize` waits only for ranks that were started together, and a send to a rank that has
//! finalised never completes. So each rank sends a last, synchronous message to each rank to which
//! it has sent any, and then waits in a barrier while it receives theirs.
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
//! arrives. When the owner begins to wait, the thread looks without gaps for 0.2 ms: a message
//! that comes soon costs the owner one wake-up. One copy of each message at each end.

mod server;
mod slots;

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use sinew_sync::lock::{Condvar, Mutex};

use crate::init_error::InitError;
use crate::link::{Link, Message, Rank, State, Tag};
pub use crate::pulse::SILENCE;
use crate::threads::text_of;
use server::{Place, serve};

/// A process that cannot end the job through MPI ends itself after this time.
const LAST_RESORT: Duration = Duration::from_millis(700);

/// The message of the last panic in this process.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// The variable by which `mpirun` tells its processes that they may survive others.
const RECOVERY: &str = "OMPI_MCA_orte_enable_recovery";

fn recovers() -> bool {
    std::env::var(RECOVERY).is_ok_and(|value| ["1", "true", "yes"].contains(&value.trim()))
}

enum Order {
    Send(Rank, Tag, Vec<u8>),
    /// The owner waits for a message.
    Look,
    Survive,
    GoOnWithout(Vec<Rank>),
    Grow(u32, Sender<Result<u32, String>>),
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
    joined: bool,
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
        let Place { rank, size, joined } = started
            .recv()
            .unwrap_or_else(|_| Err("its thread has ended".to_owned()))
            .map_err(InitError::Mpi)?;
        Ok(Self { rank, size, joined, orders, inbox, running })
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

    fn grow(&mut self, more: u32) -> Result<(), String> {
        let (reply, grown) = channel();
        self.order(Order::Grow(more, reply));
        self.size = grown.recv().unwrap_or_else(|_| Err("its thread has ended".to_owned()))?;
        Ok(())
    }

    fn joined(&self) -> bool {
        self.joined
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
            self.order(Order::Look);
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
