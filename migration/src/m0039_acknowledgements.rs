//! Acknowledgements of alerts and of problems, with a note and an end.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

const NOTE: &str = "acknowledged_note";
const UNTIL: &str = "acknowledged_until";

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        // SQLite adds only one column per statement.
        for column in [text_null(NOTE), big_integer_null(UNTIL)] {
            let table = Table::alter().table("alert").add_column(column).to_owned();
            schema.alter_table(table).await?;
        }
        schema.create_table(problem()).await?;
        let index = "CREATE INDEX problem_acknowledgement_schedule \
             ON problem_acknowledgement (schedule_id)";
        schema.get_connection().execute_unprepared(index).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.drop_table(Table::drop().table("problem_acknowledgement").to_owned()).await?;
        for column in [NOTE, UNTIL] {
            let table = Table::alter().table("alert").drop_column(column).to_owned();
            schema.alter_table(table).await?;
        }
        Ok(())
    }
}

fn problem() -> TableCreateStatement {
    Table::create()
        .table("problem_acknowledgement")
        .col(uuid("id").primary_key())
        .col(uuid("schedule_id"))
        .col(uuid_null("last_run_id"))
        .col(big_integer("last_at"))
        .col(big_integer("acknowledged_at"))
        .col(text("acknowledged_by"))
        .col(text_null(NOTE))
        .col(big_integer_null(UNTIL))
        .foreign_key(
            ForeignKey::create()
                .from("problem_acknowledgement", "schedule_id")
                .to("schedule", "id")
                .on_delete(ForeignKeyAction::Cascade),
        )
        .to_owned()
}
