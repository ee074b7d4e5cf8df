//! Ranks that are threads of one process: a test double of a network, not a product.
//!
//! Tests run here without an MPI library, with messages that are delayed and reordered as MPI
//! allows it. Each rank has a pool of its own. A panic on one rank ends all others: their next use
//! of the network panics. A rank can be lost at any of its uses of the network.
//!
//! # Invariants
//!
//! - N1: of two messages with the same sender, receiver and tag the first one sent arrives first.
//! - N2: a delayed message arrives after a bounded number of polls of its receiver.
//!
//! # Not handled
//!
//! Anything about time.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use sinew::Pool;
use sinew_sync::lock::{Condvar, Mutex};

use crate::World;
use crate::link::{LOST, Link, Message, Rank, State, Tag};
use crate::share::Job;

/// The number of polls by which a message is delayed at most.
const LONGEST_DELAY: u64 = 12;

/// Ranks as threads of this process.
///
/// ```
/// use sinew_dist::threads::Ranks;
///
/// let sums = Ranks::new(3).run(|world| world.all_reduce(world.rank(), |a, b| a + b))?;
/// assert_eq!(sums, [3, 3, 3]);
/// # Ok::<(), sinew_dist::threads::Lost>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ranks {
    ranks: u32,
    faults: Faults,
    workers: usize,
}

/// Faults of the network.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Delays and reorders messages, by this seed.
    pub delays: Option<u64>,
    /// Ranks that are lost.
    pub losses: Vec<Loss>,
}

/// A rank that is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The rank.
    pub rank: Rank,
    /// The number of the use of the network at which it is lost, from 0.
    pub at: u64,
    /// Whether only uses count during which the others can survive its loss.
    pub in_bag: bool,
}

/// The rank that has failed first, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The rank.
    pub rank: Rank,
    /// The message of its panic.
    pub why: String,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}: {}", self.rank, self.why)
    }
}

impl std::error::Error for Lost {}

impl Ranks {
    /// So many ranks, without delays, each with a pool of one worker.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0.
    #[track_caller]
    pub fn new(ranks: u32) -> Self {
        assert!(ranks > 0, "a job has at least one rank");
        Self { ranks, faults: Faults::default(), workers: 1 }
    }

    /// Delays and reorders messages. The same seed gives the same delays, if ranks poll at the same
    /// times.
    #[must_use]
    pub fn delays(mut self, seed: u64) -> Self {
        self.faults.delays = Some(seed);
        self
    }

    /// Loses `rank` at its use of the network with the number `at`, from 0: sends, polls and waits
    /// are uses. Its thread ends without a word, and the others are told.
    #[must_use]
    pub fn lose(mut self, rank: Rank, at: u64) -> Self {
        self.faults.losses.push(Loss { rank, at, in_bag: false });
        self
    }

    /// As [`lose`](Self::lose), but counts only uses within bags that survive losses.
    #[must_use]
    pub fn lose_in_bag(mut self, rank: Rank, at: u64) -> Self {
        self.faults.losses.push(Loss { rank, at, in_bag: true });
        self
    }

    /// The number of workers of each rank's pool.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Runs `program` once a rank, those that [`World::grow`] starts included, and returns what the
    /// ranks return, in their order. Lost ranks return nothing.
    ///
    /// # Errors
    ///
    /// A rank has panicked, or aborted the job, for example because it needs a lost one.
    pub fn run<R, F>(&self, program: F) -> Result<Vec<R>, Lost>
    where
        R: Send,
        F: Fn(&World) -> R + Sync,
    {
        let pool = |_| {
            let pool = Pool::builder().threads(self.workers).build();
            pool.unwrap_or_else(|error| panic!("no pool: {error}"))
        };
        self.run_in(pool, program)
    }

    /// As [`run`](Self::run), with these pools, one a rank: pools with an observer, or that share
    /// the machine.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run); a panic of `pool` is one of its rank.
    pub fn run_in<R, F>(
        &self,
        pool: impl Fn(Rank) -> Pool + Sync,
        program: F,
    ) -> Result<Vec<R>, Lost>
    where
        R: Send,
        F: Fn(&World) -> R + Sync,
    {
        let (events, received) = channel();
        let links = links_with(self.ranks, &self.faults, Some(events.clone()));
        let (network, job) = (Arc::clone(&links[0].network), Job::draw());
        let results: Vec<Option<R>> = std::thread::scope(|scope| {
            let one = |link: Threads| {
                let (ended, pool, program) = (events.clone(), &pool, &program);
                scope.spawn(move || {
                    let result = run_rank(link, job, pool, program);
                    let _ = ended.send(Event::Ended);
                    result
                })
            };
            let mut running = links.len();
            let mut ranks: Vec<_> = links.into_iter().map(&one).collect();
            while running > 0 {
                match received.recv() {
                    Ok(Event::Started(link)) => {
                        ranks.push(one(link));
                        running += 1;
                    }
                    _ => running -= 1,
                }
            }
            ranks.into_iter().map(|rank| rank.join().ok().flatten()).collect()
        });
        match network.ended.lock().take() {
            Some(lost) => Err(lost),
            None => Ok(results.into_iter().flatten().collect()),
        }
    }
}

fn run_rank<R>(
    link: Threads,
    job: u64,
    pool: &impl Fn(Rank) -> Pool,
    program: &impl Fn(&World) -> R,
) -> Option<R> {
    let (rank, network) = (link.rank, Arc::clone(&link.network));
    let run = || {
        let world = World::over(Box::new(link)).with_pool(pool(rank)).with_job(job);
        program(&world)
    };
    let end = |payload: Box<dyn std::any::Any + Send>| {
        if !payload.is::<Loss>() {
            network.end(rank, text_of(&*payload));
        }
    };
    catch_unwind(AssertUnwindSafe(run)).map_err(end).ok()
}

/// The message of a panic.
pub(crate) fn text_of(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text")
}

/// The ends of a network of `size` ranks, which cannot grow.
pub fn links(size: u32, faults: &Faults) -> Vec<Threads> {
    links_with(size, faults, None)
}

fn links_with(size: u32, faults: &Faults, events: Option<Sender<Event>>) -> Vec<Threads> {
    let inboxes = (0..size).map(|_| Arc::default()).collect();
    let network = Arc::new(Network {
        inboxes: Mutex::new(inboxes),
        ended: Mutex::new(None),
        states: Mutex::default(),
        faults: faults.clone(),
        events,
    });
    (0..size).map(|rank| Threads::new(&network, rank, size)).collect()
}

/// An event that the thread which starts ranks waits for.
#[derive(Debug)]
enum Event {
    Started(Threads),
    Ended,
}

/// The messages for one rank, in the order in which they were sent.
#[derive(Debug, Default)]
struct Inbox {
    messages: Mutex<Vec<Delayed>>,
    arrived: Condvar,
}

/// A message, and the poll of its receiver from which on it can arrive, once the receiver has drawn
/// that.
#[derive(Debug)]
struct Delayed {
    message: Message,
    due: Option<u64>,
}

#[derive(Debug)]
struct Network {
    inboxes: Mutex<Vec<Arc<Inbox>>>,
    ended: Mutex<Option<Lost>>,
    /// The state of each rank, and when a rank has asked for all.
    states: Mutex<(BTreeMap<Rank, State>, Option<Instant>)>,
    faults: Faults,
    /// Starts ranks; none in a network that cannot grow.
    events: Option<Sender<Event>>,
}

impl Network {
    /// Ends the job. The first reason stays.
    fn end(&self, rank: Rank, why: &str) {
        self.ended.lock().get_or_insert_with(|| Lost { rank, why: why.to_owned() });
        for inbox in &*self.inboxes.lock() {
            // A rank that looks under the lock sees the end, or is woken.
            drop(inbox.messages.lock());
            inbox.arrived.notify_all();
        }
    }

    fn inbox(&self, rank: Rank) -> Arc<Inbox> {
        Arc::clone(&self.inboxes.lock()[rank as usize])
    }

    fn post(&self, to: Rank, message: Message) {
        let inbox = self.inbox(to);
        inbox.messages.lock().push(Delayed { message, due: None });
        inbox.arrived.notify_all();
    }
}

/// A rank's end of the network within a process.
#[derive(Debug)]
pub struct Threads {
    rank: Rank,
    size: u32,
    joined: bool,
    network: Arc<Network>,
    inbox: Arc<Inbox>,
    random: Option<fastrand::Rng>,
    polls: u64,
    uses: u64,
    surviving: bool,
    loss: Option<Loss>,
}

impl Threads {
    fn new(network: &Arc<Network>, rank: Rank, size: u32) -> Self {
        let Faults { delays, losses } = &network.faults;
        Self {
            rank,
            size,
            joined: false,
            network: Arc::clone(network),
            inbox: network.inbox(rank),
            random: delays.map(|seed| fastrand::Rng::with_seed(seed ^ u64::from(rank) << 32)),
            polls: 0,
            uses: 0,
            surviving: false,
            loss: losses.iter().find(|loss| loss.rank == rank).copied(),
        }
    }

    /// Counts a use. This rank may be lost at it.
    fn count_use(&mut self) {
        let Some(loss) = self.loss.filter(|loss| self.surviving || !loss.in_bag) else {
            return;
        };
        if loss.at == self.uses {
            for rank in (0..self.size()).filter(|rank| *rank != self.rank) {
                let message = Message { from: self.rank, tag: LOST, bytes: Vec::new() };
                self.network.post(rank, message);
            }
            std::panic::resume_unwind(Box::new(loss));
        }
        self.uses += 1;
    }

    fn has_ended(&self) -> bool {
        self.network.ended.lock().is_some()
    }

    /// Which of the messages arrives next, if one does.
    fn choose(&mut self, messages: &mut [Delayed]) -> Option<usize> {
        let Some(random) = &mut self.random else {
            return (!messages.is_empty()).then_some(0);
        };
        self.polls += 1;
        let mut due = Vec::new();
        for at in 0..messages.len() {
            let (before, rest) = messages.split_at_mut(at);
            let (message, now) = (&mut rest[0], self.polls);
            let until = *message.due.get_or_insert_with(|| now + random.u64(..LONGEST_DELAY));
            let first = |other: &Delayed| {
                (other.message.from, other.message.tag)
                    == (message.message.from, message.message.tag)
            };
            // N1.
            if until <= now && !before.iter().any(first) {
                due.push(at);
            }
        }
        random.choice(due)
    }
}

impl Link for Threads {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    /// The first rank that calls it starts the others.
    fn grow(&mut self, more: u32) -> Result<(), String> {
        let events = self.network.events.clone();
        let events = events.ok_or_else(|| "these threads cannot start others".to_owned())?;
        self.size += more;
        let mut inboxes = self.network.inboxes.lock();
        let first = inboxes.len() as u32;
        inboxes.resize_with(self.size.max(first) as usize, Arc::default);
        drop(inboxes);
        for rank in first..self.size {
            let link = Self { joined: true, ..Self::new(&self.network, rank, self.size) };
            // The receiver waits for this rank.
            let _ = events.send(Event::Started(link));
        }
        Ok(())
    }

    fn joined(&self) -> bool {
        self.joined
    }

    fn send(&mut self, to: Rank, tag: Tag, bytes: Vec<u8>) {
        self.count_use();
        self.network.post(to, Message { from: self.rank, tag, bytes });
    }

    fn poll(&mut self) -> Option<Message> {
        self.count_use();
        if self.has_ended() {
            panic!("another rank has ended the job");
        }
        let inbox = Arc::clone(&self.inbox);
        let mut messages = inbox.messages.lock();
        let next = self.choose(&mut messages)?;
        Some(messages.remove(next).message)
    }

    fn wait(&mut self, most: Duration) {
        self.count_use();
        let messages = self.inbox.messages.lock();
        if messages.is_empty() && !self.has_ended() {
            // A model has no time, so it finds ranks that wait for nothing.
            #[cfg(shuttle)]
            drop((self.inbox.arrived.wait(messages), most));
            #[cfg(not(shuttle))]
            drop(self.inbox.arrived.wait_for(messages, most.as_nanos() as u64));
        }
    }

    fn abort(&mut self, why: &str) -> ! {
        self.network.end(self.rank, why);
        panic!("{why}");
    }

    fn survive(&mut self) -> Result<(), String> {
        self.surviving = true;
        Ok(())
    }

    fn go_on_without(&mut self, _lost: &[Rank]) {
        self.surviving = false;
    }

    fn note(&mut self, state: State) {
        self.network.states.lock().0.insert(self.rank, state);
    }

    fn states(&mut self, within: Duration) -> Vec<Option<String>> {
        let mut noted = self.network.states.lock();
        let (states, asked) = &mut *noted;
        if asked.is_some_and(|asked| asked.elapsed() < within) {
            return Vec::new();
        }
        *asked = Some(Instant::now());
        let state = |rank| states.get(&rank).map(State::to_string);
        (0..self.size).map(state).collect()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    /// Everything that rank 1 receives, as pairs of tag and first byte.
    fn received(seed: u64) -> Vec<(Tag, u8)> {
        let mut links = links(2, &Faults { delays: Some(seed), ..Faults::default() });
        for number in 0..40 {
            links[0].send(1, Tag::from(number % 3), vec![number]);
        }
        let mut received = Vec::new();
        while received.len() < 40 {
            received.extend(links[1].poll().map(|message| (message.tag, message.bytes[0])));
        }
        received
    }

    /// Catches: delays that let a message overtake an earlier one of the same kind.
    #[test]
    fn messages_of_one_tag_keep_their_order_and_others_do_not() {
        for seed in 0..50 {
            let received = received(seed);
            for tag in 0..3 {
                let of_tag = received.iter().filter(|(other, _)| *other == tag);
                assert!(of_tag.map(|(_, number)| number).is_sorted());
            }
            assert!(!received.iter().map(|(_, number)| number).is_sorted());
        }
    }

    #[test]
    fn a_panic_on_one_rank_ends_the_others_and_is_named() {
        let lost = Ranks::new(4).run(|world| {
            if world.rank() == 2 {
                panic!("no more paper");
            }
            world.barrier();
        });
        assert_eq!(lost.unwrap_err().to_string(), "rank 2: no more paper");
    }

    /// Catches: ranks that wait forever for a lost one.
    #[test]
    fn a_lost_rank_ends_the_job_wherever_it_is_lost() {
        for at in 0..4 {
            let lost = Ranks::new(4).lose(2, at).run(|world| {
                world.barrier();
                world.all_reduce(1, |a, b| a + b)
            });
            assert!(lost.unwrap_err().why.contains("rank 2 is lost"));
        }
    }

    #[test]
    fn a_rank_that_leaves_early_ends_the_job() {
        let lost = Ranks::new(3).run(|world| {
            if world.rank() != 1 {
                world.barrier();
            }
        });
        assert!(lost.unwrap_err().why.contains("rank 1 has ended"));
    }
}
