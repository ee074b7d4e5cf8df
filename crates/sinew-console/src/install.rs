//! The files that are installed beside a command, made from the table of its command line: shell
//! completions and manual pages. Each command has a subcommand for both.

use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory, ValueEnum, ValueHint};
use clap_complete::shells::{Bash, Fish, Zsh};

use crate::failure::Failure;
use crate::files::cannot_write;
use crate::output;

/// The shells that are written for; each adds to the size of the commands.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell that reads the script
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    /// Prints the script for the command line `L`.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn perform<L: CommandFactory>(&self) -> Result<(), Failure> {
        Ok(output::print(&self.script::<L>())?)
    }

    /// The script for the command line `L`.
    pub fn script<L: CommandFactory>(&self) -> String {
        let mut line = L::command();
        let (name, mut script) = (line.get_name().to_owned(), Vec::new());
        match self.shell {
            Shell::Bash => clap_complete::generate(Bash, &mut line, name, &mut script),
            Shell::Zsh => clap_complete::generate(Zsh, &mut line, name, &mut script),
            Shell::Fish => clap_complete::generate(Fish, &mut line, name, &mut script),
        }
        String::from_utf8_lossy(&script).into_owned()
    }
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The folder for the pages, such as ~/.local/share/man/man1; it is made if there is none
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

impl ManArgs {
    /// Writes a page for the command line `L`, and one for each of its visible subcommands.
    ///
    /// # Errors
    ///
    /// The folder cannot be made, or a page cannot be written.
    pub fn perform<L: CommandFactory>(&self) -> Result<(), Failure> {
        fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(L::command(), &self.folder))
            .map_err(|error| Failure::Unwritten(cannot_write(&self.folder, &error)))
    }
}
