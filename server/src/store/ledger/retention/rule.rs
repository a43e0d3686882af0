//! Decides which rows of the ledger are old enough to be removed.

use entity::Timestamp;
use sea_orm::{FromQueryResult, Value};
use uuid::Uuid;

use super::TableFamily;
use crate::store::{
    Store, StoreError,
    db::days::{DAY_MS, day_of, first_key},
};

/// The shortest and the longest retention, in days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policies {
    /// The longest retention of all namespaces and schedules.
    pub longest: i32,
    /// The shortest retention of all namespaces and schedules.
    pub shortest: i32,
}

/// A proposed retention, which is not in force yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProposedRetention {
    /// The namespace or schedule for which it is proposed.
    pub whose: RetentionScope,
    /// The number of days; `None` for the default, which applies without a retention of its own.
    pub days: Option<i32>,
}

/// An object that can have a retention of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionScope {
    /// The namespace with this key.
    Namespace(Uuid),
    /// The schedule with this key.
    Schedule(Uuid),
}

/// Which rows are old enough at a given instant. A row's age counts from when it was settled:
/// the row of a fire that ran late, or of a run that took long, is as young as its end.
/// An unsettled row has no age.
#[derive(Clone, Copy, Debug)]
pub struct RetentionRule {
    now: i64,
    usual: i32,
    policies: Policies,
    /// Rows that settled before this instant are too old even under the longest retention.
    last: i64,
    /// The start of the partitions that are kept under the longest retention, by family;
    /// `None` without partitions.
    /// Older partitions are dropped as a whole, so their rows are not deleted one by one.
    kept: [Option<i64>; 2],
    /// A proposed retention that the rule assumes, and whether the database is PostgreSQL.
    instead: Option<(ProposedRetention, bool)>,
    /// The rows to which a cut is limited; `None` if the rule is not that of a cut.
    only: Option<CutScope>,
}

/// The rows that a cut to a quota may remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CutScope {
    /// The namespace of the rows.
    namespace: Uuid,
    /// The stamp up to which runs have been read by all readers that read them once.
    read: i64,
    /// Whether the database is PostgreSQL.
    is_postgres: bool,
}

/// The states of runs that have not settled.
const LIVE: &str = "('queued', 'running', 'retrying')";

impl Store {
    /// The retentions of all namespaces and schedules, or of those `within` one namespace.
    /// `usual` is the retention of a namespace without its own.
    pub async fn retention_policies(
        &self,
        usual: i32,
        instead: Option<ProposedRetention>,
        within: Option<Uuid>,
    ) -> Result<Policies, StoreError> {
        #[derive(FromQueryResult)]
        struct PolicyRange {
            longest: Option<i32>,
            shortest: Option<i32>,
        }
        let (namespace, schedule, thought) = match instead {
            None => (Uuid::nil(), Uuid::nil(), None),
            Some(ProposedRetention { whose: RetentionScope::Namespace(id), days }) => {
                (id, Uuid::nil(), Some(days.unwrap_or(usual)))
            }
            Some(ProposedRetention { whose: RetentionScope::Schedule(id), days }) => {
                (Uuid::nil(), id, days)
            }
        };
        let only =
            |column| if within.is_some() { format!("AND {column} = $4") } else { String::new() };
        let sql = format!(
            "SELECT max(days) AS longest, min(days) AS shortest FROM ( \
               SELECT coalesce(retention_days, $1) AS days FROM namespace WHERE id <> $2 {} \
               UNION ALL \
               SELECT retention_days AS days FROM schedule \
                 WHERE retention_days IS NOT NULL AND id <> $3 {} \
             ) policies",
            only("id"),
            only("namespace_id"),
        );
        let values = [Value::from(usual), namespace.into(), schedule.into()];
        let values = values.into_iter().chain(within.map(Value::from));
        let statement = self.dialect().statement(sql, values);
        let row = PolicyRange::find_by_statement(statement).one(self.read()).await?;
        let (longest, shortest) = row.map_or((None, None), |row| (row.longest, row.shortest));
        let longest = longest.into_iter().chain(thought).max();
        let shortest = shortest.into_iter().chain(thought).min();
        Ok(Policies { longest: longest.unwrap_or(usual), shortest: shortest.unwrap_or(usual) })
    }

    /// The rule for rows that are old enough at `now`. On PostgreSQL, the longest retention keeps
    /// whole days, because partitions are dropped as a whole.
    pub fn retention_rule(&self, policies: Policies, usual: i32, now: Timestamp) -> RetentionRule {
        let last = before(now.0, policies.longest);
        let last = if self.dialect().is_postgres() { day_of(last) } else { last };
        RetentionRule {
            now: now.0,
            usual,
            policies,
            last,
            kept: [None; 2],
            instead: None,
            only: None,
        }
    }

    /// The rule for a cut to a quota of rows: only the history of one namespace from before `until`
    /// is too old, except for runs with stamps above `read`.
    pub fn rule_of_cut(
        &self,
        namespace: Uuid,
        until: Timestamp,
        read: i64,
        now: Timestamp,
    ) -> RetentionRule {
        let is_postgres = self.dialect().is_postgres();
        RetentionRule {
            now: now.0,
            usual: 0,
            policies: Policies { longest: 0, shortest: 0 },
            last: until.0,
            kept: [None; 2],
            instead: None,
            only: Some(CutScope { namespace, read, is_postgres }),
        }
    }
}

impl RetentionRule {
    /// The instant for which the rule holds.
    pub(super) fn now(&self) -> i64 {
        self.now
    }

    /// Rows that settled before this instant are too old even under the longest retention.
    pub fn last(&self) -> Timestamp {
        Timestamp(self.last)
    }

    /// The same rule, if the kept partitions of a family start at `from`.
    #[must_use]
    pub fn keeping(mut self, family: TableFamily, from: i64) -> Self {
        self.kept[family.index()] = Some(from);
        self
    }

    /// The same rule, under a proposed retention.
    #[must_use]
    pub fn if_it_were(self, instead: Option<ProposedRetention>, store: &Store) -> Self {
        let is_postgres = store.dialect().is_postgres();
        Self { instead: instead.map(|instead| (instead, is_postgres)), ..self }
    }

    /// The SQL expression for the number of days for which a row is kept.
    fn days(&self) -> String {
        let (mut schedule, mut namespace) =
            ("s.retention_days".to_owned(), "n.retention_days".to_owned());
        if let Some((ProposedRetention { whose, days }, is_postgres)) = self.instead {
            let days = days.map_or_else(|| "NULL".to_owned(), |days| days.to_string());
            let (column, id, of) = match whose {
                RetentionScope::Namespace(id) => ("t.namespace_id", id, &mut namespace),
                RetentionScope::Schedule(id) => ("t.schedule_id", id, &mut schedule),
            };
            *of =
                format!("CASE WHEN {column} = {} THEN {days} ELSE {of} END", key(id, is_postgres));
        }
        format!("coalesce({schedule}, {namespace}, {})", self.usual)
    }

    /// The same rule, with the kept partitions of another rule.
    #[must_use]
    pub fn with_days_of(self, other: &Self) -> Self {
        Self { kept: other.kept, ..self }
    }

    /// Rows created at or after this instant are too young under every retention.
    pub(super) fn reach(&self) -> i64 {
        if self.policies.longest == self.policies.shortest {
            return self.last;
        }
        before(self.now, self.policies.shortest)
    }

    /// The SQL expression for the time before which a row must have settled to be too old.
    pub(super) fn cutoff(&self) -> String {
        let Self { now, last, policies, .. } = *self;
        if policies.longest == policies.shortest {
            return last.to_string();
        }
        let days = self.days();
        format!(
            "(CASE WHEN {days} >= {} THEN {last} \
             ELSE {now} - CAST({days} AS bigint) * {DAY_MS} END)",
            policies.longest
        )
    }

    /// The condition that a row of a family is outside the partitions that are dropped as a whole.
    fn is_loose(&self, family: TableFamily) -> String {
        if let Some(CutScope { namespace, read, is_postgres }) = self.only {
            let theirs = format!("t.namespace_id = {}", key(namespace, is_postgres));
            return match family {
                TableFamily::Fires => theirs,
                TableFamily::Runs => format!("{theirs} AND t.changed <= {read}"),
            };
        }
        let Some(from) = self.kept[family.index()] else { return "true".to_owned() };
        let Self { policies, .. } = self;
        let before = match family {
            TableFamily::Fires => format!("t.scheduled_at < {from}"),
            TableFamily::Runs => format!("t.id < '{}'", first_key(from)),
        };
        if policies.longest == policies.shortest {
            return before;
        }
        let days = self.days();
        format!("({before} OR {days} < {})", policies.longest)
    }

    /// The joins that the conditions below need beside the rows of `t`.
    pub(super) fn joins(&self) -> &'static str {
        if self.policies.longest == self.policies.shortest {
            return "";
        }
        "LEFT JOIN schedule s ON s.id = t.schedule_id LEFT JOIN namespace n ON n.id = t.namespace_id"
    }

    /// The condition that a run `t` is settled and too old.
    pub(super) fn run_is_old(&self) -> String {
        let (cutoff, loose) = (self.cutoff(), self.is_loose(TableFamily::Runs));
        format!(
            "({loose} AND t.state NOT IN {LIVE} \
               AND coalesce(t.finished_at, t.created_at) < {cutoff})"
        )
    }

    /// The condition that a fire `t` that was found to be too old still is, for a statement that
    /// cannot contain the joins. Of its runs, only those are checked that were written from the
    /// stamp `since` on, which was read before the search for fires. The others have not changed,
    /// and a transaction that holds the only writer must not list all live runs.
    pub(super) fn fire_is_still_old(&self, since: i64) -> String {
        let again = format!("r.changed >= {since}");
        let (joins, condition) = (self.joins(), self.fire_is_old_beside(&again));
        if joins.is_empty() {
            return condition;
        }
        format!("EXISTS (SELECT 1 FROM (SELECT 1 AS one) its {joins} WHERE {condition})")
    }

    /// The condition that a fire `t` is decided and too old. It is not if its run or a retry of its
    /// run is live, nor if it stands for future instants or for instants ahead of the schedule's
    /// cursor, which an edit may have moved back. The live runs are listed once for all fires:
    /// there are few of them, and looking them up for each fire would search every day.
    pub(super) fn fire_is_old(&self) -> String {
        self.fire_is_old_beside(&format!("r.state IN {LIVE}"))
    }

    /// The condition that a fire `t` is too old, if runs `r` that match `runs` retain their fires.
    fn fire_is_old_beside(&self, runs: &str) -> String {
        let (cutoff, loose) = (self.cutoff(), self.is_loose(TableFamily::Fires));
        format!(
            "({loose} AND t.verdict <> 'pending' AND coalesce(t.decided_at, t.claimed_at) < {cutoff} \
               AND t.last_scheduled_at < {cutoff} \
               AND t.id NOT IN (SELECT r.fire_id FROM run r \
                 WHERE {runs} AND r.fire_id IS NOT NULL) \
               AND NOT EXISTS (SELECT 1 FROM schedule p WHERE p.id = t.schedule_id \
                 AND p.deleted_at IS NULL AND p.next_scheduled_at <= t.last_scheduled_at))"
        )
    }
}

/// A key as an SQL literal.
fn key(id: Uuid, is_postgres: bool) -> String {
    if is_postgres { format!("'{id}'") } else { format!("X'{}'", id.simple()) }
}

pub(super) fn before(now: i64, days: i32) -> i64 {
    now - i64::from(days) * DAY_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(longest: i32, shortest: i32) -> RetentionRule {
        let now = 100 * DAY_MS + 5;
        let last = day_of(before(now, longest));
        let policies = Policies { longest, shortest };
        RetentionRule {
            now,
            usual: longest,
            policies,
            last,
            kept: [None; 2],
            instead: None,
            only: None,
        }
    }

    #[test]
    fn with_one_retention_for_all_no_schedule_is_queried() {
        assert_eq!(rule(45, 45).joins(), "");
        assert_eq!(rule(45, 45).cutoff(), (55 * DAY_MS).to_string());
        assert_eq!(rule(45, 45).reach(), 55 * DAY_MS);
    }

    #[test]
    fn a_shorter_retention_reaches_further() {
        assert_eq!(rule(45, 10).reach(), before(100 * DAY_MS + 5, 10));
        assert!(rule(45, 10).cutoff().contains("s.retention_days, n.retention_days, 45"));
    }

    #[test]
    fn the_holder_of_the_writer_does_not_list_live_runs() {
        for rule in [rule(45, 45), rule(45, 10)] {
            assert!(rule.fire_is_old().contains(LIVE));
            let still = rule.fire_is_still_old(7);
            assert!(still.contains("r.changed >= 7") && !still.contains(LIVE), "{still}");
        }
    }

    #[test]
    fn a_cut_is_of_one_namespace_whatever_its_schedules_say() {
        let only = Some(CutScope { namespace: Uuid::from_u128(7), read: 9, is_postgres: false });
        let cut =
            RetentionRule { policies: Policies { longest: 0, shortest: 0 }, only, ..rule(45, 10) };
        assert_eq!((cut.joins(), cut.reach()), ("", cut.last().0));
        let of = "t.namespace_id = X'00000000000000000000000000000007' AND t.";
        let read = format!("({of}changed <= 9 AND t.state NOT IN");
        assert!(cut.run_is_old().starts_with(&read), "{}", cut.run_is_old());
        assert!(cut.fire_is_still_old(3).starts_with(&format!("({of}")));
    }

    #[test]
    fn kept_days_lose_no_rows_of_the_longest_retention() {
        let from = 50 * DAY_MS;
        let alike = rule(45, 45).keeping(TableFamily::Fires, from);
        assert!(alike.fire_is_old().starts_with("(t.scheduled_at < 4320000000 AND"));
        assert!(alike.run_is_old().starts_with("(true AND"));
        let differ = rule(45, 10).keeping(TableFamily::Runs, from);
        let loose = format!("((t.id < '{}' OR coalesce(", first_key(from));
        assert!(differ.run_is_old().starts_with(&loose), "{}", differ.run_is_old());
    }
}
