//! The commands of the repository, each with a build folder of its own, as after a clone.

use super::build::{cargo, executable, remove, size, succeed, timed};
use std::path::Path;

/// A command.
pub(super) struct What {
    pub(super) shown: &'static str,
    arguments: &'static [&'static str],
    /// It takes minutes.
    pub(super) is_long: bool,
    /// The installed file, whose size counts.
    file: Option<&'static str>,
}

/// The figures of one command.
pub(super) struct Cost {
    pub(super) processor_s: f64,
    pub(super) clock_s: f64,
    pub(super) bytes: Option<u64>,
}

pub(super) const WHATS: [What; 3] = [
    What {
        shown: "cargo install --path crates/sinew-cli",
        arguments: &["install", "--path", "crates/sinew-cli", "--locked"],
        is_long: false,
        file: Some("sinew"),
    },
    What {
        shown: "cargo run --release -- demo",
        arguments: &["run", "--release", "--", "demo"],
        is_long: true,
        file: None,
    },
    What {
        shown: "cargo test --no-run",
        arguments: &["test", "--no-run"],
        is_long: true,
        file: None,
    },
];

impl What {
    /// Runs it, and removes the build outputs afterwards.
    ///
    /// # Errors
    ///
    /// One line: it cannot be started, or fails.
    pub(super) fn measure(&self, temporary: &Path) -> Result<Cost, String> {
        let (target, installed) = (temporary.join("target"), temporary.join("installed"));
        let mut cargo = cargo(self.arguments);
        cargo.env("CARGO_TARGET_DIR", &target).env("CARGO_INSTALL_ROOT", &installed);
        // As a newcomer's: with symbols, if the profile says so.
        cargo.env_remove("CARGO_PROFILE_RELEASE_STRIP");
        eprintln!("{}", self.shown);
        let (_, processor_s, clock_s) =
            timed(|| succeed(&mut cargo).map_err(|why| format!("{}: {why}", self.shown)))?;
        let file = self.file.map(|name| installed.join("bin").join(executable(name)));
        let bytes = file.map(|file| size(&file)).transpose()?;
        remove(&target)?;
        Ok(Cost { processor_s, clock_s, bytes })
    }
}
