//! Values of several subcommands, each with the message for an invalid one.

use sinew::{Schedule, ScheduleError};
use sinew_sim::programs::Power;

/// Parses a number of at least one.
pub(crate) fn count(text: &str) -> Result<usize, &'static str> {
    match text.parse() {
        Ok(0) | Err(_) => Err("give a whole number from 1"),
        Ok(count) => Ok(count),
    }
}

/// OpenMP's notation, with a comma, is accepted as well.
pub(crate) fn schedule(text: &str) -> Result<Schedule, ScheduleError> {
    match text.split_once(',') {
        Some((name, number)) => format!("{}:{}", name.trim(), number.trim()).parse(),
        None => text.parse(),
    }
}

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("give a whole number from 0 to {}", u64::MAX))
}

/// Parses the watts of an idle machine and of a busy core.
pub(crate) fn watts(text: &str) -> Result<Power, &'static str> {
    let number = |text: &str| text.trim().parse().ok().filter(|watts| (0.0..=1e9).contains(watts));
    let both = text.split_once(',').and_then(|(idle, core)| number(idle).zip(number(core)));
    let power = both.map(|(idle_w, core_w)| Power { idle_w, core_w });
    power.ok_or("give two numbers from 0, for example 20,5")
}

/// Parses a number of runs, at least one.
pub(crate) fn runs(text: &str) -> Result<u64, &'static str> {
    count(text).map(|count| count as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watts_are_two_numbers() {
        assert_eq!(watts("20, 4.5"), Ok(Power { idle_w: 20.0, core_w: 4.5 }));
        for text in ["", "20", "20,", "-1,5", "20,5,5", "20,inf", "nan,1"] {
            assert!(watts(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_schedule_may_be_written_with_a_colon_or_a_comma() {
        for text in ["dynamic:64", "dynamic,64", "dynamic, 64"] {
            assert_eq!(schedule(text).unwrap(), Schedule::Dynamic { chunk: 64 });
        }
        for text in ["dynamic,0", "guided,0", "guide,3", "static,4", "dynamic,", "dynamic,1,2"] {
            assert!(schedule(text).is_err(), "{text}");
        }
    }
}
