//! The size of the kept beginning of a worker's long output. Of the rest, only the end is kept.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

const COLUMNS: [&str; 2] = ["head_lines", "head_bytes"];

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        // SQLite adds only one column per statement.
        for column in COLUMNS {
            let column = big_integer_null(column).to_owned();
            schema.alter_table(Table::alter().table("job").add_column(column).to_owned()).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for column in COLUMNS {
            schema.alter_table(Table::alter().table("job").drop_column(column).to_owned()).await?;
        }
        Ok(())
    }
}
