//! An index of schedules with calendars by the time of their last change.
//! A change of a calendar examines all of them in advance, and its transaction
//! examines those that have changed since then.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let connection = schema.get_connection();
        // The new index starts with the same column as the
        // previous one, so it serves the same queries.
        let statement = "CREATE INDEX schedule_calendar_users ON schedule \
            (namespace_id, updated_at) WHERE calendars IS NOT NULL";
        connection.execute_unprepared(statement).await?;
        connection.execute_unprepared("DROP INDEX schedule_calendars").await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let connection = schema.get_connection();
        let statement = "CREATE INDEX schedule_calendars ON schedule (namespace_id) \
            WHERE calendars IS NOT NULL";
        connection.execute_unprepared(statement).await?;
        connection.execute_unprepared("DROP INDEX schedule_calendar_users").await?;
        Ok(())
    }
}
