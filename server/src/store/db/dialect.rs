//! The differences between SQLite and PostgreSQL within a statement.

use sea_orm::{DbBackend, Statement, Value};

use entity::Timestamp;

use super::{
    days::DayRange,
    faults::Faults,
    live::{LiveDays, RowsSince},
};
use crate::clock::Clock;

/// A placeholder for the current time by a clock other than the database's. It becomes a bound
/// value, so that the text of the statement stays the same and need not be parsed again.
const OWN_NOW: &str = ":own_now";

/// Writes the pieces of SQL that differ between the two databases.
#[derive(Clone, Debug)]
pub struct Dialect {
    backend: DbBackend,
    clock: Option<Clock>,
    live: LiveDays,
    /// The faults to inject; set only in a simulation.
    faults: Option<Faults>,
}

impl Dialect {
    pub(in crate::store) fn new(backend: DbBackend) -> Self {
        Self { backend, clock: None, live: LiveDays::default(), faults: None }
    }

    pub(in crate::store) fn with_clock(self, clock: Clock) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// The dialect of a simulated process, which does not share live days with others.
    pub(in crate::store) fn with_faults(self, faults: Faults) -> Self {
        Self { faults: Some(faults), live: LiveDays::default(), ..self }
    }

    /// The kind of database.
    pub fn backend(&self) -> DbBackend {
        self.backend
    }

    /// Whether the database is PostgreSQL.
    pub fn is_postgres(&self) -> bool {
        self.backend == DbBackend::Postgres
    }

    /// The name of the database's kind: `sqlite` or `postgres`.
    pub fn name(&self) -> &'static str {
        if self.is_postgres() { "postgres" } else { "sqlite" }
    }

    /// The current time in milliseconds on the clock for leases and heartbeats.
    /// This is the database's clock, so that nodes need not agree on the time.
    /// For use in [`Dialect::statement`].
    pub fn now(&self) -> String {
        match (&self.clock, self.is_postgres()) {
            (Some(_), _) => OWN_NOW.to_owned(),
            (None, true) => "(extract(epoch FROM clock_timestamp()) * 1000)::bigint".to_owned(),
            (None, false) => "CAST(unixepoch('subsec') * 1000 AS INTEGER)".to_owned(),
        }
    }

    /// The clause that keeps the rows that a SELECT reads from being changed before the transaction
    /// ends. It is empty on SQLite, where the single writer ensures that.
    pub fn share(&self) -> &'static str {
        if self.is_postgres() { "FOR SHARE" } else { "" }
    }

    /// The clause that locks the rows of a table that a query finds, in the query's order, and
    /// waits for each lock. It is empty on SQLite, where one writer excludes all others.
    pub fn for_update(&self, table: &str) -> String {
        if self.is_postgres() { format!("FOR UPDATE OF {table}") } else { String::new() }
    }

    /// The clause that locks the rows that a SELECT reads, and skips those that another transaction
    /// has locked. It is empty on SQLite, where one writer excludes all others.
    pub fn skip_locked(&self, table: &str) -> String {
        if self.is_postgres() {
            format!("FOR UPDATE OF {table} SKIP LOCKED")
        } else {
            String::new()
        }
    }

    /// The clause, to be appended to a table in FROM, that joins each of its rows with the first
    /// rows of `table` that match `which`, in the given order. For each row, the expression `own`
    /// is the number of rows to join, up to `most`. If an index has that order, no other rows are
    /// read. The rows are locked as by [`Dialect::skip_locked`].
    pub fn first_of_each(
        &self,
        table: &str,
        which: &str,
        order: &str,
        own: &str,
        most: &str,
    ) -> String {
        if self.is_postgres() {
            format!(
                "CROSS JOIN LATERAL (SELECT {table}.* FROM {table} WHERE {which} \
                   ORDER BY {order} LIMIT least({own}, {most}) {}) {table}",
                self.skip_locked(table)
            )
        } else {
            // Here LIMIT cannot refer to another table.
            format!(
                "CROSS JOIN {table} ON {table}.id IN (SELECT id FROM \
                   (SELECT id, row_number() OVER () AS place FROM \
                     (SELECT {table}.id FROM {table} WHERE {which} ORDER BY {order} LIMIT {most})) \
                   WHERE place <= {own})"
            )
        }
    }

    /// The clause, to be appended to a table in FROM, that joins each of its rows with the first
    /// `limit` rows of `table` that match `which`, in the given order.
    /// If an index has that order, no other rows are read.
    pub fn newest_of_each(&self, table: &str, which: &str, order: &str, limit: &str) -> String {
        let (what, first) = if self.is_postgres() {
            ("*", format!("CROSS JOIN LATERAL ({{}}) {table}"))
        } else {
            ("id", format!("CROSS JOIN {table} ON {table}.id IN ({{}})"))
        };
        let rows = format!(
            "SELECT {table}.{what} FROM {table} WHERE {which} ORDER BY {order} LIMIT {limit}"
        );
        first.replace("{}", &rows)
    }

    /// The condition that rows are in `days`, to be appended to another condition.
    /// It is empty on SQLite, whose tables are not partitioned.
    pub(crate) fn within(&self, days: DayRange) -> String {
        if self.is_postgres() { days.condition() } else { String::new() }
    }

    /// The condition that a run with the key in `column` can be live at `now`, to be appended to
    /// the condition that it is live. See `live`.
    pub(crate) fn live_runs(&self, column: &'static str, now: Timestamp) -> String {
        self.live.of_runs(column, now)
    }

    /// The condition that a fire with the instant in `column` can be pending at `now`.
    pub(crate) fn pending_fires(
        &self,
        column: &'static str,
        now: Timestamp,
        since: RowsSince,
    ) -> String {
        self.live.of_fires(column, now, since)
    }

    pub(in crate::store) fn live(&self) -> &LiveDays {
        &self.live
    }

    /// A condition on rows that a statement finds by key, written so that PostgreSQL does not
    /// estimate how many rows match it. When a table is analyzed, it may contain a handful
    /// of pending or running rows, and thousands a second later.
    /// PostgreSQL would then search for those rows first and compare each of them with every key.
    pub(crate) fn of_found(&self, condition: &str) -> String {
        if self.is_postgres() {
            format!("CASE WHEN {condition} THEN true ELSE false END")
        } else {
            condition.to_owned()
        }
    }

    /// The stamp for `changed` in a statement that writes `table`.
    /// For runs, it is also greater than all stamps that were counted, even those of removed runs,
    /// because the statistics continue from there. For alerts, backfills, fires and schedules, it
    /// is greater than those of removed rows, which a trigger keeps.
    pub fn stamp(&self, table: &str) -> String {
        if self.is_postgres() {
            "pg_current_xact_id()::text::bigint".to_owned()
        } else if table == "run" {
            "(SELECT max(coalesce((SELECT max(changed) FROM run), 0), \
               coalesce((SELECT changed FROM stat_position WHERE feed = 'run'), 0)) + 1)"
                .to_owned()
        } else if ["alert", "backfill", "fire", "schedule"].contains(&table) {
            // The condition makes SQLite read the partial index of fires.
            format!(
                "(SELECT max(coalesce((SELECT max(changed) FROM {table} WHERE changed > 0), 0), \
                   coalesce((SELECT changed FROM stat_position WHERE feed = '{table}_feed'), 0)) \
                   + 1)"
            )
        } else {
            format!("(SELECT coalesce(max(changed), 0) + 1 FROM {table})")
        }
    }

    /// The stamp that the last statement of this transaction that wrote `table` has assigned.
    /// It is the greatest stamp, because stamps increase and SQLite has one writer.
    pub fn last_stamp(&self, table: &str) -> String {
        if self.is_postgres() {
            self.stamp(table)
        } else {
            format!("(SELECT max(changed) FROM {table})")
        }
    }

    /// All stamps below this expression are complete:
    /// no open transaction can still write such a stamp.
    pub fn horizon(&self) -> &'static str {
        if self.is_postgres() {
            "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
        } else {
            "9223372036854775807"
        }
    }

    /// A column whose index would match many rows, although another condition narrows them
    /// to a few. PostgreSQL knows this from its statistics.
    /// SQLite has no statistics, so a plus sign keeps it from using that index.
    pub(crate) fn of_few(&self, column: &'static str) -> String {
        if self.is_postgres() { column.to_owned() } else { format!("+{column}") }
    }

    /// The condition that the JSON list in `column` contains the text in the placeholder.
    pub fn list_has(&self, column: &str, placeholder: &str) -> String {
        if self.is_postgres() {
            format!("jsonb_exists({column}, {placeholder})")
        } else {
            format!("EXISTS (SELECT 1 FROM json_each({column}) WHERE value = {placeholder})")
        }
    }

    /// The condition that the JSON list in `column` is empty.
    pub fn list_is_empty(&self, column: &str) -> String {
        let kind = if self.is_postgres() { "jsonb" } else { "json" };
        format!("{kind}_array_length({column}) = 0")
    }

    /// The condition that the JSON list in `column`
    /// contains any text of the list in the placeholder.
    pub fn list_has_any(&self, column: &str, placeholder: &str) -> String {
        if self.is_postgres() {
            let asked = format!("jsonb_array_elements_text(CAST({placeholder} AS jsonb))");
            format!("jsonb_exists_any({column}, ARRAY(SELECT {asked}))")
        } else {
            format!(
                "EXISTS (SELECT 1 FROM json_each({column}) kept WHERE kept.value \
                 IN (SELECT value FROM json_each({placeholder})))"
            )
        }
    }

    /// The condition that the JSON list in `column`
    /// contains any text of the query in the placeholder.
    pub fn list_has_some_of(&self, column: &str, placeholder: &str) -> String {
        if self.is_postgres() {
            format!("jsonb_exists_any({column}, ARRAY {placeholder})")
        } else {
            format!(
                "EXISTS (SELECT 1 FROM json_each({column}) kept WHERE kept.value IN {placeholder})"
            )
        }
    }

    /// The key in `column` as hyphenated lower-case text, as JSON columns contain it.
    /// SQLite stores its bytes.
    pub fn uuid_as_text(&self, column: &str) -> String {
        if self.is_postgres() {
            return format!("CAST({column} AS text)");
        }
        let groups = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)];
        let groups =
            groups.map(|(from, length)| format!("substr(hex({column}), {from}, {length})"));
        format!("lower({})", groups.join(" || '-' || "))
    }

    /// The condition that the JSON list in the placeholder
    /// contains all texts of the list in `column`.
    pub fn list_within(&self, column: &str, placeholder: &str) -> String {
        if self.is_postgres() {
            format!("{column} <@ CAST({placeholder} AS jsonb)")
        } else {
            format!(
                "NOT EXISTS (SELECT 1 FROM json_each({column}) asked WHERE asked.value \
                 NOT IN (SELECT value FROM json_each({placeholder})))"
            )
        }
    }

    /// A statement for this database, with its values in the order of `$1`, `$2`, ...
    pub fn statement<I>(&self, sql: impl Into<String>, values: I) -> Statement
    where
        I: IntoIterator<Item = Value>,
    {
        let broken = self.faults.as_ref().and_then(Faults::statement);
        broken.unwrap_or_else(|| {
            let (mut sql, mut values): (String, Vec<Value>) =
                (sql.into(), values.into_iter().collect());
            if let Some(clock) = self.clock.as_ref().filter(|_| sql.contains(OWN_NOW)) {
                values.push(clock.now().timestamp_millis().into());
                // If a statement with a batch on SQLite binds numbered
                // parameters, named ones would get numbers, too.
                let mark = if self.is_postgres() { '$' } else { '?' };
                let now = format!("CAST({mark}{} AS bigint)", values.len());
                sql = sql.replace(OWN_NOW, &now);
            }
            Statement::from_sql_and_values(self.backend, sql, values)
        })
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::clock::ManualClock;

    #[test]
    fn the_time_of_a_clock_that_is_not_the_databases_is_a_value() {
        let clock = ManualClock::new(DateTime::from_timestamp(7, 0).unwrap()).clock();
        for (backend, mark) in [(DbBackend::Sqlite, "?2"), (DbBackend::Postgres, "$2")] {
            let dialect = Dialect::new(backend).with_clock(clock.clone());
            let sql = format!("SELECT {0} - $1, {0}", dialect.now());
            let statement = dialect.statement(sql, [5_i64.into()]);
            let now = format!("CAST({mark} AS bigint)");
            assert_eq!(statement.sql, format!("SELECT {now} - $1, {now}"));
            assert_eq!(statement.values.unwrap().0, [5_i64, 7_000].map(Value::from));
            let other = dialect.statement("SELECT $1", [5_i64.into()]);
            assert_eq!(other.values.unwrap().0.len(), 1);
        }
    }
}
