//! `private` on systems other than Linux: there are no private files.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

pub(crate) fn open_private(_folder: &Path, _name: &str, _make: bool) -> Result<File, crate::Error> {
    Err(crate::Error::Unsupported)
}

pub(crate) const NAMESPACE: &str = "/proc/self/ns/pid";

pub(crate) fn namespace() -> io::Result<u64> {
    Err(ErrorKind::Unsupported.into())
}

pub(crate) fn runtime_folder() -> Option<std::path::PathBuf> {
    None
}

pub(crate) fn is_named(_file: &File, _path: &Path) -> bool {
    false
}

pub(crate) fn time_namespace() -> u64 {
    0
}
