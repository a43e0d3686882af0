//! The declarations of modules, as they were last deployed.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema
            .create_table(
                Table::create()
                    .table("module")
                    .col(uuid("namespace_id"))
                    .col(text("name"))
                    .col(json_binary("declared"))
                    .col(text("deployed_by"))
                    .col(big_integer("deployed_at"))
                    .primary_key(Index::create().col("namespace_id").col("name"))
                    .foreign_key(
                        ForeignKey::create().from("module", "namespace_id").to("namespace", "id"),
                    )
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.drop_table(Table::drop().table("module").to_owned()).await
    }
}
