use clap::Args;

use super::{CliError, output};
use crate::{api, commands::module_schema};

/// Print the GraphQL schema, or the JSON schema of module files
#[derive(Debug, Args)]
pub(super) struct Schema {
    /// Print the JSON schema of module files, for editors
    #[arg(long)]
    module: bool,
}

impl Schema {
    pub(super) fn run(self) -> Result<(), CliError> {
        if self.module {
            return output::line(module_schema());
        }
        output::line(api::sdl().trim_end())
    }
}
