//! Budgets of health: what the schedules with a tag may lose, fail or delay in a span.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

const TABLE: &str = "health_budget";

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.create_table(budget()).await?;
        let index = "CREATE UNIQUE INDEX health_budget_tag ON health_budget (namespace_id, tag)";
        schema.get_connection().execute_unprepared(index).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.drop_table(Table::drop().table(TABLE).to_owned()).await
    }
}

fn budget() -> TableCreateStatement {
    Table::create()
        .table(TABLE)
        .col(uuid("id").primary_key())
        .col(uuid("namespace_id"))
        .col(text("tag"))
        .col(big_integer_null("missed"))
        .col(big_integer_null("failed"))
        .col(big_integer_null("stalled"))
        .col(big_integer_null("late_ms"))
        .col(big_integer("span_ms"))
        .col(text("updated_by"))
        .col(big_integer("updated_at"))
        .to_owned()
}
