//! A check, and how it says what it has found.

use numa_protocol::{Outcome, Shape};

/// The result of a check: everything is right, or it cannot be checked here; an error says what is
/// wrong.
pub(crate) type Verdict = Result<Outcome, String>;

/// Something that should hold on any machine of a known shape.
pub(crate) struct Check {
    /// Group, slash, what should hold.
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Shape) -> Verdict,
}

/// Fails with both values if they differ.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: &T,
    expected: &T,
) -> Result<(), String> {
    ensure(found == expected, || format!("{what}: found {found:?}, expected {expected:?}"))
}

/// Fails with a reason unless `holds`.
pub(crate) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}
