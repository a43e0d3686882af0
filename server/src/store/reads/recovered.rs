//! Which problems are over.

use std::collections::HashSet;

use entity::fire::Verdict;
use sea_orm::{ActiveEnum, FromQueryResult};

use super::{
    problems::{FailureCause, ProblemGroup},
    skipped::{has_resumed_since, resuming},
};
use crate::store::{Store, StoreError, db::bulk::BulkValues};

/// The indexes of the problems that are over: a later run of the schedule has succeeded, a later
/// fire of it has started, or it starts its fires again without skipping any. A run of a backfill is
/// about the past, so it ends only a problem of a backfill.
pub async fn over(store: &Store, problems: &[ProblemGroup]) -> Result<HashSet<i64>, StoreError> {
    over_by(store, problems, &format!("EXISTS ({})", resuming("1"))).await
}

/// The same for problems as they were when they were acknowledged, which may be long ago. A
/// schedule that has started 10,000 fires since then counts as recovered: to search them would take
/// long.
pub async fn over_since(
    store: &Store,
    problems: &[ProblemGroup],
) -> Result<HashSet<i64>, StoreError> {
    over_by(store, problems, &has_resumed_since()).await
}

async fn over_by(
    store: &Store,
    problems: &[ProblemGroup],
    has_resumed: &str,
) -> Result<HashSet<i64>, StoreError> {
    #[derive(FromQueryResult)]
    struct ProblemPlace {
        place: i64,
    }
    let numbered = || (0_i64..).zip(problems);
    let (mut runs, mut fires, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for (place, problem) in numbered() {
        match &problem.what {
            FailureCause::Failing { last_run, .. } => {
                runs.push((place, problem.schedule_id, *last_run))
            }
            FailureCause::Losing { .. } => fires.push((place, problem.schedule_id, problem.last.0)),
            FailureCause::Skipping { .. } => {
                skipped.push((place, problem.schedule_id, problem.last.0))
            }
        }
    }
    let mut found = HashSet::new();
    if !runs.is_empty() {
        let statement = BulkValues::default()
            .int("place", runs.iter().map(|one| one.0))
            .uuid("id", runs.iter().map(|one| one.1))
            .uuid("last", runs.iter().map(|one| one.2))
            .statement(
                store.dialect(),
                "SELECT v.place AS place FROM v WHERE EXISTS (SELECT 1 FROM run \
                   WHERE run.schedule_id = v.id AND run.id > v.last AND run.state = 'succeeded' \
                     AND (run.trigger <> 'backfill' OR EXISTS (SELECT 1 FROM run failed \
                       WHERE failed.id = v.last AND failed.trigger = 'backfill')))",
                vec![],
            );
        let rows = ProblemPlace::find_by_statement(statement).all(store.read()).await?;
        found.extend(rows.into_iter().map(|row| row.place));
    }
    if !fires.is_empty() {
        let started = Verdict::Started;
        let statement = BulkValues::default()
            .int("place", fires.iter().map(|one| one.0))
            .uuid("id", fires.iter().map(|one| one.1))
            .int("last", fires.iter().map(|one| one.2))
            .statement(
                store.dialect(),
                "SELECT v.place AS place FROM v WHERE EXISTS (SELECT 1 FROM fire \
                   WHERE fire.schedule_id = v.id AND fire.scheduled_at > v.last \
                     AND fire.verdict = {0})",
                vec![started.to_value().into()],
            );
        let rows = ProblemPlace::find_by_statement(statement).all(store.read()).await?;
        found.extend(rows.into_iter().map(|row| row.place));
    }
    if !skipped.is_empty() {
        let sql = format!("SELECT v.place AS place FROM v WHERE {has_resumed}");
        let statement = BulkValues::default()
            .int("place", skipped.iter().map(|one| one.0))
            .uuid("schedule_id", skipped.iter().map(|one| one.1))
            .int("last_at", skipped.iter().map(|one| one.2))
            .statement(store.dialect(), &sql, vec![]);
        let rows = ProblemPlace::find_by_statement(statement).all(store.read()).await?;
        found.extend(rows.into_iter().map(|row| row.place));
    }
    Ok(found)
}
