use clap::Args;

use super::{CliError, output};
use crate::api;

/// Print the GraphQL schema
#[derive(Debug, Args)]
pub(super) struct Schema {}

impl Schema {
    pub(super) fn run(self) -> Result<(), CliError> {
        output::line(api::sdl().trim_end())
    }
}
