//! The energy of the machine's packages, as Linux counts it in files below `/sys/class/powercap`.
//!
//! A zone is a folder with a name and a counter of microjoules, which begins again at its range.
//! Counted are the packages and their memory; zones inside of a package are in its counter already.
//! If no zone is called a package, all outermost zones count. The same zone may be there twice, by
//! another interface of the processor.
//!
//! # Not handled
//!
//! A counter that passes its range twice between two readings: a package needs minutes for it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::error::Error;

/// Counts the energy of the machine since it was opened.
#[derive(Debug)]
pub struct EnergyCounter {
    zones: Vec<Zone>,
    total_uj: u64,
}

/// A counter of the kernel.
#[derive(Debug)]
struct Zone {
    file: PathBuf,
    /// The value after which it begins again at 0; 0 if it is unknown.
    range_uj: u64,
    last_uj: u64,
}

impl EnergyCounter {
    /// The folder on Linux.
    pub const FOLDER: &str = "/sys/class/powercap";

    /// Opens the counters below a folder: [`FOLDER`](Self::FOLDER), or another of its form.
    ///
    /// # Errors
    ///
    /// [`Error::NoEnergy`] if it has no counter; [`Error::Energy`] if one cannot be read, which
    /// mostly only the system's administrator may.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let zones = zones(folder).into_iter().map(|folder| Zone::open(&folder));
        let zones = zones.collect::<Result<Vec<_>, _>>()?;
        if zones.is_empty() {
            return Err(Error::NoEnergy(folder.to_owned()));
        }
        Ok(Self { zones, total_uj: 0 })
    }

    /// The microjoules since it was opened.
    ///
    /// # Errors
    ///
    /// [`Error::Energy`] if a counter cannot be read any more.
    pub fn read_uj(&mut self) -> Result<u64, Error> {
        for zone in &mut self.zones {
            self.total_uj = self.total_uj.saturating_add(zone.used_uj()?);
        }
        Ok(self.total_uj)
    }
}

impl Zone {
    fn open(folder: &Path) -> Result<Self, Error> {
        let file = folder.join("energy_uj");
        let last_uj = number(&file)?;
        // Without a range, what a counter has begun again with is lost.
        let range_uj = number(&folder.join("max_energy_range_uj")).unwrap_or(0);
        Ok(Self { file, range_uj, last_uj })
    }

    /// The microjoules since the last reading.
    fn used_uj(&mut self) -> Result<u64, Error> {
        let now = number(&self.file)?;
        let last = std::mem::replace(&mut self.last_uj, now);
        let wrapped = || self.range_uj.checked_sub(last).map_or(0, |rest| rest.saturating_add(now));
        Ok(now.checked_sub(last).unwrap_or_else(wrapped))
    }
}

/// The folders of the zones that count, each zone once.
fn zones(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let mut named: Vec<(String, String, PathBuf)> = Vec::new();
    let mut seen = HashSet::new();
    for path in paths {
        // `intel-rapl:0:1` is a zone inside of the zone 0; other entries have no colon.
        let numbers = path.file_name().and_then(|name| name.to_str()?.split_once(':'));
        let Some((_, numbers)) = numbers else { continue };
        let Ok(name) = fs::read_to_string(path.join("name")) else { continue };
        let zone = (name.trim().to_owned(), numbers.to_owned());
        if seen.insert(zone.clone()) {
            named.push((zone.0, zone.1, path));
        }
    }
    let is_package = |name: &str| name.starts_with("package");
    let has_packages = named.iter().any(|(name, ..)| is_package(name));
    let counts = |name: &str, numbers: &str| match has_packages {
        true => is_package(name) || name == "dram",
        false => !numbers.contains(':'),
    };
    let counted = named.into_iter().filter(|(name, numbers, _)| counts(name, numbers));
    counted.map(|(.., path)| path).collect()
}

fn number(file: &Path) -> Result<u64, Error> {
    let parsed = fs::read_to_string(file)
        .and_then(|text| text.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into()));
    parsed.map_err(|source| Error::Energy { path: file.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of the form of `/sys/class/powercap`.
    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new() -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            fs::create_dir(tree.0.path().join("intel-rapl")).unwrap();
            tree
        }

        fn zone(self, folder: &str, name: &str, range_uj: u64) -> Self {
            let zone = self.0.path().join(folder);
            fs::create_dir(&zone).unwrap();
            fs::write(zone.join("name"), format!("{name}\n")).unwrap();
            fs::write(zone.join("max_energy_range_uj"), format!("{range_uj}\n")).unwrap();
            self.set(folder, 0);
            self
        }

        fn set(&self, folder: &str, energy_uj: u64) {
            let file = self.0.path().join(folder).join("energy_uj");
            fs::write(file, format!("{energy_uj}\n")).unwrap();
        }

        fn open(&self) -> Result<EnergyCounter, Error> {
            EnergyCounter::open(self.0.path())
        }
    }

    /// Catches: energy that is counted twice, by a zone inside of another or another interface, and
    /// a package or its memory that is not counted.
    #[test]
    fn packages_and_their_memory_count_once() {
        let tree = Tree::new()
            .zone("intel-rapl-mmio:0", "package-0", 1 << 40)
            .zone("intel-rapl:0", "package-0", 1 << 40)
            .zone("intel-rapl:0:0", "core", 1 << 40)
            .zone("intel-rapl:0:1", "dram", 1 << 40)
            .zone("intel-rapl:1", "package-1", 1 << 40)
            .zone("intel-rapl:1:1", "dram", 1 << 40)
            .zone("intel-rapl:2", "psys", 1 << 40);
        let mut counter = tree.open().unwrap();
        assert_eq!(counter.read_uj().unwrap(), 0);
        for (at, folder) in ["-mmio:0", ":0", ":0:0", ":0:1", ":1", ":1:1", ":2"].iter().enumerate()
        {
            tree.set(&format!("intel-rapl{folder}"), if at == 0 { 2 } else { 1 << (4 * at) });
        }
        // Both interfaces count the same; here the first of them was written less.
        assert_eq!(counter.read_uj().unwrap(), 2 + (1 << 12) + (1 << 16) + (1 << 20));
        let whole = Tree::new().zone("other:0", "system", 100).zone("other:0:0", "part", 100);
        let mut counter = whole.open().unwrap();
        whole.set("other:0", 7);
        whole.set("other:0:0", 7);
        assert_eq!(counter.read_uj().unwrap(), 7);
    }

    /// Catches: energy before the first reading, and a counter that begins again and seems to have
    /// gone back, or to have used its whole range.
    #[test]
    fn a_counter_that_begins_again_goes_on() {
        let tree = Tree::new().zone("intel-rapl:0", "package-0", 1_000);
        tree.set("intel-rapl:0", 400);
        let mut counter = tree.open().unwrap();
        let totals = [500, 990, 15, 15, 5].map(|energy_uj| {
            tree.set("intel-rapl:0", energy_uj);
            counter.read_uj().unwrap()
        });
        assert_eq!(totals, [100, 590, 615, 615, 1_605]);
    }

    /// Catches: a machine without counters, or with such as this user must not read, that is taken
    /// for one without power; and an explanation in several lines.
    #[test]
    fn counters_that_cannot_be_read_are_named_in_one_line() {
        let said = |tree: &Tree| tree.open().unwrap_err().to_string();
        let none = Tree::new();
        let words = said(&none);
        assert!(words.contains(none.0.path().to_str().unwrap()), "{words}");
        assert!(words.starts_with("no energy counter") && !words.contains('\n'), "{words}");
        let missing = EnergyCounter::open(Path::new("/no/such/folder")).unwrap_err().to_string();
        assert!(missing.starts_with("no energy counter in /no/such/folder"), "{missing}");
        let broken = Tree::new().zone("intel-rapl:0", "package-0", 1_000);
        let file = broken.0.path().join("intel-rapl:0/energy_uj");
        fs::write(&file, "many\n").unwrap();
        let words = said(&broken);
        assert!(words.starts_with(&format!("cannot read {}: ", file.display())), "{words}");
        let source = io::ErrorKind::PermissionDenied.into();
        let words = Error::Energy { path: file, source }.to_string();
        assert!(words.contains("permission denied") && words.contains("root"), "{words}");
        assert!(!words.contains('\n'), "{words}");
    }

    /// Catches: an error of the system that is lost where this user must not read a counter.
    #[cfg(unix)]
    #[test]
    fn a_counter_of_another_user_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let tree = Tree::new().zone("intel-rapl:0", "package-0", 1_000);
        let file = tree.0.path().join("intel-rapl:0/energy_uj");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
        if fs::read(&file).is_ok() {
            println!("skipped: this user may read every file");
            return;
        }
        let error = tree.open().unwrap_err();
        assert!(matches!(error, Error::Energy { .. }) && error.to_string().contains("root"));
    }
}
