//! Chasapis, "Optimization Techniques for Task-based Parallel Programming Models": what its text
//! says about each policy and application.
//!
//! Its 200 figures are pictures without numbers. The text quotes some gains, always "up to", and
//! otherwise speaks in words. Machines: Dunnington (4 packages of 6 cores, one memory), Termi (2 ×
//! 6 × 2 threads, NUMA), Sandman (4 × 8 × 2 threads, NUMA).

/// A family of victim policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Technique {
    /// The nearest victims first, one master a package.
    Nearest,
    /// The most loaded victim at every attempt.
    MaxAlways,
    /// The most loaded victim at every fifth attempt.
    MaxEveryFive,
    /// A list of all workers sorted by load.
    SortedGlobal,
    /// The same of the own package only.
    SortedLocal,
}

/// The statements about an application under a technique.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quote {
    /// The application.
    pub app: &'static str,
    /// The victim policy.
    pub technique: Technique,
    /// The machine, or `all`.
    pub machine: &'static str,
    /// The gain in per cent that is quoted as the most, where one is.
    pub most_gain: Option<f64>,
    /// A short form of the statement.
    pub words: &'static str,
}

use Technique::{MaxAlways, MaxEveryFive, Nearest, SortedGlobal, SortedLocal};

/// Chapter 4 and appendix B.
pub const QUOTES: [Quote; 30] = [
    quote("heat", Nearest, "Termi", Some(3.6), "gains with many threads"),
    quote("heat", Nearest, "Sandman", Some(40.0), "gains with many threads"),
    quote("heat", Nearest, "Dunnington", None, "loses"),
    quote("gauss", Nearest, "Sandman", Some(3.0), "gains at some numbers of threads"),
    quote("gauss", Nearest, "Termi", None, "no gain in time"),
    quote("gauss", Nearest, "Dunnington", None, "no gain in time"),
    quote("floyd-warshall", Nearest, "all", None, "neither gains nor loses"),
    quote("numbercount", Nearest, "Sandman", None, "gains much"),
    quote("numbercount", Nearest, "Dunnington", None, "almost the same"),
    quote("numbercount", Nearest, "Termi", None, "loses much"),
    quote("quicksort", Nearest, "all", None, "no gain"),
    quote("matmul", Nearest, "all", None, "no loss"),
    quote("streamcluster", MaxAlways, "Dunnington", None, "loses much"),
    quote("streamcluster", MaxAlways, "Termi", None, "loses much"),
    quote("streamcluster", MaxEveryFive, "Dunnington", None, "gains up to some number of threads"),
    quote("streamcluster", MaxEveryFive, "Sandman", None, "gains up to some number of threads"),
    quote("blackscholes", MaxEveryFive, "Dunnington", None, "gains at middle numbers of threads"),
    quote(
        "streamcluster",
        SortedLocal,
        "Dunnington",
        Some(26.0),
        "gains with many threads, loses with few",
    ),
    quote("streamcluster", SortedLocal, "all", None, "better than global"),
    quote("quicksort", SortedLocal, "Dunnington", Some(17.0), "gains with many threads"),
    quote("quicksort", SortedLocal, "Sandman", None, "better than global"),
    quote("quicksort", SortedGlobal, "Termi", None, "better than local"),
    quote("matmul", SortedLocal, "Sandman", Some(6.2), "gains at some numbers of threads"),
    quote("matmul", SortedGlobal, "Sandman", Some(6.2), "gains at some, loses with few threads"),
    quote("matmul", SortedGlobal, "Termi", None, "better than local"),
    quote("strassen", SortedLocal, "all", None, "better than global"),
    quote("swaptions", SortedGlobal, "all", None, "better than local"),
    quote("blackscholes", SortedGlobal, "Termi", None, "better than local"),
    quote("blackscholes", SortedLocal, "Dunnington", None, "better than global"),
    quote("blackscholes", SortedLocal, "Sandman", None, "better than global"),
];

const fn quote(
    app: &'static str,
    technique: Technique,
    machine: &'static str,
    most_gain: Option<f64>,
    words: &'static str,
) -> Quote {
    Quote { app, technique, machine, most_gain, words }
}

impl Technique {
    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            Nearest => "nearest",
            MaxAlways => "the most loaded",
            MaxEveryFive => "the most loaded at every fifth attempt",
            SortedGlobal => "a list of all workers",
            SortedLocal => "a list of its package",
        }
    }
}

impl Quote {
    fn text(&self) -> String {
        let most = self.most_gain.map(|gain| format!(", up to {gain} %"));
        format!("{}{}", self.words, most.unwrap_or_default())
    }
}

/// The statements about an application under a technique, in one line; empty if there is none.
pub fn said(app: &str, technique: Technique) -> String {
    let about = QUOTES.iter().filter(|quote| quote.app == app && quote.technique == technique);
    let sentence = |quote: &Quote| format!("{}: {}", quote.machine, quote.text());
    about.map(sentence).collect::<Vec<_>>().join("; ")
}

/// Those about one machine, named in any case.
pub fn said_of(app: &str, technique: Technique, machine: &str) -> String {
    let is_there =
        |quote: &&Quote| quote.machine == "all" || quote.machine.eq_ignore_ascii_case(machine);
    let about = QUOTES.iter().filter(|quote| quote.app == app && quote.technique == technique);
    about.filter(is_there).map(Quote::text).collect::<Vec<_>>().join("; ")
}

/// The text of chapter 2 about the profiles, whose values only its pictures show.
pub const PROFILE_WORDS: &str = "The thesis shows its profiles as pictures without numbers. Its \
    text says: many applications scale better on the NUMA machine, whose packages do not share one \
    memory bus. Stealing dominates the time in the library for every application, and within it \
    the waiting between attempts, so most attempts fail, on the NUMA machine even more of them. \
    Also strassen and fluidanimate scale badly on both machines, and strassen's time for stealing \
    grows with the number of threads.";

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a gain that is attached to the wrong machine.
    #[test]
    fn quoted_gains_stand_with_their_machines() {
        assert_eq!(
            said("heat", Nearest),
            "Termi: gains with many threads, up to 3.6 %; Sandman: gains with many threads, up to \
             40 %; Dunnington: loses"
        );
        assert_eq!(said("heat", SortedLocal), "");
        assert_eq!(said_of("heat", Nearest, "termi"), "gains with many threads, up to 3.6 %");
        assert_eq!(said_of("quicksort", Nearest, "termi"), "no gain");
    }
}
