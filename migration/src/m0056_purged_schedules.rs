//! The greatest stamp of removed schedules, for SQLite. A stamp there is one more than the greatest
//! one, so a later change would otherwise get a stamp that followers have passed.

use sea_orm_migration::{prelude::*, sea_orm::DbBackend};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        if schema.get_database_backend() == DbBackend::Postgres {
            return Ok(());
        }
        let trigger = "CREATE TRIGGER schedule_feed AFTER DELETE ON schedule \
             WHEN OLD.changed > 0 BEGIN \
               INSERT INTO stat_position (feed, changed, id) \
               VALUES ('schedule_feed', OLD.changed, OLD.id) \
               ON CONFLICT (feed) DO UPDATE \
               SET changed = max(stat_position.changed, excluded.changed); \
             END";
        schema.get_connection().execute_unprepared(trigger).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        if schema.get_database_backend() == DbBackend::Postgres {
            return Ok(());
        }
        let connection = schema.get_connection();
        connection.execute_unprepared("DROP TRIGGER schedule_feed").await?;
        let position = "DELETE FROM stat_position WHERE feed = 'schedule_feed'";
        connection.execute_unprepared(position).await?;
        Ok(())
    }
}
