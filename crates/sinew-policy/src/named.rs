//! Enums whose values have names: `Display`, `FromStr`, and one error for an unknown name.

use std::fmt;

/// A text that names none of the choices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    text: String,
    known: Known,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Known {
    /// The valid names.
    Names(Vec<&'static str>),
    /// The text is a valid name, but not in this program.
    NotCompiled,
}

impl UnknownName {
    /// `text` names no `what`; `known` are the valid names.
    pub fn new(
        what: &'static str,
        text: &str,
        known: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        Self { what, text: text.to_owned(), known: Known::Names(known.into_iter().collect()) }
    }

    /// `text` names a `what` of experiments, which is not compiled.
    pub(crate) fn not_compiled(what: &'static str, text: &str) -> Self {
        Self { what, text: text.to_owned(), known: Known::NotCompiled }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, text, known } = self;
        let Known::Names(known) = known else { return needs_experiments(f, what, text) };
        write!(f, "unknown {what} `{text}`; use one of ")?;
        for (at, name) in known.iter().enumerate() {
            write!(f, "{}`{name}`", if at > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownName {}

/// The message for a choice that is not compiled.
pub(crate) fn needs_experiments(f: &mut fmt::Formatter<'_>, what: &str, text: &str) -> fmt::Result {
    write!(
        f,
        "the program was built without Sinew's feature `experiments`, which the {what} `{text}` \
         needs"
    )
}

/// Implements `Display` and `FromStr` for an enum with `ALL` and `name`. `$what` is the noun for
/// messages, for example "wait policy". `$experiment` names a choice that exists only with the
/// feature `experiments`.
macro_rules! named {
    ($choice:ident, $what:literal $(, experiments: [$($experiment:literal),*])?) => {
        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $choice {
            type Err = $crate::named::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let named = Self::ALL.into_iter().find(|choice| choice.name() == text);
                named.ok_or_else(|| match text {
                    $($($experiment => $crate::named::UnknownName::not_compiled($what, text),)*)?
                    _ => $crate::named::UnknownName::new($what, text, Self::ALL.map(Self::name)),
                })
            }
        }
    };
}

pub(crate) use named;

/// `a, b or c`.
pub(crate) fn in_words(choices: &[impl AsRef<str>]) -> String {
    let mut words = String::new();
    for (at, choice) in choices.iter().enumerate() {
        words.push_str(match at {
            0 => "",
            _ if at + 1 == choices.len() => " or ",
            _ => ", ",
        });
        words.push_str(choice.as_ref());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::UnknownName;
    use crate::{StackKind, Wait};

    #[test]
    fn a_choice_is_parsed_from_the_name_that_it_prints() {
        for wait in Wait::ALL {
            assert_eq!(wait.to_string().parse(), Ok(wait));
        }
        for stack in StackKind::ALL {
            assert_eq!(stack.to_string().parse(), Ok(stack));
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = "both".parse::<StackKind>().unwrap_err();
        assert_eq!(error.to_string(), "unknown task stack `both`; use one of `split`, `two-field`");
    }

    /// Catches: a choice that is called unknown, or valid, where it is not compiled.
    #[test]
    fn a_choice_that_is_not_compiled_is_refused_with_the_feature_that_it_needs() {
        assert_eq!(
            UnknownName::not_compiled("task stack", "two-field").to_string(),
            "the program was built without Sinew's feature `experiments`, \
             which the task stack `two-field` needs"
        );
    }
}
