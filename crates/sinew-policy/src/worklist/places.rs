//! The mapping of a worklist's threads, and the placement of its pages.
//!
//! Both are fixed before all tuning, since they change every later measurement. Units access all of
//! the data in an unknown order, so pages are spread evenly. Threads communicate all the time,
//! which is expensive between nodes and cheap within one, where they compete for caches.
//!
//! Source: Góes (see the [module](super)), sections 7.1.2 to 7.1.4.
//!
//! # Tests
//!
//! One for each row of the two rules; parsing of printed names.

use std::fmt;
use std::str::FromStr;

/// How threads are mapped to cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mapping {
    /// As far apart as possible: each thread has its own caches. The baseline.
    Scatter,
    /// As close as possible: threads share caches and stay on one node.
    Compact,
}

impl Mapping {
    /// The initial mapping on a machine of `nodes` NUMA nodes: compact on several, scatter on one.
    pub const fn for_nodes(nodes: usize) -> Self {
        if nodes > 1 { Self::Compact } else { Self::Scatter }
    }
}

/// The NUMA nodes of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pages {
    /// On the node of the first touch. The baseline.
    FirstTouch,
    /// Page `i` on node `i` mod nodes.
    Cyclic,
    /// On the node of the thread that allocates them.
    BindLocal,
}

impl Pages {
    /// The placement for allocations from now on: cyclic, until units are added during the run,
    /// since a unit that another one adds uses much the same data. Pages that are placed stay on
    /// their node.
    pub const fn for_run(adds_units: bool) -> Self {
        if adds_units { Self::BindLocal } else { Self::Cyclic }
    }
}

/// The error for a text that is not a placement of pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagesError(String);

impl fmt::Display for PagesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a placement of pages: use first-touch, cyclic or bind-local", self.0)
    }
}

impl std::error::Error for PagesError {}

impl FromStr for Pages {
    type Err = PagesError;

    /// Reads `first-touch`, `cyclic` and `bind-local`, with a hyphen or a space.
    fn from_str(text: &str) -> Result<Self, PagesError> {
        let all = [Self::FirstTouch, Self::Cyclic, Self::BindLocal];
        let meant = text.trim().replace('-', " ");
        all.into_iter()
            .find(|pages| pages.to_string() == meant)
            .ok_or_else(|| PagesError(text.to_owned()))
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scatter => "scatter",
            Self::Compact => "compact",
        })
    }
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FirstTouch => "first touch",
            Self::Cyclic => "cyclic",
            Self::BindLocal => "bind local",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: exchanged mappings.
    #[test]
    fn threads_are_close_on_several_nodes_and_apart_on_one() {
        assert_eq!(Mapping::for_nodes(1), Mapping::Scatter);
        assert_eq!(Mapping::for_nodes(2), Mapping::Compact);
        assert_eq!(Mapping::for_nodes(0), Mapping::Scatter, "nothing known is one node");
    }

    /// Catches: a placement that is printed in a form that is not read, and a message that does not
    /// name the value or the valid ones.
    #[test]
    fn pages_are_read_as_they_are_printed_or_with_hyphens() {
        for pages in [Pages::FirstTouch, Pages::Cyclic, Pages::BindLocal] {
            assert_eq!(pages.to_string().parse(), Ok(pages));
            assert_eq!(pages.to_string().replace(' ', "-").parse(), Ok(pages));
        }
        let error = "bind 1".parse::<Pages>().unwrap_err().to_string();
        assert!(error.contains("`bind 1`") && error.contains("bind-local"), "{error}");
    }

    /// Catches: pages that stay cyclic for units that add units.
    #[test]
    fn pages_are_spread_until_units_are_added() {
        assert_eq!(Pages::for_run(false), Pages::Cyclic);
        assert_eq!(Pages::for_run(true), Pages::BindLocal);
    }
}
