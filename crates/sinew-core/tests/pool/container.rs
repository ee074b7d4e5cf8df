//! A simulated container: files with a quota that can be changed.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

pub(crate) struct Container(TempDir);

impl Container {
    /// A container with a quota for so many threads.
    pub(crate) fn feeding(threads: usize) -> Self {
        let container = Self(tempfile::tempdir().unwrap());
        let mount =
            "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        container.write("proc/self/cgroup", "0::/\n");
        container.write("proc/self/mountinfo", mount);
        container.feed(threads);
        container
    }

    /// Below what its files are.
    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// Sets the quota to so many threads, or to the number of processors.
    pub(crate) fn feed(&self, threads: usize) {
        let quota =
            if threads == usize::MAX { "max".into() } else { (100_000 * threads - 1).to_string() };
        self.write("sys/fs/cgroup/cpu.max", &format!("{quota} 100000\n"));
    }

    /// A concurrent reader finds the old text or the new one.
    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let new = path.with_extension("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, path).unwrap();
    }
}
