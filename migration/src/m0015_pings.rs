//! A schedule's external watchdog, and the delivery state of calls to it.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let whom = Table::alter().table("schedule").add_column(json_binary_null("ping")).to_owned();
        schema.alter_table(whom).await?;
        schema
            .create_table(
                Table::create()
                    .table("ping")
                    .col(uuid("schedule_id").primary_key())
                    .col(string_len("event", 8))
                    .col(uuid("run_id"))
                    .col(big_integer("happened_at"))
                    .col(integer("attempts"))
                    .col(big_integer_null("next_attempt_at"))
                    .col(text_null("error"))
                    .col(big_integer_null("sent_at"))
                    .foreign_key(
                        ForeignKey::create()
                            .from("ping", "schedule_id")
                            .to("schedule", "id")
                            .on_delete(ForeignKeyAction::Cascade),
                    )
                    .to_owned(),
            )
            .await?;
        for statement in [
            // While no schedule has a watchdog, the service does not read the feed of runs.
            "CREATE INDEX schedule_ping ON schedule (id) WHERE ping IS NOT NULL",
            "CREATE INDEX ping_due ON ping (next_attempt_at) WHERE next_attempt_at IS NOT NULL",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.drop_table(Table::drop().table("ping").to_owned()).await?;
        schema.get_connection().execute_unprepared("DROP INDEX schedule_ping").await?;
        let whom = Table::alter().table("schedule").drop_column("ping").to_owned();
        schema.alter_table(whom).await
    }
}
