//! The ledger of fires, runs, attempts and their logs.
//!
//! These tables bear most of the load, so they have no foreign keys to each other: retention drops
//! history by day, and every write of the engine names its rows by key.
//!
//! On PostgreSQL they are partitioned. Fires are partitioned by scheduled instant, which is part of
//! their unique key, and the other tables by the run's key, whose first 48 bits are its creation
//! time in milliseconds. Two partitions hold everything before and after the daily partitions;
//! retention creates the daily ones between them.

use sea_orm_migration::{prelude::*, schema::*, sea_orm::DbBackend};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

/// The lowest possible key: that of the start of 1970.
const FIRST_KEY: &str = "'00000000-0000-0000-0000-000000000000'";

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let partitioned = schema.get_database_backend() == DbBackend::Postgres;
        let mut fire = fire();
        if partitioned {
            // A unique key of a partitioned table must include the partitioning column.
            fire.primary_key(Index::create().col("id").col("scheduled_at"));
        } else {
            fire.primary_key(Index::create().col("id"));
        }
        for (name, table, column, start) in [
            ("fire", fire, "scheduled_at", "0"),
            ("run", run(), "id", FIRST_KEY),
            ("task_run", task_run(), "run_id", FIRST_KEY),
            ("task_log", task_log(), "run_id", FIRST_KEY),
        ] {
            if partitioned {
                create_divided(schema, name, &table, column, start).await?;
            } else {
                schema.create_table(table).await?;
            }
        }

        for statement in [
            // The central guarantee: an instant of a schedule has one fire.
            "CREATE UNIQUE INDEX fire_slot ON fire (schedule_id, scheduled_at)",
            // Claimed fires that a failed hand-off left without a run.
            "CREATE INDEX fire_pending ON fire (schedule_id, claimed_at) \
             WHERE verdict = 'pending' AND claimed_by IS NOT NULL",
            // Pending fires without an owner: they wait until they are due.
            "CREATE INDEX fire_waiting ON fire (due_at, scheduled_at) \
             WHERE verdict = 'pending' AND claimed_by IS NULL AND queue_position IS NULL",
            // Pending fires that wait for a blocking run.
            "CREATE INDEX fire_buffer ON fire (schedule_id, queue_position) \
             WHERE verdict = 'pending' AND queue_position IS NOT NULL",
            // The health checks read this index.
            "CREATE INDEX fire_missed ON fire (decided_at) \
             WHERE verdict IN ('missed', 'abandoned')",
            "CREATE INDEX run_schedule ON run (schedule_id, id)",
            // Live runs, which block the schedule's next fire.
            "CREATE INDEX run_live ON run (schedule_id) \
             WHERE state IN ('queued', 'running', 'retrying')",
            // Runs that wait for a node, in the order in which nodes take them.
            "CREATE INDEX run_queue ON run (priority DESC, available_at, id) \
             WHERE state IN ('queued', 'retrying')",
            // Runs that wait for a node, by the time at which they may start.
            "CREATE INDEX run_available ON run (available_at) \
             WHERE state IN ('queued', 'retrying') AND group_id IS NULL",
            // Runs of a concurrency group: running ones are counted, and waiting ones are in order.
            "CREATE INDEX run_group ON run (group_id, state, priority DESC, available_at, id) \
             WHERE group_id IS NOT NULL AND state IN ('queued', 'running', 'retrying')",
            // Runs that wait for a node with certain tags.
            "CREATE INDEX run_tagged ON run (available_at) \
             WHERE runs_on IS NOT NULL AND state IN ('queued', 'retrying')",
            // Unsuccessful runs: they are few, and the console reads them frequently.
            "CREATE INDEX run_ended_badly ON run (namespace_id, finished_at) \
             WHERE state IN ('failed', 'timed_out', 'cancelled')",
            // The change feed reads these indexes.
            "CREATE INDEX run_changed ON run (changed, id)",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for table in ["task_log", "task_run", "run", "fire"] {
            schema.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        Ok(())
    }
}

/// Creates a table that is partitioned by ranges of `column`, with one
/// partition before `start` and one from `start` on.
async fn create_divided(
    schema: &SchemaManager<'_>,
    name: &str,
    table: &TableCreateStatement,
    column: &str,
    start: &str,
) -> Result<(), DbErr> {
    let create = table.to_string(PostgresQueryBuilder);
    for statement in [
        format!("{create} PARTITION BY RANGE ({column})"),
        format!(
            "CREATE TABLE {name}_past PARTITION OF {name} FOR VALUES FROM (MINVALUE) TO ({start})"
        ),
        format!(
            "CREATE TABLE {name}_beyond PARTITION OF {name} \
             FOR VALUES FROM ({start}) TO (MAXVALUE)"
        ),
    ] {
        schema.get_connection().execute_unprepared(&statement).await?;
    }
    Ok(())
}

fn fire() -> TableCreateStatement {
    Table::create()
        .table("fire")
        .col(uuid("id"))
        .col(uuid("namespace_id"))
        .col(uuid("schedule_id"))
        .col(integer("schedule_version"))
        .col(big_integer("scheduled_at"))
        .col(big_integer("due_at"))
        .col(big_integer("last_scheduled_at"))
        .col(big_integer("count"))
        .col(string_len("kind", 16))
        .col(string_len("verdict", 16))
        .col(string_len("reason", 24))
        .col(text_null("detail"))
        .col(uuid_null("claimed_by"))
        .col(big_integer("claimed_at"))
        .col(big_integer_null("decided_at"))
        .col(uuid_null("run_id"))
        .col(big_integer_null("queue_position"))
        .col(integer("recovery_attempts"))
        .col(big_integer_null("recovery_at"))
        .to_owned()
}

fn task_run() -> TableCreateStatement {
    Table::create()
        .table("task_run")
        .col(uuid("run_id"))
        .col(text("task"))
        .col(integer("attempt"))
        .col(string_len("state", 16))
        .col(uuid("node_id"))
        .col(big_integer("started_at"))
        .col(big_integer_null("finished_at"))
        .col(text_null("error"))
        .col(json_binary_null("output"))
        .primary_key(Index::create().col("run_id").col("task").col("attempt"))
        .to_owned()
}

fn task_log() -> TableCreateStatement {
    Table::create()
        .table("task_log")
        .col(uuid("run_id"))
        .col(big_integer("seq"))
        .col(text("task"))
        .col(integer("attempt"))
        .col(big_integer("at"))
        .col(string_len("stream", 8))
        .col(text("text"))
        .primary_key(Index::create().col("run_id").col("seq"))
        .to_owned()
}

fn run() -> TableCreateStatement {
    Table::create()
        .table("run")
        .col(uuid("id").primary_key())
        .col(uuid("namespace_id"))
        .col(uuid_null("schedule_id"))
        .col(uuid_null("fire_id"))
        .col(uuid("workflow_id"))
        .col(integer("workflow_version"))
        .col(string_len("trigger", 16))
        .col(string_len("state", 16))
        .col(big_integer("scheduled_at"))
        .col(big_integer("due_at"))
        .col(big_integer("created_at"))
        .col(big_integer("available_at"))
        .col(big_integer_null("started_at"))
        .col(big_integer_null("finished_at"))
        .col(integer("attempt"))
        .col(integer("max_attempts"))
        .col(integer("recovery_attempts"))
        .col(uuid_null("node_id"))
        .col(big_integer("epoch"))
        .col(big_integer_null("hard_deadline_at"))
        .col(text_null("error"))
        .col(big_integer_null("cancel_requested_at"))
        .col(text_null("cancel_by"))
        .col(text_null("cancel_reason"))
        .col(json_binary("context"))
        .col(boolean("is_recovery"))
        .col(text("idempotency_key"))
        .col(uuid_null("retry_of"))
        .col(uuid_null("group_id"))
        .col(small_integer("priority").default(0))
        .col(json_binary_null("runs_on"))
        .col(uuid_null("backfill_id"))
        .col(big_integer("changed"))
        .to_owned()
}
