//! The requirements on the host: an emulator and a kernel; hwloc is optional.

use crate::command;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The emulator.
pub(super) const QEMU: &str = "qemu-system-x86_64";

/// The program whose view of the machine ours is compared with.
const LSTOPO: &str = "lstopo-no-graphics";

/// The tools that were found here.
#[derive(Debug)]
pub(super) struct Needs {
    pub(super) kernel: PathBuf,
    pub(super) hwloc: Option<Hwloc>,
}

/// A program of hwloc's with the libraries that it loads.
#[derive(Debug)]
pub(super) struct Hwloc {
    pub(super) program: PathBuf,
    pub(super) libraries: Vec<PathBuf>,
}

impl Needs {
    /// Looks for everything.
    ///
    /// # Errors
    ///
    /// One line: the first thing that is missing, and how to get it.
    pub(super) fn find(kernel: Option<&Path>) -> Result<Self, String> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(
                "the guest's program is built for Linux on x86-64, on such a machine only".into()
            );
        }
        if find_program(QEMU).is_none() {
            return Err(format!(
                "{QEMU} is not installed (Debian: apt-get install qemu-system-x86)"
            ));
        }
        let kernel = match kernel {
            Some(file) => {
                readable(file).ok_or_else(|| format!("{} cannot be read", file.display()))?
            }
            None => newest_kernel().ok_or(
                "no kernel to boot is in /boot (Debian: cargo xtask numa-guest --fetch-kernel, or \
                 apt-get install \
                 linux-image-cloud-amd64; elsewhere: --kernel FILE)",
            )?,
        };
        Ok(Self { kernel, hwloc: find_hwloc() })
    }
}

fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Some distributions let only the superuser read their kernels.
fn readable(file: &Path) -> Option<PathBuf> {
    fs::File::open(file).is_ok().then(|| file.to_owned())
}

/// Of those made for virtual machines, which boot fastest, if there are any, the one that was
/// installed last.
fn newest_kernel() -> Option<PathBuf> {
    let kernels = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let named =
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("vmlinuz-"));
        named.filter_map(|entry| readable(&entry.path())).collect()
    };
    let mut kernels = [kernels(&super::fetch::boot_folder()), kernels(Path::new("/boot"))].concat();
    let age = |file: &PathBuf| fs::metadata(file).and_then(|data| data.modified()).ok();
    kernels.sort_by_key(|file| (file.to_string_lossy().contains("cloud"), age(file)));
    kernels.pop()
}

/// Without it, the guest says that it could not compare.
fn find_hwloc() -> Option<Hwloc> {
    let program = find_program(LSTOPO)?;
    let list = command::output(Command::new("ldd").arg(&program)).ok()?;
    Some(Hwloc { program, libraries: libraries(&list) })
}

/// Parses lines like `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f…)`; the loader has no
/// arrow.
fn libraries(list: &str) -> Vec<PathBuf> {
    let path =
        |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    list.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    //! Blind to: another `ldd`.

    use super::*;

    #[test]
    fn libraries_and_the_loader_are_found_and_the_kernels_own_is_not() {
        let list = "\tlinux-vdso.so.1 (0x00007efe3bc3e000)\n\
                    \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007efe3b8bb000)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007efe3bc40000)\n";
        let found = libraries(list);
        assert_eq!(
            found,
            ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from)
        );
    }

    #[test]
    fn a_kernel_that_is_not_there_is_named_unless_something_before_it_is_missing() {
        let why = Needs::find(Some(Path::new("/no/such/kernel"))).expect_err("no kernel, no guest");
        let named = ["/no/such/kernel", QEMU, "x86-64"];
        assert!(named.iter().any(|missing| why.contains(missing)), "{why}");
        assert!(!why.contains('\n'));
    }
}
