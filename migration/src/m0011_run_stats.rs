//! Statistics for charts, by namespace and minute, and how
//! far the ledger has been counted into them.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

const COUNTS: [&str; 13] = [
    "succeeded",
    "failed",
    "timed_out",
    "cancelled",
    "recovered",
    "started",
    "duration_sum_ms",
    "duration_max_ms",
    "fired",
    "lateness_sum_ms",
    "lateness_max_ms",
    "missed",
    "abandoned",
];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let mut run_stat = Table::create();
        run_stat.table("run_stat").col(uuid("namespace_id")).col(big_integer("minute"));
        for count in COUNTS {
            run_stat.col(big_integer(count).default(0));
        }
        run_stat.primary_key(Index::create().col("namespace_id").col("minute"));
        schema.create_table(run_stat.to_owned()).await?;
        schema
            .create_table(
                Table::create()
                    .table("stat_position")
                    .col(text("feed").primary_key())
                    .col(big_integer("changed"))
                    .col(uuid("id"))
                    .to_owned(),
            )
            .await?;
        // Retention finds old minutes by this index.
        let by_age = "CREATE INDEX run_stat_minute ON run_stat (minute)";
        schema.get_connection().execute_unprepared(by_age).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for table in ["stat_position", "run_stat"] {
            schema.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        Ok(())
    }
}
