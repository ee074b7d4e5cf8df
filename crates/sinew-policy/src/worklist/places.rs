//! Where a worklist's threads sit and its pages lie, before anything is measured.
//!
//! Both are chosen when the worklist is made, ahead of all tuning, since they move every later
//! measurement. Units reach all of the data in no order that anybody could know, so pages are
//! spread evenly; and threads talk to each other all the time, which is dear between nodes and
//! cheap within one, where the caches are what they compete for.
//!
//! Source: Góes (see the [room](super)), sections 7.1.2 to 7.1.4.
//!
//! # Tests
//!
//! One for each row of the two rules; texts and back.

use std::fmt;
use std::str::FromStr;

/// How threads are mapped to cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mapping {
    /// As far from each other as can be: each has its caches to itself. The baseline.
    Scatter,
    /// As near to each other as can be: they share caches and stay on one node.
    Compact,
}

impl Mapping {
    /// The one to begin with on a machine of `nodes` NUMA nodes: compact on several, scatter on
    /// one.
    pub const fn for_nodes(nodes: usize) -> Self {
        if nodes > 1 { Self::Compact } else { Self::Scatter }
    }
}

/// On which nodes pages are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pages {
    /// Where they are touched first. The baseline.
    FirstTouch,
    /// Page `i` on node `i` mod nodes.
    Cyclic,
    /// On the node of the thread that asks for them.
    BindLocal,
}

impl Pages {
    /// The one for what is allocated from now on: cyclic, until units are added while the list
    /// runs, since a unit that is added by another touches much the same data. What lies somewhere
    /// already stays there.
    pub const fn for_run(adds_units: bool) -> Self {
        if adds_units { Self::BindLocal } else { Self::Cyclic }
    }
}

/// A text that names no placement of pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagesError(String);

impl fmt::Display for PagesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no placement of pages: use first-touch, cyclic or bind-local", self.0)
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

    /// Catches: the two mappings taken for each other.
    #[test]
    fn threads_sit_close_on_several_nodes_and_apart_on_one() {
        assert_eq!(Mapping::for_nodes(1), Mapping::Scatter);
        assert_eq!(Mapping::for_nodes(2), Mapping::Compact);
        assert_eq!(Mapping::for_nodes(0), Mapping::Scatter, "nothing known is one node");
    }

    /// Catches: a placement that is printed in a way that is not read, and a message that does
    /// not name the value or the way out.
    #[test]
    fn pages_are_read_as_they_are_printed_or_with_hyphens() {
        for pages in [Pages::FirstTouch, Pages::Cyclic, Pages::BindLocal] {
            assert_eq!(pages.to_string().parse(), Ok(pages));
            assert_eq!(pages.to_string().replace(' ', "-").parse(), Ok(pages));
        }
        let error = "bind 1".parse::<Pages>().unwrap_err().to_string();
        assert!(error.contains("`bind 1`") && error.contains("bind-local"), "{error}");
    }

    /// Catches: pages that stay cyclic for units that make units.
    #[test]
    fn pages_are_spread_until_units_are_added() {
        assert_eq!(Pages::for_run(false), Pages::Cyclic);
        assert_eq!(Pages::for_run(true), Pages::BindLocal);
    }
}
