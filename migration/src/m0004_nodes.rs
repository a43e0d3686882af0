//! The nodes that share the work, and the leases that they hold.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema
            .create_table(
                Table::create()
                    .table("node")
                    .col(uuid("id").primary_key())
                    .col(text("name"))
                    .col(integer("incarnation"))
                    .col(string_len("state", 8))
                    .col(text("version"))
                    .col(text("zone_data"))
                    .col(text("schema"))
                    .col(text("process"))
                    .col(json_binary("roles"))
                    .col(json_binary("tags"))
                    .col(integer("capacity"))
                    .col(integer("held"))
                    .col(big_integer("clock_offset_ms"))
                    .col(big_integer("started_at"))
                    .col(big_integer("heartbeat_at"))
                    .col(string_len("beats_in", 8))
                    .col(big_integer_null("doubted_at"))
                    .col(text_null("redis_problem"))
                    .col(big_integer_null("draining_at"))
                    .col(big_integer_null("ended_at"))
                    .col(big_integer("changed"))
                    .to_owned(),
            )
            .await?;
        schema
            .create_index(
                Index::create()
                    .name("node_life")
                    .table("node")
                    .col("name")
                    .col("incarnation")
                    .unique()
                    .to_owned(),
            )
            .await?;
        schema
            .create_table(
                Table::create()
                    .table("lease")
                    .col(text("name").primary_key())
                    .col(uuid("holder"))
                    .col(big_integer("epoch"))
                    .col(big_integer("until_at"))
                    .to_owned(),
            )
            .await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for table in ["lease", "node"] {
            schema.drop_table(Table::drop().table(table).to_owned()).await?;
        }
        Ok(())
    }
}
