//! Hourly roll-ups of old minutes: one row per namespace and hour instead of one per minute, so
//! that a chart over weeks reads a bounded number of rows.
//!
//! If runs are counted later for a minute of such an hour,
//! that minute is a row of its own until the next merge.

use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;
use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};
use uuid::Uuid;

use super::{
    counts::{Counts, Rollup, added_up},
    spread::DurationSpread,
    stats::NamespaceMinute,
};
use crate::store::{DatabaseTransaction, Dialect, Store, StoreError, db::within::Within};

/// An hour in milliseconds. The statements below and their index contain it as a literal.
pub const HOUR_MS: i64 = 3_600_000;

/// How long roll-ups are kept for single minutes.
const BY_MINUTE: TimeDelta = TimeDelta::days(2);

/// The instant from which roll-ups are for single minutes at `now`; earlier ones are hourly.
pub fn by_minute_since(now: DateTime<Utc>) -> Timestamp {
    let ms = Timestamp::from(now - BY_MINUTE).0;
    Timestamp(ms - ms.rem_euclid(HOUR_MS))
}

impl Store {
    /// The hours before `until` that still have rows for minutes,
    /// oldest first: those of the first `most` minutes.
    pub async fn hours_by_minute(
        &self,
        until: Timestamp,
        most: u64,
    ) -> Result<Vec<NamespaceMinute>, StoreError> {
        #[derive(FromQueryResult)]
        struct HourRow {
            namespace_id: Uuid,
            hour: i64,
        }
        let sql = "SELECT DISTINCT namespace_id, minute - minute % 3600000 AS hour \
             FROM (SELECT namespace_id, minute FROM run_stat \
               WHERE minute < $1 AND minute % 3600000 <> 0 ORDER BY minute LIMIT $2) fine \
             ORDER BY hour, namespace_id";
        let statement = self.dialect().statement(sql, [until.0.into(), most.cast_signed().into()]);
        let rows = HourRow::find_by_statement(statement).all(self.rounds()).await?;
        let hour = |HourRow { namespace_id, hour }: HourRow| NamespaceMinute {
            namespace_id,
            minute: Timestamp(hour),
        };
        Ok(rows.into_iter().map(hour).collect())
    }

    /// Merges all minutes of each of these hours into one roll-up.
    pub async fn roll_up_hours(
        &self,
        tx: &DatabaseTransaction,
        hours: &[NamespaceMinute],
    ) -> Result<(), StoreError> {
        let mut rolled_up = Vec::with_capacity(hours.len());
        for hour in hours {
            let NamespaceMinute { namespace_id, minute: from } = *hour;
            let until = Timestamp(from.0.saturating_add(HOUR_MS));
            let (dialect, within) = (self.dialect(), Within::One(namespace_id));
            let steps = steps_in(tx, dialect, &within, from, until, HOUR_MS).await?;
            rolled_up.extend(steps.into_iter().map(|(_, rollup)| (*hour, rollup)));
            let sql = "DELETE FROM run_stat \
                 WHERE namespace_id = $1 AND minute >= $2 AND minute < $3";
            let values = [namespace_id.into(), from.0.into(), until.0.into()];
            tx.execute_raw(self.dialect().statement(sql, values)).await?;
        }
        self.add_rollups(tx, &rolled_up).await
    }
}

/// The totals for each step of a period, for all namespaces of a scope together.
pub(in crate::store) async fn steps_in<C: ConnectionTrait>(
    connection: &C,
    dialect: &Dialect,
    within: &Within,
    from: Timestamp,
    until: Timestamp,
    step_ms: i64,
) -> Result<Vec<(i64, Rollup)>, StoreError> {
    let mut values = vec![from.0.into(), until.0.into(), step_ms.max(1).into()];
    let only = within.compared(&mut values);
    let only = only.map(|only| format!("AND namespace_id {only}")).unwrap_or_default();
    let sql = format!(
        "SELECT (minute - $1) / $3 AS step, {}, string_agg(durations, ' ') AS durations, \
           string_agg(latenesses, ' ') AS latenesses \
         FROM run_stat WHERE minute >= $1 AND minute < $2 {only} \
         GROUP BY (minute - $1) / $3 ORDER BY (minute - $1) / $3",
        added_up(),
    );
    let rows = StepRow::find_by_statement(dialect.statement(sql, values)).all(connection).await?;
    rows.into_iter().map(|row| row.rollup().map(|rollup| (row.step, rollup))).collect()
}

/// A step of a period in one namespace, and its totals.
pub(in crate::store) struct NamespaceStep {
    pub(in crate::store) namespace_id: Uuid,
    pub(in crate::store) step: i64,
    pub(in crate::store) rollup: Rollup,
}

/// The totals for each step of a period in each of several namespaces, by one statement.
pub(in crate::store) async fn steps_of_each<C: ConnectionTrait>(
    connection: &C,
    dialect: &Dialect,
    within: &Within,
    from: Timestamp,
    until: Timestamp,
    step_ms: i64,
) -> Result<Vec<NamespaceStep>, StoreError> {
    #[derive(FromQueryResult)]
    struct NamespaceStepRow {
        namespace_id: Uuid,
        #[sea_orm(nested)]
        step: StepRow,
    }
    let mut values = vec![from.0.into(), until.0.into(), step_ms.max(1).into()];
    let only = within.compared(&mut values);
    let only = only.map(|only| format!("AND namespace_id {only}")).unwrap_or_default();
    let sql = format!(
        "SELECT namespace_id, (minute - $1) / $3 AS step, {}, \
           string_agg(durations, ' ') AS durations, string_agg(latenesses, ' ') AS latenesses \
         FROM run_stat WHERE minute >= $1 AND minute < $2 {only} \
         GROUP BY namespace_id, (minute - $1) / $3 ORDER BY namespace_id, (minute - $1) / $3",
        added_up(),
    );
    let rows = NamespaceStepRow::find_by_statement(dialect.statement(sql, values));
    let step = |NamespaceStepRow { namespace_id, step }: NamespaceStepRow| {
        step.rollup().map(|rollup| NamespaceStep { namespace_id, step: step.step, rollup })
    };
    rows.all(connection).await?.into_iter().map(step).collect()
}

/// A step of a period, and its totals as the database adds them up.
#[derive(FromQueryResult)]
struct StepRow {
    step: i64,
    #[sea_orm(nested)]
    counts: Counts,
    durations: String,
    latenesses: String,
}

impl StepRow {
    /// The totals, with the distributions that the rows of the step contain.
    fn rollup(&self) -> Result<Rollup, StoreError> {
        let spread =
            |text: &str| DurationSpread::read(text).map_err(|error| DbErr::Type(error.to_string()));
        let (durations, latenesses) = (spread(&self.durations)?, spread(&self.latenesses)?);
        Ok(Rollup { counts: self.counts, durations, latenesses })
    }
}
