//! Migrations do not use the entities, so the resulting tables are compared with the entities.

use std::collections::BTreeSet;

use migration::{Migrator, MigratorTrait};
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, FromQueryResult, IdenStatic, Iterable, Statement,
};

use crate::support::{TestDatabase, on_both};

on_both!(
    tables_and_entities_have_the_same_columns,
    every_migration_can_be_taken_back,
    a_channel_that_was_kept_in_the_clear_is_named_and_not_lost,
);

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
    let expected: [(String, BTreeSet<String>); 45] = columns![
        alert,
        alert_channel,
        alert_cursor,
        alert_rule,
        api_token,
        audit_event,
        backfill,
        backfill_fire,
        calendar,
        calendar_feed,
        calendar_version,
        concurrency_group,
        fire,
        guess,
        health_budget,
        history_cut,
        history_stat,
        idempotency,
        job,
        job_line,
        known_device,
        lease,
        maintenance_window,
        membership,
        namespace,
        node,
        notification,
        ping,
        problem_acknowledgement,
        run,
        run_stat,
        schedule,
        schedule_version,
        secret,
        session,
        stat_position,
        task_log,
        task_run,
        user,
        user_setting,
        worker,
        worker_queue,
        workflow,
        workflow_version,
        zone_rules,
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
        let mut found: BTreeSet<String> = rows.into_iter().map(|row| row.name).collect();
        if table == "schedule" {
            // The database itself computes this column, and only searches read it.
            assert_eq!(found.remove("search_text"), store.dialect().is_postgres());
        }
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

async fn a_channel_that_was_kept_in_the_clear_is_named_and_not_lost(database: TestDatabase) {
    let mut options = ConnectOptions::new(&database.url);
    options.max_connections(1).sqlx_logging(false);
    let connection = Database::connect(options).await.unwrap();
    let mut names = Migrator::migrations().into_iter().map(|one| one.name().to_owned());
    let sealing = names.position(|name| name == "m0014_sealed_channels").unwrap();
    let later = u32::try_from(Migrator::migrations().len() - sealing).unwrap();
    Migrator::down(&connection, Some(later)).await.unwrap();
    let channel = "INSERT INTO alert_channel SELECT id, id, 'ops', 'webhook', '{}', \
         'https://hooks.example.com/hush', 1, 0, 0 FROM namespace WHERE name = 'default'";
    connection.execute_unprepared(channel).await.unwrap();
    let refused = Migrator::up(&connection, None).await.unwrap_err().to_string();
    assert!(refused.contains("in the clear") && refused.contains("ops"), "{refused}");
    assert!(!refused.contains("hush"), "{refused}");
    let sql = "DELETE FROM alert_channel WHERE sealed LIKE '%hush'";
    let kept = Statement::from_string(connection.get_database_backend(), sql);
    assert_eq!(connection.execute_raw(kept).await.unwrap().rows_affected(), 1);
    Migrator::up(&connection, None).await.unwrap();
    connection.close().await.unwrap();
}
