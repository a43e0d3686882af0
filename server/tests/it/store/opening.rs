use carillon::store::{Migrations, Options, Store, StoreError};
use sea_orm::ConnectionTrait;

use crate::support::{TestDatabase, on_both};

on_both!(a_second_opening_finds_the_schema_up_to_date, a_schema_that_is_newer_is_refused);

async fn a_second_opening_finds_the_schema_up_to_date(database: TestDatabase) {
    let mut options = Options::new(&database.url);
    options.migrations = Migrations::Refuse;
    let again = Store::open(&options).await.unwrap();
    again.close().await.unwrap();
}

async fn a_schema_that_is_newer_is_refused(database: TestDatabase) {
    let insert = "INSERT INTO seaql_migrations (version, applied_at) VALUES ('m9999_later', 0)";
    let transaction = database.store.begin().await.unwrap();
    transaction.execute_unprepared(insert).await.unwrap();
    database.store.commit(transaction).await.unwrap();
    let refused = Store::open(&Options::new(&database.url)).await.unwrap_err();
    assert!(
        matches!(&refused, StoreError::SchemaNewer { migration, .. } if migration == "m9999_later"),
        "{refused}"
    );
}
