//! What the user may choose about an application, and what is said when the choice is impossible.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use sinew::Schedule;
use sinew::locality::PlacementError;
use sinew::worklist::Tuning;

use crate::loops::LoopSchedule;
use crate::record::Record;

/// How large a problem to prepare.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Size {
    /// Some milliseconds even without optimisation: for tests.
    Tiny,
    /// Well below a second.
    Small,
    /// The published parameters.
    #[default]
    Full,
    /// The application's own notation, usually a number.
    Exact(String),
}

impl FromStr for Size {
    type Err = Infallible;

    /// `tiny`, `small` and `full`; anything else is [`Size::Exact`], judged when the application is
    /// prepared.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "tiny" => Self::Tiny,
            "small" => Self::Small,
            "full" => Self::Full,
            other => Self::Exact(other.to_owned()),
        })
    }
}

/// What to prepare an application with.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How large.
    pub size: Size,
    /// The schedule of its loops; without one, each application has its own, which is open to
    /// schedules that its pool is given or granted.
    pub schedule: Option<Schedule>,
    /// What is read: the folder with the text to count words in (without one, the sources that
    /// cargo has downloaded), or the file with an application's input (without one, it is
    /// generated).
    pub path: Option<PathBuf>,
    /// Whether applications with transactions run the version that is written by hand instead of
    /// the worklist.
    pub by_hand: bool,
    /// How worklists are tuned; without one, each worker has a list and steals.
    pub tuning: Option<Tuning>,
    /// Where runs of worklists are recorded.
    pub record: Record,
}

impl Options {
    /// The schedule of loops that are to have `default` if the user asks for none.
    pub(crate) fn schedule_or(&self, default: Schedule) -> LoopSchedule {
        self.schedule.map_or(LoopSchedule::Open(default), LoopSchedule::Named)
    }
}

/// Why an application could not be prepared.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The application has no such size.
    Size {
        /// The application's name.
        app: &'static str,
        /// What was asked for.
        given: String,
        /// What may be asked for.
        sizes: &'static str,
    },
    /// The pages cannot lie where they are to.
    Placement(PlacementError),
    /// The input does not fit into memory.
    Memory {
        /// The application's name.
        app: &'static str,
        /// What was asked for.
        bytes: u64,
    },
    /// The folder cannot be read.
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no source file below the folder, or none that is small enough.
    NoText {
        /// The folder.
        path: PathBuf,
        /// The size that was asked for, in bytes.
        limit: u64,
    },
    /// No folder was given, and cargo has not downloaded any sources.
    NoFolder,
    /// The file cannot be read.
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file does not hold what the application reads.
    Input {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there, and what is expected.
        problem: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { app, given, sizes } => {
                write!(f, "{app} has no size `{given}`: choose tiny, small, full or {sizes}")
            }
            Self::Placement(error) => error.fmt(f),
            Self::Memory { app, bytes } => {
                write!(f, "{app} finds no room for {bytes} bytes: choose a smaller size")
            }
            Self::Folder { path, source } => {
                write!(
                    f,
                    "cannot read the folder `{}`: {source}; give another with --path",
                    path.display()
                )
            }
            Self::NoText { path, limit } => {
                let path = path.display();
                write!(
                    f,
                    "no source file of at most {limit} bytes below `{path}`: give another folder with --path"
                )
            }
            Self::NoFolder => f.write_str(
                "cargo has downloaded no sources here: give a folder of source files with --path",
            ),
            Self::File { path, source } => {
                write!(
                    f,
                    "cannot read the file `{}`: {source}; give another with --path",
                    path.display()
                )
            }
            Self::Input { path, line, problem } => {
                write!(f, "`{}`, line {line}: {problem}", path.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Folder { source, .. } | Self::File { source, .. } => Some(source),
            Self::Placement(error) => Some(error),
            _ => None,
        }
    }
}

/// Named sizes and the range of exact ones: what most applications need of a [`Size`].
#[derive(Debug)]
pub(crate) struct Numbers {
    pub(crate) app: &'static str,
    pub(crate) sizes: &'static str,
    pub(crate) tiny: u64,
    pub(crate) small: u64,
    pub(crate) full: u64,
    pub(crate) range: RangeInclusive<u64>,
}

impl Numbers {
    /// The number a size stands for; digits may be grouped with `_`.
    pub(crate) fn pick(&self, size: &Size) -> Result<u64, Error> {
        let text = match size {
            Size::Tiny => return Ok(self.tiny),
            Size::Small => return Ok(self.small),
            Size::Full => return Ok(self.full),
            Size::Exact(text) => text,
        };
        let number =
            text.replace('_', "").parse().ok().filter(|number| self.range.contains(number));
        number.ok_or_else(|| Error::Size { app: self.app, given: text.clone(), sizes: self.sizes })
    }
}

/// Stealing, coalescing, swaps and helpers, alone and together, and the tuner: what a worklist is
/// tested under.
#[cfg(test)]
pub(crate) fn tunings() -> Vec<Option<Tuning>> {
    use sinew::worklist::Settings;
    let base = Settings::baseline(4);
    let fixed = [
        base,
        base.stealing(true),
        base.coalescing(true),
        base.swap_after(Some(1)),
        Settings::baseline(2).lifespan(1_000),
        base.stealing(true).coalescing(true).swap_after(Some(2)),
        Settings::baseline(2).stealing(true).coalescing(true).swap_after(Some(1)).lifespan(10),
    ];
    let fixed = fixed.into_iter().map(|settings| Some(Tuning::Fixed(settings)));
    fixed.chain([None, Some(Tuning::Auto)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: Numbers =
        Numbers { app: "x", sizes: "1 to 9000", tiny: 1, small: 2, full: 3, range: 1..=9000 };

    #[test]
    fn sizes_have_names_and_numbers() {
        for (text, number) in [("tiny", 1), ("small", 2), ("full", 3), ("1", 1), ("9_000", 9000)] {
            assert_eq!(NUMBERS.pick(&text.parse().unwrap()).unwrap(), number, "{text}");
        }
    }

    #[test]
    fn an_impossible_size_is_named_in_one_line_with_the_way_out() {
        for text in ["0", "9001", "-1", "huge", "", "99999999999999999999"] {
            let message = NUMBERS.pick(&text.parse().unwrap()).unwrap_err().to_string();
            assert!(
                message.contains(&format!("`{text}`")) && message.contains("1 to 9000"),
                "{message}"
            );
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
