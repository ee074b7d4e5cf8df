//! A file that no other user can read, write or replace. Each check looks at the opened file, not
//! at what its name meant before.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::sys;

/// The user's folder for files that last until the user logs out.
pub(crate) fn runtime_folder() -> Option<PathBuf> {
    let named =
        std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = || PathBuf::from(format!("/run/user/{}", sys::user()));
    let is_private = |folder: &PathBuf| {
        fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir() && closed_to_others(&found))
    };
    Some(named.unwrap_or_else(usual)).filter(is_private)
}

fn closed_to_others(found: &fs::Metadata) -> bool {
    found.uid() == sys::user() && found.mode() & 0o077 == 0
}

/// The number of the namespace that process numbers of this process belong to.
pub(crate) fn namespace() -> io::Result<u64> {
    fs::metadata(NAMESPACE).map(|namespace| namespace.ino())
}

/// The kernel's file for that namespace.
pub(crate) const NAMESPACE: &str = "/proc/self/ns/pid";

/// The number of the namespace whose clock dates the start of processes for this process. 0 before
/// Linux 5.6, which has a single one.
pub(crate) fn time_namespace() -> u64 {
    fs::metadata("/proc/self/ns/time").map_or(0, |namespace| namespace.ino())
}

/// Whether the open file is the one of this name.
pub(crate) fn is_named(file: &File, path: &Path) -> bool {
    let found = (file.metadata(), fs::symlink_metadata(path));
    matches!(found, (Ok(a), Ok(b)) if (a.dev(), a.ino()) == (b.dev(), b.ino()))
}

/// Opens the file of this name in `folder`. If `make` is set, creates what does not exist.
pub(crate) fn open_private(folder: &Path, name: &str, make: bool) -> Result<File, Error> {
    if make {
        make_folder(folder)?;
    }
    let opened = sys::open_folder(folder).map_err(|error| no_link(folder, error))?;
    check(folder, &opened, |found| found.is_dir())?;
    let path = folder.join(name);
    let file = sys::open_in(&opened, name, make).map_err(|error| no_link(&path, error))?;
    check(&path, &file, |found| found.is_file() && found.nlink() <= 1)?;
    Ok(file)
}

fn make_folder(folder: &Path) -> Result<(), Error> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(Error::system("make the folder", folder, error))
        }
        _ => Ok(()),
    }
}

/// Reports a link where none may be; the system itself reports some other error for it.
fn no_link(path: &Path, error: io::Error) -> Error {
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if is_link { Error::insecure(path, "is a link") } else { Error::system("open", path, error) }
}

fn check(path: &Path, file: &File, kind: impl Fn(&fs::Metadata) -> bool) -> Result<(), Error> {
    let found = file.metadata().map_err(|error| Error::system("look at", path, error))?;
    match found {
        found if !kind(&found) => Err(Error::insecure(path, "has the wrong type")),
        found if found.uid() != sys::user() => {
            Err(Error::insecure(path, "belongs to another user"))
        }
        found if found.mode() & 0o077 != 0 => Err(Error::insecure(path, "is open to other users")),
        _ => Ok(()),
    }
}
