//! Marks nodes that an operator drained: they take no new work, but remain members.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

const COLUMNS: [(&str, &str); 3] =
    [("drained_at", "bigint"), ("drained_by", "text"), ("drain_reason", "text")];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for (column, kind) in COLUMNS {
            let add = format!("ALTER TABLE node ADD COLUMN {column} {kind}");
            schema.get_connection().execute_unprepared(&add).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for (column, _) in COLUMNS {
            let drop = format!("ALTER TABLE node DROP COLUMN {column}");
            schema.get_connection().execute_unprepared(&drop).await?;
        }
        Ok(())
    }
}
