//! The release of the zone data by which the cursors were computed, so that they are recomputed
//! when nodes have another one.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let table = Table::create()
            .table("zone_rules")
            // A single row.
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
