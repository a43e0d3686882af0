use anyhow::{Context, Result, ensure};
use carillon::store::Store;
use chrono::{DateTime, Utc};
use sea_orm::{ConnectionTrait, FromQueryResult};

/// The lateness of the fires, in milliseconds, ascending.
#[derive(Debug)]
pub(crate) struct Lateness {
    /// The lateness of each hand-off that started a run, relative to the due instant.
    pub(crate) started: Vec<i64>,
    /// The lateness of each handler's return, relative to the due instant. The handler itself takes
    /// no time.
    pub(crate) handled: Vec<i64>,
}

/// Reads the lateness of each fire.
pub(crate) async fn lateness(store: &Store) -> Result<Lateness> {
    #[derive(FromQueryResult)]
    struct LateFire {
        started: i64,
        handled: i64,
    }
    let statement = store.dialect().statement(
        "SELECT run.started_at - run.due_at AS started, t.finished_at - run.due_at AS handled \
         FROM run JOIN task_run t ON t.run_id = run.id AND t.attempt = 1",
        [],
    );
    let rows = LateFire::find_by_statement(statement).all(store.read()).await?;
    let mut started: Vec<i64> = rows.iter().map(|row| row.started).collect();
    let mut handled: Vec<i64> = rows.iter().map(|row| row.handled).collect();
    started.sort_unstable();
    handled.sort_unstable();
    Ok(Lateness { started, handled })
}

/// Checks that each of the `count` schedules fired once, ran once and succeeded. Losses and
/// duplicates are reported separately, because one could hide the other.
pub(crate) async fn check(store: &Store, count: usize) -> Result<()> {
    let count = i64::try_from(count)?;
    let mut wrong = Vec::new();
    for (what, distinct, all) in [
        ("fires", "schedule_id, scheduled_at", "FROM fire"),
        ("fires started", "schedule_id", "FROM fire WHERE verdict = 'started'"),
        ("runs", "fire_id", "FROM run"),
        ("runs succeeded", "fire_id", "FROM run WHERE state = 'succeeded'"),
        ("attempts", "run_id", "FROM task_run"),
        ("attempts succeeded", "run_id", "FROM task_run WHERE state = 'succeeded'"),
        ("cursors moved", "id", "FROM schedule WHERE last_fire_at IS NOT NULL"),
    ] {
        let once =
            number(store, &format!("SELECT count(*) FROM (SELECT DISTINCT {distinct} {all}) once"))
                .await?;
        let found = number(store, &format!("SELECT count(*) {all}")).await?;
        wrong.extend(deviation(what, count, once, found));
    }
    ensure!(wrong.is_empty(), "of {count} schedules: {}", wrong.join(", "));
    Ok(())
}

/// The error for a count that is wrong: `count` were expected, `found` exist, and `once` of them
/// are distinct.
fn deviation(what: &str, count: i64, once: i64, found: i64) -> Option<String> {
    let (lost, doubled) = (count - once, found - once);
    let of = |number: i64, word: &str| (number != 0).then(|| format!("{number} {word}"));
    let parts: Vec<String> =
        [of(lost, "lost"), of(doubled, "doubled")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{what} {}", parts.join(" and ")))
}

/// The only number in an answer.
pub(crate) async fn number(store: &Store, sql: &str) -> Result<i64> {
    let row = store.read().query_one_raw(store.dialect().statement(sql, [])).await?;
    Ok(row.context("a count is a row")?.try_get_by_index(0)?)
}

/// The time at which the last end was recorded, according to the table: just before its commit.
pub(crate) async fn last_record(store: &Store) -> Result<DateTime<Utc>> {
    let ms = number(store, "SELECT max(finished_at) FROM run").await?;
    DateTime::from_timestamp_millis(ms).context("the last end is no instant")
}

#[cfg(test)]
mod tests {
    use super::deviation;

    #[test]
    fn losses_and_duplicates_are_reported_separately() {
        assert_eq!(deviation("runs", 10, 10, 10), None);
        assert_eq!(deviation("runs", 10, 9, 9).unwrap(), "runs 1 lost");
        assert_eq!(deviation("runs", 10, 10, 12).unwrap(), "runs 2 doubled");
        assert_eq!(deviation("runs", 10, 9, 10).unwrap(), "runs 1 lost and 1 doubled");
    }
}
