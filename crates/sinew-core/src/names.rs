//! Choices that have a name: printed, parsed, and refused in the same words.

/// Gives an enum with `ALL` and `name` its `Display`, `FromStr` and error type. `$what` is the article's word for people: "wait policy".
macro_rules! named {
    ($choice:ident, $error:ident, $what:literal) => {
        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $choice {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                let named = Self::ALL.into_iter().find(|choice| choice.name() == text);
                named.ok_or_else(|| $error(text.to_owned()))
            }
        }

        #[doc = concat!("A text that names no ", $what, ".")]
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $error(String);

        impl std::fmt::Display for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let names = $choice::ALL.map(|choice| format!("`{choice}`")).join(", ");
                write!(f, concat!("unknown ", $what, " `{}`; use one of {}"), self.0, names)
            }
        }

        impl std::error::Error for $error {}
    };
}

pub(crate) use named;
