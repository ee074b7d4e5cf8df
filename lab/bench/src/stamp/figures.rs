//! Medians, ratios within rounds, and bars.

use super::inputs::Input;
use super::rounds::{Rounds, Sample, Series, Version};
use crate::statistics::Summary;
use serde::Serialize;

/// Upper limits: of the time of the hand-written version; of the processor time for tuning; of the
/// part of the run until the tuner has settled.
const LIST: f64 = 1.03;
const TUNING: f64 = 0.01;
const SETTLING: f64 = 0.02;

/// One application.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    pub(super) app: &'static str,
    pub(super) what: String,
    pub(super) rows: Vec<Row>,
    pub(super) bars: Vec<Bar>,
    pub(super) wrong: Vec<String>,
}

/// One version with this number of threads.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) version: Version,
    pub(super) threads: usize,
    pub(super) wall: Option<Summary>,
    pub(super) processor_s: Option<f64>,
    pub(super) of_serial: Option<Summary>,
    /// Of the time of transactions by hand with as many threads.
    pub(super) of_by_hand: Option<Summary>,
    pub(super) abort_ratio: Option<f64>,
    pub(super) settling_share: Option<f64>,
    pub(super) tuning_share: Option<f64>,
    samples: Vec<Sample>,
}

/// The demand, and the measurement.
#[derive(Debug, Serialize)]
pub(super) struct Bar {
    pub(super) what: String,
    pub(super) measured: f64,
    pub(super) limit: f64,
    pub(super) passed: bool,
}

/// A version's ratio to transactions by hand, averaged over the applications.
#[derive(Debug, PartialEq)]
pub(super) struct Average {
    pub(super) version: Version,
    pub(super) threads: usize,
    pub(super) of_by_hand: f64,
}

impl Entry {
    pub(super) fn of(input: &Input, rounds: &Rounds) -> Self {
        let find = |version, threads| {
            rounds
                .series
                .iter()
                .find(|series| series.version == version && series.threads == threads)
        };
        let row = |series: &Series| {
            let serial = find(series.version.serial(), 1);
            Row::of(series, serial, find(Version::ByHand, series.threads))
        };
        let rows: Vec<Row> = rounds.series.iter().map(row).collect();
        let bars = bars(input, &rows);
        Self { app: input.app, what: rounds.what.clone(), rows, bars, wrong: rounds.wrong.clone() }
    }
}

impl Row {
    fn of(series: &Series, serial: Option<&Series>, by_hand: Option<&Series>) -> Self {
        let Series { version, threads, samples } = series;
        let median = |value: fn(&Sample) -> Option<f64>| {
            Summary::of(samples.iter().filter_map(value)).map(|summary| summary.median)
        };
        Self {
            version: *version,
            threads: *threads,
            wall: Summary::of(samples.iter().map(|sample| sample.wall_s)),
            processor_s: median(|sample| sample.processor_s),
            of_serial: serial.and_then(|serial| ratio(series, serial)),
            of_by_hand: by_hand
                .filter(|_| !version.is_serial())
                .and_then(|hand| ratio(series, hand)),
            abort_ratio: median(|sample| sample.abort_ratio),
            settling_share: median(|sample| sample.settling_share),
            tuning_share: median(|sample| sample.tuning_share),
            samples: samples.clone(),
        }
    }
}

/// Round by round: what both suffered in the same round cancels out.
fn ratio(of: &Series, by: &Series) -> Option<Summary> {
    Summary::of(of.samples.iter().zip(&by.samples).map(|(of, by)| of.wall_s / by.wall_s))
}

fn bars(input: &Input, rows: &[Row]) -> Vec<Bar> {
    rows.iter().flat_map(|row| bars_of(input, row, noise(rows, row.threads))).collect()
}

/// The relative difference of two runs of the same program.
fn noise(rows: &[Row], threads: usize) -> f64 {
    let again = rows.iter().find(|row| row.version == Version::Again && row.threads == threads);
    again.and_then(|row| row.of_by_hand).map_or(0.0, |ratio| (ratio.median - 1.0).abs())
}

fn bars_of(input: &Input, row: &Row, noise: f64) -> Vec<Bar> {
    let at = |what: &str| format!("{what}, {} threads", row.threads);
    let bar = |what: &str, measured: Option<f64>, limit: f64| {
        measured.map(|measured| Bar { what: at(what), measured, limit, passed: measured <= limit })
    };
    let of_by_hand = row.of_by_hand.map(|ratio| ratio.median);
    let compared = match row.version {
        Version::Worklist => {
            bar("worklist beside by hand, or the noise", of_by_hand, LIST.max(1.0 + noise))
        }
        Version::Suite => {
            bar("by hand beside the suite's C", of_by_hand.map(|ratio| 1.0 / ratio), 1.0)
        }
        _ => None,
    };
    // Few long units: an epoch is a good part of the run.
    let settling = row.settling_share.filter(|_| input.app != "labyrinth");
    let settling = bar("part of the run until tuning has settled", settling, SETTLING);
    let tuning = bar("tuner's part of the processor time", row.tuning_share, TUNING);
    [compared, settling, tuning].into_iter().flatten().collect()
}

/// Means of the medians.
pub(super) fn averages(entries: &[Entry]) -> Vec<Average> {
    let mut averages = Vec::new();
    let parallel = |row: &&Row| !row.version.is_serial();
    for row in entries.iter().flat_map(|entry| &entry.rows).filter(parallel) {
        let Row { version, threads, .. } = *row;
        if averages
            .iter()
            .any(|known: &Average| (known.version, known.threads) == (version, threads))
        {
            continue;
        }
        let same = |row: &&Row| (row.version, row.threads) == (version, threads);
        let ratios = entries.iter().flat_map(|entry| &entry.rows).filter(same);
        let ratios: Vec<f64> =
            ratios.filter_map(|row| row.of_by_hand).map(|ratio| ratio.median).collect();
        let of_by_hand = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
        averages.push(Average { version, threads, of_by_hand });
    }
    averages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(version: Version, threads: usize, walls: [f64; 2]) -> Series {
        let sample = |wall_s| Sample {
            wall_s,
            processor_s: None,
            abort_ratio: None,
            settling_share: (version == Version::Tuned).then_some(0.05),
            tuning_share: (version == Version::Tuned).then_some(0.001),
        };
        Series { version, threads, samples: walls.map(sample).into() }
    }

    fn entry() -> Entry {
        let maps = sinew_apps::Maps::default();
        let input = Input { app: "yada", size: "tiny", maps };
        let series = vec![
            series(Version::Serial, 1, [1.0, 10.0]),
            series(Version::ByHand, 2, [2.0, 20.0]),
            series(Version::Again, 2, [2.1, 21.0]),
            series(Version::Worklist, 2, [2.08, 20.8]),
            series(Version::Tuned, 2, [4.0, 40.0]),
            series(Version::SuiteSerial, 1, [4.0, 40.0]),
            series(Version::Suite, 2, [5.0, 50.0]),
        ];
        Entry::of(&input, &Rounds { what: "tiny".to_owned(), series, wrong: Vec::new() })
    }

    /// Catches: ratios of medians, which a machine that slows down spoils, and a bar that is
    /// lower than the noise.
    #[test]
    fn ratios_are_taken_within_rounds_and_noise_counts() {
        let entry = entry();
        let list = &entry.rows[3];
        assert!((list.of_serial.unwrap().median - 2.08).abs() < 1e-9);
        assert!((list.of_by_hand.unwrap().median - 1.04).abs() < 1e-9);
        assert!(
            entry.bars[0].passed && (entry.bars[0].limit - 1.05).abs() < 1e-9,
            "{:?}",
            entry.bars
        );
        let late: Vec<bool> = entry.bars[1..3].iter().map(|bar| bar.passed).collect();
        assert_eq!(late, [false, true], "{:?}", entry.bars);
    }

    /// Catches: a program of the suite that is compared with our serial version, or not with ours.
    #[test]
    fn programs_of_the_suite_have_a_serial_version_of_their_own() {
        let row = &entry().rows[6];
        assert!((row.of_serial.unwrap().median - 1.25).abs() < 1e-9);
        assert!((row.of_by_hand.unwrap().median - 2.5).abs() < 1e-9);
        let bar = &entry().bars[3];
        assert!(bar.passed && (bar.measured - 0.4).abs() < 1e-9, "{bar:?}");
    }

    /// Catches: an average over rows that are not the same.
    #[test]
    fn averages_are_those_of_the_same_version() {
        let averages = averages(&[entry(), entry()]);
        assert_eq!(averages.len(), 5);
        assert!((averages[3].of_by_hand - 2.0).abs() < 1e-9);
    }
}
