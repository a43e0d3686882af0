//! What is in a deleted namespace is removed a week later, and nothing else.

use std::time::Duration;

use carillon::store::{deleted_namespaces, namespaces};
use chrono::TimeDelta;
use entity::{fire, namespace, run, schedule, secret};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, EntityTrait, IntoActiveModel, PaginatorTrait, QueryFilter,
};
use uuid::Uuid;

use super::{
    forge,
    world::{World, at, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(a_deleted_namespace_is_purged_after_a_week_and_others_stay);

async fn a_deleted_namespace_is_purged_after_a_week_and_others_stay(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let store = &world.database.store;
    let other = namespace::Model {
        id: Uuid::now_v7(),
        name: "other".to_owned(),
        retention_days: None,
        quotas: None,
        created_at: world.clock.now().into(),
        deleted_at: None,
        deleted_by: None,
        deleted_name: None,
        purged_at: None,
    };
    let home = other.id;
    let sealed = secret::Model {
        id: Uuid::now_v7(),
        namespace_id: home,
        name: "KEY".to_owned(),
        key_id: "x".to_owned(),
        sealed: "x".to_owned(),
        version: 1,
        set_by: "ada".to_owned(),
        created_at: world.clock.now().into(),
        updated_at: world.clock.now().into(),
    };
    let tx = store.begin().await.unwrap();
    other.into_active_model().insert(&tx).await.unwrap();
    sealed.into_active_model().insert(&tx).await.unwrap();
    store.commit(tx).await.unwrap();
    let theirs = forge::idle(&world, noop(), |row| {
        row.namespace_id = home;
        row.retention_days = Some(90);
    })
    .await;
    let kept = forge::idle(&world, noop(), |_| {}).await;
    for row in [&theirs, &kept] {
        world.past(row, 3, 1, |_, _| {}).await;
    }
    let left = async || {
        let read = store.read();
        [
            run::Entity::find().filter(run::Column::NamespaceId.eq(home)).count(read).await,
            fire::Entity::find().filter(fire::Column::NamespaceId.eq(home)).count(read).await,
            schedule::Entity::find()
                .filter(schedule::Column::NamespaceId.eq(home))
                .count(read)
                .await,
            secret::Entity::find().filter(secret::Column::NamespaceId.eq(home)).count(read).await,
        ]
        .map(Result::unwrap)
    };

    let now = world.clock.now();
    let tx = store.begin().await.unwrap();
    let row = deleted_namespaces::lock(&tx, "other").await.unwrap().unwrap();
    deleted_namespaces::delete_schedules(&tx, store.dialect(), home, now.into()).await.unwrap();
    deleted_namespaces::delete(&tx, &row, "ada", now.into()).await.unwrap();
    store.commit(tx).await.unwrap();
    world.retain(45).await;
    assert_eq!(left().await, [1, 1, 1, 1], "it can still be restored");
    let since = (now - TimeDelta::days(1)).into();
    let tx = store.begin().await.unwrap();
    assert!(deleted_namespaces::lock_deleted(&tx, "other", since).await.unwrap().is_some());
    tx.rollback().await.unwrap();

    clock.advance(Duration::from_secs(8 * 86_400));
    // Each round removes what the one before has made unneeded.
    for _ in 0..3 {
        world.retain(45).await;
    }
    assert_eq!(left().await, [0; 4]);
    assert!(deleted_namespaces::hidden(store.read()).await.unwrap().is_empty());
    let row = namespaces::by_ids(store.read(), &[home]).await.unwrap().pop().unwrap();
    assert!(row.purged_at.is_some() && row.retention_days.is_none());
    assert_eq!(deleted_namespaces::known_name(row), "other", "the audit log names it");
    assert_eq!(world.runs(kept.id).await.len(), 1);
    assert_eq!(world.ledger(kept.id).await.len(), 1);
}
