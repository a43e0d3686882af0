//! What resolvers get from their context.

use async_graphql::{Context, dataloader::DataLoader};
use uuid::Uuid;

use super::{error::Result, loaders::Rows};
use crate::{
    access::{Admin, Editor, Operator, Owner, Reader, Viewer},
    commands::{CommandError, Commands},
    store::Store,
    vault::MASK,
};

/// Permissions and layers for resolvers.
pub(crate) trait ContextExt {
    /// The caller; None if unauthenticated.
    fn who(&self) -> Option<&Viewer>;

    /// The permission to read. Every root field checks a permission before it reads anything.
    fn viewer(&self) -> Result<Reader> {
        Ok(self.signed_in()?.viewer()?)
    }

    /// The permission to operate.
    fn operator(&self) -> Result<Operator> {
        Ok(self.signed_in()?.operator()?)
    }

    /// The permission to edit.
    fn editor(&self) -> Result<Editor> {
        Ok(self.signed_in()?.editor()?)
    }

    /// The permission to manage the members of a namespace and its retention.
    fn admin(&self) -> Result<Admin> {
        Ok(self.signed_in()?.admin()?)
    }

    /// The permission to administer the instance.
    fn owner(&self) -> Result<Owner> {
        Ok(self.signed_in()?.owner()?)
    }

    /// Whether objects of this namespace exist for the caller.
    fn is_home(&self, namespace: Uuid) -> bool {
        self.who().is_some_and(|who| who.grants.within(namespace).is_some())
    }

    /// Refuses objects of a namespace that the caller may not see. The namespace of a purged object
    /// is unknown (None), so its remains may only be read by callers with a role in every
    /// namespace.
    fn at_home(&self, namespace: Option<Uuid>, what: &'static str, which: Uuid) -> Result<()> {
        let found = match namespace {
            Some(namespace) => self.is_home(namespace),
            None => self.signed_in()?.grants.role_everywhere().is_some(),
        };
        if found { Ok(()) } else { Err(CommandError::not_found(what, which).into()) }
    }

    /// Also refuses callers who may not see payloads.
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

    /// Whether the caller may see contexts, outputs and logs of a namespace.
    fn sees_payloads(&self, namespace: Uuid) -> bool {
        self.who().is_some_and(|who| who.sees_payloads(namespace))
    }

    /// A payload as the caller sees it: masked unless they may see payloads.
    fn payload(&self, namespace: Uuid, payload: serde_json::Value) -> serde_json::Value {
        if self.sees_payloads(namespace) { payload } else { MASK.into() }
    }

    /// The caller; refuses a request without one, and a session that was opened with a one-time
    /// password.
    fn signed_in(&self) -> Result<&Viewer> {
        let who = self.identified()?;
        who.may_act()?;
        Ok(who)
    }

    /// The caller, also of a session that was opened with a one-time password: only for replacing
    /// that password.
    fn identified(&self) -> Result<&Viewer> {
        Ok(self.who().ok_or(CommandError::Unauthenticated)?)
    }

    /// The write side: the commands.
    fn commands(&self) -> &Commands;

    /// The read side: the store.
    fn store(&self) -> &Store {
        &self.commands().store
    }

    /// The loaders that batch reads.
    fn rows(&self) -> &DataLoader<Rows>;
}

impl ContextExt for Context<'_> {
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
