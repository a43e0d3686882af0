//! Change feeds of alerts, of backfills, and of fires without a run.
//!
//! A fire with a run is in the feed of runs. So only the other fires are stamped, and the index
//! contains no fire that a run followed at once: those cost nothing more than before.

use sea_orm_migration::{prelude::*, sea_orm::DbBackend};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

/// The tables whose rows get stamps.
const TABLES: [&str; 3] = ["fire", "alert", "backfill"];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let connection = schema.get_connection();
        for statement in [
            // The column has no default, so existing rows and, on PostgreSQL, the partitions are
            // not rewritten.
            "ALTER TABLE fire ADD COLUMN changed bigint",
            "ALTER TABLE alert ADD COLUMN changed bigint NOT NULL DEFAULT 0",
            "ALTER TABLE alert ADD COLUMN withdrawn_at bigint",
            "ALTER TABLE backfill ADD COLUMN changed bigint NOT NULL DEFAULT 0",
            "CREATE INDEX fire_changed ON fire (changed, id) WHERE changed IS NOT NULL",
            "CREATE INDEX alert_changed ON alert (changed, id)",
            "CREATE INDEX backfill_changed ON backfill (changed, id)",
        ] {
            connection.execute_unprepared(statement).await?;
        }
        if schema.get_database_backend() == DbBackend::Postgres {
            return Ok(());
        }
        // On SQLite, a stamp is one more than the greatest one. The greatest stamp of removed rows
        // is kept, because otherwise a later row would get a stamp that followers have passed.
        for table in TABLES {
            let trigger = format!(
                "CREATE TRIGGER {table}_feed AFTER DELETE ON {table} WHEN OLD.changed > 0 BEGIN \
                   INSERT INTO stat_position (feed, changed, id) \
                   VALUES ('{table}_feed', OLD.changed, OLD.id) \
                   ON CONFLICT (feed) DO UPDATE \
                   SET changed = max(stat_position.changed, excluded.changed); \
                 END"
            );
            connection.execute_unprepared(&trigger).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let connection = schema.get_connection();
        for table in TABLES {
            if schema.get_database_backend() != DbBackend::Postgres {
                connection.execute_unprepared(&format!("DROP TRIGGER {table}_feed")).await?;
            }
            connection.execute_unprepared(&format!("DROP INDEX {table}_changed")).await?;
            let drop = format!("ALTER TABLE {table} DROP COLUMN changed");
            connection.execute_unprepared(&drop).await?;
        }
        connection.execute_unprepared("ALTER TABLE alert DROP COLUMN withdrawn_at").await?;
        let positions = "DELETE FROM stat_position \
             WHERE feed IN ('fire_feed', 'alert_feed', 'backfill_feed')";
        connection.execute_unprepared(positions).await?;
        Ok(())
    }
}
