//! How ranks reach each other.

use std::fmt;
use std::time::{Duration, Instant};

pub use sinew_policy::lifelines::Rank;

/// The purpose of a message; below 2^15, which every MPI library can send.
pub type Tag = u16;

/// Tags from here on are those of the network itself.
pub const OWN_TAGS: Tag = 0x7ff8;

/// The network's message that rank `from` is lost. See [`Link::survive`].
pub const LOST: Tag = OWN_TAGS;

/// A message that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The rank that has sent it.
    pub from: Rank,
    /// Its purpose.
    pub tag: Tag,
    /// The contents.
    pub bytes: Vec<u8>,
}

/// The activity of a rank, for reports about a job that waits.
#[derive(Debug, Clone, Copy)]
pub struct State {
    /// The last call that it began.
    pub call: &'static str,
    /// The number of this call.
    pub number: u64,
    /// Whether it waits for messages.
    pub waits: bool,
    /// Since when it waits, or does not.
    pub since: Instant,
    /// Messages sent since its start.
    pub sent: u64,
    /// Messages received since its start.
    pub received: u64,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, number, sent, received, .. } = self;
        let what = if self.waits { "waits in" } else { "computes in or after" };
        let seconds = self.since.elapsed().as_secs_f64();
        write!(f, "{what} `{call}`, its call {number}, for {seconds:.1} s; ")?;
        write!(f, "{sent} messages sent, {received} received")
    }
}

/// A rank's end of the network. One thread of the rank owns it.
///
/// Messages from one rank to one other with the same tag arrive in the order in which they were
/// sent. Nothing is promised about others. No message is lost.
pub trait Link {
    /// The number of this rank, below [`size`](Self::size).
    fn rank(&self) -> Rank;

    /// The number of ranks, those that rest included.
    fn size(&self) -> u32;

    /// Starts `more` ranks with the numbers from [`size`](Self::size) on, which run this program
    /// from its beginning. All ranks call it after they have received all messages that they need.
    ///
    /// # Errors
    ///
    /// Why none was started. All ranks get it.
    fn grow(&mut self, _more: u32) -> Result<(), String> {
        Err("this network cannot start ranks".to_owned())
    }

    /// Whether [`grow`](Self::grow) has started this rank.
    fn joined(&self) -> bool {
        false
    }

    /// Sends `bytes` to rank `to`, which may be this one. Does not wait for the receiver.
    fn send(&mut self, to: Rank, tag: Tag, bytes: Vec<u8>);

    /// A message that has arrived. Does not wait.
    ///
    /// Does not return if the job has failed: the thread panics, or the process ends.
    fn poll(&mut self) -> Option<Message>;

    /// Waits until a message may have arrived, for about `most`.
    fn wait(&mut self, most: Duration);

    /// Ends the job on all ranks, because of `why`.
    fn abort(&mut self, why: &str) -> !;

    /// From now on the loss of a rank does not end the job. It is reported by a message with the
    /// tag [`LOST`]. The network may deliver earlier messages of that rank behind it.
    ///
    /// # Errors
    ///
    /// Why this network cannot do that.
    fn survive(&mut self) -> Result<(), String> {
        Err("this network ends the job when a rank is lost".to_owned())
    }

    /// From now on a loss ends the job again. All ranks go on without those that are `lost`, of
    /// which this one may not have heard.
    fn go_on_without(&mut self, _lost: &[Rank]) {}

    /// Keeps what this rank does, for [`states`](Self::states).
    fn note(&mut self, _state: State) {}

    /// The activity of every rank, by rank; `None` for one that does not say so. Empty if a rank
    /// has asked for it `within` this time, or if this network cannot ask.
    fn states(&mut self, _within: Duration) -> Vec<Option<String>> {
        Vec::new()
    }
}
