//! Machines from a line of text: `package:4 node:2 l3:1 l2:4 core:1 pu:2`.
//!
//! Each token gives the number of objects *in each* object before it. Levels are written from the
//! outside in and may be left out. Without `package` there is one; without `core` or `pu` there is
//! one in each enclosing object; without a node or a cache the machine has none. CPUs are numbered
//! in tree order. The name of a machine (`named`) stands for its description.

use std::fmt;
use std::str::FromStr;

use crate::assemble::{CpuFacts, Facts, assemble};
use crate::machine::{Level, Machine, Node, Source};
use crate::named;
use sinew_cpus::{CpuSet, MAX_CPUS, shorten};

const ORDER: &str = "write the levels from the outside in: package node l3 l2 core pu";

/// The error for a description that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescriptionError {
    token: String,
    what: Wrong,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Wrong {
    Empty,
    Form,
    UnknownLevel,
    Count,
    Order,
    TooLarge,
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = &self.token;
        match self.what {
            Wrong::Empty => f.write_str(
                "an empty machine description: write for example `package:2 core:4 pu:2`",
            ),
            Wrong::Form => {
                let names = named::machine_names();
                write!(
                    f,
                    "`{token}` is not of the form level:count, for example `core:4`, nor a machine \
                     with a name ({names})"
                )
            }
            Wrong::UnknownLevel => {
                write!(f, "`{token}` does not begin with package, node, l3, l2, core or pu")
            }
            Wrong::Count => {
                write!(f, "the count in `{token}` is not a number from 1 to {MAX_CPUS}")
            }
            Wrong::Order => write!(f, "`{token}` is out of place: {ORDER}, each at most once"),
            Wrong::TooLarge => write!(f, "with `{token}` the machine has more than {MAX_CPUS} PUs"),
        }
    }
}

impl std::error::Error for DescriptionError {}

impl FromStr for Machine {
    type Err = DescriptionError;

    /// Reads `package:4 l3:1 core:2 pu:2`. Blanks separate tokens. Besides `package`, `node`, `l3`,
    /// `l2`, `core` and `pu` it accepts `socket` and `numa`, and ignores case. One of the
    /// [`machine_names`](crate::machine_names), such as `dunnington`, stands for that machine.
    ///
    /// # Errors
    ///
    /// Names the token that is unknown, out of place or too large.
    fn from_str(text: &str) -> Result<Self, DescriptionError> {
        let text = named::description(text).unwrap_or(text);
        let tokens = parse(text)?;
        Ok(assemble(facts(text.split_whitespace().collect::<Vec<_>>().join(" "), &tokens)))
    }
}

fn parse(text: &str) -> Result<Vec<(Level, usize)>, DescriptionError> {
    let mut tokens: Vec<(Level, usize)> = Vec::new();
    let mut total = 1_usize;
    for token in text.split_whitespace() {
        let wrong = |what| DescriptionError { token: shorten(token), what };
        let (level, count) = parse_token(token).map_err(wrong)?;
        if tokens.last().is_some_and(|(outside, _)| *outside >= level) {
            return Err(wrong(Wrong::Order));
        }
        // Both are at most MAX_CPUS, so this cannot overflow.
        total *= count;
        if total > MAX_CPUS {
            return Err(wrong(Wrong::TooLarge));
        }
        tokens.push((level, count));
    }
    if tokens.is_empty() {
        return Err(DescriptionError { token: String::new(), what: Wrong::Empty });
    }
    Ok(tokens)
}

fn parse_token(token: &str) -> Result<(Level, usize), Wrong> {
    let (level, count) = token.split_once(':').ok_or(Wrong::Form)?;
    let level = match level.to_ascii_lowercase().as_str() {
        "package" | "socket" => Level::Package,
        "node" | "numa" => Level::Node,
        "l3" => Level::L3,
        "l2" => Level::L2,
        "core" => Level::Core,
        "pu" => Level::Pu,
        _ => return Err(Wrong::UnknownLevel),
    };
    let count = count.parse().map_err(|_| Wrong::Count)?;
    if (1..=MAX_CPUS).contains(&count) { Ok((level, count)) } else { Err(Wrong::Count) }
}

fn facts(description: String, tokens: &[(Level, usize)]) -> Facts {
    let total = tokens.iter().map(|(_, count)| count).product();
    let mut facts = Facts {
        source: Source::Synthetic(description),
        cpus: (0..total).map(CpuFacts::alone).collect(),
        ..Facts::flat(&CpuSet::new())
    };
    let mut inside = total;
    for &(level, count) in tokens {
        inside /= count;
        if level != Level::Pu {
            facts.cpus.iter_mut().for_each(|cpu| cpu.groups[level.slot()] = Some(cpu.cpu / inside));
        }
        if level == Level::Node {
            facts.nodes = nodes(total, inside);
        }
    }
    share_cores(&mut facts.cpus, tokens);
    facts
}

/// Without `core`, the innermost object around the PUs is one core.
fn share_cores(cpus: &mut [CpuFacts], tokens: &[(Level, usize)]) {
    let has_core = tokens.iter().any(|(level, _)| *level == Level::Core);
    if let (false, Some(&(Level::Pu, count))) = (has_core, tokens.last()) {
        cpus.iter_mut().for_each(|cpu| cpu.groups[Level::Core.slot()] = Some(cpu.cpu / count));
    }
}

fn nodes(total: usize, each: usize) -> Vec<Node> {
    let cpus = |number: usize| (number * each..(number + 1) * each).collect();
    (0..total / each)
        .map(|number| Node { number, memory_bytes: None, cpus: cpus(number) })
        .collect()
}

#[cfg(test)]
mod tests {
    //! Blind to: real machines; `tests/machines/trees.rs` covers those.

    use super::*;
    use proptest::prelude::*;

    fn counts(description: &str) -> [usize; 6] {
        let machine: Machine = description.parse().unwrap();
        machine.check().unwrap();
        [Level::Package, Level::Node, Level::L3, Level::L2, Level::Core, Level::Pu]
            .map(|l| machine.count(l))
    }

    #[test]
    fn a_description_multiplies_from_the_outside_in() {
        assert_eq!(counts("package:4 l3:1 core:2 pu:2"), [4, 0, 4, 0, 8, 16]);
        assert_eq!(counts("package:2 node:2 l3:2 l2:2 core:2 pu:2"), [2, 4, 8, 16, 32, 64]);
        assert_eq!(counts("Socket:2 NUMA:1 core:3"), [2, 2, 0, 0, 6, 6]);
    }

    #[test]
    fn omitted_levels_count_once() {
        assert_eq!(counts("pu:2"), [1, 0, 0, 0, 1, 2]);
        assert_eq!(counts("package:3"), [3, 0, 0, 0, 3, 3]);
        assert_eq!(counts("l2:2 pu:2"), [1, 0, 0, 2, 2, 4]);
    }

    #[test]
    fn a_description_that_is_wrong_is_refused_and_the_bad_token_named() {
        for (text, message) in [
            ("", "an empty machine description"),
            ("package:2 cores:4", "`cores:4` does not begin with"),
            ("package:2 core", "`core` is not of the form"),
            ("core:x", "the count in `core:x` is not"),
            ("core:0", "the count in `core:0` is not"),
            ("core:-1", "the count in `core:-1` is not"),
            ("core:99999999999999999999", "the count in `core:99999999999999999999` is not"),
            ("core:2 package:2", "`package:2` is out of place"),
            ("core:2 core:2", "`core:2` is out of place"),
            ("package:1048576 core:2", "with `core:2` the machine has more than 1048576 PUs"),
        ] {
            let error = text.parse::<Machine>().unwrap_err().to_string();
            assert!(error.starts_with(message), "{text:?}: {error}");
            assert!(!error.contains('\n'));
        }
    }

    #[test]
    fn a_machine_of_65536_pus_is_built_and_measured() {
        let machine: Machine = "package:64 node:2 l3:4 core:64 pu:2".parse().unwrap();
        assert_eq!(machine.count(Level::Pu), 65_536);
        let ends = (machine.pu_ids().next().unwrap(), machine.pu_ids().last().unwrap());
        assert_eq!(machine.distance(ends.0, ends.1), 5);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text in "([a-z0-9:]{0,12} ?){0,5}") {
            let _ = text.parse::<Machine>();
        }

        #[test]
        fn every_description_gives_a_sound_tree(
            counts in proptest::collection::vec(1_usize..4, 6),
            leave in 0_u8..63,
        ) {
            let names = ["package", "node", "l3", "l2", "core", "pu"];
            let kept = (0..6).filter(|i| leave >> i & 1 == 0);
            let text: Vec<String> = kept.map(|i| format!("{}:{}", names[i], counts[i])).collect();
            let machine: Machine = text.join(" ").parse().unwrap();
            prop_assert_eq!(machine.check(), Ok(()));
            prop_assert!(machine.pus().iter().enumerate().all(|(i, pu)| pu.cpu == i));
        }
    }
}
