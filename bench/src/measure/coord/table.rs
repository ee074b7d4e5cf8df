//! What the table itself costs: joining, a run beside programs that do nothing, and how soon the dead are found.

use std::path::Path;
use std::time::Duration;

use sinew_coord::{Member, Offer, Table};
use sinew_sync::clock::now_ns;

use super::program::Program;
use crate::measure::{Line, Unit};
use crate::problem::Scale;
use crate::runtimes::sinew::{Pool, over};
use crate::statistics::quantile;
use crate::work::spin;

pub(super) fn run(scale: Scale, place: &Path) -> Result<Vec<Line>, String> {
    let table = Table::open(place).map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    for others in [0, 3, 15] {
        let line = Line::percentiles(format!("join {others} programs"), joining(scale, &table, others)?);
        lines.extend(line.map(|line| line.at_most("median", 1e6, "at most 1 ms")));
    }
    let line = Line::percentiles("cores of a killed program are back".into(), dying(scale, place, &table)?);
    lines.extend(line.map(|line| line.at_most("90 %", 1e7, "at most 10 ms")));
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

/// From the kill to the moment at which the neighbour has everything.
fn dying(scale: Scale, place: &Path, table: &Table) -> Result<Vec<f64>, String> {
    let mine = member(table)?;
    let all = mine.share().threads;
    let patience = Duration::from_secs(20);
    (0..scale.pick(50, 2))
        .map(|_| {
            let mut program = Program::start(usize::MAX >> 8, Some(place))?.go()?;
            let mut share = mine.share();
            while share.neighbours == 0 || share.threads == all && all > 1 {
                let next = mine.wait_change(share.epoch, patience);
                if next == share {
                    return Err("a program does not join".to_owned());
                }
                share = next;
            }
            let began = now_ns();
            program.kill();
            while share.neighbours > 0 {
                share = mine.wait_change(share.epoch, patience);
            }
            Ok((now_ns() - began) as f64)
        })
        .collect()
}

/// A coordinated pool beside a program that does nothing, against a pool of the same size without a table.
fn idle_table(scale: Scale, place: &Path, table: &Table) -> Result<Option<Line>, String> {
    let idle = member(table)?;
    idle.set_demand(0);
    let plain = Pool::builder().build().map_err(|error| error.to_string())?;
    let coordinated = Pool::builder().coordinate_in(place).build().map_err(|error| error.to_string())?;
    let began = now_ns();
    while coordinated.share().is_none() && now_ns() - began < 5_000_000_000 {
        std::thread::yield_now();
    }
    let loops = scale.pick(400, 2);
    let run = |pool: &Pool| {
        let began = now_ns();
        for _ in 0..loops {
            let sum: u64 = pool
                .run(|_| over(0..64_usize).map_reduce(|i| spin(1_000, i as u64), || 0, u64::wrapping_add));
            std::hint::black_box(sum);
        }
        (now_ns() - began) as f64
    };
    let mut ratios: Vec<f64> = (0..scale.pick(60, 2))
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
    ratios.sort_by(f64::total_cmp);
    let line = quantile(&ratios, 0.5).map(|ratio| {
        let line = Line::single("a run beside an idle program".into(), "ratio", ratio, Unit::Number);
        line.at_most("ratio", 1.005, "at most 0.5 % more")
    });
    Ok(line)
}
