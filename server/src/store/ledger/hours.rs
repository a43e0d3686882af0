//! Roll-ups of what is long past: one a namespace and hour, where there was one a minute. So a chart
//! over weeks reads a bounded number of rows, and few bytes of what stands in them.
//!
//! A minute that is counted into such an hour later stands beside its row until the next time.

use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;
use sea_orm::{ConnectionTrait, DbErr, FromQueryResult};
use uuid::Uuid;

use super::{
    counts::{Counts, Rollup, added_up},
    spread::Spread,
    stats::Minute,
};
use crate::store::{DatabaseTransaction, Dialect, Store, StoreError};

/// An hour in milliseconds. The statements below and their index have it as a number.
pub const HOUR_MS: i64 = 3_600_000;

/// For so long roll-ups stay by the minute.
const BY_MINUTE: TimeDelta = TimeDelta::days(2);

/// Where roll-ups by the minute begin at `now`: what is before is by the hour.
pub fn by_minute_since(now: DateTime<Utc>) -> Timestamp {
    let ms = Timestamp::from(now - BY_MINUTE).0;
    Timestamp(ms - ms.rem_euclid(HOUR_MS))
}

impl Store {
    /// Hours before `until` that are by the minute, at least in part, the oldest first: those of
    /// the first `most` such minutes.
    pub async fn hours_by_minute(
        &self,
        until: Timestamp,
        most: u64,
    ) -> Result<Vec<Minute>, StoreError> {
        #[derive(FromQueryResult)]
        struct Row {
            namespace_id: Uuid,
            hour: i64,
        }
        let sql = "SELECT DISTINCT namespace_id, minute - minute % 3600000 AS hour \
             FROM (SELECT namespace_id, minute FROM run_stat \
               WHERE minute < $1 AND minute % 3600000 <> 0 ORDER BY minute LIMIT $2) fine \
             ORDER BY hour, namespace_id";
        let statement = self.dialect().statement(sql, [until.0.into(), most.cast_signed().into()]);
        let rows = Row::find_by_statement(statement).all(self.rounds()).await?;
        let hour =
            |Row { namespace_id, hour }: Row| Minute { namespace_id, minute: Timestamp(hour) };
        Ok(rows.into_iter().map(hour).collect())
    }

    /// Makes one roll-up of all minutes of each of these hours.
    pub async fn roll_up_hours(
        &self,
        tx: &DatabaseTransaction,
        hours: &[Minute],
    ) -> Result<(), StoreError> {
        let mut rolled_up = Vec::with_capacity(hours.len());
        for hour in hours {
            let Minute { namespace_id, minute: from } = *hour;
            let until = Timestamp(from.0.saturating_add(HOUR_MS));
            let place = (tx, self.dialect());
            let found = steps_in(place, Some(namespace_id), from, until, HOUR_MS).await?;
            rolled_up.extend(found.into_iter().map(|(_, rollup)| (*hour, rollup)));
            let sql = "DELETE FROM run_stat \
                 WHERE namespace_id = $1 AND minute >= $2 AND minute < $3";
            let values = [namespace_id.into(), from.0.into(), until.0.into()];
            tx.execute_raw(self.dialect().statement(sql, values)).await?;
        }
        self.add_rollups(tx, &rolled_up).await
    }
}

/// What settled in each step of a stretch of time, in one namespace or in all.
pub(in crate::store) async fn steps_in<C: ConnectionTrait>(
    (connection, dialect): (&C, &Dialect),
    namespace: Option<Uuid>,
    from: Timestamp,
    until: Timestamp,
    step_ms: i64,
) -> Result<Vec<(i64, Rollup)>, StoreError> {
    #[derive(FromQueryResult)]
    struct Row {
        step: i64,
        #[sea_orm(nested)]
        counts: Counts,
        durations: String,
        latenesses: String,
    }
    let sql = format!(
        "SELECT (minute - $1) / $3 AS step, {}, string_agg(durations, ' ') AS durations, \
           string_agg(latenesses, ' ') AS latenesses \
         FROM run_stat WHERE minute >= $1 AND minute < $2 {} \
         GROUP BY (minute - $1) / $3 ORDER BY (minute - $1) / $3",
        added_up(),
        if namespace.is_some() { "AND namespace_id = $4" } else { "" }
    );
    let mut values = vec![from.0.into(), until.0.into(), step_ms.max(1).into()];
    values.extend(namespace.map(Into::into));
    let rows = Row::find_by_statement(dialect.statement(sql, values));
    let spread = |text: &str| Spread::read(text).map_err(|error| DbErr::Type(error.to_string()));
    let rolled_up = |row: Row| -> Result<_, StoreError> {
        let (durations, latenesses) = (spread(&row.durations)?, spread(&row.latenesses)?);
        Ok((row.step, Rollup { counts: row.counts, durations, latenesses }))
    };
    rows.all(connection).await?.into_iter().map(rolled_up).collect()
}
