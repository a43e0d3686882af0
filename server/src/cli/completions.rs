use clap::Args;
use clap_complete::Shell;

use super::{CliError, definition, output};

/// Print a shell's completion script
///
/// For bash: carillon completions bash > /etc/bash_completion.d/carillon.
/// For zsh: carillon completions zsh > a folder of $fpath, as _carillon.
/// For fish: carillon completions fish > ~/.config/fish/completions/carillon.fish.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Result<(), CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut definition::command(), "carillon", &mut script);
        output::text(&String::from_utf8_lossy(&script))
    }
}
