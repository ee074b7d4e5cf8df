//! Containers faked in files: quotas and cpusets of control groups of both versions.
//!
//! Blind to: whether the kernel enforces the limits that it writes.

use proptest::prelude::*;
use sinew_topology::{CpuSet, Limits, Machine, Quota};

use crate::fake::{self, Root};

const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const V1: &str = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - \
     cgroup cgroup rw,cpu,cpuacct\n\
                  34 31 0:31 / /sys/fs/cgroup/cpuset rw shared:10 - cgroup cgroup rw,cpuset\n";

fn read(root: &Root, cpus: usize) -> Limits {
    Limits::from_cgroups(root.path(), CpuSet::first(cpus))
}

fn quota(cpus: u64, per: u64) -> Option<Quota> {
    Quota::new(cpus, per)
}

fn only_warning(limits: &Limits) -> String {
    let [warning] = limits.warnings() else { panic!("not one warning: {:?}", limits.warnings()) };
    assert!(!warning.to_string().contains('\n'));
    warning.to_string()
}

/// Catches: limits of control groups that are forgotten, or a mask that is not the caller's.
#[test]
fn the_affinity_mask_is_read_anew_and_the_rest_kept() {
    let mask = Limits::read().affinity().clone();
    let root = Root::new();
    root.process("0::/\n", V2).write("sys/fs/cgroup/cpu.max", "150000 100000\n");
    let limits = Limits::from_cgroups(root.path(), CpuSet::from_iter([4_000]));
    let now = limits.clone().with_affinity_of_caller();
    assert_eq!((now.affinity(), now.allowed()), (&mask, &mask));
    assert_eq!((now.quota(), now.quota_from()), (limits.quota(), limits.quota_from()));
}

#[test]
fn a_small_virtual_machine_limits_nothing() {
    let limits = read(&fake::small_vm(), 2);
    assert!(limits.warnings().is_empty(), "{:?}", limits.warnings());
    assert_eq!((limits.quota(), limits.quota_from()), (None, None));
    assert_eq!(limits.cpuset(), Some(&CpuSet::first(2)));
    assert_eq!(limits.effective_threads(), 2);
}

#[test]
fn a_container_of_one_and_a_half_cpus_allows_two_threads_version_2() {
    let root = Root::new();
    // As seen inside: the group is the root of its own namespace.
    root.process("0::/\n", V2).write("sys/fs/cgroup/cpu.max", "150000 100000\n");
    let limits = read(&root, 8);
    assert!(limits.warnings().is_empty(), "{:?}", limits.warnings());
    assert_eq!(limits.quota(), quota(3, 2));
    assert_eq!(limits.quota_from(), Some(root.at("sys/fs/cgroup/cpu.max").as_path()));
    assert_eq!(limits.effective_threads(), 2);
}

#[test]
fn a_container_of_one_and_a_half_cpus_allows_two_threads_version_1() {
    let root = Root::new();
    // The path is the host's, and only that part is mounted.
    root.process(
        "5:cpuset:/docker/c0ffee\n4:cpu,cpuacct:/docker/c0ffee\n",
        &V1.replace("0:29 /", "0:29 /docker/c0ffee").replace("0:31 /", "0:31 /docker/c0ffee"),
    )
    .write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n")
    .write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
    .write("sys/fs/cgroup/cpuset/cpuset.cpus", "2-5\n");
    let limits = read(&root, 8);
    assert!(limits.warnings().is_empty(), "{:?}", limits.warnings());
    assert_eq!((limits.quota(), limits.effective_threads()), (quota(3, 2), 2));
    assert_eq!(limits.allowed().to_string(), "2-5");
}

#[test]
fn of_nested_groups_the_tightest_ancestor_wins() {
    for (inner, middle, outer) in
        [("100000", "200000", "max"), ("max", "100000", "300000"), ("200000", "max", "100000")]
    {
        let root = Root::new();
        root.process("0::/outer/middle/inner\n", V2)
            .write("sys/fs/cgroup/outer/cpu.max", format!("{outer} 100000\n"))
            .write("sys/fs/cgroup/outer/middle/cpu.max", format!("{middle} 100000\n"))
            .write("sys/fs/cgroup/outer/middle/inner/cpu.max", format!("{inner} 100000\n"))
            .write("sys/fs/cgroup/other/cpu.max", "1000 100000\n");
        let limits = read(&root, 8);
        assert_eq!(
            (limits.quota(), limits.effective_threads()),
            (quota(1, 1), 1),
            "{inner} {middle} {outer}"
        );
    }
}

#[test]
fn quotas_with_different_periods_compare_by_their_value() {
    let root = Root::new();
    root.process("4:cpu,cpuacct:/a/b\n", V1)
        .write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "30000")
        .write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "10000")
        .write("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "250000")
        .write("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000");
    assert_eq!(read(&root, 8).quota(), quota(5, 2));
}

#[test]
fn both_versions_at_once_both_count() {
    let root = Root::new();
    root.process(
        "4:cpu,cpuacct:/a\n0::/b\n",
        &format!("{V1}{}", V2.replace("/sys/fs/cgroup", "/sys/fs/cgroup/unified")),
    )
    .write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "400000")
    .write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000")
    .write("sys/fs/cgroup/unified/b/cpu.max", "300000 100000");
    assert_eq!(read(&root, 8).quota(), quota(3, 1));
    root.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "200000");
    assert_eq!(read(&root, 8).quota(), quota(2, 1));
}

#[test]
fn a_changed_quota_is_seen_when_read_again() {
    let root = Root::new();
    root.process("0::/job\n", V2).write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
    assert_eq!(read(&root, 4).effective_threads(), 4);
    root.write("sys/fs/cgroup/job/cpu.max", "50000 100000\n");
    assert_eq!(read(&root, 4).effective_threads(), 1);
}

#[test]
fn a_group_outside_of_what_is_mounted_sees_only_the_mount() {
    for group in ["0::/../../other\n", "0::/no/such/folder\n", "0::relative\n"] {
        let root = Root::new();
        root.process(group, V2)
            .write("sys/fs/cgroup/cpu.max", "200000 100000\n")
            .write("sys/other/cpu.max", "1000 100000");
        assert_eq!(read(&root, 8).quota(), quota(2, 1), "{group}");
    }
}

#[test]
fn a_cpuset_of_version_2_is_the_nearest_ancestors_that_has_one() {
    let root = Root::new();
    root.process("0::/a/b\n", V2)
        .write("sys/fs/cgroup/cpuset.cpus.effective", "0-7\n")
        .write("sys/fs/cgroup/a/cpuset.cpus.effective", "4-7\n");
    let limits = read(&root, 6);
    assert_eq!(limits.cpuset().unwrap().to_string(), "4-7");
    assert_eq!((limits.allowed().to_string().as_str(), limits.effective_threads()), ("4-5", 2));
}

#[test]
fn a_cpuset_that_leaves_no_cpu_of_the_mask_is_out_of_date() {
    let limits = Limits::new(CpuSet::first(2), Some("4-7".parse().unwrap()), None);
    assert_eq!((limits.allowed(), limits.effective_threads()), (&CpuSet::first(2), 2));
}

#[test]
fn at_least_one_thread_always_runs() {
    assert_eq!(Limits::new(CpuSet::first(4), None, quota(1, 1_000_000)).effective_threads(), 1);
    assert_eq!(Limits::new(CpuSet::new(), None, None).effective_threads(), 1);
    assert_eq!(Limits::unlimited(&Machine::flat(3)).effective_threads(), 3);
}

#[test]
fn without_proc_nothing_is_limited_and_a_warning_says_so() {
    let limits = read(&Root::new(), 3);
    assert_eq!((limits.quota(), limits.effective_threads()), (None, 3));
    assert!(only_warning(&limits).ends_with("CPU quotas and cpusets are not seen"));
}

#[test]
fn a_quota_that_makes_no_sense_is_ignored_with_a_warning() {
    for text in ["", "soon 100000", "-5 100000", "0 100000", "100000 0", "100000 x"] {
        let root = Root::new();
        root.process("0::/a\n", V2)
            .write("sys/fs/cgroup/a/cpu.max", text)
            .write("sys/fs/cgroup/cpu.max", "200000 100000");
        let limits = read(&root, 8);
        assert_eq!(limits.quota(), quota(2, 1), "{text}");
        assert!(only_warning(&limits).contains("is not a quota; ignored"), "{text}");
    }
    let root = Root::new();
    root.process("4:cpu,cpuacct:/\n", V1)
        .write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000");
    assert!(only_warning(&read(&root, 8)).contains("is not a quota with a period"));
}

proptest! {
    #[test]
    fn any_contents_of_the_files_allow_a_thread(
        cgroup in "([0-9]:(cpu|cpuset|)?:(/|/a|/a/\\.\\.|x)?\n?){0,4}",
        mounts in "(1 2 3 (/|/a|x) (/g|g|/) rw - (cgroup|cgroup2|ext4)\
            ( x rw,(cpu|cpuset))?\n){0,4}",
        max in "(max|[0-9]{0,25})? ?([0-9]{0,25}|x)?",
        quota in "-?[0-9]{0,25}",
        cpuset in "[-0-9,x]{0,10}",
    ) {
        let root = Root::new();
        root.process(&cgroup, &mounts)
            .write("g/cpu.max", &max)
            .write("g/a/cpu.max", &max)
            .write("g/cpu.cfs_quota_us", &quota)
            .write("g/cpu.cfs_period_us", &max)
            .write("g/cpuset.cpus", &cpuset)
            .write("g/cpuset.cpus.effective", &cpuset);
        let limits = Limits::from_cgroups(root.path(), CpuSet::first(4));
        prop_assert!((1..=4).contains(&limits.effective_threads()));
        prop_assert!(!limits.allowed().is_empty());
    }
}
