//! Lets modules declare alert rules and channels, and gives each group of runs a queue of its own.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

const DECLARED: [&str; 2] = ["alert_channel", "alert_rule"];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for table in DECLARED {
            let module = Table::alter().table(table).add_column(text_null("module")).to_owned();
            schema.alter_table(module).await?;
        }
        for statement in [
            // Waiting runs without a concurrency group, in the order in which nodes take them.
            "DROP INDEX run_queue",
            "CREATE INDEX run_queue ON run (priority DESC, available_at, id) \
             WHERE state IN ('queued', 'retrying') AND group_id IS NULL",
            // Runs with a concurrency group: running ones are counted by this index.
            "DROP INDEX run_group",
            "CREATE INDEX run_group_busy ON run (group_id) \
             WHERE group_id IS NOT NULL AND state = 'running'",
            // Waiting runs form a queue per group, in the order in which nodes take them.
            "CREATE INDEX run_group_queue ON run (group_id, priority DESC, available_at, id) \
             WHERE group_id IS NOT NULL AND state IN ('queued', 'retrying')",
            // Waiting runs with a group, by the time at which they may start.
            "CREATE INDEX run_group_next ON run (available_at) \
             WHERE group_id IS NOT NULL AND state IN ('queued', 'retrying')",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for statement in [
            "DROP INDEX run_group_next",
            "DROP INDEX run_group_queue",
            "DROP INDEX run_group_busy",
            "CREATE INDEX run_group ON run (group_id, state, priority DESC, available_at, id) \
             WHERE group_id IS NOT NULL AND state IN ('queued', 'running', 'retrying')",
            "DROP INDEX run_queue",
            "CREATE INDEX run_queue ON run (priority DESC, available_at, id) \
             WHERE state IN ('queued', 'retrying')",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        for table in DECLARED {
            let drop = Table::alter().table(table).drop_column("module").to_owned();
            schema.alter_table(drop).await?;
        }
        Ok(())
    }
}
