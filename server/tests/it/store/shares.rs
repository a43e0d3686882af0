use std::time::Duration;

use carillon::store::{Options, Store};

use crate::support::TestDatabase;

#[tokio::test]
async fn transactions_of_the_api_leave_connections_to_the_engine() {
    let database = TestDatabase::postgres().await;
    let short = Duration::from_millis(200);
    let options =
        Options { connections: 8, acquire_timeout: short, ..Options::new(database.url.clone()) };
    let store = Store::open(&options).await.unwrap();
    let api = store.for_api();
    let mut held = Vec::new();
    while let Ok(transaction) = api.begin().await {
        held.push(transaction);
    }
    assert_eq!(held.len(), 2, "of four for writing");
    for _ in 0..2 {
        held.push(store.begin().await.unwrap());
    }
    // When a run ends, another one may start.
    held.swap_remove(0);
    api.begin().await.unwrap();
}
