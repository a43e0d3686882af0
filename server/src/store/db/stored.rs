//! Reads what another version has stored, without requiring the schema of this one.

use entity::Strings;
use sea_orm::{DatabaseConnection, FromQueryResult};
use uuid::Uuid;

use super::open::DatabaseLocation;
use crate::store::{Dialect, Options, StoreError};

/// A connection to a database whose schema may be an earlier one.
#[derive(Debug)]
pub struct Stored {
    single: DatabaseConnection,
    dialect: Dialect,
}

/// When a schedule fires.
#[derive(Clone, Debug, FromQueryResult)]
pub struct StoredTiming {
    /// The schedule.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// The name of its namespace.
    pub namespace: String,
    /// See `entity::schedule`.
    pub expressions: Strings,
    /// See `entity::schedule`.
    pub zone: String,
}

/// What a workflow does.
#[derive(Clone, Debug, FromQueryResult)]
pub struct StoredDefinition {
    /// The workflow.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// The name of its namespace.
    pub namespace: String,
    /// The current definition.
    pub definition: serde_json::Value,
}

/// A node that is alive, or died without a word.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct StoredNode {
    /// Its name.
    pub name: String,
    /// The version of its program.
    pub version: String,
}

/// How many rows are read at once.
const PAGE: i64 = 1_000;

impl Stored {
    /// Connects. The file of a SQLite database must exist.
    pub async fn open(options: &Options) -> Result<Self, StoreError> {
        let single = DatabaseLocation::of(&options.url)?.open_one(options).await?;
        let dialect = Dialect::new(single.get_database_backend());
        Ok(Self { single, dialect })
    }

    /// Some timings of schedules that are not deleted, after that schedule, in key order; none at
    /// the end.
    pub async fn timings_after(&self, after: Uuid) -> Result<Vec<StoredTiming>, StoreError> {
        let sql = "SELECT s.id, s.name, n.name AS namespace, s.expressions, s.zone \
             FROM schedule s JOIN namespace n ON n.id = s.namespace_id \
             WHERE s.deleted_at IS NULL AND s.id > $1 ORDER BY s.id LIMIT $2";
        let statement = self.dialect.statement(sql, [after.into(), PAGE.into()]);
        Ok(StoredTiming::find_by_statement(statement).all(&self.single).await?)
    }

    /// The same for the current definitions of workflows.
    pub async fn definitions_after(
        &self,
        after: Uuid,
    ) -> Result<Vec<StoredDefinition>, StoreError> {
        let sql = "SELECT w.id, w.name, n.name AS namespace, v.definition \
             FROM workflow w JOIN namespace n ON n.id = w.namespace_id \
               JOIN workflow_version v ON v.workflow_id = w.id AND v.version = w.version \
             WHERE w.deleted_at IS NULL AND w.id > $1 ORDER BY w.id LIMIT $2";
        let statement = self.dialect.statement(sql, [after.into(), PAGE.into()]);
        Ok(StoredDefinition::find_by_statement(statement).all(&self.single).await?)
    }

    /// The nodes that have not been declared dead.
    pub async fn nodes(&self) -> Result<Vec<StoredNode>, StoreError> {
        let sql = "SELECT name, version FROM node WHERE state = 'alive' ORDER BY name";
        let statement = self.dialect.statement(sql, []);
        Ok(StoredNode::find_by_statement(statement).all(&self.single).await?)
    }

    /// Closes the connection.
    pub async fn close(self) -> Result<(), StoreError> {
        Ok(self.single.close().await?)
    }
}
