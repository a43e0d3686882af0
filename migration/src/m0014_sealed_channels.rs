//! Encrypts channels' secrets, tracks mail delivery per recipient, and allows rules to be deleted
//! while alerts are recorded for them.

use sea_orm_migration::{
    prelude::*,
    schema::*,
    sea_orm::{DbBackend, Statement},
};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        refuse_addresses_in_the_clear(schema).await?;
        let key = Table::alter().table("alert_channel").add_column(text_null("key_id")).to_owned();
        schema.alter_table(key).await?;
        let progress = json_binary_null("progress");
        let progress = Table::alter().table("notification").add_column(progress).to_owned();
        schema.alter_table(progress).await?;
        let connection = schema.get_connection();
        // The table has no foreign key to the rule:
        // a deleted rule's alerts are removed later, in batches.
        if schema.get_database_backend() == DbBackend::Postgres {
            let drop = "ALTER TABLE alert DROP CONSTRAINT IF EXISTS alert_rule_id_fkey";
            connection.execute_unprepared(drop).await?;
            return Ok(());
        }
        // SQLite cannot drop a constraint, so the table is rebuilt.
        schema.create_table(alert()).await?;
        for statement in [
            "INSERT INTO alert_anew SELECT * FROM alert",
            "DROP TABLE alert",
            "ALTER TABLE alert_anew RENAME TO alert",
            "CREATE UNIQUE INDEX alert_occurrence ON alert (rule_id, occurrence)",
            "CREATE INDEX alert_open ON alert (schedule_id) WHERE ended_at IS NULL",
            "CREATE INDEX alert_going ON alert (id) WHERE ended_at IS NULL",
            "CREATE INDEX alert_to_tell ON alert (tell_at) WHERE tell_at IS NOT NULL",
            "CREATE INDEX alert_list ON alert (namespace_id, id)",
        ] {
            connection.execute_unprepared(statement).await?;
        }
        Ok(())
    }

    /// The foreign key is not restored, because there may be alerts of deleted rules.
    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for (table, column) in [("notification", "progress"), ("alert_channel", "key_id")] {
            let drop = Table::alter().table(table).drop_column(column).to_owned();
            schema.alter_table(drop).await?;
        }
        Ok(())
    }
}

/// Refuses to migrate if URLs are stored unencrypted. No release stored them so, and this migration
/// cannot encrypt them; a channel that silently lost its URL would deliver nothing.
async fn refuse_addresses_in_the_clear(schema: &SchemaManager<'_>) -> Result<(), DbErr> {
    let sql = "SELECT name FROM alert_channel WHERE kind <> 'email' ORDER BY name LIMIT 5";
    let statement = Statement::from_string(schema.get_database_backend(), sql);
    let rows = schema.get_connection().query_all_raw(statement).await?;
    let names = rows.iter().map(|row| row.try_get::<String>("", "name"));
    let names = names.collect::<Result<Vec<_>, _>>()?.join(", ");
    if names.is_empty() {
        return Ok(());
    }
    Err(DbErr::Migration(format!(
        "alert channels keep their addresses in the clear, which no release did: {names}. Delete \
         them with the version that made them, and make them again with this one"
    )))
}

/// The alert table without its foreign key to the rule.
fn alert() -> TableCreateStatement {
    Table::create()
        .table("alert_anew")
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
        .to_owned()
}
