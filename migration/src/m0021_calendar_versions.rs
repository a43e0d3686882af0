//! Former versions of calendars: a past instant is judged by the version in force at that time.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema
            .create_table(
                Table::create()
                    .table("calendar_version")
                    .col(uuid("calendar_id"))
                    .col(integer("version"))
                    .col(string_len("mode", 8))
                    .col(json_binary("definition"))
                    .col(big_integer("ended_at"))
                    .primary_key(Index::create().col("calendar_id").col("version"))
                    .foreign_key(
                        ForeignKey::create()
                            .from("calendar_version", "calendar_id")
                            .to("calendar", "id"),
                    )
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.drop_table(Table::drop().table("calendar_version").to_owned()).await
    }
}
