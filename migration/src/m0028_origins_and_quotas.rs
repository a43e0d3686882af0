//! The target of each run's first task, by which a node divides its places among waiting runs; and
//! each namespace's own quotas, which replace the configured ones.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        add(schema, "run", text_null("origin")).await?;
        add(schema, "namespace", json_binary_null("quotas")).await?;
        add(schema, "schedule", big_integer("fires_an_hour").default(0).to_owned()).await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for (table, column) in
            [("schedule", "fires_an_hour"), ("namespace", "quotas"), ("run", "origin")]
        {
            let table = Table::alter().table(table).drop_column(column).to_owned();
            schema.alter_table(table).await?;
        }
        Ok(())
    }
}

async fn add(
    schema: &SchemaManager<'_>,
    table: &'static str,
    column: impl Into<ColumnDef>,
) -> Result<(), DbErr> {
    let table = Table::alter().table(table).add_column(column.into()).to_owned();
    schema.alter_table(table).await
}
