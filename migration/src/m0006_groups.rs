//! Limits on the number of running runs.
//! A schedule refers to its group, and each of its runs copies the reference.
//! Neither has a foreign key: a reference to a deleted group means that there is no limit.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let namespace = ForeignKey::create()
            .from("concurrency_group", "namespace_id")
            .to("namespace", "id")
            .to_owned();
        schema
            .create_table(
                Table::create()
                    .table("concurrency_group")
                    .col(uuid("id").primary_key())
                    .col(uuid("namespace_id"))
                    .col(text("name"))
                    .col(integer("max_runs"))
                    .col(text_null("module"))
                    .col(big_integer("created_at"))
                    .col(big_integer("updated_at"))
                    .foreign_key(&mut namespace.clone())
                    .to_owned(),
            )
            .await?;
        for statement in [
            "CREATE UNIQUE INDEX concurrency_group_name ON concurrency_group (namespace_id, name)",
            "CREATE INDEX schedule_group ON schedule (group_id) WHERE group_id IS NOT NULL",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.get_connection().execute_unprepared("DROP INDEX schedule_group").await?;
        schema.drop_table(Table::drop().table("concurrency_group").to_owned()).await
    }
}
