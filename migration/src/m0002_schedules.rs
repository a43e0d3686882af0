//! Workflows and schedules, with the history of their definitions.
//!
//! The history of a schedule has no foreign key: it is kept longer than the schedule.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema
            .create_table(
                Table::create()
                    .table("workflow")
                    .col(uuid("id").primary_key())
                    .col(uuid("namespace_id"))
                    .col(text("name"))
                    .col(integer("version"))
                    .col(text_null("module"))
                    .col(big_integer("created_at"))
                    .col(big_integer("updated_at"))
                    .col(big_integer_null("deleted_at"))
                    .foreign_key(&mut reference("workflow", "namespace_id", "namespace"))
                    .to_owned(),
            )
            .await?;
        schema
            .create_table(
                Table::create()
                    .table("workflow_version")
                    .col(uuid("workflow_id"))
                    .col(integer("version"))
                    .col(json_binary("definition"))
                    .col(text("created_by"))
                    .col(big_integer("created_at"))
                    .primary_key(Index::create().col("workflow_id").col("version"))
                    .foreign_key(&mut reference("workflow_version", "workflow_id", "workflow"))
                    .to_owned(),
            )
            .await?;
        schema.create_table(schedule()).await?;
        schema
            .create_table(
                Table::create()
                    .table("schedule_version")
                    .col(uuid("schedule_id"))
                    .col(integer("version"))
                    .col(json_binary("snapshot"))
                    .col(text("change"))
                    .col(text("changed_by"))
                    .col(big_integer("changed_at"))
                    .primary_key(Index::create().col("schedule_id").col("version"))
                    .to_owned(),
            )
            .await?;

        // Names are unique among rows that are not deleted. The index for due schedules also
        // contains the shard, so it alone answers the planner's query.
        for statement in [
            "CREATE UNIQUE INDEX workflow_name ON workflow (namespace_id, name) \
             WHERE deleted_at IS NULL",
            // One index guarantees unique names and serves lists, which are sorted by name.
            "CREATE UNIQUE INDEX schedule_name ON schedule (namespace_id, lower(name), name) \
             WHERE deleted_at IS NULL",
            "CREATE INDEX schedule_due ON schedule (next_fire_at, shard) \
             WHERE enabled AND next_fire_at IS NOT NULL",
            "CREATE INDEX schedule_pause_end ON schedule (paused_until) \
             WHERE paused_until IS NOT NULL",
            "CREATE INDEX schedule_workflow ON schedule (workflow_id)",
            // Retention finds deleted rows by these indexes.
            "CREATE INDEX schedule_deleted ON schedule (deleted_at) \
             WHERE deleted_at IS NOT NULL",
            "CREATE INDEX workflow_deleted ON workflow (deleted_at) \
             WHERE deleted_at IS NOT NULL",
            // Retention finds schedules with a retention of their own by this index.
            "CREATE INDEX schedule_retention ON schedule (retention_days) \
             WHERE retention_days IS NOT NULL",
            // The change feed reads these indexes.
            "CREATE INDEX schedule_changed ON schedule (changed, id)",
            "CREATE INDEX schedule_module ON schedule (namespace_id, module) \
             WHERE module IS NOT NULL",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for table in ["schedule_version", "schedule", "workflow_version", "workflow"] {
            schema.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        Ok(())
    }
}

fn schedule() -> TableCreateStatement {
    Table::create()
        .table("schedule")
        .col(uuid("id").primary_key())
        .col(uuid("namespace_id"))
        .col(text("name"))
        .col(text("note"))
        .col(json_binary("tags"))
        .col(uuid("workflow_id"))
        .col(integer("version"))
        .col(json_binary("expressions"))
        .col(text("zone"))
        .col(string_len("dst_gap", 16))
        .col(string_len("dst_overlap", 16))
        .col(big_integer("anchor_at"))
        .col(big_integer_null("start_at"))
        .col(big_integer_null("end_at"))
        .col(big_integer("jitter_ms"))
        .col(json_binary_null("calendars"))
        .col(big_integer_null("max_fires"))
        .col(big_integer("fire_count").default(0))
        .col(string_len("catch_up", 16))
        .col(big_integer("grace_ms"))
        .col(integer("catch_up_max"))
        .col(big_integer("catch_up_spacing_ms"))
        .col(big_integer("catch_up_window_ms"))
        .col(string_len("overlap", 16))
        .col(integer_null("buffer_limit"))
        .col(uuid_null("group_id"))
        .col(small_integer("priority").default(0))
        .col(big_integer_null("start_deadline_ms"))
        .col(json_binary("context"))
        .col(integer_null("retention_days"))
        .col(small_integer("shard"))
        .col(boolean("enabled"))
        .col(text_null("paused_reason"))
        .col(text_null("paused_by"))
        .col(big_integer_null("paused_at"))
        .col(big_integer_null("paused_until"))
        .col(big_integer_null("next_scheduled_at"))
        .col(big_integer_null("next_fire_at"))
        .col(big_integer_null("last_fire_at"))
        .col(text_null("module"))
        .col(big_integer("created_at"))
        .col(big_integer("updated_at"))
        .col(big_integer_null("deleted_at"))
        .col(big_integer("changed"))
        .foreign_key(&mut reference("schedule", "namespace_id", "namespace"))
        .foreign_key(&mut reference("schedule", "workflow_id", "workflow"))
        .to_owned()
}

fn reference(
    table: &'static str,
    column: &'static str,
    to: &'static str,
) -> ForeignKeyCreateStatement {
    ForeignKey::create().from(table, column).to(to, "id").to_owned()
}
