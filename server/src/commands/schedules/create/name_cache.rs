//! What names of namespaces and workflows stood for when they were last looked up.
//!
//! It may be so no more: whoever goes by it says so where they write, and nothing is written then
//! ([`Expected`](crate::store::expected::Expected)).

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::store::{
    Store, StoreError,
    workflows::{self, NamespaceWorkflow},
};

/// So many are kept; then all are forgotten, which costs a few reads.
const KEPT: usize = 1_000;

/// Places by the names of a namespace and of a workflow.
#[derive(Debug, Default)]
pub(in crate::commands) struct NameCache {
    known: Mutex<HashMap<(String, String), NamespaceWorkflow>>,
}

impl NameCache {
    /// The place of those names; None if there is no such namespace.
    pub(in crate::commands) async fn find(
        &self,
        store: &Store,
        (namespace, workflow): (&str, &str),
    ) -> Result<Option<NamespaceWorkflow>, StoreError> {
        let names = (namespace.to_owned(), workflow.to_owned());
        if let Some(known) = self.known().get(&names) {
            return Ok(Some(known.clone()));
        }
        let found = workflows::place(store, namespace, workflow).await?;
        // Names of what is there only: any text may be asked for.
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

    /// What was known of those names may be so no more.
    pub(in crate::commands) fn forget(&self, namespace: &str, workflow: &str) {
        self.known().remove(&(namespace.to_owned(), workflow.to_owned()));
    }

    fn known(&self) -> MutexGuard<'_, HashMap<(String, String), NamespaceWorkflow>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
