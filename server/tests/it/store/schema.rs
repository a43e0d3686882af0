//! Migrations name no entity, so what they make is compared with what the entities expect.

use std::collections::BTreeSet;

use migration::{Migrator, MigratorTrait};
use sea_orm::{ConnectOptions, Database, FromQueryResult, IdenStatic, Iterable};

use crate::support::{TestDatabase, on_both};

on_both!(tables_and_entities_have_the_same_columns, every_migration_can_be_taken_back);

macro_rules! columns {
    ($($entity:ident),+ $(,)?) => {
        [$((
            sea_orm::EntityName::table_name(&entity::$entity::Entity).to_owned(),
            entity::$entity::Column::iter().map(|column| column.as_str().to_owned()).collect(),
        )),+]
    };
}

async fn tables_and_entities_have_the_same_columns(database: TestDatabase) {
    #[derive(FromQueryResult)]
    struct Row {
        name: String,
    }
    let store = &database.store;
    let expected: [(String, BTreeSet<String>); 20] = columns![
        api_token,
        audit_event,
        backfill,
        backfill_fire,
        calendar,
        concurrency_group,
        fire,
        idempotency,
        lease,
        namespace,
        node,
        run,
        schedule,
        schedule_version,
        session,
        task_log,
        task_run,
        user,
        workflow,
        workflow_version,
    ];
    for (table, expected) in expected {
        let sql = if store.dialect().is_postgres() {
            "SELECT column_name::text AS name FROM information_schema.columns \
             WHERE table_name = $1 AND table_schema = current_schema()"
        } else {
            "SELECT name FROM pragma_table_info($1)"
        };
        let statement = store.dialect().statement(sql, [table.clone().into()]);
        let rows = Row::find_by_statement(statement).all(store.read()).await.unwrap();
        let found: BTreeSet<String> = rows.into_iter().map(|row| row.name).collect();
        assert_eq!(found, expected, "{table}");
    }
}

async fn every_migration_can_be_taken_back(database: TestDatabase) {
    let mut options = ConnectOptions::new(&database.url);
    options.max_connections(1).sqlx_logging(false);
    let connection = Database::connect(options).await.unwrap();
    Migrator::down(&connection, None).await.unwrap();
    Migrator::up(&connection, None).await.unwrap();
    connection.close().await.unwrap();
}
