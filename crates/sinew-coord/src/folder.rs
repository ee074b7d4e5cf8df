//! Where the table is: a folder that only this user can look into.
//!
//! `SINEW_TABLE_DIR`, else `$XDG_RUNTIME_DIR/sinew`, else `/run/user/UID/sinew`, else `sinew-UID` in the temporary folder. Whatever it is, it must be a folder and no link,
//! must be this user's, and must be closed to everybody else; so must the file in it. The file's name carries the version of the table and the namespace of process numbers:
//! programs that could not understand each other, or not find each other's processes, do not meet.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::sys;

/// The environment variable that names the folder.
pub const FOLDER_VARIABLE: &str = "SINEW_TABLE_DIR";

/// The folder of the table that programs of this user share.
pub fn default_folder() -> PathBuf {
    let named = |name| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    if let Some(folder) = named(FOLDER_VARIABLE) {
        return folder;
    }
    let runtime = named("XDG_RUNTIME_DIR").filter(|path| path.is_absolute());
    let runtime = runtime.or_else(|| Some(PathBuf::from(format!("/run/user/{}", sys::user()))));
    match runtime.filter(|folder| is_private(folder)) {
        Some(folder) => folder.join("sinew"),
        None => std::env::temp_dir().join(format!("sinew-{}", sys::user())),
    }
}

fn is_private(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir() && closed_to_others(&found))
}

fn closed_to_others(found: &fs::Metadata) -> bool {
    found.uid() == sys::user() && found.mode() & 0o077 == 0
}

/// The name of the file.
pub(crate) fn file_name(version: u64) -> String {
    let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino());
    format!("table-{version}-{namespace}")
}

/// Opens the file in `folder`, making both if need be, and makes sure of both.
pub(crate) fn open(folder: &Path, name: &str) -> Result<File, Error> {
    // The last program to leave removes the folder, perhaps between the two steps.
    for _ in 0..100 {
        match open_once(folder, name) {
            Err(Error::System { source, .. }) if source.kind() == ErrorKind::NotFound => {}
            answer => return answer,
        }
    }
    Err(Error::system("open the table in", folder, ErrorKind::NotFound.into()))
}

fn open_once(folder: &Path, name: &str) -> Result<File, Error> {
    let made = DirBuilder::new().mode(0o700).create(folder);
    if let Err(error) = made
        && error.kind() != ErrorKind::AlreadyExists
    {
        return Err(Error::system("make the folder", folder, error));
    }
    let opened = sys::open_folder(folder).map_err(|error| no_link(folder, error))?;
    check(folder, &opened, |found| found.is_dir())?;
    let path = folder.join(name);
    let file = sys::open_in(&opened, name).map_err(|error| no_link(&path, error))?;
    check(&path, &file, |found| found.is_file() && found.nlink() <= 1)?;
    Ok(file)
}

/// A link is found where there must be none: that is no error of the system.
fn no_link(path: &Path, error: io::Error) -> Error {
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if is_link { Error::insecure(path, "is a link") } else { Error::system("open", path, error) }
}

fn check(path: &Path, file: &File, kind: impl Fn(&fs::Metadata) -> bool) -> Result<(), Error> {
    let found = file.metadata().map_err(|error| Error::system("look at", path, error))?;
    match found {
        found if !kind(&found) => Err(Error::insecure(path, "is not what it should be")),
        found if found.uid() != sys::user() => Err(Error::insecure(path, "belongs to another user")),
        found if found.mode() & 0o077 != 0 => Err(Error::insecure(path, "is open to other users")),
        _ => Ok(()),
    }
}
