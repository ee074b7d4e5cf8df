//! Control groups: the CPU quota and the cpuset, versions 1 and 2, alone or both at once.
//!
//! `/proc/self/cgroup` names the process's group in each hierarchy, `/proc/self/mountinfo` the
//! mount points of hierarchies. Each ancestor's quota counts, from the group's folder up to the
//! mount point; the tightest one wins. Inside a container the group's path is often the host's
//! path, of which only a part is mounted, or it begins with `/..`. Then the mounted part is all
//! that is visible, and it is the container's own.
//!
//! # Not handled
//!
//! Limits of ancestors above the mount point: they are not visible.

use std::cmp::Ordering;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::files::{not_a, read_if_exists, read_text};
use crate::warning::Warning;
use sinew_cpus::CpuSet;

/// CPU time per wall time that a group of processes may use. Keeps the fraction as given, and
/// compares by its value.
#[derive(Debug, Clone, Copy)]
pub struct Quota {
    quota_us: u64,
    period_us: u64,
}

impl Quota {
    /// `quota_us` of CPU time in every `period_us`; `None` if either is 0.
    pub fn new(quota_us: u64, period_us: u64) -> Option<Self> {
        (quota_us > 0 && period_us > 0).then_some(Self { quota_us, period_us })
    }

    /// CPU time per period, in microseconds.
    pub fn quota_us(self) -> u64 {
        self.quota_us
    }

    /// The period, in microseconds.
    pub fn period_us(self) -> u64 {
        self.period_us
    }

    /// The quota in CPUs: 1.5 for one and a half.
    pub fn cpus(self) -> f64 {
        self.quota_us as f64 / self.period_us as f64
    }

    /// The fewest threads that can use up the quota; at least 1.
    pub fn threads(self) -> usize {
        usize::try_from(self.quota_us.div_ceil(self.period_us)).unwrap_or(usize::MAX)
    }
}

impl Ord for Quota {
    fn cmp(&self, other: &Self) -> Ordering {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        product(self.quota_us, other.period_us).cmp(&product(other.quota_us, self.period_us))
    }
}

impl PartialOrd for Quota {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quota {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Quota {}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} CPUs ({} µs in {} µs)", self.cpus(), self.quota_us, self.period_us)
    }
}

/// The limits that the control groups set.
#[derive(Debug, Default)]
pub(crate) struct CgroupLimits {
    /// The quota and the file that sets it.
    pub(crate) quota: Option<(Quota, PathBuf)>,
    pub(crate) cpuset: Option<CpuSet>,
    pub(crate) warnings: Vec<Warning>,
}

/// Reads the limits of the process whose `/proc/self` and mount points are below `root`.
pub(crate) fn read(root: &Path) -> CgroupLimits {
    let mut found = CgroupLimits::default();
    match hierarchies(root) {
        Ok(hierarchies) => hierarchies.iter().for_each(|hierarchy| found.add(hierarchy)),
        Err(warning) => found.warnings.push(warning.then("CPU quotas and cpusets are not seen")),
    }
    found
}

impl CgroupLimits {
    fn add(&mut self, hierarchy: &Hierarchy) {
        for folder in hierarchy.folders() {
            match hierarchy.quota(folder) {
                Ok(Some(quota))
                    if self.quota.as_ref().is_none_or(|(tightest, _)| quota.0 < *tightest) =>
                {
                    self.quota = Some(quota);
                }
                Ok(_) => {}
                Err(warning) => self.warnings.push(warning),
            }
        }
        match hierarchy.cpuset() {
            Ok(Some(cpus)) => {
                let both =
                    self.cpuset.as_ref().map_or(cpus.clone(), |others| others.intersection(&cpus));
                self.cpuset = Some(both);
            }
            Ok(None) => {}
            Err(warning) => self.warnings.push(warning.then("this cpuset is ignored")),
        }
    }
}

/// A mounted hierarchy that may limit CPUs, and the group of the process in it.
#[derive(Debug)]
struct Hierarchy {
    kind: Kind,
    mount_point: PathBuf,
    group: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    V1 { cpu: bool, cpuset: bool },
    V2,
}

fn hierarchies(root: &Path) -> Result<Vec<Hierarchy>, Warning> {
    let read = |path: PathBuf| read_text(&path).map_err(|error| Warning::at(&path, error));
    let groups = read(root.join("proc/self/cgroup"))?;
    let mounts = read(root.join("proc/self/mountinfo"))?;
    Ok(mounts
        .lines()
        .filter_map(Mount::parse)
        .filter_map(|mount| mount.hierarchy(root, &groups))
        .collect())
}

/// A line of `/proc/self/mountinfo` that mounts control groups.
#[derive(Debug)]
struct Mount {
    kind: Kind,
    /// The part of the hierarchy that is mounted.
    part: PathBuf,
    point: PathBuf,
}

impl Mount {
    fn parse(line: &str) -> Option<Self> {
        // ID PARENT MAJOR:MINOR PART POINT OPTIONS… - TYPE SOURCE OPTIONS
        let (place, system) = line.split_once(" - ")?;
        let mut system = system.split(' ');
        let kind = match system.next()? {
            "cgroup2" => Kind::V2,
            "cgroup" => {
                let has = |name: &str| {
                    system
                        .clone()
                        .nth(1)
                        .is_some_and(|options| options.split(',').any(|o| o == name))
                };
                Kind::V1 { cpu: has("cpu"), cpuset: has("cpuset") }
            }
            _ => return None,
        };
        if kind == (Kind::V1 { cpu: false, cpuset: false }) {
            return None;
        }
        let mut place = place.split(' ').skip(3);
        let (part, point) = (unescape(place.next()?), unescape(place.next()?));
        Some(Self { kind, part, point })
    }

    /// Looks up the process's group in `/proc/self/cgroup`, whose lines are `ID:CONTROLLERS:PATH`.
    fn hierarchy(self, root: &Path, groups: &str) -> Option<Hierarchy> {
        let path = groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            self.has_one_of(controllers).then_some(path)
        })?;
        let inside = Path::new(path).strip_prefix(&self.part).unwrap_or(Path::new(""));
        let plain = inside.components().all(|part| matches!(part, Component::Normal(_)));
        let mount_point = below(root, &self.point);
        let group = if plain { mount_point.join(inside) } else { mount_point.clone() };
        Some(Hierarchy { kind: self.kind, mount_point, group })
    }

    fn has_one_of(&self, controllers: &str) -> bool {
        let has = |name: &str| controllers.split(',').any(|controller| controller == name);
        match self.kind {
            Kind::V1 { cpu, cpuset } => (cpu && has("cpu")) || (cpuset && has("cpuset")),
            Kind::V2 => controllers.is_empty(),
        }
    }
}

/// An absolute path, moved below another root.
fn below(root: &Path, absolute: &Path) -> PathBuf {
    let normal = absolute.components().filter(|part| matches!(part, Component::Normal(_)));
    root.join(normal.collect::<PathBuf>())
}

/// The kernel writes blanks in paths as `\040` and the like.
fn unescape(text: &str) -> PathBuf {
    let mut pieces = text.split('\\');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.get(..3).and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(byte) => {
                plain.push(char::from(byte));
                plain.push_str(&piece[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(piece);
            }
        }
    }
    plain.into()
}

impl Hierarchy {
    /// The process's group and its ancestors, as far as they are mounted.
    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.group.ancestors().take_while(|folder| folder.starts_with(&self.mount_point))
    }

    fn quota(&self, folder: &Path) -> Result<Option<(Quota, PathBuf)>, Warning> {
        match self.kind {
            Kind::V2 => quota_v2(folder.join("cpu.max")),
            Kind::V1 { cpu: true, .. } => quota_v1(folder),
            Kind::V1 { .. } => Ok(None),
        }
    }

    /// The kernel's own intersection over the group and its ancestors. In a group without such a
    /// file the parent's file is in force.
    fn cpuset(&self) -> Result<Option<CpuSet>, Warning> {
        let names: &[&str] = match self.kind {
            Kind::V2 => &["cpuset.cpus.effective"],
            Kind::V1 { cpuset: true, .. } => &["cpuset.effective_cpus", "cpuset.cpus"],
            Kind::V1 { .. } => return Ok(None),
        };
        for folder in self.folders() {
            for path in names.iter().map(|name| folder.join(name)) {
                let text = read_if_exists(&path)?.filter(|text| !text.is_empty());
                if let Some(text) = text {
                    return text.parse().map(Some).map_err(|error| Warning::at(&path, error));
                }
            }
        }
        Ok(None)
    }
}

/// `max 100000` or `150000 100000`.
fn quota_v2(path: PathBuf) -> Result<Option<(Quota, PathBuf)>, Warning> {
    let Some(text) = read_if_exists(&path)? else { return Ok(None) };
    let mut fields = text.split_whitespace();
    let (quota, period) = (fields.next(), fields.next().unwrap_or("100000"));
    if quota == Some("max") {
        return Ok(None);
    }
    let parsed = quota.and_then(|quota| Quota::new(quota.parse().ok()?, period.parse().ok()?));
    let quota = parsed.ok_or_else(|| Warning::at(&path, not_a("quota; ignored", &text)))?;
    Ok(Some((quota, path)))
}

fn quota_v1(folder: &Path) -> Result<Option<(Quota, PathBuf)>, Warning> {
    let (path, period_path) = (folder.join("cpu.cfs_quota_us"), folder.join("cpu.cfs_period_us"));
    let Some(quota) = read_if_exists(&path)?.filter(|quota| quota != "-1") else { return Ok(None) };
    let period = read_if_exists(&period_path)?.unwrap_or_default();
    let parsed = quota
        .parse()
        .ok()
        .zip(period.parse().ok())
        .and_then(|(quota, period)| Quota::new(quota, period));
    let text = format!("{quota} {period}");
    let quota =
        parsed.ok_or_else(|| Warning::at(&path, not_a("quota with a period; ignored", &text)))?;
    Ok(Some((quota, path)))
}

#[cfg(test)]
mod tests {
    //! Blind to: whole containers; `tests/machines/limits.rs` fakes those.

    use super::*;

    #[test]
    fn quotas_compare_by_value_and_round_up_to_threads() {
        let quota = |quota, period| Quota::new(quota, period).unwrap();
        assert_eq!(quota(150_000, 100_000), quota(15, 10));
        assert!(quota(150_000, 100_000) < quota(u64::MAX, 100_000));
        assert_eq!(quota(150_000, 100_000).threads(), 2);
        assert_eq!(quota(200_000, 100_000).threads(), 2);
        assert_eq!(quota(1, 100_000).threads(), 1);
        assert_eq!(quota(150_000, 100_000).to_string(), "1.5 CPUs (150000 µs in 100000 µs)");
        assert!(Quota::new(0, 1).is_none() && Quota::new(1, 0).is_none());
    }

    #[test]
    fn escaped_blanks_in_mount_points_are_read() {
        assert_eq!(unescape("/a\\040b/c"), Path::new("/a b/c"));
        assert_eq!(unescape("/a\\é\\"), Path::new("/a\\é\\"));
    }

    #[test]
    fn a_mount_is_found_by_its_controllers() {
        let line = "32 31 0:29 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct";
        let mount = Mount::parse(line).unwrap();
        assert!(
            mount.has_one_of("cpu,cpuacct")
                && !mount.has_one_of("cpuacct")
                && !mount.has_one_of("")
        );
        assert!(
            Mount::parse("32 31 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids").is_none()
        );
        assert!(Mount::parse("27 1 254:0 / / rw,relatime - ext4 /dev/vda rw").is_none());
        assert!(Mount::parse("nonsense").is_none());
    }
}
