//! Maintenance windows: planned pauses of the schedules that match a search.
//!
//! A window is written ahead onto its schedules, so that a claim knows where it must stop.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

/// The indexes on schedules, which must be gone before their columns.
const INDEXES: [(&str, &str); 3] = [
    ("schedule_pause_start", "pause_from"),
    ("schedule_planned_window", "pause_window_id"),
    ("schedule_paused_window", "paused_window_id"),
];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.create_table(window()).await?;
        // SQLite adds only one column per statement.
        for column in [
            big_integer_null("pause_from"),
            uuid_null("pause_window_id"),
            uuid_null("paused_window_id"),
        ] {
            let table = Table::alter().table("schedule").add_column(column).to_owned();
            schema.alter_table(table).await?;
        }
        let list = "CREATE INDEX maintenance_window_list \
             ON maintenance_window (namespace_id, starts_at, id)";
        // The engine finds the windows that it has to work on by this index.
        let open = "CREATE INDEX maintenance_window_open ON maintenance_window (starts_at) \
             WHERE is_open";
        for statement in [list, open] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        for (name, column) in INDEXES {
            let statement =
                format!("CREATE INDEX {name} ON schedule ({column}) WHERE {column} IS NOT NULL");
            schema.get_connection().execute_unprepared(&statement).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for (name, _) in INDEXES {
            let drop = format!("DROP INDEX {name}");
            schema.get_connection().execute_unprepared(&drop).await?;
        }
        for (_, column) in INDEXES {
            let table = Table::alter().table("schedule").drop_column(column).to_owned();
            schema.alter_table(table).await?;
        }
        schema.drop_table(Table::drop().table("maintenance_window").to_owned()).await
    }
}

fn window() -> TableCreateStatement {
    Table::create()
        .table("maintenance_window")
        .col(uuid("id").primary_key())
        .col(uuid("namespace_id"))
        .col(text("title"))
        .col(text_null("ticket"))
        .col(text_null("search"))
        .col(big_integer("starts_at"))
        .col(big_integer("ends_at"))
        .col(string_len("missed", 16))
        .col(string_len("state", 16))
        .col(boolean("is_open"))
        .col(big_integer("held"))
        .col(text("planned_by"))
        .col(big_integer("planned_at"))
        .col(text_null("cancelled_by"))
        .col(big_integer_null("cancelled_at"))
        .col(text_null("cancel_reason"))
        .to_owned()
}
