//! The indexes that the control plane reads, and the initial namespace.
//!
//! The ledger's indexes are partial. Most rows that are written under load (started fires,
//! successful runs) are in none of them, so these indexes cost nothing in the hot path.

use sea_orm_migration::{prelude::*, sea_orm::prelude::Uuid};

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

/// The key of the namespace `default`, the same in every installation.
const DEFAULT: u128 = 0x0190_0000_0000_7000_8000_0000_0000_0001;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let insert = Query::insert()
            .into_table("namespace")
            .columns(["id", "name", "created_at"])
            .values_panic([Uuid::from_u128(DEFAULT).into(), "default".into(), 0_i64.into()])
            .to_owned();
        schema.execute(insert).await?;
        for statement in [
            // Lists are sorted by name, ignoring case.
            "CREATE INDEX schedule_list ON schedule (namespace_id, lower(name), id) \
             WHERE deleted_at IS NULL",
            "CREATE INDEX workflow_list ON workflow (namespace_id, lower(name), id) \
             WHERE deleted_at IS NULL",
            "CREATE INDEX workflow_module ON workflow (namespace_id, module) \
             WHERE module IS NOT NULL",
        ] {
            schema.get_connection().execute_unprepared(statement).await?;
        }
        Ok(())
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        for index in ["workflow_module", "workflow_list", "schedule_list"] {
            let drop = format!("DROP INDEX {index}");
            schema.get_connection().execute_unprepared(&drop).await?;
        }
        let delete = Query::delete()
            .from_table("namespace")
            .and_where(Expr::col("id").eq(Uuid::from_u128(DEFAULT)))
            .to_owned();
        schema.execute(delete).await
    }
}
