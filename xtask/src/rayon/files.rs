//! Writing generated files and copying trees, leaving alone what is already right.
//!
//! Cargo decides by a file's time whether to build again, so that a file is written only where its
//! contents change, and a second run starts where the first one ended. Copies are new files: what
//! the registry marks read-only is writable here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes `contents` to `path`, with the folders above it, unless that is what it already holds.
///
/// # Errors
///
/// A folder or the file cannot be written.
pub(super) fn put(path: &Path, contents: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|present| present == contents) {
        return Ok(());
    }
    let cannot = |error| format!("cannot write {}: {error}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(cannot)?;
    }
    fs::write(path, contents).map_err(cannot)
}

/// Reads a file of text.
///
/// # Errors
///
/// It cannot be read.
pub(super) fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Every file below `folder` with its contents, named relative to it with forward slashes.
///
/// # Errors
///
/// A folder or a file cannot be read.
pub(super) fn tree(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let mut found = BTreeMap::new();
    for path in paths(folder)? {
        let contents =
            fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        found.insert(name, contents);
    }
    Ok(found)
}

/// Makes `folder` hold exactly the files of `wanted`.
///
/// # Errors
///
/// A file cannot be written or removed.
pub(super) fn lay_out(folder: &Path, wanted: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    for name in present(folder)? {
        if !wanted.contains_key(&name) {
            let path = folder.join(&name);
            fs::remove_file(&path)
                .map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
        }
    }
    wanted.iter().try_for_each(|(name, contents)| put(&folder.join(name), contents))
}

/// The names of the files below `folder`; none where there is no such folder.
fn present(folder: &Path) -> Result<Vec<String>, String> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let relative = |path: &PathBuf| {
        path.strip_prefix(folder).unwrap_or(path).to_string_lossy().replace('\\', "/")
    };
    Ok(paths(folder)?.iter().map(relative).collect())
}

/// The files below `folder`.
fn paths(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error| format!("cannot read {}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            found.extend(paths(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

/// Removes `folder` and its contents, if it exists.
///
/// # Errors
///
/// Something in it cannot be removed.
pub(super) fn clear(folder: &Path) -> Result<(), String> {
    if !folder.exists() {
        return Ok(());
    }
    fs::remove_dir_all(folder)
        .map_err(|error| format!("cannot remove {}: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    //! Blind to: files that change while they are read.
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("xtask-files-{}-{name}", std::process::id()));
        clear(&folder).expect("an earlier run can be removed");
        folder
    }

    #[test]
    fn a_tree_laid_out_reads_back_as_it_was() {
        let folder = scratch("round");
        let wanted = BTreeMap::from([
            ("a.txt".to_owned(), b"one".to_vec()),
            ("b/c/d.bin".to_owned(), vec![0, 255]),
        ]);
        lay_out(&folder, &wanted).expect("the folder can be written");
        assert_eq!(tree(&folder), Ok(wanted));
        clear(&folder).expect("the folder can be removed");
    }

    #[test]
    fn what_is_no_longer_wanted_goes_and_what_is_right_keeps_its_time() {
        let folder = scratch("again");
        let both = BTreeMap::from([("keep".to_owned(), vec![1]), ("b/drop".to_owned(), vec![2])]);
        lay_out(&folder, &both).expect("the folder can be written");
        let time =
            |name: &str| fs::metadata(folder.join(name)).and_then(|file| file.modified()).ok();
        let before = time("keep");
        let one = BTreeMap::from([("keep".to_owned(), vec![1])]);
        lay_out(&folder, &one).expect("the folder can be written");
        assert_eq!(tree(&folder), Ok(one));
        assert_eq!(time("keep"), before);
        clear(&folder).expect("the folder can be removed");
    }
}
