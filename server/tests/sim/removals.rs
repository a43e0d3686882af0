//! The rows that retention removed. They are kept in other tables, so that the ledger can be judged
//! as a whole at the end, and each removal at once.
//!
//! On SQLite, a trigger copies each deleted row. On PostgreSQL, whole days are dropped, which fires
//! no trigger. There each row has a shadow copy from the beginning, and a comparison shows which
//! rows were removed.

use carillon::store::{DatabaseTransaction, Store};
use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;
use sea_orm::{ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use super::{expectation::Expectations, witness::LIVE};

/// A table from which retention removes rows; its expressions refer to the row `OLD`.
struct Watched {
    table: &'static str,
    key: &'static [&'static str],
    schedule: &'static str,
    /// The time at which the row was settled.
    settled: &'static str,
    /// A condition under which the row must not be removed; `{live}` stands for the states of a
    /// live run.
    alive: &'static str,
}

const WATCHED: &[Watched] = &[
    Watched {
        table: "fire",
        key: &["id"],
        schedule: "OLD.schedule_id",
        settled: "CASE WHEN coalesce(OLD.decided_at, OLD.claimed_at) > OLD.last_scheduled_at \
           THEN coalesce(OLD.decided_at, OLD.claimed_at) ELSE OLD.last_scheduled_at END",
        alive: "OLD.verdict = 'pending' OR EXISTS (SELECT 1 FROM run r \
           WHERE r.fire_id = OLD.id AND r.state IN {live})",
    },
    Watched {
        table: "run",
        key: &["id"],
        schedule: "OLD.schedule_id",
        settled: "coalesce(OLD.finished_at, OLD.created_at)",
        alive: "OLD.state IN {live}",
    },
    Watched {
        table: "task_run",
        key: &["run_id", "task", "attempt"],
        schedule: "(SELECT r.schedule_id FROM run r WHERE r.id = OLD.run_id)",
        settled: "coalesce(OLD.finished_at, OLD.started_at)",
        alive: "OLD.state = 'running' OR EXISTS (SELECT 1 FROM run r \
           WHERE r.id = OLD.run_id AND r.state IN {live})",
    },
    Watched {
        table: "backfill",
        key: &["id"],
        schedule: "OLD.schedule_id",
        settled: "coalesce(OLD.finished_at, OLD.created_at)",
        alive: "OLD.finished_at IS NULL OR EXISTS (SELECT 1 FROM backfill_fire f \
           WHERE f.backfill_id = OLD.id)",
    },
    Watched {
        table: "backfill_fire",
        key: &["backfill_id", "position"],
        schedule: "OLD.schedule_id",
        settled: "coalesce(OLD.finished_at, 0)",
        alive: "OLD.state IN ('pending', 'running') OR EXISTS (SELECT 1 FROM backfill b \
           WHERE b.id = OLD.backfill_id AND b.finished_at IS NULL)",
    },
    Watched {
        table: "maintenance_window",
        key: &["id"],
        schedule: "CAST(NULL AS uuid)",
        settled: "coalesce(OLD.cancelled_at, OLD.ends_at)",
        alive: "OLD.is_open OR EXISTS (SELECT 1 FROM schedule w \
           WHERE w.paused_window_id = OLD.id AND NOT w.enabled)",
    },
    Watched {
        table: "schedule",
        key: &["id"],
        schedule: "OLD.id",
        settled: "coalesce(OLD.deleted_at, OLD.created_at)",
        alive: "OLD.deleted_at IS NULL OR EXISTS (SELECT 1 FROM fire f \
           WHERE f.schedule_id = OLD.id AND f.verdict = 'pending') OR EXISTS (SELECT 1 FROM run r \
           WHERE r.schedule_id = OLD.id AND r.state IN {live})",
    },
];

impl Watched {
    fn same_key(&self, one: &str, other: &str) -> String {
        let same = self.key.iter().map(|column| format!("{one}.{column} = {other}.{column}"));
        same.collect::<Vec<_>>().join(" AND ")
    }

    /// The statement that records a removal.
    fn noted(&self) -> String {
        let Self { table, schedule, settled, alive, key } = self;
        let (id, alive) = (key[0], alive.replace("{live}", LIVE));
        format!("'{table}', OLD.{id}, {schedule}, {settled}, CASE WHEN {alive} THEN 1 ELSE 0 END")
    }

    fn sqlite(&self) -> Vec<String> {
        let (table, noted, same) = (self.table, self.noted(), self.same_key(self.table, "OLD"));
        vec![
            format!("CREATE TABLE gone_{table} AS SELECT * FROM {table} WHERE false"),
            format!(
                "CREATE TRIGGER sim_{table}_gone BEFORE DELETE ON {table} BEGIN \
                   INSERT INTO gone_{table} SELECT * FROM {table} WHERE {same}; \
                   INSERT INTO removed (what, id, schedule_id, settled_at, alive) SELECT {noted}; END"
            ),
        ]
    }

    fn postgres(&self) -> Vec<String> {
        let (table, same) = (self.table, self.same_key("s", "NEW"));
        vec![
            format!("CREATE TABLE gone_{table} (LIKE {table})"),
            format!("ALTER TABLE gone_{table} ADD COLUMN is_gone boolean NOT NULL DEFAULT false"),
            format!("CREATE INDEX ON gone_{table} ({})", self.key.join(", ")),
            format!(
                "CREATE FUNCTION sim_{table}_shadow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                   DELETE FROM gone_{table} s WHERE {same}; \
                   INSERT INTO gone_{table} SELECT NEW.*; RETURN NULL; END $$"
            ),
            format!(
                "CREATE TRIGGER sim_{table}_shadow AFTER INSERT OR UPDATE ON {table} \
                   FOR EACH ROW EXECUTE FUNCTION sim_{table}_shadow()"
            ),
        ]
    }

    /// The statement that finds the rows removed since the last query.
    fn collect(&self) -> String {
        let (table, noted, same) = (self.table, self.noted(), self.same_key("t", "OLD"));
        format!(
            "WITH went AS (UPDATE gone_{table} OLD SET is_gone = true WHERE NOT OLD.is_gone \
               AND NOT EXISTS (SELECT 1 FROM {table} t WHERE {same}) RETURNING OLD.*) \
             INSERT INTO removed (what, id, schedule_id, settled_at, alive) \
             SELECT {noted} FROM went OLD"
        )
    }
}

/// Creates the tables for removed rows.
pub(crate) async fn install(store: &Store, tx: &DatabaseTransaction) {
    let (seq, key) = match store.dialect().is_postgres() {
        true => ("bigserial PRIMARY KEY", "uuid"),
        false => ("INTEGER PRIMARY KEY AUTOINCREMENT", "BLOB"),
    };
    let removed = format!(
        "CREATE TABLE removed (seq {seq}, what text NOT NULL, id {key} NOT NULL, \
           schedule_id {key}, settled_at bigint NOT NULL, alive bigint NOT NULL)"
    );
    tx.execute_unprepared(&removed).await.unwrap();
    for watched in WATCHED {
        let statements =
            if store.dialect().is_postgres() { watched.postgres() } else { watched.sqlite() };
        for statement in statements {
            tx.execute_unprepared(&statement).await.unwrap();
        }
    }
}

/// How many changes and removals the database has recorded.
#[derive(Debug, FromQueryResult)]
pub(crate) struct Noted {
    pub(crate) journal: i64,
    pub(crate) removed: i64,
}

/// Queries how many changes and removals the database has recorded.
pub(crate) async fn noted(store: &Store) -> Noted {
    if store.dialect().is_postgres() {
        for watched in WATCHED {
            store.read().execute_unprepared(&watched.collect()).await.unwrap();
        }
    }
    let sql = "SELECT (SELECT coalesce(max(seq), 0) FROM journal) AS journal, \
       (SELECT coalesce(max(seq), 0) FROM removed) AS removed";
    let statement = store.dialect().statement(sql, []);
    Noted::find_by_statement(statement).one(store.read()).await.unwrap().unwrap()
}

/// The rows of a table that no longer exist.
pub(crate) async fn gone<T: FromQueryResult>(store: &Store, table: &str) -> Vec<T> {
    let condition = if store.dialect().is_postgres() { "is_gone" } else { "true" };
    let sql = format!("SELECT * FROM gone_{table} WHERE {condition}");
    T::find_by_statement(store.dialect().statement(sql, [])).all(store.read()).await.unwrap()
}

#[derive(Debug, FromQueryResult)]
struct Removed {
    seq: i64,
    what: String,
    id: Uuid,
    schedule_id: Option<Uuid>,
    settled_at: Timestamp,
    alive: i64,
}

/// A reader of the removed rows, which continues where its last read stopped.
#[derive(Default)]
pub(crate) struct Removals {
    read: i64,
}

impl Removals {
    /// The number of removed rows.
    pub(crate) fn count(&self) -> usize {
        usize::try_from(self.read).unwrap()
    }

    /// Checks that no row was removed that must stay: live rows, and rows younger than their
    /// owner's retention. `noted` is the number of removals recorded so far, and `latest` is the
    /// latest time that any clock has shown.
    pub(crate) async fn look(
        &mut self,
        expected: &Expectations,
        noted: i64,
        latest: DateTime<Utc>,
    ) -> Result<(), String> {
        let store = expected.store();
        if noted <= self.read {
            return Ok(());
        }
        let statement = store.dialect().statement(
            "SELECT seq, what, id, schedule_id, settled_at, alive FROM removed \
             WHERE seq > $1 ORDER BY seq",
            [self.read.into()],
        );
        for row in Removed::find_by_statement(statement).all(store.read()).await.unwrap() {
            self.read = row.seq;
            judge(&row, expected, latest)?;
        }
        Ok(())
    }
}

fn judge(row: &Removed, expected: &Expectations, latest: DateTime<Utc>) -> Result<(), String> {
    let Removed { what, id, .. } = row;
    let kept = match what.as_str() {
        "schedule" => Some(7),
        _ => expected.kept_days(row.schedule_id),
    };
    let Some(days) = kept else {
        return Err(format!("the {what} {id} has gone, and nobody removes history"));
    };
    if row.alive != 0 {
        return Err(format!("the {what} {id} has gone while it was needed"));
    }
    if row.settled_at.utc() + TimeDelta::days(days) > latest {
        return Err(format!("the {what} {id} has gone before its {days} days were over: {row:?}"));
    }
    Ok(())
}
