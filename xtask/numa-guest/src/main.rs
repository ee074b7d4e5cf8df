#![forbid(unsafe_code)]
//! The first process of a machine with several NUMA nodes: checks Sinew from inside, reports,
//! switches the machine off.
//!
//! `cargo xtask numa-guest` boots it in an emulator, of which [`numa_protocol`] says what both must
//! agree on. No machine at hand has several nodes, but the kernel cannot tell. The checks cover the
//! reports and actions of that kernel, on a machine whose shape is known from the command line that
//! created it.
//!
//! | file | contents |
//! |---|---|
//! | `init` | what the first process must do for itself: mounts, the serial line, power off |
//! | `check`, `checks` | a check; the table of all checks, and how they are run |
//! | `tree`, `hwloc` | the tree and distances, beside the shape and beside hwloc |
//! | `pin` | workers and external threads on CPUs |
//! | `pages`, `locality`, `placed` | pages on nodes; queues of locality domains; arrays whose blocks have one |
//! | `worker_memory` | where the memory of workers themselves lies |
//! | `steals` | the victims of thieves |
//! | `worklist` | where a worklist's pages lie |
//! | `limits`, `hotplug` | control groups; CPUs that are switched off |
//! | `workers` | asking all workers of a pool, and the kernel about threads |
//!
//! # Not handled
//!
//! Time: an emulated machine has no near and far memory, so that nothing here is measured.

#[cfg(target_os = "linux")]
mod check;
#[cfg(target_os = "linux")]
mod checks;
#[cfg(target_os = "linux")]
mod crowded;
#[cfg(target_os = "linux")]
mod hotplug;
#[cfg(target_os = "linux")]
mod hwloc;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod locality;
#[cfg(target_os = "linux")]
mod pages;
#[cfg(target_os = "linux")]
mod pin;
#[cfg(target_os = "linux")]
mod placed;
#[cfg(target_os = "linux")]
mod steals;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod worker_memory;
#[cfg(target_os = "linux")]
mod workers;
#[cfg(target_os = "linux")]
mod worklist;

use std::process::ExitCode;

/// The message to a user who starts this by hand.
const NOT_HERE: &str = "numa-guest: this is the first process of an emulated machine: `cargo \
    xtask numa-guest` boots it";

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    if !init::is_first_process() {
        eprintln!("{NOT_HERE}");
        return ExitCode::from(2);
    }
    let done = init::prepare().and_then(|mut answer| {
        let order = init::order()?;
        checks::run(&order, &mut answer)
    });
    if let Err(why) = done {
        // Printed on the kernel's console, because the serial line may be broken.
        eprintln!("numa-guest: {why}");
    }
    init::power_off()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("{NOT_HERE}");
    ExitCode::from(2)
}
