//! Jobs of workers, after the attempts that waited for them.

use carillon::store::workers::awaited::NewJob;
use entity::{Timestamp, job};
use sea_orm::{ColumnTrait, EntityTrait, PaginatorTrait, QueryFilter, sea_query::Expr};
use uuid::Uuid;

use crate::support::{TestDatabase, job_row, on_both};

on_both!(jobs_that_have_printed_much_are_removed_a_few_at_a_time);

/// A job that no node waits for any more.
fn old(number: u128) -> NewJob {
    job_row(Uuid::nil(), Uuid::from_u128(number), Timestamp(0))
}

async fn jobs_that_have_printed_much_are_removed_a_few_at_a_time(database: TestDatabase) {
    let store = &database.store;
    let jobs: Vec<NewJob> = (1..=6).map(old).collect();
    store.add_jobs(&jobs, Timestamp(0)).await.unwrap();
    // The first three have printed much, and the first of these more than one transaction removes.
    for (number, lines) in [(1, 1_000_000_i64), (2, 6_000), (3, 6_000)] {
        let tx = store.begin().await.unwrap();
        let update = job::Entity::update_many().col_expr(job::Column::Lines, Expr::value(lines));
        update.filter(job::Column::Id.eq(Uuid::from_u128(number))).exec(&tx).await.unwrap();
        store.commit(tx).await.unwrap();
    }
    let mut left = Vec::new();
    while store.forget_jobs(Timestamp(1), 1_000).await.unwrap() {
        left.push(job::Entity::find().count(store.read()).await.unwrap());
    }
    assert_eq!(left, [5, 4]);
    assert_eq!(job::Entity::find().count(store.read()).await.unwrap(), 0);
}
