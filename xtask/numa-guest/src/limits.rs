//! Control groups of this kernel: quotas and cpusets size and bound pools, and a pool follows them
//! while it runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use numa_protocol::{Outcome, Shape};
use sinew_core::{Mapping, Pool};
use sinew_topology::{CpuSet, Limits, Quota};

use crate::check::{Check, Verdict, ensure, same};
use crate::workers::{pool, survey};

pub(crate) const CHECKS: &[Check] = &[
    Check { name: "limits/without-groups-all-cpus-are-allowed", run: unlimited },
    Check { name: "limits/a-quota-sizes-a-pool", run: quota },
    Check { name: "limits/the-tightest-quota-of-all-ancestors-counts", run: nested_quotas },
    Check { name: "limits/a-cpuset-sizes-and-bounds-a-pool", run: cpuset },
    Check { name: "limits/a-pool-follows-a-quota-that-comes-and-goes", run: follow },
];

const ROOT: &str = "/sys/fs/cgroup";

/// A control group, removed when dropped. Its processes go back to the root first.
pub(crate) struct Group(PathBuf);

impl Group {
    /// A group below the root, or below another; the controllers are handed down to where it is.
    pub(crate) fn new(name: &str, settings: &[(&str, &str)]) -> Result<Self, String> {
        let folder = Path::new(ROOT).join(name);
        let parent = folder.parent().unwrap_or(Path::new(ROOT));
        write(&parent.join("cgroup.subtree_control"), "+cpu +cpuset")?;
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let group = Self(folder);
        for (file, value) in settings {
            write(&group.0.join(file), value)?;
        }
        Ok(group)
    }

    /// Runs `check` with this process, all its threads, in the group.
    pub(crate) fn with<R>(&self, check: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
        write(&self.0.join("cgroup.procs"), "0")?;
        let found = check();
        leave()?;
        found
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A check that panicked may have left the process inside. The next check of groups notices
        // a failure here.
        let _ = leave();
        let _ = fs::remove_dir(&self.0);
    }
}

fn leave() -> Result<(), String> {
    write(&Path::new(ROOT).join("cgroup.procs"), "0")
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text)
        .map_err(|error| format!("cannot write {text} to {}: {error}", path.display()))
}

/// The number of workers of a pool that is told nothing.
fn default_workers() -> Result<usize, String> {
    Pool::builder().build().map(|pool| pool.max_threads()).map_err(|error| error.to_string())
}

fn no_warnings(limits: &Limits) -> Result<(), String> {
    ensure(limits.warnings().is_empty(), || format!("{:?}", limits.warnings()))
}

fn unlimited(shape: &Shape) -> Verdict {
    let limits = Limits::read();
    no_warnings(&limits)?;
    same("allowed", limits.allowed(), &CpuSet::first(shape.cpus()))?;
    same("quota", &limits.quota(), &None)?;
    same("workers", &default_workers()?, &shape.cpus())?;
    Ok(Outcome::Passed)
}

fn quota(_: &Shape) -> Verdict {
    let group = Group::new("quota", &[("cpu.max", "150000 100000")])?;
    let (limits, workers) = group.with(|| Ok((Limits::read(), default_workers()?)))?;
    no_warnings(&limits)?;
    same("quota", &limits.quota(), &Quota::new(3, 2))?;
    same("its file", &limits.quota_from(), &Some(Path::new("/sys/fs/cgroup/quota/cpu.max")))?;
    same("workers", &workers, &2)?;
    Ok(Outcome::Passed)
}

fn nested_quotas(_: &Shape) -> Verdict {
    let outer = Group::new("outer", &[("cpu.max", "100000 100000")])?;
    let inner = Group::new("outer/inner", &[("cpu.max", "300000 100000")])?;
    let limits = inner.with(|| Ok(Limits::read()))?;
    no_warnings(&limits)?;
    same("quota", &limits.quota(), &Quota::new(1, 1))?;
    same("its file", &limits.quota_from(), &Some(outer.0.join("cpu.max").as_path()))?;
    Ok(Outcome::Passed)
}

fn cpuset(shape: &Shape) -> Verdict {
    let group = Group::new("cpuset", &[("cpuset.cpus", "1-3")])?;
    let cpus: CpuSet = (1..4).collect();
    group.with(|| {
        let limits = Limits::read();
        no_warnings(&limits)?;
        same("cpuset", &limits.cpuset(), &Some(&cpus))?;
        same("allowed", limits.allowed(), &cpus)?;
        same("workers", &default_workers()?, &3)?;
        for mapping in [Mapping::Compact, Mapping::Scatter] {
            let seen = survey(&pool(3, &mapping)?);
            let used: CpuSet = seen.iter().flat_map(|worker| worker.on.iter()).collect();
            same(&format!("CPUs used by {mapping}"), &used, &cpus)?;
        }
        let refusal = pool(1, &Mapping::Explicit(vec![0])).err();
        ensure(refusal.as_ref().is_some_and(|why| why.ends_with("choose from 1-3")), || {
            format!("a pool on CPU 0, outside the cpuset: {refusal:?}")
        })
    })?;
    drop(group);
    same("allowed afterwards", Limits::read().allowed(), &CpuSet::first(shape.cpus()))?;
    Ok(Outcome::Passed)
}

/// The greatest delay of a pool; it checks its limits ten times a second, if it has time.
const LIMIT: Duration = Duration::from_secs(60);

/// Keeps a pool busy, at intervals, until this many of its workers may work.
fn wait_for_workers(pool: &Pool, workers: usize) -> Result<(), String> {
    let start = Instant::now();
    while pool.threads() != workers {
        ensure(start.elapsed() < LIMIT, || {
            format!("{} workers may work after {LIMIT:?}, not {workers}", pool.threads())
        })?;
        pool.run(|worker| worker.join(|_| std::thread::yield_now(), |_| std::thread::yield_now()));
    }
    Ok(())
}

fn follow(shape: &Shape) -> Verdict {
    let pool = Pool::new().map_err(|error| error.to_string())?;
    let group = Group::new("follow", &[("cpu.max", "200000 100000")])?;
    group.with(|| wait_for_workers(&pool, 2))?;
    wait_for_workers(&pool, shape.cpus())?;
    Ok(Outcome::Passed)
}
