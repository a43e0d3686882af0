//! What becomes of the fires of a pause when it ends automatically.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        // Null means that none of them runs, as in earlier versions.
        let missed = string_len_null("paused_missed", 16);
        schema.alter_table(Table::alter().table("schedule").add_column(missed).to_owned()).await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let without = Table::alter().table("schedule").drop_column("paused_missed").to_owned();
        schema.alter_table(without).await
    }
}
