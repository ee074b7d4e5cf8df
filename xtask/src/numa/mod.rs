//! `cargo xtask numa-guest`: Sinew on a real kernel with several NUMA nodes.
//!
//! An emulator makes the machine, of any shape. A kernel of the distribution boots on it, from an
//! initial RAM disk with only our test program (`xtask/numa-guest`), which checks and reports over
//! a serial line. Nothing is installed, and nothing is downloaded unless asked for with
//! `--fetch-kernel`: what is missing is named with the command that gets it.
//!
//! | file | contents |
//! |---|---|
//! | [`shapes`] | the machines, and how the emulator is told |
//! | [`needs`], [`fetch`] | emulator, kernel and hwloc of this machine; getting a kernel without installing it |
//! | [`image`] | the initial RAM disk |
//! | [`boot`] | starting, listening, an end in any case |
//! | [`transcript`] | what was answered, and what it means |

mod boot;
mod fetch;
mod image;
mod needs;
mod shapes;
mod transcript;

use crate::command;
use needs::Needs;
use numa_protocol::{Order, Shape};
use sinew_console::Table;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use transcript::Transcript;

/// The checks to run, and their tools.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Beginnings of the names of checks to run (default: all).
    #[arg(value_name = "CHECK")]
    only: Vec<String>,
    /// The machine to emulate; may be given repeatedly (default: each in turn).
    #[arg(long, value_parser = shapes::names())]
    shape: Vec<String>,
    /// The kernel to boot (default: one in /boot, or the one that --fetch-kernel got).
    #[arg(long, value_name = "FILE")]
    kernel: Option<PathBuf>,
    /// Download Debian's cloud kernel into the target folder first, without installing it.
    #[arg(long)]
    fetch_kernel: bool,
    /// Seconds that each machine may run.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = LIMIT_S,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    limit: u64,
}

/// Enough for a machine with better things to do, and short enough to notice a hang.
const LIMIT_S: u64 = 300;

/// Boots what was asked for and checks it.
///
/// # Errors
///
/// A requirement is missing here, a check failed or did not reply, or the guest's kernel panicked.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if options.fetch_kernel {
        fetch::kernel()?;
    }
    let needs = Needs::find(options.kernel.as_deref())?;
    let chosen = |shape: &Shape| options.shape.is_empty() || options.shape.contains(&shape.name);
    let shapes: Vec<Shape> = shapes::all().into_iter().filter(chosen).collect();
    check(&needs, shapes, &options.only, Duration::from_secs(options.limit))
}

/// All checks on all shapes, for `cargo xtask ci`. Returns what is missing on this machine to do
/// so, if anything is.
///
/// # Errors
///
/// As for [`run`], apart from missing requirements.
pub(crate) fn in_ci() -> Result<Option<String>, String> {
    match Needs::find(None) {
        Ok(needs) => check(&needs, shapes::all(), &[], Duration::from_secs(LIMIT_S)).map(|()| None),
        Err(missing) => Ok(Some(missing)),
    }
}

/// Everything that this command makes lies here.
fn folder() -> PathBuf {
    command::output_folder("numa-guest")
}

fn check(
    needs: &Needs,
    shapes: Vec<Shape>,
    only: &[String],
    limit: Duration,
) -> Result<(), String> {
    println!("kernel {}", needs.kernel.display());
    let guest = image::build_guest()?;
    let mut rows = Vec::new();
    for shape in shapes {
        let name = shape.name.clone();
        println!("\n{name}: {}", shapes::described(&shape));
        let start = Instant::now();
        let order = Order { shape, only: only.to_vec() };
        let initrd = image::write(&order, &guest, &needs.hwloc)?;
        let transcript = boot::boot(needs, &order.shape, &initrd, limit)?;
        rows.push((name, transcript, start.elapsed()));
    }
    print_table(&rows);
    let failed: Vec<&str> =
        rows.iter().filter(|row| !row.1.problems().is_empty()).map(|row| row.0.as_str()).collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("numa-guest: not as it should be: {}", failed.join(", ")))
    }
}

fn print_table(rows: &[(String, Transcript, Duration)]) {
    let mut table = Table::new(&["shape", "ok", "skipped", "failed", "seconds"]);
    for (name, transcript, took) in rows {
        table.row(vec![
            name.clone(),
            transcript.passed().to_string(),
            transcript.skipped().to_string(),
            transcript.problems().len().to_string(),
            format!("{:.1}", took.as_secs_f64()),
        ]);
    }
    print!("\n{}", table.render());
    for (name, transcript, _) in rows {
        transcript.problems().iter().for_each(|problem| println!("{name}: {problem}"));
    }
}
