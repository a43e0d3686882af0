//! A normal form of user names, equal for names that look
//! alike, and browsers that have signed in before.

use std::collections::HashSet;

use sea_orm_migration::{
    prelude::*,
    schema::*,
    sea_orm::{ConnectionTrait, Statement},
};
use unicode_security::confusable_detection::skeleton;

#[derive(DeriveMigrationName)]
pub(crate) struct Migration;

#[async_trait::async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        let connection = schema.get_connection();
        let column = r#"ALTER TABLE "user" ADD COLUMN name_key TEXT NOT NULL DEFAULT ''"#;
        connection.execute_unprepared(column).await?;
        fill_keys(connection).await?;
        let index = r#"CREATE UNIQUE INDEX user_name_lookalike ON "user" (name_key)"#;
        connection.execute_unprepared(index).await?;
        let table = Table::create()
            .table("known_device")
            .col(text("id").primary_key())
            .col(uuid("user_id"))
            .col(big_integer("used_at"))
            .foreign_key(
                ForeignKey::create()
                    .from("known_device", "user_id")
                    .to("user", "id")
                    .on_delete(ForeignKeyAction::Cascade),
            )
            .to_owned();
        schema.create_table(table).await?;
        let index = Index::create()
            .name("known_device_user")
            .table("known_device")
            .col("user_id")
            .col("used_at")
            .to_owned();
        schema.create_index(index).await
    }

    async fn down(&self, schema: &SchemaManager) -> Result<(), DbErr> {
        schema.drop_table(Table::drop().table("known_device").to_owned()).await?;
        let connection = schema.get_connection();
        for sql in ["DROP INDEX user_name_lookalike", r#"ALTER TABLE "user" DROP COLUMN name_key"#]
        {
            connection.execute_unprepared(sql).await?;
        }
        Ok(())
    }
}

/// Gives each user the normal form of the name. If several users already share one, all but the
/// first get a unique value instead; they keep their names.
async fn fill_keys(connection: &impl ConnectionTrait) -> Result<(), DbErr> {
    let backend = connection.get_database_backend();
    let all = r#"SELECT name FROM "user" ORDER BY created_at, name"#;
    let mut taken = HashSet::new();
    for row in connection.query_all_raw(Statement::from_string(backend, all)).await? {
        let name: String = row.try_get("", "name")?;
        let mut key: String = skeleton(&name.to_lowercase()).collect();
        if !taken.insert(key.clone()) {
            key = format!("{key} {name}");
        }
        let update = r#"UPDATE "user" SET name_key = $1 WHERE name = $2"#;
        let values = [key.into(), name.into()];
        connection.execute_raw(Statement::from_sql_and_values(backend, update, values)).await?;
    }
    Ok(())
}
