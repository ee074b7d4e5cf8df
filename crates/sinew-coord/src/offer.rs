//! What a program says of itself when it joins, and what it gets.

use sinew_policy::chunk::Schedule;
use sinew_policy::share::{CoreSet, Grant, MAX_CORES};

use crate::machine;
use crate::process::ProcessId;
use crate::row::{Name, OwnSettings, Row, WEIGHTS};

/// What a program says of itself.
///
/// ```
/// use sinew_coord::Offer;
///
/// let offer = Offer::new("solver").max(4).weight(2.0);
/// assert!(offer.cores().len() >= 1);
/// ```
#[derive(Debug, Clone)]
pub struct Offer {
    pub(crate) name: Name,
    pub(crate) demand: u32,
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) weight: f64,
    pub(crate) mask: CoreSet,
    pub(crate) own_settings: OwnSettings,
    pub(crate) on_behalf_of: Option<ProcessId>,
}

impl Offer {
    /// A program of this name that can use all that affinity, cpuset and quota leave to this
    /// process, and has work for as much.
    ///
    /// # Cost
    ///
    /// Reads the limits: some 100 µs.
    pub fn new(name: &str) -> Self {
        let (mask, threads) = machine::limits();
        Self::on(name, mask, threads)
    }

    /// A program that may run on `mask`, and can use so many threads.
    pub fn on(name: &str, mask: CoreSet, threads: u32) -> Self {
        let max = threads.clamp(1, MAX_CORES as u32);
        let (name, own_settings) = (Name::new(name), OwnSettings::default());
        Self { name, demand: max, min: 1, max, weight: 1.0, mask, own_settings, on_behalf_of: None }
    }

    /// How many threads would find work now. Default: as many as it can use.
    #[must_use]
    pub fn demand(mut self, threads: u32) -> Self {
        self.demand = threads;
        self
    }

    /// Cores it should have at least, as long as there are enough. Default: 1.
    #[must_use]
    pub fn min(mut self, cores: u32) -> Self {
        self.min = cores.clamp(1, self.max);
        self
    }

    /// Cores it can use at most, no more than before.
    #[must_use]
    pub fn max(mut self, cores: u32) -> Self {
        self.max = cores.clamp(1, self.max);
        self.min = self.min.min(self.max);
        self.demand = self.demand.min(self.max);
        self
    }

    /// Its part in proportion to others', from 0.01 to 100. Default: 1.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight =
            if weight.is_finite() { weight.clamp(*WEIGHTS.start(), *WEIGHTS.end()) } else { 1.0 };
        self
    }

    /// The cores it may run on, of those it may run on anyway.
    #[must_use]
    pub fn mask(mut self, mask: CoreSet) -> Self {
        let both = self.mask.and(&mask);
        self.mask = if both.is_empty() { self.mask } else { both };
        self
    }

    /// What it has decided itself. Default: nothing.
    /// [`Member::set_own_settings`](crate::Member::set_own_settings) changes it later.
    #[must_use]
    pub fn own_settings(mut self, own_settings: OwnSettings) -> Self {
        self.own_settings = own_settings;
        self
    }

    /// The row is another process's: it ends with that process, and also with this one. Only this
    /// process moves the other's threads: nobody who reads the row does.
    #[must_use]
    pub fn on_behalf_of(mut self, program: ProcessId) -> Self {
        self.on_behalf_of = Some(program);
        self
    }

    /// The cores it may run on.
    pub fn cores(&self) -> CoreSet {
        self.mask
    }

    /// What is believed of a row: what an honest table would say.
    pub(crate) fn believes(&self, row: &Row) -> bool {
        (1..=self.max).contains(&row.grant.threads)
            && !row.grant.cores.is_empty()
            && row.grant.cores.is_within(&self.mask)
    }
}

/// What a program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Share {
    /// How many threads may work.
    pub threads: u32,
    /// Where they may run.
    pub cores: CoreSet,
    /// How loops should hand out their iterations, if somebody has asked for that.
    pub schedule: Option<Schedule>,
    /// Counts the shares that this program has had.
    pub epoch: u64,
    /// How many other programs there are.
    pub neighbours: usize,
    /// Whether a script asks for these threads or cores: then they hold without neighbours, too.
    pub asked: bool,
}

impl Share {
    /// All that a program can use: what it has without a table.
    pub(crate) fn whole(offer: &Offer) -> Self {
        let (threads, cores) = (offer.max, offer.mask);
        Self { threads, cores, schedule: None, epoch: 0, neighbours: 0, asked: false }
    }

    /// Whether the program is to keep to these threads and cores. A lone program of which nobody
    /// asks anything runs as it would without a table.
    pub fn is_binding(&self) -> bool {
        self.neighbours > 0 || self.asked
    }

    pub(crate) fn grant(&self) -> Grant {
        Grant { threads: self.threads, cores: self.cores }
    }
}
