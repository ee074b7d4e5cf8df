//! The initial RAM disk: our program as `/init`, its order, and hwloc where the host has it.
//!
//! An archive in the kernel's `newc` format; the kernel makes a file system of it, which has
//! nothing else.

use super::needs::Hwloc;
use crate::command;
use cpio::newc;
use numa_protocol::{LSTOPO_PATH, ORDER_PATH, Order};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds the program that the guest runs, without shared libraries, because the guest has none.
/// Answers where it lies.
///
/// # Errors
///
/// It does not compile.
pub(super) fn build_guest() -> Result<PathBuf, String> {
    let target = super::folder();
    let mut cargo =
        command::cargo(&["build", "--quiet", "--package", "numa-guest", "--target", TARGET]);
    cargo.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", "-C target-feature=+crt-static");
    // It is not debugged, and the kernel unpacks the omitted parts here.
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "none");
    command::run(&mut cargo)?;
    Ok(target.join(TARGET).join("debug").join("numa-guest"))
}

/// Writes the RAM disk for an order. Answers where it lies.
///
/// # Errors
///
/// A file cannot be read, or the RAM disk cannot be written.
pub(super) fn write(order: &Order, guest: &Path, hwloc: &Option<Hwloc>) -> Result<PathBuf, String> {
    let mut files = BTreeMap::from([("/init".to_owned(), read(guest)?)]);
    let text =
        serde_json::to_vec(order).map_err(|error| format!("cannot write the order: {error}"))?;
    files.insert(ORDER_PATH.to_owned(), text);
    if let Some(Hwloc { program, libraries }) = hwloc {
        files.insert(LSTOPO_PATH.to_owned(), read(program)?);
        for library in libraries {
            files.insert(library.to_string_lossy().into_owned(), read(library)?);
        }
    }
    let path = super::folder().join(format!("{}.initrd", order.shape.name));
    let cannot = |error| format!("cannot write {}: {error}", path.display());
    fs::write(&path, archive(&files).map_err(cannot)?).map_err(cannot)?;
    Ok(path)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

/// Files by their absolute paths, each folder before what is in it.
fn archive(files: &BTreeMap<String, Vec<u8>>) -> std::io::Result<Vec<u8>> {
    let mut archive = Vec::new();
    let mut add = |path: &str, mode: u32, data: &[u8], number: usize| -> std::io::Result<()> {
        let entry = newc::Builder::new(path.trim_start_matches('/')).mode(mode).ino(number as u32);
        let mut writer = entry.write(&mut archive, data.len() as u32);
        std::io::Write::write_all(&mut writer, data)?;
        writer.finish().map(|_| ())
    };
    let folders: BTreeSet<&str> = files.keys().flat_map(|path| parents(path)).collect();
    for (number, folder) in folders.iter().enumerate() {
        add(folder, FOLDER, &[], number + 1)?;
    }
    for (number, (path, data)) in files.iter().enumerate() {
        add(path, PROGRAM, data, folders.len() + number + 1)?;
    }
    newc::trailer(archive)
}

/// The folders above a file, the root left out.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end]).filter(|folder| !folder.is_empty())
}

#[cfg(test)]
mod tests {
    //! Blind to: what the kernel makes of it.

    use super::*;

    #[test]
    fn folders_come_before_their_files_and_all_is_read_back() {
        let files = [
            ("/init", "program"),
            ("/lib/a/b.so", "library"),
            ("/order.json", "{}"),
            ("/lib/c.so", ""),
        ];
        let files: BTreeMap<String, Vec<u8>> =
            files.into_iter().map(|(path, data)| (path.to_owned(), data.into())).collect();
        let bytes = archive(&files).expect("memory can be written");
        let mut rest = bytes.as_slice();
        let mut found = Vec::new();
        loop {
            let mut entry = newc::Reader::new(rest).expect("an entry");
            if entry.entry().is_trailer() {
                break;
            }
            let mut data = String::new();
            std::io::Read::read_to_string(&mut entry, &mut data).expect("text");
            found.push((entry.entry().name().to_owned(), entry.entry().mode(), data));
            rest = entry.finish().expect("the next entry");
        }
        let expected = [
            ("lib", FOLDER, ""),
            ("lib/a", FOLDER, ""),
            ("init", PROGRAM, "program"),
            ("lib/a/b.so", PROGRAM, "library"),
            ("lib/c.so", PROGRAM, ""),
            ("order.json", PROGRAM, "{}"),
        ];
        assert_eq!(
            found,
            expected.map(|(name, mode, data)| (name.to_owned(), mode, data.to_owned()))
        );
    }
}
