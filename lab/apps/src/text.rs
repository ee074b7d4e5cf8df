//! Real text to work on: all source files below a folder, read into one piece of memory.
//!
//! By default that is what cargo has downloaded to build this project, so there is real input on
//! any machine that could compile it. Symbolic links are not followed, so nothing is read twice and
//! no walk is endless.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::options::Error;

/// Extensions of source files.
const EXTENSIONS: [&str; 24] = [
    "c", "cc", "cpp", "css", "cxx", "go", "h", "hpp", "html", "java", "js", "json", "md", "pl",
    "py", "rb", "rs", "s", "S", "sh", "toml", "ts", "txt", "yml",
];

/// The text of many files, in the order of their paths, with a line end after each.
#[derive(Debug, Default)]
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    pub(crate) files: usize,
    /// Files and folders below the first that could not be read.
    pub(crate) unreadable: usize,
}

/// Reads the source files below `folder`, omitting those that would exceed `limit` bytes.
pub(crate) fn read(folder: &Path, limit: u64) -> Result<Text, Error> {
    let mut text = Text::default();
    let top =
        entries(folder).map_err(|source| Error::Folder { path: folder.to_owned(), source })?;
    text.read_each(&top, limit);
    if text.files == 0 {
        return Err(Error::NoText { path: folder.to_owned(), limit });
    }
    Ok(text)
}

impl Text {
    fn read_each(&mut self, paths: &[PathBuf], limit: u64) {
        for path in paths {
            let read = match fs::symlink_metadata(path) {
                Ok(file) if file.is_dir() => {
                    entries(path).map(|inside| self.read_each(&inside, limit))
                }
                Ok(file)
                    if file.is_file() && is_source(path) && self.has_room(file.len(), limit) =>
                {
                    self.read_file(path)
                }
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            };
            self.unreadable += usize::from(read.is_err());
        }
    }

    fn has_room(&self, bytes: u64, limit: u64) -> bool {
        self.bytes.len() as u64 + bytes <= limit
    }

    fn read_file(&mut self, path: &Path) -> io::Result<()> {
        self.bytes.extend(fs::read(path)?);
        self.bytes.push(b'\n');
        self.files += 1;
        Ok(())
    }
}

/// The sorted direct contents of a folder: the same text each time.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

fn is_source(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

/// The folder with the registry sources that cargo has downloaded.
pub(crate) fn registry_sources() -> Result<PathBuf, Error> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cargo = set("CARGO_HOME").or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let sources = cargo.ok_or(Error::NoFolder)?.join("registry").join("src");
    if sources.is_dir() { Ok(sources) } else { Err(Error::NoFolder) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn source_files_of_all_folders_are_read_in_order() {
        let folder = folder(&[
            ("b.rs", "two"),
            ("a/x.c", "one"),
            ("a/image.png", "no"),
            ("z/y/x/README.md", "three"),
        ]);
        let text = read(folder.path(), 1000).unwrap();
        assert_eq!(text.bytes, b"one\ntwo\nthree\n");
        assert_eq!((text.files, text.unreadable), (3, 0));
    }

    #[test]
    fn a_file_beyond_the_limit_is_left_out_and_smaller_ones_are_read() {
        let folder = folder(&[("a.rs", "one"), ("b.rs", "much too long"), ("c.rs", "two")]);
        let text = read(folder.path(), 10).unwrap();
        assert_eq!(text.bytes, b"one\ntwo\n");
    }

    #[test]
    fn a_folder_that_is_missing_or_holds_no_source_is_named() {
        let folder = folder(&[("image.png", "no")]);
        let path = folder.path().display().to_string();
        let message = read(folder.path(), 1000).unwrap_err().to_string();
        assert!(message.contains(&path) && message.contains("--path"), "{message}");
        let message = read(&folder.path().join("missing"), 1000).unwrap_err().to_string();
        assert!(message.contains("missing") && message.contains("--path"), "{message}");
    }

    #[test]
    fn a_file_in_place_of_a_folder_is_named() {
        let folder = folder(&[("a.rs", "text")]);
        assert!(matches!(read(&folder.path().join("a.rs"), 1000), Err(Error::Folder { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let folder = folder(&[("a/b.rs", "once")]);
        std::os::unix::fs::symlink(folder.path(), folder.path().join("a/loop")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("a/b.rs"), folder.path().join("c.rs"))
            .unwrap();
        assert_eq!(read(folder.path(), 1000).unwrap().bytes, b"once\n");
    }
}
