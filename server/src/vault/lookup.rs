//! Looks up and opens the secrets that an attempt or a message names.

use std::{collections::BTreeMap, time::Duration};

use secrecy::SecretString;
use uuid::Uuid;

use super::{Sealed, SecretScope, Vault, VaultError};
use crate::{
    clock::Clock,
    store::{Store, StoreError, secrets},
};

/// The namespace in which secrets are looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SecretNamespace {
    /// The namespace of a run.
    Run(Uuid),
    /// The given namespace.
    Namespace(Uuid),
}

impl Vault {
    /// The secrets with these names; fails at the first that is not available. Retries until the
    /// database answers, because a task must not fail for an outage.
    pub(crate) async fn opened(
        &self,
        store: &Store,
        clock: &Clock,
        whose: SecretNamespace,
        names: &[String],
    ) -> Result<BTreeMap<String, SecretString>, VaultError> {
        let mut opened = BTreeMap::new();
        if names.is_empty() {
            return Ok(opened);
        }
        let mut rows = Box::pin(found(store, clock, whose, names)).await?;
        for name in names {
            let at = rows.iter().position(|row| row.name == *name);
            let at = at.ok_or_else(|| VaultError::Missing { name: name.clone() })?;
            let row = rows.swap_remove(at);
            let place = SecretScope::Secret { namespace: row.namespace_id, name };
            let sealed = Sealed { key_id: row.key_id, text: row.sealed };
            opened.insert(name.clone(), self.open(place, &sealed)?);
        }
        Ok(opened)
    }
}

async fn found(
    store: &Store,
    clock: &Clock,
    whose: SecretNamespace,
    names: &[String],
) -> Result<Vec<entity::secret::Model>, StoreError> {
    let mut pause = Duration::from_millis(50);
    loop {
        let answer = match whose {
            SecretNamespace::Run(run) => secrets::of_run(store.read(), run, names).await,
            SecretNamespace::Namespace(id) => secrets::of_names(store.read(), id, names).await,
        };
        match answer {
            Err(error) if error.is_transient() => clock.sleep(pause).await,
            answer => return answer,
        }
        pause = (pause * 2).min(Duration::from_secs(2));
    }
}
