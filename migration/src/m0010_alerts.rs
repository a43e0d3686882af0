//! Alerts: rules, channels, recorded alerts, and messages to be sent.
//!
//! The two indexes on runs contain only runs that failed or started late, so successful runs add no
//! cost to the ledger or to the alert service.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for table in [channel(), rule(), alert(), notification(), cursor()] {
            schema.create_table(table).await?;
        }
        for statement in [
            "CREATE UNIQUE INDEX alert_channel_name ON alert_channel (namespace_id, name)",
            "CREATE UNIQUE INDEX alert_rule_name ON alert_rule (namespace_id, name)",
            // A rule records each occurrence only once.
            "CREATE UNIQUE INDEX alert_occurrence ON alert (rule_id, occurrence)",
            "CREATE INDEX alert_open ON alert (schedule_id) WHERE ended_at IS NULL",
            // Open alerts: every few seconds the alert service checks whether they are over.
            "CREATE INDEX alert_going ON alert (id) WHERE ended_at IS NULL",
            "CREATE INDEX alert_to_tell ON alert (tell_at) WHERE tell_at IS NOT NULL",
            "CREATE INDEX alert_list ON alert (namespace_id, id)",
            "CREATE INDEX notification_due ON notification (next_attempt_at) \
             WHERE state = 'pending'",
            "CREATE INDEX notification_list ON notification (namespace_id, id)",
            "CREATE INDEX run_failed ON run (changed, id) \
             WHERE state IN ('failed', 'timed_out') AND schedule_id IS NOT NULL",
            "CREATE INDEX run_late ON run (changed, id) \
             WHERE started_at > due_at + 60000 AND schedule_id IS NOT NULL",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for index in ["run_late", "run_failed"] {
            let drop = format!("DROP INDEX {index}");
            schema.get_connection().execute_unprepared(&drop).await?;
        }
        for table in ["alert_cursor", "notification", "alert", "alert_rule", "alert_channel"] {
            schema.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        Ok(())
    }
}

fn channel() -> TableCreateStatement {
    Table::create()
        .table("alert_channel")
        .col(uuid("id").primary_key())
        .col(uuid("namespace_id"))
        .col(text("name"))
        .col(string_len("kind", 8))
        .col(json_binary("shown"))
        .col(text("sealed"))
        .col(integer("version"))
        .col(big_integer("created_at"))
        .col(big_integer("updated_at"))
        .foreign_key(
            ForeignKey::create().from("alert_channel", "namespace_id").to("namespace", "id"),
        )
        .to_owned()
}

fn rule() -> TableCreateStatement {
    Table::create()
        .table("alert_rule")
        .col(uuid("id").primary_key())
        .col(uuid("namespace_id"))
        .col(text("name"))
        .col(json_binary("definition"))
        .col(boolean("enabled"))
        .col(big_integer("since"))
        .col(big_integer_null("muted_until"))
        .col(text_null("muted_by"))
        .col(text_null("muted_reason"))
        .col(integer("version"))
        .col(big_integer("created_at"))
        .col(big_integer("updated_at"))
        .foreign_key(ForeignKey::create().from("alert_rule", "namespace_id").to("namespace", "id"))
        .to_owned()
}

fn alert() -> TableCreateStatement {
    Table::create()
        .table("alert")
        .col(uuid("id").primary_key())
        .col(uuid("namespace_id"))
        .col(uuid("rule_id"))
        .col(string_len("kind", 16))
        .col(text("occurrence"))
        .col(uuid_null("schedule_id"))
        .col(text("subject"))
        .col(uuid_null("run_id"))
        .col(uuid_null("fire_id"))
        .col(text_null("detail"))
        .col(big_integer("count"))
        .col(big_integer("began_at"))
        .col(big_integer("last_at"))
        .col(big_integer_null("ended_at"))
        .col(big_integer_null("tell_at"))
        .col(big_integer_null("told_at"))
        .col(big_integer_null("acknowledged_at"))
        .col(text_null("acknowledged_by"))
        .foreign_key(
            ForeignKey::create()
                .from("alert", "rule_id")
                .to("alert_rule", "id")
                .on_delete(ForeignKeyAction::Cascade),
        )
        .to_owned()
}

fn notification() -> TableCreateStatement {
    Table::create()
        .table("notification")
        .col(uuid("id").primary_key())
        .col(uuid("namespace_id"))
        .col(uuid_null("rule_id"))
        .col(uuid("channel_id"))
        .col(string_len("state", 8))
        .col(text("subject"))
        .col(json_binary("body"))
        .col(big_integer("alerts"))
        .col(integer("attempts"))
        .col(big_integer("next_attempt_at"))
        .col(text_null("error"))
        .col(big_integer("created_at"))
        .col(big_integer_null("settled_at"))
        .to_owned()
}

fn cursor() -> TableCreateStatement {
    Table::create()
        .table("alert_cursor")
        .col(string_len("feed", 16).primary_key())
        .col(big_integer("changed"))
        .col(uuid("key"))
        .to_owned()
}
