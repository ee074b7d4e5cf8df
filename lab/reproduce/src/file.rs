//! A file of results: it keeps what it held until the new text is complete.
//!
//! The text is written to a file beside the place, which is then moved there. So a reader, a full
//! disk or an interrupt never meets half of it.
//!
//! # Invariants
//!
//! - W1: what a regular file held stays there until the whole new text is on the same file system.
//! - W2: what is no regular file (a terminal, a pipe, `/dev/null`) is written to and never
//!   replaced.
//! - W3: a symbolic link stays, and the file that it names is replaced. A replaced file keeps its
//!   permissions; one that must not be written is not replaced.
//!
//! # Not handled
//!
//! Hard links: the other names keep the earlier text. A symbolic link that names nothing becomes
//! the file. A folder that is not writable, with a writable file in it: the file is written in
//! place, so W1 does not hold there.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A place for results, found writable before anything is run.
#[derive(Debug)]
pub struct ResultFile {
    path: PathBuf,
    /// The temporary file to which the text is written first, unless it is written in place.
    beside: Option<PathBuf>,
}

impl ResultFile {
    /// Finds out whether the file can be written. Does not change the file.
    ///
    /// # Errors
    ///
    /// If it cannot.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = Self::at(path)?;
        let Some(beside) = &file.beside else { return Ok(file) };
        match File::create(beside).and_then(|_| fs::remove_file(beside)) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && file.path.exists() => {
                Ok(Self { beside: None, ..file })
            }
            tried => tried.map(|()| file),
        }
    }

    /// The place, and where the text is to be written first.
    fn at(path: &Path) -> io::Result<Self> {
        // W3. A file that is missing has no other name.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            // Not opened before there is a text: the reader of a pipe would meet its end.
            Ok(metadata) if !metadata.is_file() => return Ok(Self { path, beside: None }),
            Ok(_) => drop(File::options().write(true).open(&path)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(Self { beside: Some(beside(&path)?), path })
    }

    /// Puts the text there.
    ///
    /// # Errors
    ///
    /// If it cannot be written; what the file held stays.
    pub fn write(self, text: impl AsRef<[u8]>) -> io::Result<()> {
        let Some(beside) = &self.beside else { return fs::write(&self.path, text) };
        let written = File::create(beside).and_then(|mut file| {
            if let Ok(metadata) = fs::metadata(&self.path) {
                file.set_permissions(metadata.permissions())?;
            }
            file.write_all(text.as_ref())
        });
        written.and_then(|()| fs::rename(beside, &self.path)).inspect_err(|_| {
            // It may not even have been begun.
            let _ = fs::remove_file(beside);
        })
    }
}

/// `.NAME.partial` in the same folder.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".partial");
    Ok(path.with_file_name(hidden))
}

/// Puts `text` into the file.
///
/// # Errors
///
/// If it cannot be written; what the file held stays.
pub(crate) fn replace(path: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    ResultFile::at(path)?.write(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Catches: a file that is emptied before there is anything to put there, and one that is left
    /// beside it.
    #[test]
    fn a_file_keeps_what_it_held_until_the_new_text_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.csv");
        drop(ResultFile::create(&path).unwrap());
        assert!(names(folder.path()).is_empty());
        replace(&path, "earlier").unwrap();
        let file = ResultFile::create(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "earlier");
        assert_eq!(names(folder.path()), ["results.csv"]);
        file.write("new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(folder.path()), ["results.csv"]);
    }

    /// Catches: a file that cannot be written and is found out only after the work.
    #[test]
    fn what_cannot_be_written_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ResultFile::create(folder.path()).is_err());
        assert!(ResultFile::create(&folder.path().join("no/such/folder")).is_err());
        assert!(ResultFile::create(Path::new("")).is_err());
    }

    /// Catches: an incomplete text in place of the earlier one when the disk is full (W1).
    #[cfg(target_os = "linux")]
    #[test]
    fn where_there_is_no_room_the_earlier_text_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.csv");
        replace(&path, "earlier").unwrap();
        let file = ResultFile::create(&path).unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path().join(".results.csv.partial"))
            .unwrap();
        let error = file.write("new").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&path).unwrap(), "earlier");
        assert_eq!(names(folder.path()), ["results.csv"]);
    }

    /// Catches: a pipe whose reader gets an end instead of a text (W2).
    #[cfg(target_os = "linux")]
    #[test]
    fn the_reader_of_a_pipe_gets_the_text() {
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = io::pipe().unwrap();
        let name = format!("/proc/self/fd/{}", writer.as_raw_fd());
        ResultFile::create(Path::new(&name)).unwrap().write("text").unwrap();
        drop(writer);
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "text");
    }

    /// Catches: a device that becomes a file (W2), a link that does (W3), and permissions that are
    /// lost.
    #[cfg(unix)]
    #[test]
    fn devices_links_and_permissions_stay() {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt};
        replace(Path::new("/dev/null"), "gone").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("results.csv"), folder.path().join("link"));
        replace(&path, "earlier").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
