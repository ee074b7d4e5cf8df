//! A program's offer when it joins, and the share that it gets.

use sinew_cpus::CpuSet;
use sinew_policy::chunk::Schedule;
use sinew_policy::share::{Grant, MAX_CORES};

use crate::machine;
use crate::process::ProcessId;
use crate::row::{Name, OwnSettings, Row, WEIGHTS};
use crate::table_state::TableState;

/// The description of a program that joins the table.
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
    pub(crate) mask: CpuSet,
    pub(crate) own_settings: OwnSettings,
    pub(crate) on_behalf_of: Option<ProcessId>,
}

impl Offer {
    /// A program of this name that can use all cores that affinity, cpuset and quota leave to this
    /// process, and has work for all of them.
    ///
    /// # Cost
    ///
    /// Reads the limits: some 100 µs.
    pub fn new(name: &str) -> Self {
        let (mask, threads) = machine::limits();
        Self::on(name, mask, threads)
    }

    /// A program that may run on `mask` and can use `threads` threads. CPUs whose numbers are not
    /// below [`MAX_CORES`] are left out.
    pub fn on(name: &str, mask: CpuSet, threads: u32) -> Self {
        let max = threads.clamp(1, MAX_CORES as u32);
        let mask = mask.below(MAX_CORES);
        let (name, own_settings) = (Name::new(name), OwnSettings::default());
        Self { name, demand: max, min: 1, max, weight: 1.0, mask, own_settings, on_behalf_of: None }
    }

    /// The threads that would find work now. Default: as many as the program can use.
    #[must_use]
    pub fn demand(mut self, threads: u32) -> Self {
        self.demand = threads;
        self
    }

    /// Cores the program should have at least, as long as there are enough. Default: 1.
    #[must_use]
    pub fn min(mut self, cores: u32) -> Self {
        self.min = cores.clamp(1, self.max);
        self
    }

    /// Cores the program can use at most. A larger number than before has no effect.
    #[must_use]
    pub fn max(mut self, cores: u32) -> Self {
        self.max = cores.clamp(1, self.max);
        self.min = self.min.min(self.max);
        self.demand = self.demand.min(self.max);
        self
    }

    /// The program's part in proportion to other programs' weights, from 0.01 to 100. Default: 1.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight =
            if weight.is_finite() { weight.clamp(*WEIGHTS.start(), *WEIGHTS.end()) } else { 1.0 };
        self
    }

    /// Restricts the cores that the program may run on. A mask without any of them has no effect.
    #[must_use]
    pub fn mask(mut self, mask: &CpuSet) -> Self {
        let both = self.mask.intersection(mask);
        self.mask = if both.is_empty() { self.mask } else { both };
        self
    }

    /// The settings that the program has decided itself. Default: none.
    /// [`Member::set_own_settings`](crate::Member::set_own_settings) changes them later.
    #[must_use]
    pub fn own_settings(mut self, own_settings: OwnSettings) -> Self {
        self.own_settings = own_settings;
        self
    }

    /// Makes the row stand for another process. The row ends with that process, and with this one.
    /// Only this process moves the other's threads; programs that read the row do not.
    #[must_use]
    pub fn on_behalf_of(mut self, program: ProcessId) -> Self {
        self.on_behalf_of = Some(program);
        self
    }

    /// The cores the program may run on.
    pub fn cores(&self) -> &CpuSet {
        &self.mask
    }

    /// Whether a row's grant is within this offer. A grant beyond it is not applied.
    pub(crate) fn believes(&self, row: &Row) -> bool {
        (1..=self.max).contains(&row.grant.threads)
            && !row.grant.cores.is_empty()
            && row.grant.cores.is_subset(&self.mask)
    }
}

/// A program's share of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Share {
    /// The number of threads that may work.
    pub threads: u32,
    /// The cores they may run on.
    pub cores: CpuSet,
    /// The schedule that loops should use, if a request names one.
    pub schedule: Option<Schedule>,
    /// Counts the shares that this program has had.
    pub epoch: u64,
    /// The number of other programs.
    pub neighbours: usize,
    /// Whether a script requests these threads or cores, or the policy may leave cores idle. Then
    /// they hold without neighbours, too.
    pub requested: bool,
}

impl Share {
    /// All that a program can use: its share without a table.
    pub(crate) fn whole(offer: &Offer) -> Self {
        let (threads, cores) = (offer.max, offer.mask.clone());
        Self { threads, cores, schedule: None, epoch: 0, neighbours: 0, requested: false }
    }

    /// The share of the program of this row.
    pub(crate) fn of(row: &Row, state: &TableState) -> Self {
        let requested = state.policy.uses_power()
            || row.request.as_ref().is_some_and(|request| state.policy.follows(request));
        Self {
            threads: row.grant.threads,
            cores: row.grant.cores.clone(),
            schedule: row.schedule,
            epoch: row.epoch,
            neighbours: state.rows.len() - 1,
            requested,
        }
    }

    /// Whether the program has to keep to these threads and cores. A lone program without a request
    /// runs as it would without a table.
    pub fn is_binding(&self) -> bool {
        self.neighbours > 0 || self.requested
    }

    pub(crate) fn grant(&self) -> Grant {
        Grant { threads: self.threads, cores: self.cores.clone() }
    }
}
