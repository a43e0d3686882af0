//! The console settings of a user: appearance, saved views, favourites.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let table = Table::create()
            .table("user_setting")
            .col(uuid("user_id").primary_key())
            .col(json_binary("settings"))
            .col(big_integer("updated_at"))
            .foreign_key(
                ForeignKey::create()
                    .from("user_setting", "user_id")
                    .to("user", "id")
                    .on_delete(ForeignKeyAction::Cascade),
            )
            .to_owned();
        schema.create_table(table).await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.drop_table(Table::drop().table("user_setting").to_owned()).await
    }
}
