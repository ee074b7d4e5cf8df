//! The command line of `bench stamp`.

use super::inputs::{Input, NAMES, Size};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sinew_apps::Maps;
use std::num::NonZero;
use std::path::PathBuf;

/// The applications with transactions: serially, by hand, as worklists with stealing, and tuned,
/// interleaved in one run.
///
/// A table for each application: medians of the rounds, processor time, and the time relative to
/// the serial one and to that of hand-written transactions with as many threads, round by round;
/// "by hand again" shows the noise. Bars are printed as PASS or MISS, for information; the exit
/// status is 1 only after a wrong result.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Applications to run (default: all).
    #[arg(value_name = "APPLICATION", value_parser = PossibleValuesParser::new(NAMES))]
    names: Vec<String>,
    /// The size: tiny is a functional test, default takes some ten minutes for all, stamp are the
    /// suite's sizes for real machines.
    #[arg(long, value_enum, default_value = "default")]
    size: Size,
    /// The structures of maps, in the serial version and in transactions. balanced: trees and lists
    /// as in the suite, of the applications that have them.
    #[arg(long, value_name = "MAPS", default_value_t,
        value_parser = PossibleValuesParser::new(Maps::NAMES).try_map(|name| name.parse::<Maps>()))]
    maps: Maps,
    /// Threads of the pools, separated by commas.
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2")]
    threads: Vec<NonZero<u16>>,
    /// Rounds; every version runs once in each (default: 7; 1 for tiny, 3 for stamp).
    #[arg(long, value_name = "N")]
    rounds: Option<NonZero<u16>>,
    /// A checkout of the STAMP suite (github.com/kozyraki/stamp). Its programs in C run beside
    /// ours, with inputs of the same size. Their "÷ serial" is beside the suite's serial program.
    #[arg(long, value_name = "PATH", requires = "tinystm")]
    pub(super) suite: Option<PathBuf>,
    /// A checkout of TinySTM (github.com/patrickmarlier/tinystm) for them, in which `make` ran.
    #[arg(long, value_name = "PATH", requires = "suite")]
    pub(super) tinystm: Option<PathBuf>,
    /// Write everything, with every single time, to this file.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
}

impl Options {
    pub(super) fn size(&self) -> Size {
        self.size
    }

    pub(super) fn maps(&self) -> Maps {
        self.maps
    }

    /// Whether an application is to be run: its name was given, or no name was.
    pub(super) fn runs(&self, input: &Input) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| name == input.app)
    }

    pub(super) fn threads(&self) -> Vec<usize> {
        self.threads.iter().map(|threads| usize::from(threads.get())).collect()
    }

    pub(super) fn rounds(&self) -> usize {
        self.rounds.map_or(self.size.rounds(), |rounds| usize::from(rounds.get()))
    }
}
