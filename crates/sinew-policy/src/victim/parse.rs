//! [`Victims`] as text.

use std::fmt;
use std::str::FromStr;

use super::Victims;
#[cfg(feature = "experiments")]
use super::{AfterSuccess, LoadScope, Loads, Samples, Sampling};
use crate::named::{in_words, needs_experiments};

/// The largest number in a text.
const MOST: u32 = 1_000_000;

/// The error for a text that is not a victim policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseVictimsError {
    text: String,
    wrong: Wrong,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Wrong {
    Name,
    /// The rule exists, but not in this program.
    NotCompiled,
    /// A parameter, and the valid values in its place.
    Parameter(String, &'static str),
    /// A superfluous parameter.
    Extra(String),
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

/// The parameters after the colon, read from the left.
struct Parameters<'t> {
    rest: Vec<&'t str>,
}

impl<'t> Parameters<'t> {
    fn of(list: Option<&'t str>) -> Self {
        let mut rest: Vec<&str> =
            list.map_or(Vec::new(), |list| list.split(',').map(str::trim).collect());
        rest.reverse();
        Self { rest }
    }

    fn number(&mut self, default: u32) -> Result<u32, Wrong> {
        let Some(given) = self.rest.pop() else { return Ok(default) };
        match given.parse() {
            Ok(number) if (1..=MOST).contains(&number) => Ok(number),
            _ => Err(Wrong::Parameter(given.to_owned(), "a number from 1 to 1000000")),
        }
    }
}

/// Parameters that only the rules of experiments have.
#[cfg(feature = "experiments")]
impl Parameters<'_> {
    fn word<T: Copy>(&mut self, words: &[(&str, T)], choices: &'static str) -> Result<T, Wrong> {
        let Some(given) = self.rest.pop() else { return Ok(words[0].1) };
        let known = words.iter().find(|(word, _)| *word == given);
        known.map(|(_, value)| *value).ok_or_else(|| Wrong::Parameter(given.to_owned(), choices))
    }

    fn samples(&mut self) -> Result<Samples, Wrong> {
        match self.rest.last() {
            None => Ok(Samples::Root),
            Some(&"sqrt") => {
                self.rest.pop();
                Ok(Samples::Root)
            }
            Some(_) => {
                let wrong = |wrong| match wrong {
                    Wrong::Parameter(given, _) => {
                        Wrong::Parameter(given, "`sqrt` or a number from 1 to 1000000")
                    }
                    other => other,
                };
                self.number(1).map(Samples::UpTo).map_err(wrong)
            }
        }
    }

    /// Takes the word if it is among the remaining ones.
    fn has(&mut self, word: &str) -> bool {
        let before = self.rest.len();
        self.rest.retain(|given| *given != word);
        self.rest.len() < before
    }

    fn sampling(&mut self) -> Result<Sampling, Wrong> {
        let (past_empty, after_failure) = (self.has(PAST_EMPTY), self.has(AFTER_FAILURE));
        Ok(Sampling { samples: self.samples()?, stop_at_empty: !past_empty, after_failure })
    }
}

#[cfg(feature = "experiments")]
const PAST_EMPTY: &str = "past-empty";
#[cfg(feature = "experiments")]
const AFTER_FAILURE: &str = "after-failure";
#[cfg(feature = "experiments")]
const SCOPES: [(&str, LoadScope); 3] = [
    ("machine", LoadScope::Machine),
    ("package", LoadScope::Package),
    ("strict", LoadScope::StrictlyPackage),
];
#[cfg(feature = "experiments")]
const AFTER: [(&str, AfterSuccess); 2] =
    [("stay", AfterSuccess::Stay), ("restart", AfterSuccess::Restart)];

/// How the parameters of a rule are read.
type Read = fn(&mut Parameters<'_>) -> Result<Victims, Wrong>;

/// A rule as text: an example with all of its parameters, whose name ends at a colon, and how the
/// parameters are read; `None` where the rule is not compiled.
struct Form {
    example: &'static str,
    read: Option<Read>,
}

impl Form {
    fn name(&self) -> &'static str {
        self.example.split(':').next().unwrap_or(self.example)
    }
}

const fn form(example: &'static str, read: Option<Read>) -> Form {
    Form { example, read }
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

/// Every rule, in the order in which they are listed.
static FORMS: [Form; 11] = [
    form("random", Some(|_| Ok(Victims::Random))),
    form(
        "set:12,4",
        compiled!(|p| Ok(Victims::Set { attempts: p.number(12)?, thieves: p.number(4)? })),
    ),
    form("sample:sqrt", compiled!(|p| p.sampling().map(Victims::Sample))),
    form(
        "sample-set:sqrt,12,4",
        compiled!(|p| {
            let (sampling, attempts, thieves) = (p.sampling()?, p.number(12)?, p.number(4)?);
            Ok(Victims::SampleSet { sampling, attempts, thieves })
        }),
    ),
    form("nearest", Some(|_| Ok(Victims::Nearest))),
    form("nearest-random:4", Some(|p| Ok(Victims::NearestOrRandom { random_every: p.number(4)? }))),
    form("most-loaded:5", compiled!(|p| Ok(Victims::MostLoaded { every: p.number(5)? }))),
    form(
        "sorted:5,machine,stay",
        compiled!(|p| {
            Ok(Victims::SortedLoads(Loads {
                refresh: p.number(5)?,
                scope: p.word(&SCOPES, "`machine`, `package` or `strict`")?,
                after_success: p.word(&AFTER, "`stay` or `restart`")?,
            }))
        }),
    ),
    form("distance", compiled!(|_| Ok(Victims::DistanceWeighted))),
    form("cats:200", compiled!(|p| Ok(Victims::Cats { large_us: p.number(200)? }))),
    form("piece-per-package", compiled!(|_| Ok(Victims::PiecePerPackage))),
];

impl Victims {
    /// The texts to choose from: an example of each compiled rule, with all of its parameters.
    pub fn usage() -> String {
        let compiled = FORMS.iter().filter(|form| form.read.is_some());
        let examples: Vec<&str> = compiled.map(|form| form.example).collect();
        in_words(&examples)
    }
}

fn parse(text: &str, forms: &[Form]) -> Result<Victims, Wrong> {
    let (name, list) = match text.split_once(':') {
        Some((name, list)) => (name, Some(list)),
        None => (text, None),
    };
    let known = forms.iter().find(|form| form.name() == name.trim_end()).ok_or(Wrong::Name)?;
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
        parse(&text.trim().to_ascii_lowercase(), &FORMS).map_err(wrong)
    }
}

#[cfg(feature = "experiments")]
impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("sqrt"),
            Self::UpTo(most) => write!(f, "{most}"),
        }
    }
}

#[cfg(feature = "experiments")]
/// Writes the words after a sample's numbers.
fn flags(sampling: &Sampling, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (word, set) in
        [(PAST_EMPTY, !sampling.stop_at_empty), (AFTER_FAILURE, sampling.after_failure)]
    {
        if set {
            write!(f, ",{word}")?;
        }
    }
    Ok(())
}

#[cfg(feature = "experiments")]
/// The word for a value.
fn word_for<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, known)| known == value).map_or("", |(word, _)| word)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        text.parse::<Victims>().unwrap_err().to_string()
    }

    /// Catches: a parameter that is printed and not read, or the reverse; two presets with one
    /// text.
    #[test]
    fn texts_are_read_as_they_are_printed() {
        let texts: std::collections::HashSet<String> =
            Victims::all().iter().map(Victims::to_string).collect();
        assert_eq!(texts.len(), Victims::all().len());
        for &victims in Victims::all() {
            assert_eq!(victims.to_string().parse(), Ok(victims));
        }
        for text in [
            "set:1,9",
            "sample:7,after-failure",
            "sample-set:3,8,2,past-empty",
            "sorted:10,strict,restart",
        ] {
            assert_eq!(text.parse::<Victims>().unwrap().to_string(), text);
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
        let forms = [form("random", Some(|_| Ok(Victims::Random))), form("set:12,4", None)];
        for text in ["set", "set:20", "set: 0"] {
            assert_eq!(parse(text, &forms), Err(Wrong::NotCompiled));
        }
        assert_eq!(parse("random", &forms), Ok(Victims::Random));
        assert_eq!(parse("piece-per-package", &forms), Err(Wrong::Name));
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
        for Form { example, .. } in &FORMS {
            assert_eq!(example.parse::<Victims>().unwrap().to_string(), *example);
        }
        let named = |victims: &Victims| {
            let text = victims.to_string();
            FORMS.iter().any(|form| text.split(':').next() == Some(form.name()))
        };
        assert!(Victims::all().iter().all(named), "every preset has a form");
    }
}
