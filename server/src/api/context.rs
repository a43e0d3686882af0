//! What every resolver reaches through its context.

use async_graphql::{Context, dataloader::DataLoader};

use super::{error::Result, loaders::Rows};
use crate::{
    engine::commands::{Admin, CommandError, Commands, Editor, Operator, Reader, Viewer},
    store::Store,
};

/// The rights and the rooms that a resolver asks for.
pub(crate) trait Ask {
    /// Who is asking, if somebody is.
    fn who(&self) -> Option<&Viewer>;

    /// The right to look. Every root field asks for a right first; without one nothing is read.
    fn viewer(&self) -> Result<Reader> {
        Ok(self.signed_in()?.viewer()?)
    }

    /// The right to operate.
    fn operator(&self) -> Result<Operator> {
        Ok(self.signed_in()?.operator()?)
    }

    /// The right to edit.
    fn editor(&self) -> Result<Editor> {
        Ok(self.signed_in()?.editor()?)
    }

    /// The right over people, tokens and what is kept.
    fn admin(&self) -> Result<Admin> {
        Ok(self.signed_in()?.admin()?)
    }

    /// Who is asking, or a refusal.
    fn signed_in(&self) -> Result<&Viewer> {
        Ok(self.who().ok_or(CommandError::Unauthenticated)?)
    }

    /// The write side.
    fn commands(&self) -> &Commands;

    /// The read side.
    fn store(&self) -> &Store {
        &self.commands().store
    }

    /// The batches.
    fn rows(&self) -> &DataLoader<Rows>;
}

impl Ask for Context<'_> {
    fn who(&self) -> Option<&Viewer> {
        self.data_opt::<Viewer>()
    }

    fn commands(&self) -> &Commands {
        self.data_unchecked()
    }

    fn rows(&self) -> &DataLoader<Rows> {
        self.data_unchecked()
    }
}
