//! Adds a kind of feed that is a badge.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let kind = string_len("kind", 8).default("calendar").to_owned();
        schema.alter_table(Table::alter().table("calendar_feed").add_column(kind).to_owned()).await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let drop = "DELETE FROM calendar_feed WHERE kind <> 'calendar'";
        schema.get_connection().execute_unprepared(drop).await?;
        schema
            .alter_table(Table::alter().table("calendar_feed").drop_column("kind").to_owned())
            .await
    }
}
