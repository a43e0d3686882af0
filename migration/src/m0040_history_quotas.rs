//! The amount of history in each namespace, for the quotas of rows and of log bytes; and the
//! instant up to which the quota of rows has removed history.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let mut history_stat = Table::create();
        history_stat
            .table("history_stat")
            .col(uuid("namespace_id"))
            .col(big_integer("period"))
            .col(integer("days"))
            .col(big_integer("row_count").default(0))
            .col(big_integer("log_bytes").default(0))
            .primary_key(Index::create().col("namespace_id").col("period").col("days"));
        schema.create_table(history_stat.to_owned()).await?;
        // Retention finds old periods by this index.
        let by_age = "CREATE INDEX history_stat_period ON history_stat (period)";
        schema.get_connection().execute_unprepared(by_age).await?;
        schema
            .create_table(
                Table::create()
                    .table("history_cut")
                    .col(uuid("namespace_id").primary_key())
                    .col(big_integer("until"))
                    .col(big_integer("at"))
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for table in ["history_cut", "history_stat"] {
            schema.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        Ok(())
    }
}
