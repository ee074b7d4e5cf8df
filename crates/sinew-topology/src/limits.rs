//! What the process may use of the machine, now.
//!
//! Three independent limits: the affinity mask, the cpuset, and the CPU quota. The first two say
//! *which* CPUs, the quota how much time on them. All can change while the process runs; reading
//! them again is the only way to notice.

use std::path::{Path, PathBuf};

use crate::cgroup::{self, Found, Quota};
use crate::cpuset::CpuSet;
use crate::machine::{Machine, host_parallelism};
use crate::pin;
use crate::warning::Warning;

/// The limits in force when they were read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize))]
pub struct Limits {
    affinity: CpuSet,
    cpuset: Option<CpuSet>,
    quota: Option<Quota>,
    quota_from: Option<PathBuf>,
    allowed: CpuSet,
    warnings: Vec<Warning>,
}

impl Limits {
    /// Reads the limits of this process.
    ///
    /// The affinity mask is that of the calling thread, which new threads inherit; a thread pinned
    /// by [`pin_current_thread`](crate::pin_current_thread) answers what it had before. Elsewhere
    /// than on Linux, the CPUs the standard library counts.
    ///
    /// # Cost
    ///
    /// One system call and the reading of about ten small files, some 100 µs: something for now and
    /// then, not for each task.
    pub fn read() -> Self {
        Self::read_below("/")
    }

    /// The same for a process whose `/proc/self` and control groups are found below `root`. The
    /// affinity mask is the calling thread's.
    pub fn read_below(root: impl AsRef<Path>) -> Self {
        if cfg!(target_os = "linux") {
            let affinity = pin::affinity().unwrap_or_else(|_| Machine::host().cpus());
            Self::from_cgroups(root, affinity)
        } else {
            Self::new(CpuSet::first(host_parallelism()), None, None)
        }
    }

    /// The limits of a process whose `/proc/self` and control groups are found below `root`, with
    /// this affinity mask.
    ///
    /// Never fails: what cannot be read or believed limits nothing and is told by
    /// [`Limits::warnings`].
    pub fn from_cgroups(root: impl AsRef<Path>, affinity: CpuSet) -> Self {
        let Found { quota, cpuset, warnings } = cgroup::read(root.as_ref());
        let (quota, quota_from) = quota.unzip();
        Self { quota_from, warnings, ..Self::new(affinity, cpuset, quota) }
    }

    /// The same with the affinity mask that the calling thread has now: see [`read`](Self::read).
    ///
    /// # Cost
    ///
    /// One system call.
    pub fn with_affinity_of_caller(self) -> Self {
        match pin::affinity() {
            Ok(affinity) if affinity != self.affinity => {
                let Self { quota_from, warnings, .. } = self;
                Self { quota_from, warnings, ..Self::new(affinity, self.cpuset, self.quota) }
            }
            _ => self,
        }
    }

    /// Limits as given.
    pub fn new(affinity: CpuSet, cpuset: Option<CpuSet>, quota: Option<Quota>) -> Self {
        let both = cpuset.as_ref().map(|cpuset| affinity.intersection(cpuset));
        // An empty intersection means that one of the two is out of date. The kernel always leaves
        // a thread some CPU, and its mask is what the kernel itself goes by.
        let allowed = both.filter(|both| !both.is_empty()).unwrap_or_else(|| affinity.clone());
        Self { affinity, cpuset, quota, quota_from: None, allowed, warnings: Vec::new() }
    }

    /// All of a machine: for synthetic ones, which nobody limits.
    pub fn unlimited(machine: &Machine) -> Self {
        Self::new(machine.cpus(), None, None)
    }

    /// The affinity mask.
    pub fn affinity(&self) -> &CpuSet {
        &self.affinity
    }

    /// The CPUs that the control groups leave, where they say.
    pub fn cpuset(&self) -> Option<&CpuSet> {
        self.cpuset.as_ref()
    }

    /// The tightest CPU quota, if there is one.
    pub fn quota(&self) -> Option<Quota> {
        self.quota
    }

    /// The file the quota comes from.
    pub fn quota_from(&self) -> Option<&Path> {
        self.quota_from.as_deref()
    }

    /// The CPUs that may be used: those in the affinity mask and the cpuset.
    pub fn allowed(&self) -> &CpuSet {
        &self.allowed
    }

    /// What could not be read or believed, one line each.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// How many threads can run at once: as many as there are allowed CPUs, or as the quota,
    /// rounded up, feeds, whichever is less; at least 1. The number of seats of a pool that is not
    /// told otherwise.
    pub fn effective_threads(&self) -> usize {
        let fed = self.quota.map_or(usize::MAX, Quota::threads);
        self.allowed.len().min(fed).max(1)
    }
}
