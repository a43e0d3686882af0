use clap::Args;

use super::{CliError, output};

/// Print the GraphQL schema
#[derive(Debug, Args)]
pub(super) struct Schema {}

impl Schema {
    pub(super) fn run(self) -> Result<(), CliError> {
        output::line(include_str!("../../schema.graphql").trim_end())
    }
}
