//! Secrets, encrypted with a key that is not in the database.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema
            .create_table(
                Table::create()
                    .table("secret")
                    .col(uuid("id").primary_key())
                    .col(uuid("namespace_id"))
                    .col(text("name"))
                    .col(string_len("key_id", 12))
                    .col(text("sealed"))
                    .col(integer("version"))
                    .col(text("set_by"))
                    .col(big_integer("created_at"))
                    .col(big_integer("updated_at"))
                    .foreign_key(
                        ForeignKey::create().from("secret", "namespace_id").to("namespace", "id"),
                    )
                    .to_owned(),
            )
            .await?;
        schema
            .create_index(
                Index::create()
                    .name("secret_name")
                    .table("secret")
                    .col("namespace_id")
                    .col("name")
                    .unique()
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.drop_table(Table::drop().table("secret").to_owned()).await
    }
}
