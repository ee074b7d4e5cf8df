//! The table's folder, which only this user can open.
//!
//! The folder is `SINEW_TABLE_DIR`, else `$XDG_RUNTIME_DIR/sinew`, else `/run/user/UID/sinew`, else
//! `sinew-UID` in the temporary folder. It must be a folder and not a link, belong to this user,
//! and be closed to all others; so must the file in it (`private`).
//!
//! The file's name contains the version of the table's layout and the namespaces of process numbers
//! and of time. So programs do not meet if they have different layouts, or if the number or start
//! time of a process differs between them.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::{private, sys};

/// The environment variable that names the folder.
pub const FOLDER_VARIABLE: &str = "SINEW_TABLE_DIR";

/// The folder of the table that programs of this user share.
pub fn default_folder() -> PathBuf {
    let named =
        std::env::var_os(FOLDER_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    named.unwrap_or_else(|| match private::runtime_folder() {
        Some(folder) => folder.join("sinew"),
        None => std::env::temp_dir().join(format!("sinew-{}", sys::user())),
    })
}

/// The name of the file.
///
/// # Errors
///
/// [`Error::System`] if the system does not tell the namespace. Then process numbers could not
/// identify programs either.
pub(crate) fn file_name(version: u64) -> Result<String, Error> {
    let path = Path::new(private::NAMESPACE);
    let namespace = private::namespace().map_err(|error| Error::system("read", path, error))?;
    Ok(format!("table-{version}-{namespace}-{}", private::time_namespace()))
}

/// Opens the file in `folder`, creates both if they do not exist, and checks both.
pub(crate) fn make(folder: &Path, name: &str) -> Result<File, Error> {
    // The last program to leave removes the folder, perhaps between the two steps.
    for _ in 0..100 {
        match private::open_private(folder, name, true) {
            Err(error) if is_missing(&error) => {}
            result => return result,
        }
    }
    Err(Error::system("open the table in", folder, ErrorKind::NotFound.into()))
}

/// Opens the file if it and the folder exist.
pub(crate) fn find(folder: &Path, name: &str) -> Result<Option<File>, Error> {
    match private::open_private(folder, name, false) {
        Err(error) if is_missing(&error) => Ok(None),
        result => result.map(Some),
    }
}

fn is_missing(error: &Error) -> bool {
    matches!(error, Error::System { source, .. } if source.kind() == ErrorKind::NotFound)
}
