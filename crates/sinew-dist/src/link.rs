//! How ranks reach each other.

use std::time::Duration;

pub use sinew_policy::lifelines::Rank;

/// The purpose of a message; below 2^15, which every MPI library can send.
pub type Tag = u16;

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

/// A rank's end of the network. One thread of the rank owns it.
///
/// Messages from one rank to one other with the same tag arrive in the order in which they were
/// sent. Nothing is promised about others. No message is lost.
pub trait Link {
    /// The number of this rank, below [`size`](Self::size).
    fn rank(&self) -> Rank;

    /// The number of ranks.
    fn size(&self) -> u32;

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
}
