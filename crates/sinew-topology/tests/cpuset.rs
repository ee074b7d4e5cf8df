//! Masks that the kernel changes because a cpuset changes, in a cpuset that the test makes. It is
//! the only test of its process, because it moves the process.
//!
//! Blind to: control groups of version 2, and kernels before Linux 6.2.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::{fs, io};

use sinew_topology::{CpuSet, PinError, ThreadRef, pin_current_thread, record_mask, recorded_mask};

/// A cpuset of this process, which returns to the parent when this is dropped.
struct Cpuset {
    parent: PathBuf,
    folder: PathBuf,
}

impl Cpuset {
    /// A child of the process's cpuset, with the same CPUs.
    fn enter() -> io::Result<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup")?;
        let group = groups.lines().find_map(|line| line.split_once(":cpuset:"));
        let group = group.ok_or(io::ErrorKind::Unsupported)?.1;
        let parent = Path::new("/sys/fs/cgroup/cpuset").join(group.trim_start_matches('/'));
        let folder = parent.join(format!("sinew-test-{}", std::process::id()));
        fs::create_dir(&folder)?;
        let made = Self { parent, folder };
        for name in ["cpuset.cpus", "cpuset.mems"] {
            fs::write(made.folder.join(name), fs::read(made.parent.join(name))?)?;
        }
        made.take_process(&made.folder)?;
        Ok(made)
    }

    fn take_process(&self, folder: &Path) -> io::Result<()> {
        fs::write(folder.join("cgroup.procs"), std::process::id().to_string())
    }

    fn set_cpus(&self, cpus: &CpuSet) {
        fs::write(self.folder.join("cpuset.cpus"), cpus.to_string()).unwrap();
    }
}

impl Drop for Cpuset {
    fn drop(&mut self) {
        let left = self.take_process(&self.parent).and_then(|()| fs::remove_dir(&self.folder));
        if let Err(error) = left {
            println!("{} is left: {error}", self.folder.display());
        }
    }
}

/// The calling thread's mask.
fn mask() -> CpuSet {
    ThreadRef::current().and_then(ThreadRef::affinity).unwrap()
}

/// Catches: a thread that counts as bound by a user for good because its cpuset changed, and a
/// binding in such a cpuset that is overwritten.
#[test]
fn a_thread_follows_its_pins_after_its_cpuset_has_changed() {
    record_mask();
    let whole = mask();
    let [a, b, ..] = &whole.iter().map(|cpu| CpuSet::from_iter([cpu])).collect::<Vec<_>>()[..]
    else {
        println!("skipped: a narrower cpuset needs two CPUs");
        return;
    };
    let cpuset = match Cpuset::enter() {
        Ok(cpuset) => cpuset,
        Err(error) => {
            println!("skipped: no cpuset can be made below /sys/fs/cgroup/cpuset: {error}");
            return;
        }
    };

    // Without a pin.
    cpuset.set_cpus(b);
    assert_eq!(mask(), *b);
    drop(pin_current_thread(b).expect("the kernel has narrowed the mask"));
    cpuset.set_cpus(&whole);
    assert_eq!(mask(), whole, "the pin has not narrowed it for good");
    drop(pin_current_thread(a).expect("the kernel has widened the mask"));
    assert_eq!((mask(), recorded_mask()), (whole.clone(), Some(whole.clone())));

    // With a pin whose CPU is taken away.
    let mut pinned = pin_current_thread(a).unwrap();
    cpuset.set_cpus(b);
    assert_eq!(mask(), *b);
    pinned.move_to(b).expect("the kernel has moved the thread");
    cpuset.set_cpus(&whole);
    pinned.move_to(a).expect("the CPU is back");
    assert_eq!(mask(), *a);
    drop(pinned);

    // A user's binding.
    let bound = ThreadRef::current().unwrap();
    assert!(bound.exclude_cpu(a.lowest().unwrap(), &mask()));
    assert!(matches!(pin_current_thread(a), Err(PinError::Bound)));
    cpuset.set_cpus(a);
    cpuset.set_cpus(&whole);
    assert!(matches!(pin_current_thread(a), Err(PinError::Bound)));
}
