//! A program's row, as a value and as 64-bit words.
//!
//! Every value is checked when it is read: [`Row::decode`] refuses what no honest program writes
//! (values out of range, and names that are not text).
//!
//! # Invariants
//!
//! - W1: encoding a decoded row gives words that decode to the same row.

use std::fmt;

use sinew_cpus::CpuSet;
use sinew_policy::chunk::Schedule;
use sinew_policy::share::{Curve, Grant, LastLoop, MAX_CORES, POINTS, Request, Speed};

use crate::process::ProcessId;
use crate::words::{MAX_PROGRAMS, Reader, Writer};

/// Words of a row.
pub(crate) const ROW_WORDS: usize = 112;

/// Neighbours whose effect a row remembers.
pub(crate) const PEERS: usize = 8;

/// The name of a program, at most 32 bytes of UTF-8.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Name([u8; 32]);

impl Name {
    /// The longest beginning of `text` that fits. Control characters become `?`.
    pub fn new(text: &str) -> Self {
        let mut bytes = [0; 32];
        let mut used = 0;
        for char in text.chars().map(|c| if c.is_control() { '?' } else { c }) {
            if used + char.len_utf8() > bytes.len() {
                break;
            }
            char.encode_utf8(&mut bytes[used..]);
            used += char.len_utf8();
        }
        Self(bytes)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..end]).unwrap_or("?")
    }

    /// A hash that differs for most names.
    pub(crate) fn hash32(&self) -> u32 {
        self.0
            .iter()
            .fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }

    pub(crate) fn encode(&self, out: &mut Writer<'_>) {
        for part in self.0.chunks_exact(8) {
            out.put(part.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        }
    }

    pub(crate) fn decode(words: &mut Reader<'_>) -> Option<Self> {
        let mut bytes = [0; 32];
        for part in bytes.chunks_exact_mut(8) {
            part.copy_from_slice(&words.take()?.to_le_bytes());
        }
        let name = Self(bytes);
        (Self::new(name.as_str()) == name).then_some(name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// The effect of a neighbour with this name on a program's throughput when they share a cache. A
/// fraction of the throughput, negative for harm.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Peer {
    pub(crate) name: u32,
    pub(crate) change: f32,
}

/// The settings that a program has decided itself. Grants leave them to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnSettings {
    /// The schedule of its loops. While it is set, no requested schedule is granted.
    pub schedule: Option<Schedule>,
    /// The cores that it has pinned its threads to; it gets no others. Empty if it has not pinned
    /// them.
    pub cores: CpuSet,
    /// The number of the job of which it is a rank, the same for all ranks of the job on all
    /// machines; 0 if it is of none.
    pub job: u64,
}

/// A program in the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The slot of its live line and futex word; no two rows share one.
    pub(crate) slot: u32,
    /// The program.
    pub program: ProcessId,
    /// The process that took the row on the program's behalf, if another one did.
    pub watchdog: Option<ProcessId>,
    /// Its name.
    pub name: Name,
    /// Cores it should have at least.
    pub min: u32,
    /// Cores it can use at most.
    pub max: u32,
    /// The cores that a coordinator over machines has assigned to it, which count as its minimum as
    /// far as it has work for them; 0 if none has.
    pub assigned: u32,
    /// Its part in proportion to the other programs' weights.
    pub weight: f64,
    /// The cores it may run on.
    pub mask: CpuSet,
    /// The settings that it has decided itself.
    pub own_settings: OwnSettings,
    /// The threads and cores that it has.
    pub grant: Grant,
    /// The schedule that its loops should use, if a request names one.
    pub schedule: Option<Schedule>,
    /// Counts its grants.
    pub epoch: u64,
    /// The time at which it joined, on the clock that all processes share, in nanoseconds.
    pub joined_ns: u64,
    /// The threads that had work when the shares were last computed.
    pub demand: u32,
    /// Whether it was found stopped, for example by SIGSTOP. The other programs have its cores
    /// until it continues.
    pub stopped: bool,
    /// Items that it has completed since it joined.
    pub progress: u64,
    /// Nanoseconds in which it has waited for slower ranks of its job since it joined.
    pub waited_ns: u64,
    /// Nanoseconds in which it has waited for a part of its job's work since it joined.
    pub idled_ns: u64,
    /// The schedule of its last loop, as the program reported it.
    pub last_loop: Option<LastLoop>,
    /// Its measured speed for each number of cores.
    pub curve: Curve,
    /// The request that is in force for it: threads, cores, a schedule.
    pub request: Option<Request>,
    pub(crate) peers: [Peer; PEERS],
}

/// The weights that rows may have.
pub const WEIGHTS: std::ops::RangeInclusive<f64> = 0.01..=100.0;

impl Row {
    /// The cores that it would use: those it has pinned its threads to, if its mask allows any of
    /// them; else its mask.
    pub fn usable(&self) -> CpuSet {
        let pinned = self.mask.intersection(&self.own_settings.cores);
        if pinned.is_empty() { self.mask.clone() } else { pinned }
    }

    /// The schedule that the program has decided itself, for its pool or in its last loop.
    pub fn own_schedule(&self) -> Option<Schedule> {
        let named = self.last_loop.filter(|last| last.named);
        self.own_settings.schedule.or(named.map(|last| last.schedule))
    }

    pub(crate) fn encode(&self, out: &mut Writer<'_>) {
        out.put(u64::from(self.slot));
        write_process(Some(self.program), out);
        write_process(self.watchdog, out);
        self.name.encode(out);
        out.pair(self.min, self.max);
        out.put(u64::from(self.assigned));
        out.put(self.weight.to_bits());
        write_cores(&self.mask, out);
        write_schedule(self.own_settings.schedule, out);
        write_cores(&self.own_settings.cores, out);
        out.put(self.own_settings.job);
        write_grant(&self.grant, out);
        write_schedule(self.schedule, out);
        out.put(self.epoch);
        out.put(self.joined_ns);
        out.pair(self.demand, u32::from(self.stopped));
        write_curve(&self.curve, out);
        write_request(self.request.as_ref(), out);
        self.peers.iter().for_each(|peer| out.pair(peer.name, peer.change.to_bits()));
    }

    pub(crate) fn decode(words: &mut Reader<'_>) -> Option<Self> {
        let slot = words.small(MAX_PROGRAMS as u32 - 1)?;
        let program = read_process(words)??;
        let watchdog = read_process(words)?;
        let name = Name::decode(words)?;
        let (min, max) = words.pair()?;
        let assigned = words.small(MAX_CORES as u32)?;
        let weight = f64::from_bits(words.take()?);
        let mask = read_cores(words)?;
        let (own_schedule, own_cores) = (read_schedule(words)?, read_cores(words)?);
        let own_settings =
            OwnSettings { schedule: own_schedule, cores: own_cores, job: words.take()? };
        let (grant, schedule) = (read_grant(words)?, read_schedule(words)?);
        let (epoch, joined_ns) = (words.take()?, words.take()?);
        let (demand, stopped) = words.pair()?;
        let row = Self {
            slot,
            program,
            watchdog,
            name,
            min,
            max,
            assigned,
            weight,
            mask,
            own_settings,
            grant,
            schedule,
            epoch,
            joined_ns,
            demand,
            stopped: stopped == 1,
            progress: 0,
            waited_ns: 0,
            idled_ns: 0,
            last_loop: None,
            curve: read_curve(words)?,
            request: read_request(words)?,
            peers: read_peers(words)?,
        };
        (stopped <= 1 && row.is_in_range()).then_some(row)
    }

    /// Whether its numbers are those that an honest program writes.
    fn is_in_range(&self) -> bool {
        WEIGHTS.contains(&self.weight)
            && (1..=self.max).contains(&self.min)
            && self.max <= MAX_CORES as u32
            && !self.mask.is_empty()
            && self.grant.threads <= MAX_CORES as u32
    }
}

pub(crate) fn write_process(process: Option<ProcessId>, out: &mut Writer<'_>) {
    out.put(process.map_or(0, |process| u64::from(process.pid)));
    out.put(process.map_or(0, |process| process.started));
}

/// The outer `None` refuses the words; the inner one is no process.
pub(crate) fn read_process(words: &mut Reader<'_>) -> Option<Option<ProcessId>> {
    let (pid, started) = (words.small(i32::MAX as u32)?, words.take()?);
    match pid {
        0 => (started == 0).then_some(None),
        pid => Some(Some(ProcessId { pid, started })),
    }
}

/// Words of a set of cores in the table.
const WORDS: usize = MAX_CORES / 64;

/// Leaves out CPUs that cannot be shared.
fn write_cores(cores: &CpuSet, out: &mut Writer<'_>) {
    let words = cores.words().iter().copied().chain(std::iter::repeat(0));
    words.take(WORDS).for_each(|word| out.put(word));
}

fn read_cores(words: &mut Reader<'_>) -> Option<CpuSet> {
    let mut set = [0; WORDS];
    for word in &mut set {
        *word = words.take()?;
    }
    Some(CpuSet::from_words(&set))
}

fn write_grant(grant: &Grant, out: &mut Writer<'_>) {
    out.put(u64::from(grant.threads));
    write_cores(&grant.cores, out);
}

fn read_grant(words: &mut Reader<'_>) -> Option<Grant> {
    Some(Grant { threads: words.small(u32::MAX)?, cores: read_cores(words)? })
}

fn write_schedule(schedule: Option<Schedule>, out: &mut Writer<'_>) {
    let (code, number) = schedule.map_or((0, 0), Schedule::code);
    out.put(u64::from(code));
    out.put(number as u64);
}

fn read_schedule(words: &mut Reader<'_>) -> Option<Option<Schedule>> {
    let (code, number) = (words.small(u32::from(u8::MAX))?, usize::try_from(words.take()?).ok()?);
    match code {
        0 => Some(None),
        code => Schedule::from_code(code as u8, number).map(Some),
    }
}

pub(crate) fn write_curve(curve: &Curve, out: &mut Writer<'_>) {
    for i in 0..POINTS {
        let Speed { cores, rate } = curve.points().get(i).copied().unwrap_or_default();
        out.pair(cores, rate.to_bits());
    }
}

/// Invalid points are left out: a curve is advice.
pub(crate) fn read_curve(words: &mut Reader<'_>) -> Option<Curve> {
    let mut points = [Speed::default(); POINTS];
    for point in &mut points {
        let (cores, rate) = words.pair()?;
        *point = Speed { cores, rate: f32::from_bits(rate) };
    }
    Some(Curve::from_points(points))
}

fn write_request(request: Option<&Request>, out: &mut Writer<'_>) {
    let parts = request.cloned().unwrap_or_default();
    out.put(u64::from(request.is_some()));
    out.put(parts.threads.map_or(0, u64::from));
    out.put(u64::from(parts.cores.is_some()));
    write_cores(&parts.cores.unwrap_or_default(), out);
    write_schedule(parts.schedule, out);
}

fn read_request(words: &mut Reader<'_>) -> Option<Option<Request>> {
    let (is_there, threads) = (words.small(1)? == 1, words.small(MAX_CORES as u32)?);
    let (has_cores, cores) = (words.small(1)? == 1, read_cores(words)?);
    let schedule = read_schedule(words)?;
    let request = Request {
        threads: (threads > 0).then_some(threads),
        cores: has_cores.then_some(cores),
        schedule,
    };
    Some(is_there.then_some(request))
}

fn read_peers(words: &mut Reader<'_>) -> Option<[Peer; PEERS]> {
    let mut peers = [Peer::default(); PEERS];
    for peer in &mut peers {
        let (name, change) = words.pair()?;
        let change = f32::from_bits(change);
        *peer =
            Peer { name, change: if change.is_finite() { change.clamp(-1.0, 1.0) } else { 0.0 } };
    }
    Some(peers)
}
