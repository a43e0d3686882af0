//! Backfills: requests to run a schedule for past instants.
//!
//! Like the ledger, backfills refer to schedules and runs without foreign keys: retention removes
//! history by age, and a finished backfill is history.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema
            .create_table(
                Table::create()
                    .table("backfill")
                    .col(uuid("id").primary_key())
                    .col(uuid("namespace_id"))
                    .col(uuid("schedule_id"))
                    .col(integer("schedule_version"))
                    .col(big_integer("from_at"))
                    .col(big_integer("to_at"))
                    .col(string_len("mode", 24))
                    .col(string_len("fire_order", 16))
                    .col(integer("concurrency"))
                    .col(integer("total"))
                    .col(string_len("state", 16))
                    .col(text("reason"))
                    .col(json_binary_null("context"))
                    .col(text("created_by"))
                    .col(big_integer("created_at"))
                    .col(text_null("paused_by"))
                    .col(big_integer_null("paused_at"))
                    .col(text_null("paused_reason"))
                    .col(text_null("cancelled_by"))
                    .col(text_null("cancel_reason"))
                    .col(big_integer_null("cancelled_at"))
                    .col(big_integer_null("finished_at"))
                    .to_owned(),
            )
            .await?;
        schema
            .create_table(
                Table::create()
                    .table("backfill_fire")
                    .col(uuid("backfill_id"))
                    .col(integer("position"))
                    .col(uuid("schedule_id"))
                    .col(big_integer("scheduled_at"))
                    .col(string_len("kind", 16))
                    .col(string_len("state", 16))
                    .col(uuid_null("run_id"))
                    .col(text_null("detail"))
                    .col(big_integer_null("started_at"))
                    .col(big_integer_null("finished_at"))
                    .primary_key(Index::create().col("backfill_id").col("position"))
                    .to_owned(),
            )
            .await?;
        for statement in [
            "CREATE INDEX backfill_list ON backfill (namespace_id, id)",
            "CREATE INDEX backfill_schedule ON backfill (schedule_id, id)",
            // The backfill service finds open backfills by this index.
            "CREATE INDEX backfill_open ON backfill (id) WHERE finished_at IS NULL",
            // Finds the next fires in order, those with a live run, and the progress.
            "CREATE INDEX backfill_fire_state ON backfill_fire (backfill_id, state, position)",
            // The central guarantee: all backfills together have at most one live run per instant.
            "CREATE UNIQUE INDEX backfill_fire_live ON backfill_fire (schedule_id, scheduled_at) \
             WHERE state = 'running'",
            // Finds the state of past instants.
            // Rows of the hot path are in neither of these indexes.
            "CREATE INDEX fire_range ON fire (schedule_id, scheduled_at) WHERE count > 1",
            "CREATE INDEX run_beside ON run (schedule_id, scheduled_at) \
             WHERE trigger <> 'schedule'",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for index in ["run_beside", "fire_range"] {
            let drop = format!("DROP INDEX {index}");
            schema.get_connection().execute_unprepared(&drop).await?;
        }
        for table in ["backfill_fire", "backfill"] {
            schema.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        Ok(())
    }
}
