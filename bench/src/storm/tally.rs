use anyhow::{Result, ensure};
use carillon::store::Store;
use sea_orm::{ConnectionTrait, FromQueryResult};

/// How late the fires were, in milliseconds, least first.
#[derive(Debug)]
pub(crate) struct Lateness {
    /// Until the hand-off that started it.
    pub(crate) started: Vec<i64>,
    /// Until its handler, which takes no time, had returned.
    pub(crate) handled: Vec<i64>,
}

/// Reads how late each fire was.
pub(crate) async fn lateness(store: &Store) -> Result<Lateness> {
    #[derive(FromQueryResult)]
    struct Row {
        started: i64,
        handled: i64,
    }
    let statement = store.dialect().statement(
        "SELECT run.started_at - run.due_at AS started, t.finished_at - run.due_at AS handled \
         FROM run JOIN task_run t ON t.run_id = run.id AND t.attempt = 1",
        [],
    );
    let rows = Row::find_by_statement(statement).all(store.read()).await?;
    let mut started: Vec<i64> = rows.iter().map(|row| row.started).collect();
    let mut handled: Vec<i64> = rows.iter().map(|row| row.handled).collect();
    started.sort_unstable();
    handled.sort_unstable();
    Ok(Lateness { started, handled })
}

/// Checks that each of the `count` schedules fired once, ran once and succeeded: nothing lost,
/// nothing doubled.
pub(crate) async fn check(store: &Store, count: usize) -> Result<()> {
    for (what, sql) in [
        ("fires", "SELECT count(*) FROM fire"),
        ("fires started", "SELECT count(DISTINCT schedule_id) FROM fire WHERE verdict = 'started'"),
        ("runs", "SELECT count(*) FROM run"),
        ("runs succeeded", "SELECT count(DISTINCT fire_id) FROM run WHERE state = 'succeeded'"),
        ("attempts", "SELECT count(*) FROM task_run"),
        ("attempts succeeded", "SELECT count(*) FROM task_run WHERE state = 'succeeded'"),
        ("cursors moved", "SELECT count(*) FROM schedule WHERE last_fire_at IS NOT NULL"),
    ] {
        let row = store.read().query_one_raw(store.dialect().statement(sql, [])).await?;
        let found = row.map(|row| row.try_get_by_index::<i64>(0)).transpose()?.unwrap_or_default();
        ensure!(
            usize::try_from(found) == Ok(count),
            "{found} {what} of {count}: something was lost or doubled"
        );
    }
    Ok(())
}
