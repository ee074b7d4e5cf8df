//! The duties of the first process: mounts, the serial line, power off.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::process::ExitCode;

use numa_protocol::{ANSWER_PATH, ORDER_PATH, Order};
use rustix::mount::MountFlags;
use rustix::system::RebootCommand;

/// The mounts.
const MOUNTS: [(&str, &str); 4] =
    [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("cgroup2", "/sys/fs/cgroup")];

/// Whether this is the first process of a machine that was booted for it. Containers have first
/// processes, too, which must not switch anything off.
pub(crate) fn is_first_process() -> bool {
    rustix::process::getpid().is_init() && Path::new(ORDER_PATH).exists()
}

/// Mounts the file systems of the checks, and opens the serial line.
///
/// # Errors
///
/// The error of the kernel.
pub(crate) fn prepare() -> Result<File, String> {
    for (kind, place) in MOUNTS {
        mount(kind, place).map_err(|error| format!("cannot mount {kind} at {place}: {error}"))?;
    }
    let line = OpenOptions::new().write(true).open(ANSWER_PATH);
    line.map_err(|error| format!("cannot open {ANSWER_PATH}: {error}"))
}

fn mount(kind: &str, place: &str) -> std::io::Result<()> {
    fs::create_dir_all(place)?;
    Ok(rustix::mount::mount(kind, place, kind, MountFlags::empty(), None)?)
}

/// The order to check.
///
/// # Errors
///
/// The order is missing or damaged.
pub(crate) fn order() -> Result<Order, String> {
    let text = fs::read_to_string(ORDER_PATH).map_err(|error| format!("{ORDER_PATH}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{ORDER_PATH}: {error}"))
}

/// Switches the machine off. If that fails, the kernel finds its first process gone, and panics,
/// which is noticed, too.
pub(crate) fn power_off() -> ExitCode {
    rustix::fs::sync();
    match rustix::system::reboot(RebootCommand::PowerOff) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("numa-guest: cannot switch off: {error}");
            ExitCode::FAILURE
        }
    }
}
