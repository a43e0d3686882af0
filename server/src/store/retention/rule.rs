//! Which rows of the ledger are old enough to go.

use entity::Timestamp;
use sea_orm::FromQueryResult;

use crate::store::{
    Store, StoreError,
    days::{DAY_MS, day_of},
};

/// For how many days somebody keeps history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policies {
    /// The longest of anybody.
    pub longest: i32,
    /// The shortest.
    pub shortest: i32,
}

/// What is old enough at an instant. The age of a row counts from when it was settled: a fire that
/// was made up for late, or a run that took long, is as young as its end. What is not settled has
/// no age.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    now: i64,
    usual: i32,
    policies: Policies,
    /// What settled before is too old for whoever keeps history the longest.
    last: i64,
}

/// The states of runs that are not settled.
const LIVE: &str = "('queued', 'running', 'retrying')";

impl Store {
    /// The retention of all namespaces and schedules; `usual` is that of a namespace without one.
    pub async fn retention_policies(&self, usual: i32) -> Result<Policies, StoreError> {
        #[derive(FromQueryResult)]
        struct Row {
            longest: Option<i32>,
            shortest: Option<i32>,
        }
        let statement = self.dialect().statement(
            "SELECT max(days) AS longest, min(days) AS shortest FROM ( \
               SELECT coalesce(retention_days, $1) AS days FROM namespace \
               UNION ALL \
               SELECT retention_days AS days FROM schedule WHERE retention_days IS NOT NULL \
             ) policies",
            [usual.into()],
        );
        let row = Row::find_by_statement(statement).one(self.read()).await?;
        let of = |days: Option<i32>| days.unwrap_or(usual);
        let (longest, shortest) = row.map_or((None, None), |row| (row.longest, row.shortest));
        Ok(Policies { longest: of(longest), shortest: of(shortest) })
    }

    /// What is old enough at `now`. On PostgreSQL whoever keeps history the longest keeps whole
    /// days, for days are what is dropped.
    pub fn retention_rule(&self, policies: Policies, usual: i32, now: Timestamp) -> Rule {
        let last = before(now.0, policies.longest);
        let last = if self.dialect().is_postgres() { day_of(last) } else { last };
        Rule { now: now.0, usual, policies, last }
    }
}

impl Rule {
    /// The instant that the rule is about.
    pub(super) fn now(&self) -> i64 {
        self.now
    }

    /// What settled before is too old for whoever keeps history the longest.
    pub fn last(&self) -> Timestamp {
        Timestamp(self.last)
    }

    /// What was made at or after this is too young for everybody.
    pub(super) fn reach(&self) -> i64 {
        if self.policies.longest == self.policies.shortest {
            return self.last;
        }
        before(self.now, self.policies.shortest)
    }

    /// Before when a row of the alias must have settled to be too old.
    pub(super) fn cutoff(&self) -> String {
        let Self { now, usual, last, policies } = *self;
        if policies.longest == policies.shortest {
            return last.to_string();
        }
        let days = format!("coalesce(s.retention_days, n.retention_days, {usual})");
        format!(
            "(CASE WHEN {days} >= {} THEN {last} \
             ELSE {now} - CAST({days} AS bigint) * {DAY_MS} END)",
            policies.longest
        )
    }

    /// What the conditions below need beside the rows of `t`.
    pub(super) fn joins(&self) -> &'static str {
        if self.policies.longest == self.policies.shortest {
            return "";
        }
        "LEFT JOIN schedule s ON s.id = t.schedule_id LEFT JOIN namespace n ON n.id = t.namespace_id"
    }

    /// Whether a run `t` is settled and too old.
    pub(super) fn run_is_old(&self) -> String {
        let cutoff = self.cutoff();
        format!("(t.state NOT IN {LIVE} AND coalesce(t.finished_at, t.created_at) < {cutoff})")
    }

    /// Whether a fire `t` is decided and too old. One whose run goes on is not, nor one that takes
    /// the place of instants to come. The live runs are listed once for all fires: there are few of
    /// them, and looking each fire's up would look into every day.
    pub(super) fn fire_is_old(&self) -> String {
        let cutoff = self.cutoff();
        format!(
            "(t.verdict <> 'pending' AND coalesce(t.decided_at, t.claimed_at) < {cutoff} \
               AND t.last_scheduled_at < {cutoff} \
               AND coalesce(t.run_id, t.id) NOT IN (SELECT r.id FROM run r WHERE r.state IN {LIVE}))"
        )
    }
}

pub(super) fn before(now: i64, days: i32) -> i64 {
    now - i64::from(days) * DAY_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(longest: i32, shortest: i32) -> Rule {
        let now = 100 * DAY_MS + 5;
        let last = day_of(before(now, longest));
        Rule { now, usual: longest, policies: Policies { longest, shortest }, last }
    }

    #[test]
    fn where_all_keep_history_alike_nobody_is_asked() {
        assert_eq!(rule(45, 45).joins(), "");
        assert_eq!(rule(45, 45).cutoff(), (55 * DAY_MS).to_string());
        assert_eq!(rule(45, 45).reach(), 55 * DAY_MS);
    }

    #[test]
    fn a_shorter_retention_reaches_further() {
        assert_eq!(rule(45, 10).reach(), before(100 * DAY_MS + 5, 10));
        assert!(rule(45, 10).cutoff().contains("s.retention_days, n.retention_days, 45"));
    }
}
