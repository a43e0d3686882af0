//! What every resolver reaches through its context.

use async_graphql::{Context, dataloader::DataLoader};
use uuid::Uuid;

use super::{error::Result, loaders::Rows};
use crate::{
    access::{Admin, Editor, Operator, Owner, Reader, Viewer},
    commands::{CommandError, Commands},
    store::Store,
    vault::MASK,
};

/// The rights and the layers that a resolver asks for.
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

    /// The right over the members of a namespace and what it keeps.
    fn admin(&self) -> Result<Admin> {
        Ok(self.signed_in()?.admin()?)
    }

    /// The right over the instance.
    fn owner(&self) -> Result<Owner> {
        Ok(self.signed_in()?.owner()?)
    }

    /// Whether what lies in a namespace exists for whoever asks.
    fn is_home(&self, namespace: Uuid) -> bool {
        self.who().is_some_and(|who| who.grants.within(namespace).is_some())
    }

    /// Refuses what lies in a namespace that is foreign to whoever asks. Of what is not there any
    /// more, nobody knows where it lay: only who may look everywhere may ask for what is left.
    fn at_home(&self, namespace: Option<Uuid>, what: &'static str, which: Uuid) -> Result<()> {
        let found = match namespace {
            Some(namespace) => self.is_home(namespace),
            None => self.signed_in()?.grants.role_everywhere().is_some(),
        };
        if found { Ok(()) } else { Err(CommandError::not_found(what, which).into()) }
    }

    /// Refuses, beside that, whoever may not see what passes through.
    fn payloads_of(&self, namespace: Option<Uuid>, what: &'static str, which: Uuid) -> Result<()> {
        self.at_home(namespace, what, which)?;
        let shown = match namespace {
            Some(namespace) => self.sees_payloads(namespace),
            None => self.signed_in()?.grants.shows_payloads_everywhere(),
        };
        if shown {
            return Ok(());
        }
        Err(CommandError::Denied {
            problem: "this needs the right to see payloads",
            help: "ask an administrator of the namespace for it: it is granted with a membership",
        }
        .into())
    }

    /// Whether contexts, outputs and logs of a namespace are shown to whoever asks.
    fn sees_payloads(&self, namespace: Uuid) -> bool {
        self.who().is_some_and(|who| who.sees_payloads(namespace))
    }

    /// A payload as it is shown to whoever asks.
    fn payload(&self, namespace: Uuid, payload: serde_json::Value) -> serde_json::Value {
        if self.sees_payloads(namespace) { payload } else { MASK.into() }
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
