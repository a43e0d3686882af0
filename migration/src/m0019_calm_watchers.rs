//! Who reads again and again reads less: watchdogs that are away are called ever less often, what
//! was skipped is read from its index alone, and minutes that are long past become hours.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let failures = integer("failures").default(0).to_owned();
        schema.alter_table(Table::alter().table("ping").add_column(failures).to_owned()).await?;
        for statement in [
            // So many may be skipped that the index has all that the roll-ups ask for: for SQLite
            // the verdict, too, although it is the same in all of them.
            "DROP INDEX fire_skipped",
            "CREATE INDEX fire_skipped ON fire (decided_at, namespace_id, count, verdict) \
             WHERE verdict = 'skipped'",
            // What becomes an hour, 3,600,000 ms, when it is long past.
            "CREATE INDEX run_stat_by_minute ON run_stat (minute) WHERE minute % 3600000 <> 0",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for statement in [
            "DROP INDEX run_stat_by_minute",
            "DROP INDEX fire_skipped",
            "CREATE INDEX fire_skipped ON fire (decided_at) WHERE verdict = 'skipped'",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        schema.alter_table(Table::alter().table("ping").drop_column("failures").to_owned()).await
    }
}
