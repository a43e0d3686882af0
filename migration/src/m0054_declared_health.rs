//! The modules that declare budgets of health and maintenance windows.

use sea_orm_migration::{prelude::*, schema::*};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

const WINDOWS: &str = "maintenance_window";
const TABLES: [&str; 2] = ["health_budget", WINDOWS];
const INDEX: &str = "maintenance_window_declared";

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for table in TABLES {
            let module = Table::alter().table(table).add_column(text_null("module")).to_owned();
            schema.alter_table(module).await?;
        }
        let changed_at = big_integer_null("changed_at");
        let changed_at = Table::alter().table(WINDOWS).add_column(changed_at).to_owned();
        schema.alter_table(changed_at).await?;
        // People may plan several windows of one title. A module knows its windows by their titles.
        let index = format!(
            "CREATE UNIQUE INDEX {INDEX} ON maintenance_window (namespace_id, module, title) \
             WHERE module IS NOT NULL"
        );
        schema.get_connection().execute_unprepared(&index).await?;
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.get_connection().execute_unprepared(&format!("DROP INDEX {INDEX}")).await?;
        for table in TABLES {
            let drop = Table::alter().table(table).drop_column("module").to_owned();
            schema.alter_table(drop).await?;
        }
        let drop = Table::alter().table(WINDOWS).drop_column("changed_at").to_owned();
        schema.alter_table(drop).await
    }
}
