//! Parameters of experiments: numbers that replace those of the size.
//!
//! An experiment declares the [`Parameter`]s that it has; a file gives their [values](Values)
//! ([`config`](crate::config)).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A parameter of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// The largest value; the least is 1.
    pub most: u64,
    /// Whether it may have several values, each of which is measured.
    pub many: bool,
}

impl Parameter {
    /// A parameter with one value from 1 to `most`.
    pub(crate) const fn new(name: &'static str, most: u64) -> Self {
        Self { name, most, many: false }
    }

    /// The same with one or several values.
    pub(crate) const fn many(self) -> Self {
        Self { many: true, ..self }
    }
}

/// A number, or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Value {
    One(u64),
    Many(Vec<u64>),
}

impl Value {
    fn numbers(&self) -> &[u64] {
        match self {
            Self::One(number) => std::slice::from_ref(number),
            Self::Many(numbers) => numbers,
        }
    }
}

/// The values of the parameters that are given; the others follow from the size.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Values(BTreeMap<String, Value>);

impl Values {
    /// Checks them against the parameters that an experiment has.
    ///
    /// # Errors
    ///
    /// The first that is not among these, or has a value that it cannot have.
    pub(crate) fn check(&self, parameters: &[Parameter]) -> Result<(), String> {
        self.0.iter().try_for_each(|(name, value)| {
            let known = parameters.iter().find(|parameter| parameter.name == name);
            let known = known.ok_or_else(|| unknown(name, parameters))?;
            let Parameter { most, many, .. } = *known;
            match value {
                Value::Many(_) if !many => Err(format!("`{name}` is one number")),
                value if value.numbers().is_empty() => Err(format!("`{name}` has no number")),
                value => match value.numbers().iter().find(|&&it| it == 0 || it > most) {
                    Some(wrong) => Err(format!("`{name}` is from 1 to {most}, not {wrong}")),
                    None => Ok(()),
                },
            }
        })
    }

    /// Whether none is given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a parameter with one, or the `usual` one.
    pub(crate) fn one<T: TryFrom<u64>>(&self, parameter: Parameter, usual: T) -> T {
        let given = self.numbers(parameter).and_then(|numbers| numbers.first().copied());
        given.and_then(|number| number.try_into().ok()).unwrap_or(usual)
    }

    /// The values of a parameter, if they are given.
    pub(crate) fn numbers(&self, parameter: Parameter) -> Option<&[u64]> {
        self.0.get(parameter.name).map(Value::numbers)
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, value)) in self.0.iter().enumerate() {
            let numbers: Vec<String> = value.numbers().iter().map(u64::to_string).collect();
            let before = if at == 0 { "" } else { ", " };
            write!(f, "{before}{name} = {}", numbers.join(" and "))?;
        }
        Ok(())
    }
}

fn unknown(name: &str, parameters: &[Parameter]) -> String {
    let known: Vec<String> = parameters.iter().map(|known| format!("`{}`", known.name)).collect();
    if known.is_empty() {
        return format!("it has no parameters, and so no `{name}`");
    }
    format!("it has no parameter `{name}`; it has {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASKS: Parameter = Parameter::new("tasks", 1_000).many();
    const CHUNK: Parameter = Parameter::new("chunk", 100);

    fn values(text: &str) -> Values {
        toml::from_str(text).unwrap()
    }

    /// Catches: a value that is lost, or cut to its type, and one that is printed as another.
    #[test]
    fn a_value_that_is_given_replaces_the_usual_one() {
        let given = values("chunk = 7\ntasks = [3, 1000]");
        assert_eq!(given.check(&[CHUNK, TASKS]), Ok(()));
        assert_eq!((given.one(CHUNK, 1_u32), given.numbers(TASKS)), (7, Some(&[3, 1_000][..])));
        assert_eq!(given.to_string(), "chunk = 7, tasks = 3 and 1000");
        let none = Values::default();
        assert_eq!((none.one(CHUNK, 5_usize), none.numbers(TASKS)), (5, None));
        assert!(none.is_empty() && !given.is_empty());
    }

    /// Catches: a parameter that is silently without effect.
    #[test]
    fn what_an_experiment_cannot_have_is_named() {
        for (text, words) in [
            ("chunks = 7", "it has no parameter `chunks`; it has `chunk`, `tasks`"),
            ("chunk = 0", "`chunk` is from 1 to 100, not 0"),
            ("tasks = [5, 1001]", "`tasks` is from 1 to 1000, not 1001"),
            ("chunk = [1]", "`chunk` is one number"),
            ("tasks = []", "`tasks` has no number"),
        ] {
            assert_eq!(values(text).check(&[CHUNK, TASKS]), Err(words.to_owned()));
        }
        let words = values("chunk = 1").check(&[]).unwrap_err();
        assert_eq!(words, "it has no parameters, and so no `chunk`");
    }
}
