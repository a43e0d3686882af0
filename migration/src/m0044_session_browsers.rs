//! The browser that each session was opened in.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let browser = Table::alter().table("session").add_column(text_null("browser")).to_owned();
        schema.alter_table(browser).await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.alter_table(Table::alter().table("session").drop_column("browser").to_owned()).await
    }
}
