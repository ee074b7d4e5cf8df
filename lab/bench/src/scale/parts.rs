//! Programs that the binary carries behind its own end: it finds them in its own file, so one file
//! is all that another machine needs.
//!
//! ```text
//! the binary | each part | its list, as JSON | length of the list, 8 bytes | MARK
//! ```

use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The last bytes of a binary with parts.
const MARK: &[u8; 16] = b"\0sinew-parts-v1\0";

/// A program, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// An entry of the list.
#[derive(Serialize, Deserialize)]
struct Entry {
    name: String,
    length: u64,
}

/// A binary with these parts.
pub(super) fn attached(binary: &[u8], parts: &[Part]) -> Vec<u8> {
    let entry = |part: &Part| Entry { name: part.name.clone(), length: part.bytes.len() as u64 };
    let list: Vec<Entry> = parts.iter().map(entry).collect();
    let list = serde_json::to_vec(&list).unwrap_or_default();
    let mut whole = binary.to_vec();
    parts.iter().for_each(|part| whole.extend_from_slice(&part.bytes));
    whole.extend_from_slice(&list);
    whole.extend_from_slice(&(list.len() as u64).to_le_bytes());
    whole.extend_from_slice(MARK);
    whole
}

/// The parts of the binary in `path`; none if it has none.
///
/// # Errors
///
/// One line: the file cannot be read, or is damaged.
pub(super) fn of(path: &Path) -> Result<Vec<Part>, String> {
    let name = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = File::open(path).map_err(name)?;
    let end = file.metadata().map_err(name)?.len();
    let read = |file: &mut File, from: u64, length: u64| -> std::io::Result<Vec<u8>> {
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let footer = MARK.len() as u64 + 8;
    let Some(list_end) = end.checked_sub(footer) else { return Ok(Vec::new()) };
    let last = read(&mut file, list_end, footer).map_err(name)?;
    let Some(length) = last.strip_suffix(MARK) else { return Ok(Vec::new()) };
    let damaged = || format!("{}: its parts are damaged", path.display());
    let length = u64::from_le_bytes(length.try_into().map_err(|_| damaged())?);
    let list_begin = list_end.checked_sub(length).ok_or_else(damaged)?;
    let list = read(&mut file, list_begin, length).map_err(name)?;
    let list: Vec<Entry> = serde_json::from_slice(&list).map_err(|_| damaged())?;
    let total: u64 = list.iter().map(|entry| entry.length).sum();
    let mut at = list_begin.checked_sub(total).ok_or_else(damaged)?;
    let mut parts = Vec::new();
    for Entry { name: part, length } in list {
        parts.push(Part { name: part, bytes: read(&mut file, at, length).map_err(name)? });
        at += length;
    }
    Ok(parts)
}

/// Writes a part into `folder`, such that it can be run; returns its path.
///
/// # Errors
///
/// One line: no room, for example.
pub(super) fn unpack(part: &Part, folder: &Path) -> Result<PathBuf, String> {
    let path = folder.join(&part.name);
    write_program(&path, &part.bytes)?;
    Ok(path)
}

/// Writes a program.
///
/// # Errors
///
/// One line: no room, for example.
pub(super) fn write_program(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let name = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    fs::write(path, bytes).map_err(name)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(name)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: parts that are cut or exchanged, and parts found where none are.
    #[test]
    fn a_binary_returns_the_parts_that_were_attached() {
        let folder = tempfile::tempdir().unwrap();
        let part = |name: &str, bytes: &[u8]| Part { name: name.to_owned(), bytes: bytes.to_vec() };
        let parts = [part("one", b"first"), part("two", b""), part("three", &[7; 300])];
        let path = folder.path().join("binary");
        for binary in [&b"ELF"[..], &[0; 100]] {
            fs::write(&path, binary).unwrap();
            assert_eq!(of(&path).unwrap(), []);
            fs::write(&path, attached(binary, &parts)).unwrap();
            assert_eq!(of(&path).unwrap(), parts);
        }
        let mut damaged = attached(b"", &parts);
        damaged.drain(..200);
        fs::write(&path, damaged).unwrap();
        assert!(of(&path).unwrap_err().contains("damaged"));
    }
}
