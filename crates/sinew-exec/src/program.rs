//! The file of a command, and whether a library can be loaded into it.
//!
//! It is found as a shell would find it. Scripts are followed to their interpreter, since that is
//! the program that the kernel runs.
//!
//! # Not handled
//!
//! Capabilities of files, which make the dynamic linker ignore a preloaded library silently: trying
//! it does no harm.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The longest chain of scripts whose interpreter is a script: the kernel has the same limit.
const MOST_SCRIPTS: usize = 4;
/// Bytes at a program's beginning that tell its kind.
const START: usize = 4096;
/// Bytes of a program that are searched for a runtime's names.
const MOST_SEARCHED: u64 = 256 << 20;

/// A command that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
}

/// The kind of the program that the kernel will run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A library can be loaded into it.
    Dynamic,
    /// It has no dynamic linker, and no OpenMP runtime that was recognised.
    Static,
    /// It has no dynamic linker, and an OpenMP runtime.
    StaticOpenMp,
    /// It runs with other rights than its user's, so the dynamic linker refuses preloaded
    /// libraries.
    Privileged,
    /// It is for another kind of machine, or another C library.
    Foreign,
    /// It cannot be read, or its format is unknown.
    Unknown,
}

impl Kind {
    /// The reason why no library can be loaded, if so.
    pub(crate) fn refusal(self) -> Option<&'static str> {
        match self {
            Self::Dynamic => None,
            Self::Static | Self::StaticOpenMp => Some("the program is linked statically"),
            Self::Privileged => Some("the program runs with other rights than yours (setuid)"),
            Self::Foreign => Some("the program is for another kind of machine or C library"),
            Self::Unknown => Some("the program's file cannot be read"),
        }
    }
}

/// Finds the file of the command `name`. A name without a slash is searched in `path` (the variable
/// PATH).
///
/// # Errors
///
/// 127 if it is not found, 126 if it cannot be run.
pub(crate) fn find(name: &OsStr, path: Option<&OsStr>) -> Result<Program, Failure> {
    let given = Path::new(name);
    if name.is_empty() {
        return Err(Failure::empty());
    }
    if name.as_bytes().contains(&b'/') {
        return runnable(given).map_err(|error| Failure::of(given, &error));
    }
    let mut denied = None;
    for folder in std::env::split_paths(path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin")))
    {
        match runnable(&folder.join(given)) {
            Ok(program) => return Ok(program),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                denied = Some(folder.join(given));
            }
            Err(_) => {}
        }
    }
    Err(match denied {
        Some(path) => Failure::of(&path, &io::ErrorKind::PermissionDenied.into()),
        None => Failure::not_found(given, " (looked in PATH)"),
    })
}

fn runnable(path: &Path) -> io::Result<Program> {
    let about = fs::metadata(path)?;
    if about.is_dir() {
        return Err(io::Error::other("it is a directory"));
    }
    if !may_execute(path) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(Program { path: path.to_owned(), kind: kind_of(path) })
}

fn may_execute(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// The kind of the program at `path`.
pub(crate) fn kind_of(path: &Path) -> Kind {
    follow(path, MOST_SCRIPTS).unwrap_or(Kind::Unknown)
}

/// Set-user and set-group bits.
const OTHER_RIGHTS: u32 = 0o6000;

fn follow(path: &Path, scripts: usize) -> Option<Kind> {
    if fs::metadata(path).ok()?.permissions().mode() & OTHER_RIGHTS != 0 {
        return Some(Kind::Privileged);
    }
    let mut start = Vec::with_capacity(START);
    File::open(path).ok()?.take(START as u64).read_to_end(&mut start).ok()?;
    if let Some(line) = start.strip_prefix(b"#!") {
        let interpreter = interpreter(line)?;
        return follow(&interpreter, scripts.checked_sub(1)?);
    }
    match elf(&start)? {
        Elf::Foreign => Some(Kind::Foreign),
        Elf::Static if names_openmp(path) => Some(Kind::StaticOpenMp),
        Elf::Static => Some(Kind::Static),
        Elf::Dynamic(linker) => Some(if is_gnu(linker) { Kind::Dynamic } else { Kind::Foreign }),
    }
}

/// The interpreter that a script's first line names.
fn interpreter(line: &[u8]) -> Option<PathBuf> {
    let line = line.split(|&byte| byte == b'\n').next()?.trim_ascii();
    let path = line.split(|byte| byte.is_ascii_whitespace()).next()?;
    (!path.is_empty()).then(|| PathBuf::from(OsString::from(OsStr::from_bytes(path))))
}

/// Whether the program has the C library that the preloaded library was built for.
fn is_gnu(linker: &[u8]) -> bool {
    let name = linker.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    name.starts_with(b"ld-linux") || name.starts_with(b"ld64.so") || name.starts_with(b"ld.so")
}

/// The kind in the header of an executable.
#[derive(Debug, PartialEq, Eq)]
enum Elf<'a> {
    /// Its dynamic linker.
    Dynamic(&'a [u8]),
    Static,
    Foreign,
}

/// This machine's number in such headers; 0 on machines without the library.
const MACHINE: u16 = if cfg!(target_arch = "x86_64") {
    62
} else if cfg!(target_arch = "aarch64") {
    183
} else {
    0
};
const INTERPRETER: u32 = 3;

/// Reads the header and the program headers after it; `None` if the bytes are no such header.
fn elf(bytes: &[u8]) -> Option<Elf<'_>> {
    if bytes.get(..4)? != b"\x7fELF" {
        return None;
    }
    // 64 bits, least significant byte first.
    if bytes.get(4..6)? != [2, 1] || word16(bytes, 18)? != MACHINE {
        return Some(Elf::Foreign);
    }
    let (table, size, count) = (word64(bytes, 32)?, word16(bytes, 54)?, word16(bytes, 56)?);
    for index in 0..usize::from(count) {
        let header = table.checked_add(index * usize::from(size))?;
        if word32(bytes, header)? == INTERPRETER {
            let (start, length) = (word64(bytes, header + 8)?, word64(bytes, header + 32)?);
            let name = bytes.get(start..start.checked_add(length)?)?;
            return Some(Elf::Dynamic(name.strip_suffix(b"\0").unwrap_or(name)));
        }
    }
    Some(Elf::Static)
}

fn word16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn word64(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?)).ok()
}

/// Whether a static program contains the name of a setting that only an OpenMP runtime reads.
fn names_openmp(path: &Path) -> bool {
    let names: [&[u8]; 2] = [b"GOMP_SPINCOUNT", b"KMP_BLOCKTIME"];
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_SEARCHED).read_to_end(&mut bytes));
    // An unreadable file may be any program. `true` leaves more alone.
    read.is_err()
        || names.iter().any(|name| bytes.windows(name.len()).any(|window| window == *name))
}

#[cfg(test)]
mod tests {
    //! Blind to: kinds of programs that this machine does not have.
    use super::*;

    /// Catches: a panic on a broken header. Blind to: a header with a wrong length.
    #[test]
    fn a_broken_header_is_no_program_and_no_panic() {
        let own = fs::read("/proc/self/exe").expect("the test itself");
        assert!(matches!(elf(&own), Some(Elf::Dynamic(_) | Elf::Static)));
        for length in 0..600.min(own.len()) {
            let _ = elf(&own[..length]);
        }
        for byte in 0..200 {
            let mut bent = own[..4096.min(own.len())].to_vec();
            bent[byte] = 0xff;
            let _ = elf(&bent);
        }
        assert_eq!(elf(b"MZ and so on"), None);
    }

    /// Blind to: a machine with the same number and another meaning.
    #[test]
    fn another_architecture_is_foreign() {
        let mut header = fs::read("/proc/self/exe").expect("the test itself");
        header[18] ^= 1;
        assert_eq!(elf(&header), Some(Elf::Foreign));
        header[18] ^= 1;
        header[4] = 1;
        assert_eq!(elf(&header), Some(Elf::Foreign), "32 bits");
    }

    /// Blind to: interpreters with a blank in their path, which the kernel cannot run either.
    #[test]
    fn a_script_leads_to_its_interpreter() {
        assert_eq!(interpreter(b"/bin/sh\necho"), Some("/bin/sh".into()));
        assert_eq!(interpreter(b" /usr/bin/env python3\n"), Some("/usr/bin/env".into()));
        assert_eq!(interpreter(b"\n"), None);
    }

    /// Blind to: a PATH that the shell reads differently.
    #[test]
    fn what_is_not_there_or_not_executable_has_the_shells_status() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("text"), "words").unwrap();
        let path = Some(folder.path().as_os_str());
        assert_eq!(find(OsStr::new("nothing-of-this-name"), path).unwrap_err().status(), 127);
        assert_eq!(find(OsStr::new("text"), path).unwrap_err().status(), 126);
        assert_eq!(find(folder.path().as_os_str(), path).unwrap_err().status(), 126, "a folder");
        assert_eq!(find(OsStr::new(""), path).unwrap_err().status(), 127);
    }

    /// Blind to: a file system that does not keep these bits.
    #[test]
    fn a_program_with_other_rights_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("copy");
        fs::copy("/proc/self/exe", &copy).unwrap();
        assert!(matches!(kind_of(&copy), Kind::Dynamic | Kind::Static | Kind::StaticOpenMp));
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).unwrap();
        assert_eq!(kind_of(&copy), Kind::Privileged);
    }
}
