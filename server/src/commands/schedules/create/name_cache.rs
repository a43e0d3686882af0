//! Caches the namespaces and workflows of names.
//!
//! An entry may be outdated. So callers state their assumptions when they write, and nothing is
//! written if the assumptions no longer hold: see
//! [`ExpectedObjects`](crate::store::expected::ExpectedObjects).

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::store::{
    Store, StoreError,
    workflows::{self, NamespaceWorkflow},
};

/// Maximum number of entries. Beyond it all are dropped, which only costs a few reads.
const KEPT: usize = 1_000;

/// Namespaces and workflows by their names.
#[derive(Debug, Default)]
pub(in crate::commands) struct NameCache {
    known: Mutex<HashMap<(String, String), NamespaceWorkflow>>,
}

impl NameCache {
    /// The objects with these names; `None` if there is no such namespace.
    pub(in crate::commands) async fn find(
        &self,
        store: &Store,
        namespace: &str,
        workflow: &str,
    ) -> Result<Option<NamespaceWorkflow>, StoreError> {
        let names = (namespace.to_owned(), workflow.to_owned());
        if let Some(known) = self.known().get(&names) {
            return Ok(Some(known.clone()));
        }
        let found = workflows::place(store, namespace, workflow).await?;
        // Only names of existing objects are cached, because callers may send any text.
        let is_there =
            |found: &NamespaceWorkflow| workflow.is_empty() || found.workflow_id.is_some();
        if let Some(found) = found.as_ref().filter(|found| is_there(found)) {
            let mut known = self.known();
            if known.len() >= KEPT {
                known.clear();
            }
            known.insert(names, found.clone());
        }
        Ok(found)
    }

    /// Drops an entry that may be outdated.
    pub(in crate::commands) fn forget(&self, namespace: &str, workflow: &str) {
        self.known().remove(&(namespace.to_owned(), workflow.to_owned()));
    }

    fn known(&self) -> MutexGuard<'_, HashMap<(String, String), NamespaceWorkflow>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
