//! Wrong passwords, counted for all nodes together.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let table = Table::create()
            .table("guess")
            .col(text("id").primary_key())
            .col(big_integer("pause_ms"))
            .col(big_integer("full_at"))
            .to_owned();
        schema.create_table(table).await?;
        // Full allowances are removed first, then those that are closest to full.
        let index = "CREATE INDEX guess_full ON guess (full_at)";
        schema.get_connection().execute_unprepared(index).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.drop_table(Table::drop().table("guess").to_owned()).await
    }
}
