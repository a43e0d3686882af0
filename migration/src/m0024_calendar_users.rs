//! The schedules that name calendars by when they were changed last: whoever changes a calendar looks at
//! all of them beforehand, and in its transaction at those that have changed meanwhile.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let connection = schema.get_connection();
        // It begins as the one before, so it answers what that did.
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
