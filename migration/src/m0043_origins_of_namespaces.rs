//! Adds the namespace to the origin of live runs whose target is a program or a queue.
//! A node excludes the runs of a full origin by the new form,
//! and would still take those with the old form.

use sea_orm_migration::{prelude::*, sea_orm::DbBackend};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

/// The kinds of origins that are separate for each namespace.
const KINDS: [&str; 2] = ["command", "worker"];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let namespace = namespace_as_text(schema);
        for kind in KINDS {
            // SQL counts characters from 1, so the colon is at this position.
            let colon = kind.len() + 1;
            // An origin that already has the new form stays unchanged.
            let statement = format!(
                "UPDATE run SET origin = '{kind}:' || {namespace} || substr(origin, {colon}) \
                 WHERE state IN ('queued', 'running', 'retrying') AND origin LIKE '{kind}:%' \
                   AND origin NOT LIKE ('{kind}:' || {namespace} || ':%')"
            );
            schema.get_connection().execute_unprepared(&statement).await?;
        }
        Ok(())
    }

    async fn down(&self, _schema: &SchemaManager) -> Result<(), DbErr> {
        Ok(())
    }
}

/// An SQL expression for the namespace's id as hyphenated lower-case text. SQLite stores its bytes.
fn namespace_as_text(schema: &SchemaManager<'_>) -> String {
    if schema.get_database_backend() == DbBackend::Postgres {
        return "CAST(namespace_id AS text)".to_owned();
    }
    let groups = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)];
    let groups =
        groups.map(|(from, length)| format!("substr(hex(namespace_id), {from}, {length})"));
    format!("lower({})", groups.join(" || '-' || "))
}
