//! Programs from text, one line each.
//!
//! ```text
//! # a kind of program, and how it scales
//! kind solver  curve 1:1 2:1.9 4:3.4 8:5  max 16  weight 2
//! kind render  serial 0.05  min 2
//! # effect of the second on the first in the same cache
//! effect solver render -0.2
//! # seconds; work on one core
//! program solver at 0 work 10
//! program render at 1.5 work 30 dies 20
//! # many, with times between them and work as distributions of seconds
//! many 100 solver from 5 every exp:0.5 work pareto:2,1.5
//! ```

use std::fmt;
use std::str::FromStr;

use super::SECOND;
use super::mix::{Arrival, Kind, Mix, SpeedUp};
use crate::queue::Time;
use crate::random::{Duration, is_within, mix};

/// Greatest number of programs in a file.
const MOST: usize = 10_000_000;

/// A text that does not describe programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixTextError {
    line: usize,
    what: String,
}

impl fmt::Display for MixTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {} of the programs: {}; write for example `kind solver serial 0.05` and \
             `program solver at 0 work 10`",
            self.line, self.what
        )
    }
}

impl std::error::Error for MixTextError {}

impl FromStr for Mix {
    type Err = MixTextError;

    /// Reads lines as shown in the module's documentation.
    ///
    /// # Errors
    ///
    /// Names the line and the error.
    fn from_str(text: &str) -> Result<Self, MixTextError> {
        let mut read = Self::default();
        for (at, line) in text.lines().enumerate() {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or("").split_whitespace().collect();
            read.add(&words).map_err(|what| MixTextError { line: at + 1, what })?;
        }
        // Consistency between lines can be checked only at the end.
        read.check().map_err(|error| MixTextError {
            line: text.lines().count(),
            what: error.to_string(),
        })?;
        Ok(read)
    }
}

impl Mix {
    fn add(&mut self, words: &[&str]) -> Result<(), String> {
        match words {
            [] => {}
            ["kind", name, rest @ ..] => self.kinds.push(kind(name, rest)?),
            ["effect", program, neighbour, change] => {
                let effect = (self.kind_of(program)?, self.kind_of(neighbour)?, number(change)?);
                self.effects.push(effect);
            }
            ["program", name, rest @ ..] => {
                let kind = self.kind_of(name)?;
                self.arrivals.push(arrival(kind, rest)?);
            }
            ["many", count, name, rest @ ..] => {
                let count = count.parse().ok().filter(|count| *count <= MOST);
                let count =
                    count.ok_or_else(|| format!("`{}` is not a number up to {MOST}", words[1]))?;
                let kind = self.kind_of(name)?;
                self.add_many(count, kind, rest)?;
            }
            [other, ..] => {
                return Err(format!("`{other}` is none of kind, effect, program and many"));
            }
        }
        Ok(())
    }

    fn kind_of(&self, name: &str) -> Result<usize, String> {
        self.kinds
            .iter()
            .position(|kind| kind.name == name)
            .ok_or_else(|| format!("there is no kind `{name}`"))
    }

    fn add_many(&mut self, count: usize, kind: usize, words: &[&str]) -> Result<(), String> {
        let (mut at, mut every, mut work) = (0, Duration::ZERO, None);
        for pair in words.chunks(2) {
            match pair {
                ["from", from] => at = seconds(from)?,
                ["every", text] => every = drawn_seconds(text)?,
                ["work", text] => work = Some(drawn_seconds(text)?),
                _ => {
                    return Err(format!(
                        "`{}` is none of from, every and work with a time",
                        pair.join(" ")
                    ));
                }
            }
        }
        let work = work.ok_or("it has no work")?;
        let first = self.arrivals.len() as u64;
        for number in 0..count as u64 {
            let bits = mix(mix(first) ^ number);
            let arrival = Arrival { at, kind, work: work.draw(mix(!bits)), dies_after: None };
            self.arrivals.push(arrival);
            at += every.draw(bits);
        }
        Ok(())
    }
}

fn kind(name: &str, words: &[&str]) -> Result<Kind, String> {
    let mut kind = Kind::new(name, 0.0);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value =
            || words.next().copied().ok_or_else(|| format!("`{word}` is followed by nothing"));
        match *word {
            "serial" => kind.speed_up = SpeedUp::Serial(number(value()?)?),
            "max" => kind.max = cores(value()?)?,
            "min" => kind.min = cores(value()?)?,
            "weight" => kind.weight = number(value()?)?,
            "curve" => kind.speed_up = SpeedUp::Measured(Vec::new()),
            point => add_point(&mut kind.speed_up, point)?,
        }
    }
    Ok(kind)
}

fn add_point(speed_up: &mut SpeedUp, text: &str) -> Result<(), String> {
    let point = || {
        let (cores, speed) = text.split_once(':')?;
        Some((cores.parse::<u32>().ok()?, speed.parse::<f64>().ok()?))
    };
    match (speed_up, point()) {
        (SpeedUp::Measured(points), Some(point)) => {
            points.push(point);
            Ok(())
        }
        _ => Err(format!(
            "`{text}` is none of serial, max, min, weight and curve, nor a point such as 4:3.5 of \
             a curve"
        )),
    }
}

fn arrival(kind: usize, words: &[&str]) -> Result<Arrival, String> {
    let mut arrival = Arrival { at: 0, kind, work: 0, dies_after: None };
    for pair in words.chunks(2) {
        match pair {
            ["at", time] => arrival.at = seconds(time)?,
            ["work", time] => arrival.work = seconds(time)?,
            ["dies", time] => arrival.dies_after = Some(seconds(time)?),
            _ => {
                return Err(format!(
                    "`{}` is none of at, work and dies with a time",
                    pair.join(" ")
                ));
            }
        }
    }
    Ok(arrival)
}

fn number(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|number| number.is_finite())
        .ok_or_else(|| format!("`{text}` is not a number"))
}

fn cores(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|cores| *cores > 0)
        .ok_or_else(|| format!("`{text}` is not a number of cores"))
}

fn seconds(text: &str) -> Result<Time, String> {
    match text.parse::<f64>() {
        Ok(seconds) if is_within(&(0.0..=1e6), seconds) => {
            Ok(libm::round(seconds * SECOND as f64) as Time)
        }
        _ => Err(format!("`{text}` is not a number of seconds from 0 to 1000000")),
    }
}

fn drawn_seconds(text: &str) -> Result<Duration, String> {
    Duration::in_units(text, SECOND).ok_or_else(|| {
        format!(
            "`{text}` is no distribution of seconds such as 12.5, uniform:10,20, exp:100 or \
             pareto:10,1.5"
        )
    })
}
