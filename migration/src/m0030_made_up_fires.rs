//! A fire that is made up for says for what: it follows the others of its kind instead of skipping
//! them, and its reason tells an outage from a pause.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        // Without a default: existing rows, and on PostgreSQL the days, are not written anew.
        let add = "ALTER TABLE fire ADD COLUMN made_up_for varchar(8)";
        schema.get_connection().execute_unprepared(add).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let drop = "ALTER TABLE fire DROP COLUMN made_up_for";
        schema.get_connection().execute_unprepared(drop).await?;
        Ok(())
    }
}
