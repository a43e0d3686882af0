//! Whether a user must choose a password of their own before anything else.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        // Users of earlier versions keep their passwords.
        let must_change = boolean("must_change_password").default(false).to_owned();
        schema.alter_table(Table::alter().table("user").add_column(must_change).to_owned()).await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let without = Table::alter().table("user").drop_column("must_change_password").to_owned();
        schema.alter_table(without).await
    }
}
