//! How long a message takes.
//!
//! A message needs the latency between its ranks, and the time of its bytes on the link by which it
//! leaves its machine. A link carries one message after the other.

use sinew_policy::lifelines::Rank;

use crate::queue::Time;
use crate::random::NS;

/// Bytes of a message without units.
const HEAD: u64 = 32;

/// The network between ranks, `ranks_per_machine` of which share a machine and its link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Network {
    /// Ranks with numbers that follow each other share a machine; at least 1.
    pub ranks_per_machine: u32,
    /// The latency between machines, in nanoseconds.
    pub latency_ns: u64,
    /// The latency inside of a machine, in nanoseconds.
    pub near_ns: u64,
    /// How long a machine's link needs for a byte, in picoseconds.
    pub byte_ps: u64,
    /// Bytes of a unit in a message.
    pub unit_bytes: u64,
}

impl Default for Network {
    /// A rank a machine; two microseconds, 12.5 gigabytes a second, and 24 bytes a unit.
    fn default() -> Self {
        Self { ranks_per_machine: 1, latency_ns: 2_000, near_ns: 500, byte_ps: 80, unit_bytes: 24 }
    }
}

impl Network {
    /// The bytes of a message with so many units.
    pub(super) fn bytes(&self, units: usize) -> u64 {
        HEAD + units as u64 * self.unit_bytes
    }

    fn machine(&self, rank: Rank) -> usize {
        (rank / self.ranks_per_machine.max(1)) as usize
    }
}

/// The links of all machines.
#[derive(Debug)]
pub(super) struct Links {
    network: Network,
    /// When each machine's link has sent what it was given.
    free: Vec<Time>,
}

impl Links {
    pub(super) fn new(network: Network, ranks: u32) -> Self {
        let machines = network.machine(ranks - 1) + 1;
        Self { network, free: vec![0; machines] }
    }

    /// The time at which a message arrives that is sent now.
    pub(super) fn arrival(&mut self, now: Time, from: Rank, to: Rank, bytes: u64) -> Time {
        let machine = self.network.machine(from);
        if machine == self.network.machine(to) {
            return now + self.network.near_ns * NS;
        }
        let sent = self.free[machine].max(now) + bytes * self.network.byte_ps;
        self.free[machine] = sent;
        sent + self.network.latency_ns * NS
    }
}
