//! [`Victims`]: a victim rule and its parameters as a value, and the table of all rules.
//!
//! A new rule is a variant, a line of `RULES`, and the arms that the compiler asks for.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

#[cfg(feature = "experiments")]
use super::parameters::{AFTER, SCOPES, flags, word_for};
use super::parameters::{Parameters, Wrong};
#[cfg(feature = "experiments")]
use super::{
    Cats, DistanceWeighted, LoadScope, Loads, MostLoaded, PiecePerPackage, Sample, Sampling, Set,
    SortedLoads,
};
use super::{Nearest, NearestOrRandom, Random, VictimPolicy};
use crate::named::{in_words, needs_experiments};

/// A victim rule, by name and parameters.
///
/// As text; parameters may be left out from the end. All but `random` and the two of `nearest` are
/// for experiments, and need the feature `experiments`:
///
/// | text | rule | parameters | chooses by |
/// |---|---|---|---|
/// | `random` | [`Random`] | | a private random permutation |
/// | `set:12,4` | [`Set`] | attempts, thieves | a part of such a permutation, larger the fewer thieves there are |
/// | `sample:sqrt`, `sample:2,past-empty,after-failure` | [`Sample`] over `Random` | how many; whether it continues past an empty one, and after a failure | the task nearest the root among some |
/// | `sample-set:sqrt,12,4` | [`Sample`] over `Set` | those of both | the same |
/// | `nearest` | [`Nearest`] | | distance; one master per package leaves it |
/// | `nearest-random:4` | [`NearestOrRandom`] | one attempt in this many is random | the same |
/// | `most-loaded:5` | [`MostLoaded`] | one attempt in this many | the number of tasks that wait |
/// | `sorted:5,machine,stay` | [`SortedLoads`] | refresh; `machine`, `package` or `strict`; `stay` or `restart` | the same |
/// | `distance` | [`DistanceWeighted`] | | a random draw, in which farther workers are less likely |
/// | `cats:200` | [`Cats`] | the microseconds from which on a task is large | the size of the task: large ones may leave their package |
/// | `piece-per-package` | [`PiecePerPackage`] | | a large piece for each package, then distance |
///
/// The table "Which policy at which size" in `docs/simulation.md` compares them by the number of
/// workers.
///
/// ```
/// use sinew_policy::victim::Victims;
///
/// assert_eq!("set".parse(), Ok(Victims::Set { attempts: 12, thieves: 4 }));
/// assert_eq!(Victims::MostLoaded { every: 5 }.to_string(), "most-loaded:5");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Victims {
    /// [`Random`].
    #[default]
    Random,
    /// [`Set`].
    #[cfg(feature = "experiments")]
    Set {
        /// The least length of a walk, in attempts.
        attempts: u32,
        /// The least number of thieves that it meets.
        thieves: u32,
    },
    /// [`Sample`] over [`Random`].
    #[cfg(feature = "experiments")]
    Sample(Sampling),
    /// [`Sample`] over [`Set`].
    #[cfg(feature = "experiments")]
    SampleSet {
        /// How samples are taken.
        sampling: Sampling,
        /// As in [`Set`](Self::Set).
        attempts: u32,
        /// As in [`Set`](Self::Set).
        thieves: u32,
    },
    /// [`Nearest`].
    Nearest,
    /// [`NearestOrRandom`].
    NearestOrRandom {
        /// One attempt in this many is random.
        random_every: u32,
    },
    /// [`MostLoaded`].
    #[cfg(feature = "experiments")]
    MostLoaded {
        /// One attempt in this many goes to the worker with most tasks.
        every: u32,
    },
    /// [`SortedLoads`].
    #[cfg(feature = "experiments")]
    SortedLoads(Loads),
    /// [`DistanceWeighted`].
    #[cfg(feature = "experiments")]
    DistanceWeighted,
    /// [`Cats`].
    #[cfg(feature = "experiments")]
    Cats {
        /// The microseconds from which on a task is large.
        large_us: u32,
    },
    /// [`PiecePerPackage`].
    #[cfg(feature = "experiments")]
    PiecePerPackage,
}

/// A line of the table: texts with all parameters, the first of which is the example in messages,
/// and how the parameters are read; `None` where the rule is not compiled.
struct Rule {
    texts: &'static [&'static str],
    read: Option<Read>,
}

/// How the parameters of a rule are read.
type Read = fn(&mut Parameters<'_>) -> Result<Victims, Wrong>;

impl Rule {
    fn name(&self) -> &'static str {
        self.texts[0].split(':').next().unwrap_or_default()
    }
}

const fn rule(texts: &'static [&'static str], read: Option<Read>) -> Rule {
    Rule { texts, read }
}

/// How a rule of experiments is read, if it is compiled.
#[cfg(feature = "experiments")]
macro_rules! compiled {
    ($read:expr) => {
        Some($read)
    };
}

#[cfg(not(feature = "experiments"))]
macro_rules! compiled {
    ($read:expr) => {
        None
    };
}

/// Every rule, in the order in which they are listed, with the parameters of its source.
static RULES: &[Rule] = &[
    rule(&["random"], Some(|_| Ok(Victims::Random))),
    rule(
        &["set:12,4"],
        compiled!(|p| Ok(Victims::Set { attempts: p.number(12)?, thieves: p.number(4)? })),
    ),
    // The paper's rule; two workers instead of the square root; the best in the paper's simulation.
    rule(
        &["sample:sqrt", "sample:2", "sample:2,past-empty,after-failure"],
        compiled!(|p| p.sampling().map(Victims::Sample)),
    ),
    rule(
        &["sample-set:sqrt,12,4"],
        compiled!(|p| {
            let (sampling, attempts, thieves) = (p.sampling()?, p.number(12)?, p.number(4)?);
            Ok(Victims::SampleSet { sampling, attempts, thieves })
        }),
    ),
    rule(&["nearest"], Some(|_| Ok(Victims::Nearest))),
    rule(
        &["nearest-random:4"],
        Some(|p| Ok(Victims::NearestOrRandom { random_every: p.number(4)? })),
    ),
    rule(
        &["most-loaded:5", "most-loaded:1"],
        compiled!(|p| Ok(Victims::MostLoaded { every: p.number(5)? })),
    ),
    // Every combination of Chasapis' thesis, and the strict form.
    rule(
        &[
            "sorted:5,machine,stay",
            "sorted:5,machine,restart",
            "sorted:5,package,stay",
            "sorted:5,package,restart",
            "sorted:10,machine,stay",
            "sorted:10,machine,restart",
            "sorted:10,package,stay",
            "sorted:10,package,restart",
            "sorted:5,strict,stay",
            "sorted:5,strict,restart",
        ],
        compiled!(|p| {
            Ok(Victims::SortedLoads(Loads {
                refresh: p.number(5)?,
                scope: p.word(&SCOPES, "`machine`, `package` or `strict`")?,
                after_success: p.word(&AFTER, "`stay` or `restart`")?,
            }))
        }),
    ),
    rule(&["distance"], compiled!(|_| Ok(Victims::DistanceWeighted))),
    rule(&["cats:200"], compiled!(|p| Ok(Victims::Cats { large_us: p.number(200)? }))),
    rule(&["piece-per-package"], compiled!(|_| Ok(Victims::PiecePerPackage))),
];

/// The compiled rules of the table.
fn compiled() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().filter(|rule| rule.read.is_some())
}

/// The facts about the pool that a rule uses, beyond activity.
struct Needs {
    tasks: bool,
    scans_all: bool,
    distances: bool,
    masters: bool,
    pieces: bool,
    large_us: Option<u32>,
}

const NOTHING: Needs = Needs {
    tasks: false,
    scans_all: false,
    distances: false,
    masters: false,
    pieces: false,
    large_us: None,
};

impl Victims {
    /// Every compiled rule with the parameters of its source, for experiments and tests.
    pub fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<Victims>> = LazyLock::new(|| {
            let texts = compiled().flat_map(|rule| rule.texts);
            texts.map(|text| text.parse().expect("the table has valid texts")).collect()
        });
        &ALL
    }

    /// The texts to choose from: an example of each compiled rule, with all of its parameters.
    pub fn usage() -> String {
        let examples: Vec<&str> = compiled().map(|rule| rule.texts[0]).collect();
        in_words(&examples)
    }

    /// A fresh rule of this kind for one worker.
    pub fn policy(self) -> Box<dyn VictimPolicy> {
        match self {
            Self::Random => Box::new(Random::new()),
            #[cfg(feature = "experiments")]
            Self::Set { attempts, thieves } => Box::new(Set::new(attempts, thieves)),
            #[cfg(feature = "experiments")]
            Self::Sample(sampling) => Box::new(Sample::new(sampling, Random::new())),
            #[cfg(feature = "experiments")]
            Self::SampleSet { sampling, attempts, thieves } => {
                Box::new(Sample::new(sampling, Set::new(attempts, thieves)))
            }
            Self::Nearest => Box::new(Nearest::new()),
            Self::NearestOrRandom { random_every } => Box::new(NearestOrRandom::new(random_every)),
            #[cfg(feature = "experiments")]
            Self::MostLoaded { every } => Box::new(MostLoaded::new(every)),
            #[cfg(feature = "experiments")]
            Self::SortedLoads(rule) => Box::new(SortedLoads::new(rule)),
            #[cfg(feature = "experiments")]
            Self::DistanceWeighted => Box::new(DistanceWeighted::new()),
            #[cfg(feature = "experiments")]
            Self::Cats { .. } => Box::new(Cats::new()),
            #[cfg(feature = "experiments")]
            Self::PiecePerPackage => Box::new(PiecePerPackage::new()),
        }
    }

    const fn needs(self) -> Needs {
        match self {
            Self::Random => NOTHING,
            Self::Nearest | Self::NearestOrRandom { .. } => {
                Needs { distances: true, masters: true, ..NOTHING }
            }
            #[cfg(feature = "experiments")]
            Self::Set { .. } => NOTHING,
            #[cfg(feature = "experiments")]
            Self::Sample(_) | Self::SampleSet { .. } => Needs { tasks: true, ..NOTHING },
            #[cfg(feature = "experiments")]
            Self::MostLoaded { .. } => Needs { tasks: true, scans_all: true, ..NOTHING },
            #[cfg(feature = "experiments")]
            Self::SortedLoads(Loads { scope, .. }) => Needs {
                tasks: true,
                scans_all: true,
                distances: !matches!(scope, LoadScope::Machine),
                masters: matches!(scope, LoadScope::Package),
                ..NOTHING
            },
            #[cfg(feature = "experiments")]
            Self::DistanceWeighted => Needs { distances: true, ..NOTHING },
            #[cfg(feature = "experiments")]
            Self::Cats { large_us } => {
                Needs { tasks: true, distances: true, large_us: Some(large_us), ..NOTHING }
            }
            #[cfg(feature = "experiments")]
            Self::PiecePerPackage => {
                Needs { tasks: true, distances: true, masters: true, pieces: true, ..NOTHING }
            }
        }
    }

    /// Whether the rule chooses by the tasks that wait: by [`View::load`](super::View::load) or
    /// [`View::oldest_depth`](super::View::oldest_depth).
    pub const fn chooses_by_tasks(self) -> bool {
        self.needs().tasks
    }

    /// Whether the rule scans all workers now and then, so that
    /// [`View::heaviest`](super::View::heaviest) helps in the largest pools.
    pub const fn scans_all(self) -> bool {
        self.needs().scans_all
    }

    /// Whether the rule uses the workers' distances or packages.
    pub const fn uses_distances(self) -> bool {
        self.needs().distances
    }

    /// Whether the rule uses [`View::reach`](super::View::reach), so that packages need masters.
    pub const fn has_masters(self) -> bool {
        self.needs().masters
    }

    /// The microseconds from which on a task is large, if the rule learns the depth of such tasks;
    /// see [`boundary`](super::boundary()).
    pub const fn large_us(self) -> Option<u32> {
        self.needs().large_us
    }

    /// Whether the rule uses [`View::wants_piece`](super::View::wants_piece).
    pub const fn uses_pieces(self) -> bool {
        self.needs().pieces
    }
}

impl fmt::Display for Victims {
    /// The form that [`str::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str("random"),
            #[cfg(feature = "experiments")]
            Self::Set { attempts, thieves } => write!(f, "set:{attempts},{thieves}"),
            #[cfg(feature = "experiments")]
            Self::Sample(sampling) => {
                write!(f, "sample:{}", sampling.samples)?;
                flags(sampling, f)
            }
            #[cfg(feature = "experiments")]
            Self::SampleSet { sampling, attempts, thieves } => {
                write!(f, "sample-set:{},{attempts},{thieves}", sampling.samples)?;
                flags(sampling, f)
            }
            Self::Nearest => f.write_str("nearest"),
            Self::NearestOrRandom { random_every } => write!(f, "nearest-random:{random_every}"),
            #[cfg(feature = "experiments")]
            Self::MostLoaded { every } => write!(f, "most-loaded:{every}"),
            #[cfg(feature = "experiments")]
            Self::SortedLoads(Loads { refresh, scope, after_success }) => {
                write!(
                    f,
                    "sorted:{refresh},{},{}",
                    word_for(&SCOPES, scope),
                    word_for(&AFTER, after_success)
                )
            }
            #[cfg(feature = "experiments")]
            Self::DistanceWeighted => f.write_str("distance"),
            #[cfg(feature = "experiments")]
            Self::Cats { large_us } => write!(f, "cats:{large_us}"),
            #[cfg(feature = "experiments")]
            Self::PiecePerPackage => f.write_str("piece-per-package"),
        }
    }
}

fn parse(text: &str, rules: &[Rule]) -> Result<Victims, Wrong> {
    let (name, list) = match text.split_once(':') {
        Some((name, list)) => (name, Some(list)),
        None => (text, None),
    };
    let known = rules.iter().find(|rule| rule.name() == name.trim_end()).ok_or(Wrong::Name)?;
    let mut parameters = Parameters::of(list);
    let victims = known.read.ok_or(Wrong::NotCompiled)?(&mut parameters)?;
    match parameters.rest.pop() {
        Some(extra) => Err(Wrong::Extra(extra.to_owned())),
        None => Ok(victims),
    }
}

impl FromStr for Victims {
    type Err = ParseVictimsError;

    /// Reads a text of the table at [`Victims`]; ignores case.
    ///
    /// # Errors
    ///
    /// Names the text, the fault, and the valid values; or the feature that the rule needs.
    fn from_str(text: &str) -> Result<Self, ParseVictimsError> {
        let wrong = |wrong| ParseVictimsError { text: text.to_owned(), wrong };
        parse(&text.trim().to_ascii_lowercase(), RULES).map_err(wrong)
    }
}

/// The error for a text that is not a victim policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseVictimsError {
    text: String,
    wrong: Wrong,
}

impl fmt::Display for ParseVictimsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        match &self.wrong {
            Wrong::NotCompiled => needs_experiments(f, "victim policy", text),
            Wrong::Name => write!(f, "`{text}` is not a victim policy: write {}", Victims::usage()),
            Wrong::Parameter(given, choices) => {
                write!(f, "`{text}` is not a victim policy: write {choices} instead of `{given}`")
            }
            Wrong::Extra(given) => {
                write!(f, "`{text}` is not a victim policy: nothing belongs where `{given}` stands")
            }
        }
    }
}

impl std::error::Error for ParseVictimsError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        text.parse::<Victims>().unwrap_err().to_string()
    }

    /// Catches: a parameter that is printed and not read, or the reverse; two texts of one
    /// rule.
    #[test]
    fn texts_are_read_as_they_are_printed() {
        let texts: std::collections::HashSet<String> =
            Victims::all().iter().map(Victims::to_string).collect();
        assert_eq!(texts.len(), Victims::all().len());
        for &victims in Victims::all() {
            assert_eq!(victims.to_string().parse(), Ok(victims));
        }
        let others = [
            "set:1,9",
            "sample:7,after-failure",
            "sample-set:3,8,2,past-empty",
            "sorted:10,strict,restart",
        ];
        for text in RULES.iter().flat_map(|rule| rule.texts).chain(&others) {
            assert_eq!(text.parse::<Victims>().unwrap().to_string(), *text);
        }
    }

    /// Catches: a default that is not the source's.
    #[test]
    fn parameters_may_be_left_out_from_the_end() {
        for (short, long) in [
            (" Random ", "random"),
            ("set", "set:12,4"),
            ("set: 20", "set:20,4"),
            ("sample", "sample:sqrt"),
            ("sample:past-empty", "sample:sqrt,past-empty"),
            ("sample-set", "sample-set:sqrt,12,4"),
            ("most-loaded", "most-loaded:5"),
            ("sorted", "sorted:5,machine,stay"),
            ("sorted:10, Package", "sorted:10,package,stay"),
            ("cats", "cats:200"),
        ] {
            assert_eq!(short.parse::<Victims>().unwrap().to_string(), long);
        }
    }

    /// Catches: a rule that is passed over or called unknown where it is not compiled.
    #[test]
    fn a_rule_that_is_not_compiled_is_refused_with_the_feature_that_it_needs() {
        let rules = [rule(&["random"], Some(|_| Ok(Victims::Random))), rule(&["set:12,4"], None)];
        for text in ["set", "set:20", "set: 0"] {
            assert_eq!(parse(text, &rules), Err(Wrong::NotCompiled));
        }
        assert_eq!(parse("random", &rules), Ok(Victims::Random));
        assert_eq!(parse("piece-per-package", &rules), Err(Wrong::Name));
        let error = ParseVictimsError { text: "set:20".to_owned(), wrong: Wrong::NotCompiled };
        assert_eq!(
            error.to_string(),
            "the program was built without Sinew's feature `experiments`, \
             which the victim policy `set:20` needs"
        );
    }

    /// Catches: a message without the value or the valid values; a form in the message that is not
    /// read.
    #[test]
    fn a_wrong_part_is_named_with_the_choices() {
        let usage = Victims::usage();
        assert_eq!(error("nearset"), format!("`nearset` is not a victim policy: write {usage}"));
        for (text, says) in [
            ("set:x", "write a number from 1 to 1000000 instead of `x`"),
            ("set:0", "write a number from 1 to 1000000 instead of `0`"),
            ("set:", "write a number from 1 to 1000000 instead of ``"),
            ("sample:many", "write `sqrt` or a number from 1 to 1000000 instead of `many`"),
            ("sorted:5,socket", "write `machine`, `package` or `strict` instead of `socket`"),
            ("sorted:5,strict,leave", "write `stay` or `restart` instead of `leave`"),
            ("nearest:3", "nothing belongs where `3` stands"),
            ("set:1,2,3", "nothing belongs where `3` stands"),
        ] {
            assert_eq!(error(text), format!("`{text}` is not a victim policy: {says}"));
        }
    }
}
