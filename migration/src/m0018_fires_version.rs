//! The version of a schedule that last changed its fires.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let column = integer("fires_version").default(1).to_owned();
        schema.alter_table(Table::alter().table("schedule").add_column(column).to_owned()).await?;
        // It is unknown which version last changed the fires.
        // So fires of versions before the current one do not run.
        let statement = "UPDATE schedule SET fires_version = version WHERE version > 1";
        schema.get_connection().execute_unprepared(statement).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let table = Table::alter().table("schedule").drop_column("fires_version").to_owned();
        schema.alter_table(table).await
    }
}
