//! A database without free space.

use carillon::store::StoreError;
use sea_orm::{ConnectionTrait, FromQueryResult};

use crate::support::TestDatabase;

#[derive(Debug, PartialEq, FromQueryResult)]
struct Names {
    names: i64,
}

#[tokio::test]
async fn what_is_committed_after_sqlite_ran_out_of_room_is_there() {
    let database = TestDatabase::sqlite().await;
    let store = &database.store;
    for _ in 0..3 {
        let tx = store.begin().await.unwrap();
        tx.execute_unprepared("PRAGMA max_page_count = 1").await.unwrap();
        let error = tx.execute_unprepared(&name(1 << 20)).await.unwrap_err();
        let error = StoreError::from(error);
        assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
        assert!(error.is_transient() && !error.is_refusal());
        assert!(error.to_string().contains("free some space"), "{error}");
    }
    let tx = store.begin().await.unwrap();
    tx.execute_unprepared(&name(1)).await.unwrap();
    store.commit(tx).await.unwrap();

    // Other connections see the row, so no transaction was left open.
    let sql = "SELECT count(*) AS names FROM namespace WHERE name = 'x'";
    let statement = store.dialect().statement(sql, []);
    let found = Names::find_by_statement(statement).one(store.read()).await.unwrap();
    assert_eq!(found, Some(Names { names: 1 }));
}

/// Writes a namespace with a name of that length.
fn name(length: usize) -> String {
    format!(
        "INSERT INTO namespace (id, name, created_at) VALUES (x'00000000000000000000000000000001', '{}', 0)",
        "x".repeat(length)
    )
}
