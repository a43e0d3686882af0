//! An index for the ledger of a whole namespace, newest first.
//!
//! The index contains only columns that never change.
//! So on SQLite a changed verdict does not write to the index, which costs just one write per fire.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let index = "CREATE INDEX fire_ledger ON fire (namespace_id, scheduled_at, id)";
        schema.get_connection().execute_unprepared(index).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.get_connection().execute_unprepared("DROP INDEX fire_ledger").await?;
        Ok(())
    }
}
