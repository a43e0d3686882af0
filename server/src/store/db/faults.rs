//! Faults that a simulation injects into a store: errors, delays and crashes, at the places where a
//! database and its answers can really be lost. A store outside a simulation has no faults.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use sea_orm::Statement;

use crate::store::StoreError;

/// A moment between two database operations of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Before it begins.
    Begin,
    /// Before it commits: an error, or a crash of the caller, rolls it back.
    Commit,
    /// After it has committed: an error, or a crash of the caller, loses the answer.
    Committed,
}

/// Called at each edge and for each statement.
#[derive(Clone)]
pub struct Faults {
    edge: Arc<dyn Fn(Edge) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync>,
    statement: Arc<dyn Fn() -> Option<Statement> + Send + Sync>,
}

impl Faults {
    /// `edge` may wait, fail or never return; `statement` may return a failing statement to be
    /// executed instead.
    pub fn new(
        edge: impl Fn(Edge) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync + 'static,
        statement: impl Fn() -> Option<Statement> + Send + Sync + 'static,
    ) -> Self {
        Self { edge: Arc::new(edge), statement: Arc::new(statement) }
    }

    pub(in crate::store) async fn at(&self, edge: Edge) -> Result<(), StoreError> {
        (self.edge)(edge).await
    }

    pub(in crate::store) fn statement(&self) -> Option<Statement> {
        (self.statement)()
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faults")
    }
}
