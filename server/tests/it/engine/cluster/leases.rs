use std::time::Duration;

use carillon::store::{
    Store,
    leases::{Fence, LeaseState},
    nodes::JoiningNode,
};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::{
    engine::world::{World, at},
    support::{TestDatabase, on_both},
};

on_both!(
    a_holder_that_wakes_after_its_term_writes_nothing,
    a_node_that_drains_gives_up_its_leases_at_once,
);

const TERM: Duration = Duration::from_secs(15);

async fn join(store: &Store, name: &str) -> Uuid {
    let id = Uuid::now_v7();
    store.join(&JoiningNode { id, name: name.to_owned(), ..JoiningNode::default() }).await.unwrap();
    id
}

/// The epoch, if the lease was acquired.
async fn take(store: &Store, holder: Uuid) -> Option<Fence> {
    match store.hold_lease_if_free("recovery", holder, TERM).await.unwrap() {
        LeaseState::Held(epoch) => Some(Fence { name: "recovery", holder, epoch }),
        LeaseState::Elsewhere => None,
    }
}

async fn may_write(store: &Store, fence: &Fence) -> bool {
    match store.begin_if_held(fence).await.unwrap() {
        Some(tx) => {
            store.commit(tx).await.unwrap();
            true
        }
        None => false,
    }
}

async fn a_holder_that_wakes_after_its_term_writes_nothing(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let store = &world.database.store;
    let (frozen, other) = (join(store, "frozen").await, join(store, "other").await);
    let old = take(store, frozen).await.unwrap();
    assert_eq!(take(store, other).await, None);
    assert!(may_write(store, &old).await);

    clock.pass(TERM * 3);
    assert!(!may_write(store, &old).await, "its term is over, though nobody has the next");
    let new = take(store, other).await.unwrap();
    assert_eq!(new.epoch, old.epoch + 1);
    assert!(!may_write(store, &old).await);
    assert!(may_write(store, &new).await);
    assert_eq!(take(store, frozen).await, None);
}

async fn a_node_that_drains_gives_up_its_leases_at_once(database: TestDatabase) {
    let world = World::new(database).await;
    let store = &world.database.store;
    let (leaving, other) = (join(store, "leaving").await, join(store, "other").await);
    let old = take(store, leaving).await.unwrap();
    store.drain(leaving).await.unwrap();
    assert!(!may_write(store, &old).await);
    assert_eq!(take(store, other).await.map(|fence| fence.epoch), Some(old.epoch + 1));
}

/// The holder of a lease was frozen in the middle of a transaction, and its connection is still
/// open: no other node waits for it.
#[tokio::test]
async fn nobody_waits_for_a_holder_that_is_frozen_while_it_writes() {
    let database = TestDatabase::postgres().await;
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let store = &world.database.store;
    let (frozen, other) = (join(store, "frozen").await, join(store, "other").await);
    let old = take(store, frozen).await.unwrap();
    let open = store.begin_if_held(&old).await.unwrap().unwrap();
    clock.pass(TERM * 3);
    let taken = tokio::time::timeout(Duration::from_secs(60), take(store, other));
    assert_eq!(taken.await.expect("an answer"), None);
    // PostgreSQL ends a transaction that stays idle for a while; the test does so at once.
    open.rollback().await.unwrap();
    assert!(take(store, other).await.is_some());
}

/// A follower of nodes may have read the former holder's row before the lease moved.
#[tokio::test]
async fn a_lease_that_moves_is_told_of_a_node_whose_row_is_being_written() {
    let database = TestDatabase::postgres().await;
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let store = &world.database.store;
    let (first, second) = (join(store, "first").await, join(store, "second").await);
    take(store, first).await.unwrap();
    clock.pass(TERM * 3);
    let beat = store.begin().await.unwrap();
    let stamp = store.dialect().stamp("node");
    let sql = format!("UPDATE node SET held = 7, changed = {stamp} WHERE name = 'first'");
    beat.execute_unprepared(&sql).await.unwrap();
    let ends = async {
        let has_moved = async || {
            let holder = store.lease_holder("recovery").await.unwrap();
            (holder.as_deref() == Some("second")).then_some(())
        };
        world.until("the lease has moved", has_moved).await;
        store.commit(beat).await.unwrap();
        store.node(first).await.unwrap().unwrap().changed
    };
    let (taken, read) = tokio::join!(take(store, second), ends);
    assert!(taken.is_some());
    let now = store.node(first).await.unwrap().unwrap();
    // Either the row was read after the lease had moved, or the row has changed again since.
    let told = now.changed > store.node(second).await.unwrap().unwrap().changed;
    assert!(told, "{read} was read, and {now:?} is all that there is");
    assert_eq!(now.held, 7);
}
