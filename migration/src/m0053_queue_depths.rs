//! Adds how long runs and jobs waited to the statistics.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

const COLUMNS: [&str; 2] = ["runs_waited_ms", "jobs_waited_ms"];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for column in COLUMNS {
            let waited = big_integer(column).default(0).to_owned();
            let run_stat = Table::alter().table("run_stat").add_column(waited).to_owned();
            schema.alter_table(run_stat).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for column in COLUMNS {
            let run_stat = Table::alter().table("run_stat").drop_column(column).to_owned();
            schema.alter_table(run_stat).await?;
        }
        Ok(())
    }
}
