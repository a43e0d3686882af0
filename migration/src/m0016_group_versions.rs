//! Concurrency groups get a version, as schedules, workflows and calendars have.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let version = integer("version").default(1).to_owned();
        let group = Table::alter().table("concurrency_group").add_column(version).to_owned();
        schema.alter_table(group).await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let group = Table::alter().table("concurrency_group").drop_column("version").to_owned();
        schema.alter_table(group).await
    }
}
