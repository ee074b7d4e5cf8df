//! The CPUs and the CPU time that the process may use now.
//!
//! There are three independent limits: the affinity mask (`pin`), the cpuset and the CPU quota
//! (`cgroup`). The first two set *which* CPUs, the quota the time on them. All can change while the
//! process runs; only another read shows the change. A pool reads again, at the pace that
//! `sinew-core/src/seams/limit.rs` sets. `sinew exec` and a program that joins the table of
//! `sinew-coord` read once.

use std::path::{Path, PathBuf};

use crate::cgroup::{self, CgroupLimits, Quota};
use crate::machine::{Machine, host_parallelism};
use crate::pin;
use crate::warning::Warning;
use sinew_cpus::CpuSet;

/// The limits at the time when they were read.
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
    /// The affinity mask is that of the calling thread, which new threads inherit. For a thread
    /// pinned by [`pin_current_thread`](crate::pin_current_thread) it is the mask before the pin.
    /// On systems other than Linux, the CPUs are those that the standard library counts.
    ///
    /// # Cost
    ///
    /// One system call and about ten small files, some 100 µs: too much to repeat for each task.
    pub fn read() -> Self {
        Self::read_below("/")
    }

    /// As [`read`](Self::read), for a process whose `/proc/self` and control groups are below
    /// `root`. The affinity mask is the calling thread's.
    pub fn read_below(root: impl AsRef<Path>) -> Self {
        if cfg!(target_os = "linux") {
            let affinity = pin::affinity().unwrap_or_else(|_| Machine::host().cpus());
            Self::from_cgroups(root, affinity)
        } else {
            Self::new(CpuSet::first(host_parallelism()), None, None)
        }
    }

    /// The limits of a process whose `/proc/self` and control groups are below `root`, with this
    /// affinity mask.
    ///
    /// Never fails: a file that cannot be read or makes no sense sets no limit, and adds to
    /// [`Limits::warnings`].
    pub fn from_cgroups(root: impl AsRef<Path>, affinity: CpuSet) -> Self {
        let CgroupLimits { quota, cpuset, warnings } = cgroup::read(root.as_ref());
        let (quota, quota_from) = quota.unzip();
        Self { quota_from, warnings, ..Self::new(affinity, cpuset, quota) }
    }

    /// These limits with the calling thread's present affinity mask: see [`read`](Self::read).
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

    /// Limits from their parts.
    pub fn new(affinity: CpuSet, cpuset: Option<CpuSet>, quota: Option<Quota>) -> Self {
        let both = cpuset.as_ref().map(|cpuset| affinity.intersection(cpuset));
        // An empty intersection means that one of the two is out of date. The kernel always leaves
        // a thread some CPU, and schedules it by its mask.
        let allowed = both.filter(|both| !both.is_empty()).unwrap_or_else(|| affinity.clone());
        Self { affinity, cpuset, quota, quota_from: None, allowed, warnings: Vec::new() }
    }

    /// All CPUs of a machine, for synthetic machines.
    pub fn unlimited(machine: &Machine) -> Self {
        Self::new(machine.cpus(), None, None)
    }

    /// The affinity mask.
    pub fn affinity(&self) -> &CpuSet {
        &self.affinity
    }

    /// The CPUs that the control groups allow, if they set any.
    pub fn cpuset(&self) -> Option<&CpuSet> {
        self.cpuset.as_ref()
    }

    /// The tightest CPU quota, if one is set.
    pub fn quota(&self) -> Option<Quota> {
        self.quota
    }

    /// The file that sets the quota.
    pub fn quota_from(&self) -> Option<&Path> {
        self.quota_from.as_deref()
    }

    /// The CPUs that may be used: those in the affinity mask and the cpuset.
    pub fn allowed(&self) -> &CpuSet {
        &self.allowed
    }

    /// Files that could not be read or made no sense, one line each.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// How many threads can run at once: min(allowed CPUs, quota rounded up), at least 1. A pool
    /// has this many workers by default.
    pub fn effective_threads(&self) -> usize {
        let by_quota = self.quota.map_or(usize::MAX, Quota::threads);
        self.allowed.len().min(by_quota).max(1)
    }
}
