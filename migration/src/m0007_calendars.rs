//! Calendars. Schedules refer to them by key.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema
            .create_table(
                Table::create()
                    .table("calendar")
                    .col(uuid("id").primary_key())
                    .col(uuid("namespace_id"))
                    .col(text("name"))
                    .col(string_len("mode", 8))
                    .col(json_binary("definition"))
                    .col(integer("version"))
                    .col(text_null("module"))
                    .col(big_integer("created_at"))
                    .col(big_integer("updated_at"))
                    .col(big_integer_null("deleted_at"))
                    .foreign_key(
                        ForeignKey::create().from("calendar", "namespace_id").to("namespace", "id"),
                    )
                    .to_owned(),
            )
            .await?;
        for statement in [
            "CREATE UNIQUE INDEX calendar_name ON calendar (namespace_id, name) \
             WHERE deleted_at IS NULL",
            // Lists are sorted by name, ignoring case.
            "CREATE INDEX calendar_list ON calendar (namespace_id, lower(name), id) \
             WHERE deleted_at IS NULL",
            // The schedules that a changed calendar may affect; most schedules have no calendar.
            "CREATE INDEX schedule_calendars ON schedule (namespace_id) \
             WHERE calendars IS NOT NULL",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.get_connection().execute_unprepared("DROP INDEX schedule_calendars").await?;
        schema.drop_table(Table::drop().table("calendar").to_owned()).await
    }
}
