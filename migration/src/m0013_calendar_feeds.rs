//! Calendars of upcoming runs to which other programs subscribe.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema
            .create_table(
                Table::create()
                    .table("calendar_feed")
                    .col(uuid("id").primary_key())
                    .col(uuid("user_id"))
                    .col(text("name"))
                    .col(text_uniq("hash"))
                    .col(uuid("namespace_id"))
                    .col(uuid_null("schedule_id"))
                    .col(text_null("search"))
                    .col(big_integer("created_at"))
                    .col(big_integer_null("used_at"))
                    .to_owned(),
            )
            .await?;
        schema
            .create_index(
                Index::create()
                    .name("calendar_feed_name")
                    .table("calendar_feed")
                    .col("user_id")
                    .col("name")
                    .unique()
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.drop_table(Table::drop().table("calendar_feed").to_owned()).await
    }
}
