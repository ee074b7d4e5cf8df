//! All ranks of a job, as one of them sees them; calls in which all of them take part.
//!
//! Every rank makes the same calls in the same order. Each call has a number, which is a part of
//! its messages' tags, so a rank that is ahead does not disturb the others. Messages for a later
//! call are kept.
//!
//! Values go up and down the tree in which rank r is above ranks 2r + 1 and 2r + 2, lost ranks left
//! out.
//!
//! # Invariants
//!
//! - W1: a message is received by the call with its number and purpose, or kept for it.
//! - W2: a rank that leaves says so with the number of calls that it has made. One that still needs
//!   it ends the job rather than waiting forever.
//! - W3: all ranks leave out the same lost ranks, those that rank 0 names at the end of a bag that
//!   survives losses. Any other loss ends the job. Nothing is read from a lost rank.
//! - W4: after a panic that leaves a call the rank makes no other, even if the panic is caught:
//!   others may wait for what it has not sent. Its next call ends the job.
//! - W5, W6: about ranks that rest; see `resize`.

mod purpose;
mod resize;
mod watch;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::io::Write as _;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sinew::{Pool, PoolBuilder};
use sinew_policy::lifelines::Members;

use crate::link::{LOST, Link, Message, Rank, State};
pub(crate) use crate::share::Since;
use crate::share::{Job, Waits, coordinate, lend, report_wait};
use crate::wire;
pub(crate) use purpose::Purpose;
use purpose::{LEAVE, ROUSE};
pub use resize::{GrowError, Shrunk};
use watch::{LeftCall, Watch};

/// A rank that waits for so long prints what all ranks do; `SINEW_DIST_PATIENCE_MS` changes it.
const PATIENCE: Duration = Duration::from_secs(20);

/// The longest time between two looks at the network.
const LOOK: Duration = Duration::from_millis(100);

/// Messages of a rank since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, serde::Deserialize)]
pub struct Traffic {
    /// Messages sent.
    pub sent: u64,
    /// Messages received by a call.
    pub received: u64,
    /// Bytes sent.
    pub bytes: u64,
}

/// All ranks of a job. It stays on the thread that made it.
pub struct World {
    inner: RefCell<Inner>,
    calls: Cell<u64>,
    pool: OnceCell<Pool>,
    /// Whether the pool is the global one, and was used.
    uses_global: Cell<bool>,
    began: Instant,
    waits: Cell<Waits>,
    ranks_here: Cell<u32>,
    job: Job,
    left_call: Cell<Option<LeftCall>>,
}

struct Inner {
    link: Box<dyn Link>,
    /// The ranks that take part in calls are those below.
    size: u32,
    kept: VecDeque<Message>,
    /// For each rank that has left the number of calls that it has made.
    left: Vec<Option<u64>>,
    traffic: Traffic,
    state: State,
    patience: Duration,
    /// The ranks that all leave out (W3).
    members: Members,
    /// As `members`, without those that this rank knows to be lost, and those of them of which no
    /// call knows.
    known: Members,
    losses: Vec<Rank>,
    surviving: bool,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, size) = (self.rank(), self.size());
        f.debug_struct("World").field("rank", &rank).field("size", &size).finish_non_exhaustive()
    }
}

/// One call in which all ranks take part.
pub(crate) struct Call<'w> {
    pub(crate) world: &'w World,
    number: u64,
    name: &'static str,
    _watch: Watch<'w>,
    /// Whether ranks that wait in it get work from others.
    gives_work: bool,
}

impl World {
    /// A world over any network. If [another rank has started this one](Self::joined), it waits
    /// until it is a part of the world.
    pub fn over(link: Box<dyn Link>) -> Self {
        let world = Self {
            inner: RefCell::new(Inner::new(link)),
            calls: Cell::new(0),
            pool: OnceCell::new(),
            uses_global: Cell::new(false),
            began: Instant::now(),
            waits: Cell::default(),
            ranks_here: Cell::new(1),
            job: Job::default(),
            left_call: Cell::default(),
        };
        if world.joined() {
            world.rest();
        }
        world
    }

    /// Says how many ranks of the job run on this machine. With several, the pool of
    /// [`World::pool`] shares it; see [`World::pool_builder`].
    #[must_use]
    pub fn with_ranks_here(self, ranks: u32) -> Self {
        self.ranks_here.set(ranks);
        self
    }

    /// Says which job this is, by a number that its ranks have in common and no other job has. If
    /// the pool of this rank shares its machine, its row in the table has this number.
    #[must_use]
    pub fn with_job(mut self, number: u64) -> Self {
        self.job = Job::new(number);
        self
    }

    /// Sets the pool that runs this rank's part of every call.
    #[must_use]
    pub fn with_pool(mut self, pool: Pool) -> Self {
        self.pool = OnceCell::from(pool);
        self
    }

    /// The pool of this rank. By default it is the global one; if several ranks of the job run on
    /// this machine, one that [shares it](World::pool_builder), built at the first use.
    ///
    /// # Panics
    ///
    /// If the system refuses to start even one thread.
    // Not track_caller: no caller can do anything about it.
    pub fn pool(&self) -> &Pool {
        let pool = self.find_pool();
        self.job.tell(pool);
        pool
    }

    fn find_pool(&self) -> &Pool {
        match self.pool.get() {
            Some(pool) => pool,
            None if self.ranks_here() < 2 => {
                self.uses_global.set(true);
                sinew::global_pool()
            }
            None => self.pool.get_or_init(|| {
                let built = self.pool_builder().build();
                built.unwrap_or_else(|error| panic!("a rank has no pool: {error}"))
            }),
        }
    }

    /// The settings of a pool for this rank: those of the environment. If several ranks of the job
    /// run on this machine, the pool shares it (`PoolBuilder::coordinate`, with the feature
    /// `coordinate`), unless the environment says `SINEW_COORDINATE=0`.
    ///
    /// [`World::pool`] is built from it. Give others to [`World::with_pool`].
    pub fn pool_builder(&self) -> PoolBuilder {
        let shared = self.ranks_here() > 1;
        coordinate(PoolBuilder::default(), shared).set_from_env()
    }

    /// How many ranks of the job run on this machine, as far as it is known; at least 1.
    pub fn ranks_here(&self) -> u32 {
        self.ranks_here.get()
    }

    /// The time since this world was made, and the waits since then.
    pub(crate) fn times(&self) -> (Duration, Waits) {
        (self.began.elapsed(), self.waits.get())
    }

    /// The number of calls until now.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.get()
    }

    /// The number of this rank, below [`size`](Self::size).
    pub fn rank(&self) -> Rank {
        self.inner.borrow().link.rank()
    }

    /// The number of ranks that take part in calls.
    pub fn size(&self) -> u32 {
        self.inner.borrow().size
    }

    /// The ranks that are lost. They take no part in calls any more.
    ///
    /// After a loss there are bags that survive losses, and the calls of this type. Other
    /// skeletons, which need all ranks, end the job.
    pub fn lost(&self) -> Vec<Rank> {
        self.inner.borrow().members.lost().to_vec()
    }

    /// The messages of this rank until now.
    pub fn traffic(&self) -> Traffic {
        self.inner.borrow().traffic
    }

    /// Ends the job on all ranks, because of `why`.
    ///
    /// Over MPI the process ends with status 1. Within a process the thread panics.
    pub fn abort(&self, why: &str) -> ! {
        self.inner.borrow_mut().link.abort(why)
    }

    /// Returns when all ranks have called it.
    ///
    /// # Cost
    ///
    /// Two messages a rank.
    pub fn barrier(&self) {
        self.all_reduce((), |(), ()| ());
    }

    /// The value of rank 0, on all ranks. Other ranks' values are not used.
    pub fn broadcast<T: Serialize + DeserializeOwned>(&self, value: &T) -> T {
        let call = self.call("broadcast");
        let bytes = call.down(|| wire::pack(value));
        call.unpack(&bytes)
    }

    /// The values of all ranks that are not lost, in their order, on all of them.
    ///
    /// # Cost
    ///
    /// Two messages a rank; near rank 0 of the size of all values together.
    pub fn all_gather<T: Serialize + DeserializeOwned>(&self, value: &T) -> Vec<T> {
        let call = self.call("all_gather");
        let mut values = vec![(self.rank(), wire::pack(value))];
        for bytes in call.receive_below() {
            values.extend(call.unpack::<Vec<(Rank, Vec<u8>)>>(&bytes));
        }
        values.sort_unstable_by_key(|(rank, _)| *rank);
        call.send_up(|| wire::pack(&values));
        let bytes = call.down(|| wire::pack(&values));
        let all: Vec<(Rank, Vec<u8>)> = call.unpack(&bytes);
        all.iter().map(|(_, bytes)| call.unpack(bytes)).collect()
    }

    /// The values of all ranks reduced by `op`, on all ranks.
    ///
    /// Values are combined along the tree: the same for one number of ranks, but another order for
    /// another number. Arrays have [a reduction](crate::Dist::reduce) that has the same bits at any
    /// number.
    ///
    /// # Cost
    ///
    /// Two messages a rank.
    pub fn all_reduce<T>(&self, value: T, op: impl Fn(T, T) -> T) -> T
    where
        T: Serialize + DeserializeOwned,
    {
        let call = self.call("all_reduce");
        let below = call.receive_below().into_iter().map(|bytes| call.unpack(&bytes));
        let sum = below.fold(value, op);
        call.send_up(|| wire::pack(&sum));
        let bytes = call.down(|| wire::pack(&sum));
        call.unpack(&bytes)
    }

    /// Begins the next call.
    pub(crate) fn call(&self, name: &'static str) -> Call<'_> {
        self.check_watched();
        let (number, _watch) = (self.calls.get(), self.watch(name));
        self.calls.set(number + 1);
        let call = Call { world: self, number, name, _watch, gives_work: false };
        self.inner.borrow_mut().note(&call, false);
        call
    }
}

impl Call<'_> {
    /// Ranks that wait in this call get work from others.
    pub(crate) fn giving_work(mut self) -> Self {
        self.gives_work = true;
        self
    }

    pub(crate) fn send(&self, to: Rank, purpose: Purpose, bytes: Vec<u8>) {
        let mut inner = self.world.inner.borrow_mut();
        inner.check_lost(to, self);
        inner.traffic.sent += 1;
        inner.traffic.bytes += bytes.len() as u64;
        inner.link.send(to, purpose.tag(self.number), bytes);
    }

    /// A message for this purpose that has arrived, from any rank or from one.
    pub(crate) fn poll(&self, from: Option<Rank>, purpose: Purpose) -> Option<Message> {
        let mut inner = self.world.inner.borrow_mut();
        let tag = purpose.tag(self.number);
        let wanted =
            |message: &Message| message.tag == tag && from.is_none_or(|rank| rank == message.from);
        let found = inner.find(wanted);
        inner.traffic.received += u64::from(found.is_some());
        if found.is_none() {
            from.inspect(|from| inner.check_lost(*from, self));
            inner.check_left(self);
        } else if inner.state.waits {
            inner.note(self, false);
        }
        found
    }

    /// Waits until a message may have arrived. `since` is when the rank began to wait.
    pub(crate) fn wait(&self, since: &mut Since) {
        let (world, mut waits) = (self.world, self.world.waits.get());
        let has_pool = world.pool.get().is_some() || world.uses_global.get();
        let pool = has_pool.then(|| world.pool());
        let left = since.patience(|| waits.lent += u64::from(pool.is_some_and(lend)));
        let mut inner = world.inner.borrow_mut();
        inner.note(self, true);
        // One after the other, so that usually one rank reports.
        let most = inner.patience + inner.patience / 8 * inner.link.rank().min(8);
        if since.is_long(most) {
            inner.report(self);
        }
        let look = LOOK.min(inner.patience);
        let began = Instant::now();
        inner.link.wait(left.map_or(look, |left| left.min(look)));
        let waited = began.elapsed();
        waits.waited += waited;
        world.waits.set(waits);
        pool.inspect(|pool| report_wait(pool, self.gives_work, waited));
    }

    pub(crate) fn receive(&self, from: Rank, purpose: Purpose) -> Vec<u8> {
        let mut since = Since::now();
        loop {
            if let Some(message) = self.poll(Some(from), purpose) {
                return message.bytes;
            }
            self.wait(&mut since);
        }
    }

    fn above(&self) -> Option<Rank> {
        let inner = self.world.inner.borrow();
        inner.members.parent(inner.link.rank())
    }

    fn below(&self) -> Vec<Rank> {
        let inner = self.world.inner.borrow();
        inner.members.children(inner.link.rank()).collect()
    }

    /// The ranks that take part in this call.
    pub(crate) fn members(&self) -> Members {
        self.world.inner.borrow().members.clone()
    }

    /// From now on losses of ranks do not end the job.
    pub(crate) fn survive(&self) {
        let mut inner = self.world.inner.borrow_mut();
        if let Err(why) = inner.link.survive() {
            let name = self.name;
            inner.link.abort(&format!("`{name}` cannot survive the loss of a rank: {why}"));
        }
        inner.surviving = true;
    }

    /// The ranks that were lost since the last time.
    pub(crate) fn losses(&self) -> Vec<Rank> {
        std::mem::take(&mut self.world.inner.borrow_mut().losses)
    }

    /// From now on losses end the job, and all ranks leave out those that are `lost` (W3).
    pub(crate) fn agree(&self, lost: &[Rank]) {
        let mut inner = self.world.inner.borrow_mut();
        for rank in lost {
            inner.forget(*rank);
            inner.members.lose(*rank);
        }
        inner.surviving = false;
        inner.link.go_on_without(lost);
        let known = inner.known.lost().iter();
        if let Some(rank) = known.copied().find(|rank| inner.members.has(*rank)) {
            inner.link.abort(&format!("rank {rank} is lost"));
        }
    }

    /// The values of the ranks below, in their order.
    pub(crate) fn receive_below(&self) -> Vec<Vec<u8>> {
        let below = self.below().into_iter();
        below.map(|child| self.receive(child, Purpose::Up)).collect()
    }

    /// Sends to the rank above, if there is one.
    pub(crate) fn send_up(&self, bytes: impl FnOnce() -> Vec<u8>) {
        if let Some(above) = self.above() {
            self.send(above, Purpose::Up, bytes());
        }
    }

    /// The bytes of rank 0, on all ranks.
    pub(crate) fn down(&self, bytes: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
        let bytes = match self.above() {
            Some(above) => self.receive(above, Purpose::Down),
            None => bytes(),
        };
        for child in self.below() {
            self.send(child, Purpose::Down, bytes.clone());
        }
        bytes
    }

    pub(crate) fn unpack<T: DeserializeOwned>(&self, bytes: &[u8]) -> T {
        wire::unpack(bytes).unwrap_or_else(|| self.refuse())
    }

    /// Ends the job: the ranks do not run the same program.
    pub(crate) fn refuse(&self) -> ! {
        let name = self.name;
        self.world.abort(&format!("`{name}` received what is no value of its type"))
    }
}

impl Inner {
    fn new(link: Box<dyn Link>) -> Self {
        let size = link.size();
        let patience = std::env::var("SINEW_DIST_PATIENCE_MS").ok();
        let patience = patience.and_then(|text| text.parse().ok()).map(Duration::from_millis);
        let since = Instant::now();
        Self {
            link,
            size,
            kept: VecDeque::new(),
            left: vec![None; size as usize],
            traffic: Traffic::default(),
            state: State { call: "init", number: 0, waits: false, since, sent: 0, received: 0 },
            patience: patience.unwrap_or(PATIENCE),
            members: Members::all(size),
            known: Members::all(size),
            losses: Vec::new(),
            surviving: false,
        }
    }

    /// Keeps what this rank does, where others can ask for it.
    fn note(&mut self, call: &Call<'_>, waits: bool) {
        let Traffic { sent, received, .. } = self.traffic;
        let same = waits && self.state.waits && self.state.number == call.number;
        let since = if same { self.state.since } else { Instant::now() };
        self.state = State { call: call.name, number: call.number, waits, since, sent, received };
        self.link.note(self.state);
    }

    /// Prints what all ranks do, unless another one has just done that.
    fn report(&mut self, call: &Call<'_>) {
        let states = self.link.states(self.patience);
        if states.is_empty() {
            return;
        }
        let (rank, size) = (self.link.rank(), self.size);
        let mut text = format!(
            "sinew-dist: rank {rank} of {size} still waits in `{}`, its call {}; all ranks:\n",
            call.name, call.number
        );
        for (rank, state) in states.into_iter().enumerate() {
            let state = state.unwrap_or_else(|| "does not say what it does".to_owned());
            text.push_str(&format!("sinew-dist:   rank {rank} {state}\n"));
        }
        // One write, so that other ranks' lines are not within.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// A rank is lost (W3).
    fn lose(&mut self, rank: Rank) {
        if self.known.lost().contains(&rank) {
            return;
        }
        if self.rests() {
            return; // Rank 0 calls no rank back then.
        }
        if !self.surviving || rank >= self.size {
            self.link.abort(&format!("rank {rank} is lost"));
        }
        self.forget(rank);
        self.losses.push(rank);
    }

    fn forget(&mut self, rank: Rank) {
        self.known.lose(rank);
        self.kept.retain(|message| message.from != rank);
        self.left[rank as usize] = Some(u64::MAX);
    }

    /// Ends the job if `call` needs a rank that all leave out.
    fn check_lost(&mut self, rank: Rank, call: &Call<'_>) {
        if !self.members.has(rank) {
            let name = call.name;
            self.link.abort(&format!("`{name}` needs all ranks, and rank {rank} was lost before"));
        }
    }

    /// The next message that is `wanted`, of those that were kept or have arrived.
    fn find(&mut self, wanted: impl Fn(&Message) -> bool) -> Option<Message> {
        match self.kept.iter().position(&wanted) {
            Some(at) => self.kept.remove(at),
            None => self.poll_for(wanted),
        }
    }

    /// The next message that arrives and is `wanted`; keeps others.
    fn poll_for(&mut self, wanted: impl Fn(&Message) -> bool) -> Option<Message> {
        while let Some(message) = self.link.poll() {
            if message.tag == LOST {
                self.lose(message.from);
            } else if self.known.lost().contains(&message.from) {
                continue;
            } else if message.tag == LEAVE {
                self.left[message.from as usize] = Some(wire::unpack(&message.bytes).unwrap_or(0));
            } else if wanted(&message) {
                return Some(message);
            } else {
                self.kept.push_back(message);
            }
        }
        None
    }

    /// Ends the job if a rank has left that does not take part in `call` (W2).
    fn check_left(&mut self, call: &Call<'_>) {
        let missing = |calls: &Option<u64>| calls.is_some_and(|calls| calls <= call.number);
        if let Some(rank) = self.left.iter().position(missing) {
            let name = call.name;
            self.link.abort(&format!("rank {rank} has ended, and does not take part in `{name}`"));
        }
    }

    /// Tells all other ranks, and waits until they have left as well.
    fn leave(&mut self, calls: u64) {
        let own = self.link.rank();
        if self.rests() {
            return; // The job is over.
        }
        // Rank 0 tells those that rest as well.
        let told = if own == 0 { self.link.size() } else { self.size };
        let lost = self.members.lost();
        for rank in (0..told).filter(|rank| *rank != own && !lost.contains(rank)) {
            self.link.send(rank, LEAVE, wire::pack(&calls));
        }
        self.left[own as usize] = Some(calls);
        while self.left.contains(&None) {
            self.poll_for(|_| false);
            if self.left.contains(&None) {
                self.link.wait(LOOK);
            }
        }
    }
}

impl Drop for World {
    /// Waits for the other ranks, unless the thread panics: then the network ends the job.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check_watched();
            // The pool has nothing to do any more.
            if let Some(pool) = self.pool.get() {
                lend(pool);
            }
            let calls = self.calls.get();
            self.inner.get_mut().leave(calls);
        }
    }
}
