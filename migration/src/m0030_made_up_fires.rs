//! Late fires record why they were missed. They run one after another instead of skipping each
//! other, and their reason tells an outage from a pause.

use sea_orm_migration::prelude::*;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        // The column has no default, so existing rows and,
        // on PostgreSQL, the partitions are not rewritten.
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
