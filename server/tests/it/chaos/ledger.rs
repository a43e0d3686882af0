use std::collections::{BTreeMap, HashMap, HashSet};

use carillon::store::Store;
use chrono::{DateTime, Utc};
use sea_orm::FromQueryResult;
use uuid::Uuid;

use super::expansion::Expansion;

/// The state of the tables at the end.
pub(super) struct Ledger {
    fires: Vec<Fire>,
    runs: HashMap<Uuid, Run>,
    attempts: BTreeMap<(Uuid, i32), Attempt>,
}

#[derive(FromQueryResult)]
struct Fire {
    id: Uuid,
    schedule_id: Uuid,
    scheduled_at: i64,
    count: i64,
    verdict: String,
    reason: String,
    detail: Option<String>,
    run_id: Option<Uuid>,
}

#[derive(Debug, FromQueryResult)]
struct Run {
    id: Uuid,
    state: String,
    attempt: i32,
    recovery_attempts: i32,
    idempotency_key: String,
}

#[derive(Debug, FromQueryResult)]
struct Attempt {
    run_id: Uuid,
    attempt: i32,
    state: String,
    started_at: i64,
    finished_at: Option<i64>,
}

impl Ledger {
    pub(super) async fn read(store: &Store) -> Self {
        let fires = "SELECT id, schedule_id, scheduled_at, count, verdict, reason, detail, run_id FROM fire";
        let runs = "SELECT id, state, attempt, recovery_attempts, idempotency_key FROM run";
        let attempts = "SELECT run_id, attempt, state, started_at, finished_at FROM task_run";
        let runs = all::<Run>(store, runs).await.into_iter().map(|run| (run.id, run));
        let attempts = all::<Attempt>(store, attempts).await.into_iter();
        Self {
            fires: all(store, fires).await,
            runs: runs.collect(),
            attempts: attempts.map(|row| ((row.run_id, row.attempt), row)).collect(),
        }
    }

    /// The instants in whose place a newer one of their schedule ran: they were not claimed in
    /// time, and by `catch_up: latest` the newest of the instants due at one claim started.
    pub(super) fn collapsed(&self) -> HashSet<(Uuid, DateTime<Utc>)> {
        let mut newest: HashMap<Uuid, i64> = HashMap::new();
        for fire in self.fires.iter().filter(|fire| fire.verdict == "started") {
            let newest = newest.entry(fire.schedule_id).or_insert(fire.scheduled_at);
            *newest = fire.scheduled_at.max(*newest);
        }
        let collapsed = self.fires.iter().filter(|fire| {
            let is_one = fire.verdict == "collapsed" && fire.count == 1 && fire.run_id.is_none();
            is_one && newest.get(&fire.schedule_id).is_some_and(|at| *at > fire.scheduled_at)
        });
        collapsed
            .map(|fire| {
                let at = DateTime::from_timestamp_millis(fire.scheduled_at).unwrap();
                (fire.schedule_id, at)
            })
            .collect()
    }

    /// The promises that the ledger breaks. Each instant must have exactly one row, which started
    /// exactly one run or was collapsed into a newer instant. The run must have succeeded at its
    /// last attempt; each earlier attempt must have been lost to a recovery, and no number may be
    /// missing. Nothing may be live.
    pub(super) fn violations(&self, expected: &Expansion) -> Vec<String> {
        let mut found = Vec::new();
        let (mut slots, collapsed) = (HashSet::new(), self.collapsed());
        for fire in &self.fires {
            let at = DateTime::from_timestamp_millis(fire.scheduled_at).unwrap();
            slots.insert((fire.schedule_id, at));
            let state = self.runs.get(&fire.id).map(|run| run.state.as_str());
            let started = fire.verdict == "started" && fire.run_id == Some(fire.id);
            let is_well = started && fire.count == 1 && state == Some("succeeded");
            if !is_well && !collapsed.contains(&(fire.schedule_id, at)) {
                let (why, detail) = (&fire.reason, &fire.detail);
                let what = format!("{}({why}), {detail:?}, run {state:?}", fire.verdict);
                found.push(format!("{what}: {:?} of {at}, {} times", fire.schedule_id, fire.count));
            }
        }
        let instants = expected.schedules.iter().flat_map(|(schedule, number)| {
            expected.instants(*number).map(move |at| (*schedule, at))
        });
        let instants: HashSet<_> = instants.collect();
        found.extend(instants.difference(&slots).map(|slot| format!("no row of {slot:?}")));
        found.extend(
            slots.difference(&instants).map(|slot| format!("a row of no instant: {slot:?}")),
        );
        if slots.len() != self.fires.len() {
            found.push("an instant has two rows".to_owned());
        }
        for run in self.runs.values() {
            let numbers = 1..=run.attempt;
            let rows: Vec<_> = numbers.map(|number| self.attempts.get(&(run.id, number))).collect();
            let Some((Some(last), lost)) = rows.split_last() else {
                found.push(format!("{run:?} has not its last attempt"));
                continue;
            };
            let lost = lost.iter().all(|row| row.is_some_and(|row| row.state == "lost"));
            if last.state != "succeeded" || !lost {
                found.push(format!("{run:?} has {rows:?}"));
            }
            // A node may write a success after its run was taken over, which leaves a recovery
            // without an attempt: that is a violation. A success written before that counts, even
            // if the node had been declared dead.
            if run.recovery_attempts != run.attempt - 1 {
                found.push(format!("a stale write, or a run begun twice: {run:?} has {rows:?}"));
            }
        }
        let recorded: i64 = self.runs.values().map(|run| i64::from(run.attempt)).sum();
        if recorded != i64::try_from(self.attempts.len()).unwrap() {
            found.push(format!("{recorded} attempts of runs, {} rows", self.attempts.len()));
        }
        for attempt in self.attempts.values() {
            if attempt.state == "running" || attempt.finished_at.is_none() {
                found.push(format!("an attempt without its end: {attempt:?}"));
            }
        }
        found
    }

    /// The number of instants that have a row.
    pub(super) fn recorded(&self) -> usize {
        self.fires.len()
    }

    /// The idempotency key of a recorded attempt.
    pub(super) fn key_of(&self, run: Uuid, attempt: i32) -> Option<&str> {
        self.attempts.get(&(run, attempt))?;
        self.runs.get(&run).map(|run| run.idempotency_key.as_str())
    }

    pub(super) fn started_at(&self, run: Uuid, attempt: i32) -> Option<DateTime<Utc>> {
        let attempt = self.attempts.get(&(run, attempt))?;
        DateTime::from_timestamp_millis(attempt.started_at)
    }

    /// The attempts that succeeded.
    pub(super) fn succeeded(&self) -> impl Iterator<Item = (Uuid, i32)> {
        let well = self.attempts.values().filter(|attempt| attempt.state == "succeeded");
        well.map(|attempt| (attempt.run_id, attempt.attempt))
    }

    pub(super) fn further_attempts(&self) -> usize {
        self.attempts.len() - self.runs.len()
    }
}

async fn all<T: FromQueryResult>(store: &Store, sql: &str) -> Vec<T> {
    let statement = store.dialect().statement(sql, []);
    T::find_by_statement(statement).all(store.read()).await.unwrap()
}
