//! Settings parsed from text: `4 threads, stealing, helpers 100, coalescing, swap 2`.
//!
//! It reads the form that [`Settings`] prints; the order of the parts is free.
//!
//! # Tests
//!
//! A property test that printed settings are parsed to the same; each wrong word, with its message.

use std::fmt;
use std::str::FromStr;

use super::Settings;

/// The error for a text that is not a worklist's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingsError {
    /// A part that is not a setting, or whose number is not one.
    Unknown(String),
    /// A setting that occurs twice.
    Repeated(String),
    /// The number of threads is missing.
    NoThreads(String),
}

const EXPECTED: &str = "write the number of threads, then any of stealing, helpers WORDS, \
                        coalescing and swap RETRIES, for example `2 threads, stealing, helpers \
                        100, coalescing, swap 2`";

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(word) => write!(f, "`{word}` is not a setting of a worklist: {EXPECTED}"),
            Self::Repeated(word) => write!(f, "`{word}` repeats a setting: {EXPECTED}"),
            Self::NoThreads(text) => write!(f, "`{text}` has no number of threads: {EXPECTED}"),
        }
    }
}

impl std::error::Error for SettingsError {}

/// The parts read so far.
#[derive(Debug, Default)]
struct Parts {
    threads: Option<usize>,
    stealing: Option<()>,
    lifespan: Option<u32>,
    coalescing: Option<()>,
    swap_after: Option<u32>,
}

impl Parts {
    fn read(&mut self, part: &str) -> Result<(), SettingsError> {
        let unknown = || SettingsError::Unknown(part.to_owned());
        let (word, rest) =
            part.split_once(' ').map_or((part, None), |(word, rest)| (word, Some(rest.trim())));
        let new = match (word, rest) {
            ("stealing", None) => self.stealing.replace(()).is_none(),
            ("coalescing", None) => self.coalescing.replace(()).is_none(),
            ("helpers", Some(words)) => {
                self.lifespan.replace(positive(words).ok_or_else(unknown)?).is_none()
            }
            ("swap", Some(retries)) => {
                self.swap_after.replace(retries.parse().map_err(|_| unknown())?).is_none()
            }
            (threads, Some("thread" | "threads")) => {
                let threads = positive(threads).ok_or_else(unknown)?;
                self.threads.replace(threads as usize).is_none()
            }
            _ => return Err(unknown()),
        };
        if new { Ok(()) } else { Err(SettingsError::Repeated(part.to_owned())) }
    }
}

fn positive(text: &str) -> Option<u32> {
    text.parse().ok().filter(|&number| number > 0)
}

impl FromStr for Settings {
    type Err = SettingsError;

    /// Reads the form that [`Settings`] prints; the order of the parts does not matter.
    fn from_str(text: &str) -> Result<Self, SettingsError> {
        let mut parts = Parts::default();
        text.split(',').map(str::trim).try_for_each(|part| parts.read(part))?;
        let threads =
            parts.threads.ok_or_else(|| SettingsError::NoThreads(text.trim().to_owned()))?;
        Ok(Self::baseline(threads)
            .stealing(parts.stealing.is_some())
            .lifespan(parts.lifespan.unwrap_or(0))
            .coalescing(parts.coalescing.is_some())
            .swap_after(parts.swap_after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn settings() -> impl Strategy<Value = Settings> {
        let parts = (
            1..=u32::MAX,
            any::<bool>(),
            any::<u32>(),
            any::<bool>(),
            proptest::option::of(any::<u32>()),
        );
        parts.prop_map(|(threads, stealing, lifespan, coalescing, swap_after)| {
            let settings =
                Settings::baseline(threads as usize).stealing(stealing).lifespan(lifespan);
            settings.coalescing(coalescing).swap_after(swap_after)
        })
    }

    proptest! {
        /// Catches: a setting that is printed in a form that is not read, or read as another.
        #[test]
        fn settings_are_read_as_they_are_printed(settings in settings()) {
            prop_assert_eq!(settings.to_string().parse(), Ok(settings));
        }

        /// Catches: a text that is neither read nor refused.
        #[test]
        fn any_text_is_read_or_refused_in_one_line(text in "[a-z0-9 ,-]{0,40}") {
            if let Err(error) = text.parse::<Settings>() {
                prop_assert_eq!(error.to_string().lines().count(), 1);
            }
        }
    }

    /// Catches: a message that does not name the part, or the valid parts.
    #[test]
    fn a_part_that_is_no_setting_is_named() {
        let error = |text: &str| text.parse::<Settings>().unwrap_err();
        for (text, part) in [
            ("2 threads, steeling", "steeling"),
            ("0 threads", "0 threads"),
            ("two threads", "two threads"),
            ("-1 threads", "-1 threads"),
            ("2 threads, helpers", "helpers"),
            ("2 threads, helpers 0", "helpers 0"),
            ("2 threads, swap often", "swap often"),
            ("2 threads, stealing 3", "stealing 3"),
            ("2 threads,", ""),
            ("", ""),
        ] {
            assert_eq!(error(text), SettingsError::Unknown(part.to_owned()), "{text}");
        }
        assert_eq!(error("1 thread, 2 threads"), SettingsError::Repeated("2 threads".to_owned()));
        assert_eq!(
            error("stealing, swap 2"),
            SettingsError::NoThreads("stealing, swap 2".to_owned())
        );
        let message = error("2 threads, steeling").to_string();
        assert!(message.contains("`steeling`") && message.contains("coalescing"), "{message}");
    }

    /// Catches: a fixed order, or fixed spaces, in the text.
    #[test]
    fn order_and_spaces_are_free() {
        let settings = Settings::baseline(2).stealing(true).swap_after(Some(4));
        assert_eq!(" swap  4 ,stealing,2  threads ".parse(), Ok(settings));
    }
}
