//! The release of the zone data from which the schedules' cursors were computed.
//! The cursors are recomputed when the nodes get another release.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let table = Table::create()
            .table("zone_rules")
            // The table has a single row.
            .col(integer("id").primary_key())
            .col(text("zone_data"))
            .col(big_integer_null("checked_at"))
            .to_owned();
        schema.create_table(table).await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.drop_table(Table::drop().table("zone_rules").to_owned()).await
    }
}
