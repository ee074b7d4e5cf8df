//! The two rayon-cores that are held against each other, and cargo for either.

use crate::command;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release of rayon that the drop-in serves.
pub(super) const RAYON: &str = "1.12.0";

/// The release of rayon-core that the drop-in replaces.
pub(super) const RAYON_CORE: &str = "1.13.0";

/// The rayon-core under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Ours,
    Upstream,
}

impl Side {
    /// As it appears in messages and in the names of folders.
    pub(super) fn name(self) -> &'static str {
        match self {
            Side::Ours => "ours",
            Side::Upstream => "upstream",
        }
    }
}

/// Everything that this command makes lies here.
pub(super) fn folder() -> PathBuf {
    command::output_folder("rayon")
}

/// The package that stands in for rayon-core.
pub(super) fn drop_in() -> PathBuf {
    command::root().join(command::DROP_IN)
}

/// Cargo, to be started in `folder`, with the artefacts of all packages in one place, and without
/// settings of thread pools.
pub(super) fn cargo_in(folder: &Path, target: &Path) -> Command {
    let mut cargo = command::cargo(&[]);
    cargo.current_dir(folder).env("CARGO_TARGET_DIR", target).env("CARGO_TERM_COLOR", "never");
    command::without_settings(&mut cargo);
    // The place of a failure is in its message; the backtrace through libtest is of no use.
    cargo.env("RUST_BACKTRACE", "0");
    cargo
}
