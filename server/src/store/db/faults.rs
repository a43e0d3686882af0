//! Faults that a simulation injects into a store: errors, delays and crashes, at places where a
//! database or its answers can really be lost. Outside a simulation, a store has no faults.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use sea_orm::Statement;

use crate::store::StoreError;

/// A moment in a transaction at which a fault can occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPoint {
    /// Before the transaction begins.
    Begin,
    /// Before the commit: an error, or a crash of the caller, rolls the transaction back.
    Commit,
    /// After the commit: an error, or a crash of the caller, loses the answer.
    Committed,
}

/// The functions that a store calls at each edge and for each statement.
#[derive(Clone)]
pub struct Faults {
    edge: Arc<dyn Fn(FaultPoint) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync>,
    statement: Arc<dyn Fn() -> Option<Statement> + Send + Sync>,
}

impl Faults {
    /// `edge` may wait, fail or never return.
    /// `statement` may return a statement that fails, to be executed instead.
    pub fn new(
        edge: impl Fn(FaultPoint) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync + 'static,
        statement: impl Fn() -> Option<Statement> + Send + Sync + 'static,
    ) -> Self {
        Self { edge: Arc::new(edge), statement: Arc::new(statement) }
    }

    pub(in crate::store) async fn at(&self, edge: FaultPoint) -> Result<(), StoreError> {
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
