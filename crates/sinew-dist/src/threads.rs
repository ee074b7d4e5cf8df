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

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sinew::Pool;
use sinew_sync::lock::{Condvar, Mutex};

use crate::World;
use crate::link::{LOST, Link, Message, Rank, State, Tag};

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

    /// Runs `program` once a rank, and returns what the ranks return, in their order. Lost ranks
    /// return nothing.
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
        let links = links(self.ranks, &self.faults);
        let network = Arc::clone(&links[0].network);
        let results: Vec<Option<R>> = std::thread::scope(|scope| {
            let one = |link: Threads| scope.spawn(|| run_rank(link, &pool, &program));
            let ranks: Vec<_> = links.into_iter().map(one).collect();
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
    pool: &impl Fn(Rank) -> Pool,
    program: &impl Fn(&World) -> R,
) -> Option<R> {
    let (rank, network) = (link.rank, Arc::clone(&link.network));
    let run = || {
        let world = World::over(Box::new(link)).with_pool(pool(rank));
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

/// The ends of a network of `size` ranks.
pub fn links(size: u32, faults: &Faults) -> Vec<Threads> {
    let inboxes = (0..size).map(|_| Inbox::default()).collect();
    let states = Mutex::new((vec![None; size as usize], None));
    let network = Arc::new(Network { inboxes, ended: Mutex::new(None), states });
    let link = |rank| Threads {
        rank,
        network: Arc::clone(&network),
        random: faults.delays.map(|seed| fastrand::Rng::with_seed(seed ^ u64::from(rank) << 32)),
        polls: 0,
        uses: 0,
        surviving: false,
        loss: faults.losses.iter().find(|loss| loss.rank == rank).copied(),
    };
    (0..size).map(link).collect()
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
    inboxes: Vec<Inbox>,
    ended: Mutex<Option<Lost>>,
    /// The state of each rank, and when a rank has asked for all.
    states: Mutex<(Vec<Option<State>>, Option<Instant>)>,
}

impl Network {
    /// Ends the job. The first reason stays.
    fn end(&self, rank: Rank, why: &str) {
        self.ended.lock().get_or_insert_with(|| Lost { rank, why: why.to_owned() });
        for inbox in &self.inboxes {
            // A rank that looks under the lock sees the end, or is woken.
            drop(inbox.messages.lock());
            inbox.arrived.notify_all();
        }
    }

    fn post(&self, to: Rank, message: Message) {
        let inbox = &self.inboxes[to as usize];
        inbox.messages.lock().push(Delayed { message, due: None });
        inbox.arrived.notify_all();
    }
}

/// A rank's end of the network within a process.
#[derive(Debug)]
pub struct Threads {
    rank: Rank,
    network: Arc<Network>,
    random: Option<fastrand::Rng>,
    polls: u64,
    uses: u64,
    surviving: bool,
    loss: Option<Loss>,
}

impl Threads {
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

    fn inbox(&self) -> &Inbox {
        &self.network.inboxes[self.rank as usize]
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
        self.network.inboxes.len() as u32
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
        let network = Arc::clone(&self.network);
        let mut messages = network.inboxes[self.rank as usize].messages.lock();
        let next = self.choose(&mut messages)?;
        Some(messages.remove(next).message)
    }

    fn wait(&mut self, most: Duration) {
        self.count_use();
        let messages = self.inbox().messages.lock();
        if messages.is_empty() && !self.has_ended() {
            // A model has no time, so it finds ranks that wait for nothing.
            #[cfg(shuttle)]
            drop((self.inbox().arrived.wait(messages), most));
            #[cfg(not(shuttle))]
            drop(self.inbox().arrived.wait_for(messages, most.as_nanos() as u64));
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
        self.network.states.lock().0[self.rank as usize] = Some(state);
    }

    fn states(&mut self, within: Duration) -> Vec<Option<String>> {
        let mut noted = self.network.states.lock();
        let (states, asked) = &mut *noted;
        if asked.is_some_and(|asked| asked.elapsed() < within) {
            return Vec::new();
        }
        *asked = Some(Instant::now());
        states.iter().map(|state| state.map(|state| state.to_string())).collect()
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
