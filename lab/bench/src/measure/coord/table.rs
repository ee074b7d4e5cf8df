//! The costs of the table itself: joining, a run beside programs that do nothing, and the detection
//! of dead programs.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use sinew_coord::{Member, Offer, Share, Table};
use sinew_sync::clock::now_ns;

use super::program::Program;
use crate::measure::line::{Line, Unit};
use crate::measure::tool;
use crate::problem::Scale;
use crate::runtimes::sinew::{ParIter, Pool, over};
use crate::statistics::median;
use crate::work::spin;

pub(super) fn run(scale: Scale, place: &Path) -> Result<Vec<Line>, String> {
    let table = Table::open(place).map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    for others in [0, 3, 15] {
        let line =
            Line::percentiles(format!("join {others} programs"), joining(scale, &table, others)?);
        lines.extend(line.map(|line| line.at_most("median", 1e6, "at most 1 ms")));
    }
    for &end in End::ALL {
        let line = Line::percentiles(
            format!("cores {} are back", end.of()),
            ending(scale, place, &table, end)?,
        );
        lines.extend(line.map(|line| line.at_most("90 %", 1e7, "at most 10 ms")));
    }
    lines.extend(idle_table(scale, place, &table)?);
    Ok(lines)
}

fn member(table: &Table) -> Result<Member, String> {
    Member::join(table, Offer::new("bench")).map_err(|error| error.to_string())
}

fn joining(scale: Scale, table: &Table, others: usize) -> Result<Vec<f64>, String> {
    let _others = (0..others).map(|_| member(table)).collect::<Result<Vec<_>, _>>()?;
    (0..scale.pick(200, 3))
        .map(|_| {
            let began = now_ns();
            let joined = member(table)?;
            let time = (now_ns() - began) as f64;
            drop(joined);
            Ok(time)
        })
        .collect()
}

/// The way a neighbour ends.
#[derive(Debug, Clone, Copy)]
enum End {
    /// A program by a signal.
    Killed,
    /// A program by itself, with all that is done then.
    Ended,
    /// An unmodified command under `exec`.
    Command,
}

impl End {
    const ALL: &[Self] = if cfg!(target_os = "linux") {
        &[Self::Killed, Self::Ended, Self::Command]
    } else {
        &[Self::Killed, Self::Ended]
    };

    /// The owner of the cores.
    fn of(self) -> &'static str {
        match self {
            Self::Killed => "of a killed program",
            Self::Ended => "of a program that ends",
            Self::Command => "of a command that ends",
        }
    }
}

/// A neighbour that ends when it is told to.
enum Neighbour {
    /// Runs for ever, or waits to begin.
    Program(Program, End),
    Command(Child),
}

impl Neighbour {
    fn start(end: End, place: &Path) -> Result<Self, String> {
        match end {
            End::Killed => {
                Ok(Self::Program(Program::start(usize::MAX >> 8, Some(place))?.go()?, end))
            }
            End::Ended => Ok(Self::Program(Program::start(400, Some(place))?, end)),
            End::Command => Ok(Self::Command(command(place)?)),
        }
    }

    /// Whether its neighbour's share shows that it is running. One that has not begun yet may be
    /// dormant.
    fn is_seen(&self, share: &Share, all: u32) -> bool {
        let waits = matches!(self, Self::Program(_, End::Ended));
        share.neighbours > 0 && (waits || share.threads < all || all == 1)
    }

    /// Ends it; returns the moment at which it had nothing more to do.
    fn end(&mut self) -> Result<u64, String> {
        match self {
            Self::Program(program, End::Ended) => {
                program.finish_soon()?;
                Ok(now_ns())
            }
            Self::Program(program, _) => {
                let now = now_ns();
                program.kill();
                Ok(now)
            }
            Self::Command(command) => {
                let now = now_ns();
                drop(command.stdin.take());
                Ok(now)
            }
        }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        if let Self::Command(command) = self {
            let _ = command.kill();
            let _ = command.wait();
        }
    }
}

/// A command that lasts until its input ends.
fn command(place: &Path) -> Result<Child, String> {
    let mut command = tool::exec(&[])?;
    command.arg("cat").env("SINEW_TABLE_DIR", place).stdin(Stdio::piped()).stdout(Stdio::null());
    command.spawn().map_err(|error| format!("sinew cannot be started: {error}"))
}

/// The time from a neighbour's end until this program has all cores.
fn ending(scale: Scale, place: &Path, table: &Table, end: End) -> Result<Vec<f64>, String> {
    let mine = member(table)?;
    let all = mine.share().threads;
    let limit = Duration::from_secs(20);
    (0..scale.pick(50, 2))
        .map(|_| {
            let mut neighbour = Neighbour::start(end, place)?;
            let mut share = mine.share();
            while !neighbour.is_seen(&share, all) {
                let next = mine.wait_change(share.epoch, limit);
                if next == share {
                    return Err("a program does not join".to_owned());
                }
                share = next;
            }
            let ended = neighbour.end()?;
            let mut share = mine.share();
            while share.neighbours > 0 {
                share = mine.wait_change(share.epoch, limit);
            }
            Ok(now_ns().saturating_sub(ended) as f64)
        })
        .collect()
}

/// A coordinated pool beside a program that does nothing, against a pool of the same size without a
/// table.
fn idle_table(scale: Scale, place: &Path, table: &Table) -> Result<Option<Line>, String> {
    let idle = member(table)?;
    idle.set_demand(0);
    let plain = Pool::builder().build().map_err(|error| error.to_string())?;
    let coordinated =
        Pool::builder().coordinate_in(place).build().map_err(|error| error.to_string())?;
    let began = now_ns();
    while coordinated.share().is_none() && now_ns() - began < 5_000_000_000 {
        std::thread::yield_now();
    }
    let loops = scale.pick(400, 2);
    let run = |pool: &Pool| {
        let began = now_ns();
        for _ in 0..loops {
            let sum: u64 = pool
                .run(|_| over(0..64_u64).map(|i| spin(1_000, i)).reduce(|| 0, u64::wrapping_add));
            std::hint::black_box(sum);
        }
        (now_ns() - began) as f64
    };
    let ratios: Vec<f64> = (0..scale.pick(60, 2))
        .map(|round| {
            if round % 2 == 0 {
                let plain = run(&plain);
                run(&coordinated) / plain
            } else {
                let coordinated = run(&coordinated);
                coordinated / run(&plain)
            }
        })
        .collect();
    let line = median(&ratios).map(|ratio| {
        let line =
            Line::single("a run beside an idle program".into(), "ratio", ratio, Unit::Number);
        line.at_most("ratio", 1.005, "at most 0.5 % more")
    });
    Ok(line)
}
