//! The environment variables that describe a pool; the table is at [`PoolBuilder::from_env`].

use std::error::Error;
use std::sync::OnceLock;
use std::time::Duration;

use sinew_topology::{CpuAssignment, Mapping, MappingError};

use crate::build_error::MAX_THREADS;
use crate::builder::{Fences, PoolBuilder, Spin};
use crate::host::machine;

/// The thread counts that `sinew exec` has set, as `NAME=VALUE`, separated by blanks. `sinew exec`
/// may narrow the mask while a pool is built; such a count is the number of CPUs of the machine,
/// and not a request of the user.
const EXEC_COUNTS: &str = "SINEW_EXEC_COUNTS";

/// The variables that are read.
const VARIABLES: [&str; 11] = [
    EXEC_COUNTS,
    "SINEW_THREADS",
    "SINEW_MAPPING",
    "SINEW_WAIT",
    "SINEW_VICTIMS",
    "SINEW_STACK",
    "SINEW_FENCES",
    "SINEW_SPIN_US",
    "SINEW_COORDINATE",
    "SINEW_WEIGHT",
    "SINEW_MIN_THREADS",
];

impl PoolBuilder {
    /// A builder with the settings of the environment, as the global pool has them.
    ///
    /// | variable | value | default |
    /// |---|---|---|
    /// | `SINEW_THREADS` | number of threads, at least 1 | the processors this process may use |
    /// | `SINEW_MAPPING` | `none`, `compact`, `scatter`, or a list of processors such as `0,2,4-7` | `none` |
    /// | `SINEW_WAIT` | `leapfrog`, `any`, `descendants`, `transitive` or `block` | `leapfrog` |
    /// | `SINEW_STACK` | `split`, or with the feature `experiments` `two-field` | `split` |
    /// | `SINEW_VICTIMS` | a victim policy such as `nearest`, `set:12,4` or `sorted:5,package,stay`; see [`Victims`](crate::Victims) | `random` |
    /// | `SINEW_FENCES` | `auto` or `full` | `auto` |
    /// | `SINEW_SPIN_US` | microseconds an idle worker spins before it parks | adaptive, 0 to 40 |
    /// | `SINEW_COORDINATE` | `1` or `0`: whether the pool shares the machine with others | `0` |
    /// | `SINEW_WEIGHT` | the program's weight among programs that share the machine, from 0.01 to 100 | 1 |
    /// | `SINEW_MIN_THREADS` | the smallest number of cores that the pool is granted, if there are enough | 1 |
    ///
    /// A value that does not parse is reported in one line on standard error, and the default is
    /// taken. So is a value that needs a feature with which the program was not built: `coordinate`
    /// for `SINEW_COORDINATE=1`, `experiments` for most victim policies and the two-field stack.
    /// Later calls of the builder's methods override the environment. The process
    /// reads the variables once, at their first use.
    pub fn from_env() -> Self {
        Self::new().set_from_env()
    }

    /// Applies the settings of the environment (see the table at [`from_env`](Self::from_env)) to
    /// this builder.
    pub fn set_from_env(self) -> Self {
        let texts = texts();
        if texts.is_empty() {
            return self;
        }
        let text_of =
            |name: &str| texts.iter().find(|(key, _)| *key == name).map(|(_, text)| text.clone());
        apply(self, &text_of, &|warning| eprintln!("sinew: {warning}"))
    }
}

/// The variables that are set, read when the process first builds a pool from them: a search of the
/// environment takes as long as the rest of the description.
fn texts() -> &'static [(&'static str, String)] {
    static TEXTS: OnceLock<Vec<(&str, String)>> = OnceLock::new();
    let text_of = |name| Some((name, std::env::var(name).ok()?));
    let texts: &Vec<_> =
        sinew_sync::fork::once(&TEXTS, || VARIABLES.into_iter().filter_map(text_of).collect());
    texts
}

/// The effect of a valid value on a description.
type Change = Box<dyn FnOnce(PoolBuilder) -> PoolBuilder>;

/// Reads the variable of a name, and makes the change that its value stands for.
type Set<'a> = dyn FnMut(&str, &dyn Fn(&str) -> Parsed) + 'a;

/// A change, or why the value is not valid.
type Parsed = Result<Change, Box<dyn Error>>;

fn change<T: 'static>(value: T, put: fn(PoolBuilder, T) -> PoolBuilder) -> Parsed {
    Ok(Box::new(move |builder| put(builder, value)))
}

fn apply(
    builder: PoolBuilder,
    read: &dyn Fn(&str) -> Option<String>,
    warn: &dyn Fn(String),
) -> PoolBuilder {
    let ours = read(EXEC_COUNTS).unwrap_or_default();
    let is_ours =
        |name: &str, text: &str| ours.split(' ').any(|count| count == format!("{name}={text}"));
    let mut builder = builder;
    let mut set = |name: &str, parse: &dyn Fn(&str) -> Parsed| {
        let Some(text) = read(name) else { return };
        match parse(text.trim()) {
            Ok(change) => builder = change(std::mem::take(&mut builder)),
            Err(error) => warn(format!("{name}={text} is ignored: {error}")),
        }
    };
    set("SINEW_THREADS", &|text| {
        let usual = is_ours("SINEW_THREADS", text);
        let put = if usual { PoolBuilder::usual_threads } else { PoolBuilder::threads };
        change(parse_threads(text)?, put)
    });
    set("SINEW_MAPPING", &|text| change(parse_mapping(text)?, PoolBuilder::mapping));
    set("SINEW_WAIT", &|text| change(text.parse()?, PoolBuilder::wait));
    set("SINEW_VICTIMS", &|text| change(text.parse()?, PoolBuilder::victims));
    set("SINEW_STACK", &|text| change(text.parse()?, PoolBuilder::stack));
    set("SINEW_FENCES", &|text| change(parse_fences(text)?, PoolBuilder::fences));
    set("SINEW_SPIN_US", &|text| change(Spin::For(parse_micros(text)?), PoolBuilder::spin));
    set_share(&mut set);
    builder
}

/// A request to share the machine.
#[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
fn set_share(set: &mut Set<'_>) {
    set("SINEW_COORDINATE", &|text| change(parse_coordinate(text, true)?, PoolBuilder::coordinate));
    set("SINEW_WEIGHT", &|text| change(parse_weight(text)?, PoolBuilder::weight));
    set("SINEW_MIN_THREADS", &|text| change(parse_threads(text)?, PoolBuilder::min_threads));
}

/// A program that was built without the feature reports such a request.
#[cfg(not(all(feature = "coordinate", not(any(loom, shuttle)))))]
fn set_share(set: &mut Set<'_>) {
    set("SINEW_COORDINATE", &|text| change(parse_coordinate(text, false)?, |builder, _| builder));
}

fn parse_threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads) if (1..=MAX_THREADS).contains(&threads) => Ok(threads),
        _ => Err(format!("not a number of threads from 1 to {MAX_THREADS}")),
    }
}

#[cfg(all(feature = "coordinate", not(any(loom, shuttle))))]
fn parse_weight(text: &str) -> Result<f64, String> {
    use sinew_coord::WEIGHTS;
    match text.parse() {
        Ok(weight) if WEIGHTS.contains(&weight) => Ok(weight),
        _ => Err(format!("not a weight from {} to {}", WEIGHTS.start(), WEIGHTS.end())),
    }
}

/// Also checks that this process may use the processors, because the pool that needs the mapping
/// cannot report an error.
fn parse_mapping(text: &str) -> Result<Mapping, MappingError> {
    let mapping = text.parse()?;
    let (machine, limits) = machine();
    CpuAssignment::new(machine, limits.allowed(), &mapping, 1)?;
    Ok(mapping)
}

fn parse_fences(text: &str) -> Result<Fences, &'static str> {
    match text {
        "auto" => Ok(Fences::Auto),
        "full" => Ok(Fences::Full),
        _ => Err("use `auto` or `full`"),
    }
}

fn parse_micros(text: &str) -> Result<Duration, &'static str> {
    text.parse().map(Duration::from_micros).map_err(|_| "not a number of microseconds")
}

fn parse_switch(text: &str) -> Result<bool, &'static str> {
    match text {
        "1" | "true" | "on" => Ok(true),
        "0" | "false" | "off" | "" => Ok(false),
        _ => Err("use `1` or `0`"),
    }
}

/// Whether the pool coordinates; it can if the feature `is_compiled` into the program.
fn parse_coordinate(text: &str, is_compiled: bool) -> Result<bool, &'static str> {
    match parse_switch(text)? {
        true if !is_compiled => Err("the program was built without Sinew's feature `coordinate`"),
        coordinates => Ok(coordinates),
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Catches: a program that ignores the request without a message, or prints one when sharing is
    /// switched off.
    #[test]
    fn a_program_that_cannot_coordinate_says_so_where_it_is_asked_to() {
        let parse = |text| [true, false].map(|is_compiled| parse_coordinate(text, is_compiled));
        assert_eq!(parse("0"), [Ok(false), Ok(false)]);
        let [can, cannot] = parse("1");
        assert_eq!(can, Ok(true));
        assert!(cannot.unwrap_err().contains("without Sinew's feature `coordinate`"));
        assert_eq!(parse("2"), [Err("use `1` or `0`"); 2]);
    }

    fn with(variables: &[(&str, &str)]) -> (String, Vec<String>) {
        let warnings = RefCell::new(Vec::new());
        let read = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        let builder =
            apply(PoolBuilder::new(), &read, &|warning| warnings.borrow_mut().push(warning));
        (format!("{builder:?}"), warnings.into_inner())
    }

    /// Catches: a variable that is not read because it is not in the list.
    #[test]
    fn the_list_has_every_variable_that_is_read() {
        let asked = RefCell::new(Vec::new());
        let ask = |name: &str| {
            asked.borrow_mut().push(name.to_owned());
            None
        };
        apply(PoolBuilder::new(), &ask, &|_| ());
        assert_eq!(asked.into_inner(), VARIABLES);
    }

    /// Catches: a variable that is read and not used.
    #[test]
    fn every_variable_reaches_the_builder() {
        let (builder, warnings) = with(&[
            ("SINEW_THREADS", "3"),
            ("SINEW_MAPPING", "compact"),
            ("SINEW_WAIT", "block"),
            ("SINEW_STACK", "two-field"),
            ("SINEW_VICTIMS", "most-loaded:3"),
            ("SINEW_FENCES", " full "),
            ("SINEW_SPIN_US", "7"),
            ("SINEW_COORDINATE", "on"),
            ("SINEW_WEIGHT", "2.5"),
            ("SINEW_MIN_THREADS", "2"),
        ]);
        assert_eq!(warnings, [""; 0]);
        for part in [
            "threads: Some(3)",
            "mapping: Compact",
            "wait: Block",
            "stack: TwoField",
            "victims: MostLoaded { every: 3 }",
            "fences: Full",
            "spin: For(7µs)",
            "coordinate: true",
            "weight: 2.5",
            "min_threads: 2",
        ] {
            assert!(builder.contains(part), "{part} is not in {builder}");
        }
    }

    /// Catches: a bad value that stops the program, is used, or is ignored without a message.
    #[test]
    fn a_bad_value_is_one_warning_and_the_default() {
        for (name, value) in [
            ("SINEW_THREADS", "0"),
            ("SINEW_THREADS", "many"),
            ("SINEW_MAPPING", "everywhere"),
            ("SINEW_MAPPING", "123456"),
            ("SINEW_WAIT", "forever"),
            ("SINEW_VICTIMS", "weakest"),
            ("SINEW_STACK", "three-field"),
            ("SINEW_VICTIMS", "sorted:5,socket"),
            ("SINEW_FENCES", "half"),
            ("SINEW_SPIN_US", "-1"),
            ("SINEW_COORDINATE", "2"),
            ("SINEW_WEIGHT", "0"),
            ("SINEW_WEIGHT", "NaN"),
            ("SINEW_WEIGHT", "heavy"),
            ("SINEW_MIN_THREADS", "0"),
        ] {
            let (builder, warnings) = with(&[(name, value)]);
            assert_eq!(warnings.len(), 1);
            assert!(warnings[0].contains(name) && warnings[0].contains(value), "{warnings:?}");
            assert_eq!(builder, with(&[]).0);
        }
    }
    /// Catches: a count of `sinew exec` that is treated as the user's, so that the pool neither has
    /// the machine's slots nor follows its mask; a count that overrides the program's.
    #[test]
    fn a_count_that_sinew_exec_lists_is_what_the_machine_has() {
        let with = |listed: &'static str| {
            let read = move |name: &str| match name {
                "SINEW_THREADS" => Some("3".to_owned()),
                EXEC_COUNTS => Some(listed.to_owned()),
                _ => None,
            };
            apply(PoolBuilder::new(), &read, &|_| ())
        };
        let pool = with("OMP_NUM_THREADS=4 SINEW_THREADS=3").build().unwrap();
        assert_eq!((pool.max_threads(), pool.state.limit.follows()), (3, true));
        for listed in ["", "SINEW_THREADS=4", "OMP_NUM_THREADS=3"] {
            let pool = with(listed).build().unwrap();
            assert_eq!((pool.max_threads(), pool.state.limit.follows()), (3, false), "{listed}");
        }
        let pool = with("SINEW_THREADS=3").threads(2).build().unwrap();
        assert_eq!((pool.max_threads(), pool.state.limit.follows()), (2, false));
    }
}
