//! Reads the facts about given instants of a schedule: ledger rows and runs. Each instant is looked
//! up in an index, so the cost does not depend on the size of the schedule's ledger.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use entity::{Timestamp, fire::Verdict, run};
use sea_orm::{ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use crate::store::{
    Store, StoreError,
    db::{bulk::BulkValues, days::DayRange, rows::InstantRow},
};

/// The ledger row of exactly one instant. It may be the first instant of a range.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct RowAt {
    /// The instant.
    pub at: Timestamp,
    /// The key of the row.
    pub fire_id: Uuid,
    /// Number of instants that the row stands for.
    pub count: i64,
    /// The verdict on the fire.
    pub verdict: Verdict,
}

/// A run for an instant, whatever started it.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct RunAt {
    /// The instant for which the run was started.
    pub at: Timestamp,
    /// The key of the run.
    pub run_id: Uuid,
    /// The run's state.
    pub state: run::State,
}

/// A ledger row that stands for a range of instants.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct RangeOver {
    /// The key of the row.
    pub fire_id: Uuid,
    /// The version of the schedule whose timing produced the instants.
    pub schedule_version: i32,
    /// The first instant of the range.
    pub scheduled_at: Timestamp,
    /// The last instant of the range.
    pub last_scheduled_at: Timestamp,
}

/// Maximum number of instants per statement.
const CHUNK: usize = 1_000;

impl Store {
    /// The ledger rows that are exactly at these instants.
    pub async fn rows_at(
        &self,
        connection: &impl ConnectionTrait,
        schedule: Uuid,
        instants: &[Timestamp],
    ) -> Result<Vec<RowAt>, StoreError> {
        let sql = "SELECT v.at AS at, fire.id AS fire_id, fire.count AS count, \
               fire.verdict AS verdict \
             FROM v JOIN fire ON fire.schedule_id = {0} AND fire.scheduled_at = v.at {days}";
        let mut rows = Vec::new();
        for some in instants.chunks(CHUNK) {
            let days = DayRange::of_instants("fire.scheduled_at", some.iter().copied());
            let asked = BulkValues::default().int("at", some.iter().map(|at| at.0)).days(days);
            let statement = asked.statement(self.dialect(), sql, vec![schedule.into()]);
            rows.extend(RowAt::find_by_statement(statement).all(connection).await?);
        }
        Ok(rows)
    }

    /// The runs for these instants, whether a fire or something else started them.
    pub async fn runs_at(
        &self,
        connection: &impl ConnectionTrait,
        schedule: Uuid,
        instants: &[Timestamp],
    ) -> Result<Vec<RunAt>, StoreError> {
        let sql = "SELECT v.at AS at, run.id AS run_id, run.state AS state FROM v \
               JOIN fire ON fire.schedule_id = {0} AND fire.scheduled_at = v.at {days} \
               JOIN run ON run.id = fire.run_id \
             UNION \
             SELECT v.at AS at, run.id AS run_id, run.state AS state FROM v \
               JOIN run ON run.schedule_id = {0} AND run.scheduled_at = v.at \
                AND run.trigger <> 'schedule'";
        let mut rows = Vec::new();
        for some in instants.chunks(CHUNK) {
            let days = DayRange::of_instants("fire.scheduled_at", some.iter().copied());
            let asked = BulkValues::default().int("at", some.iter().map(|at| at.0)).days(days);
            let statement = asked.statement(self.dialect(), sql, vec![schedule.into()]);
            rows.extend(RunAt::find_by_statement(statement).all(connection).await?);
        }
        Ok(rows)
    }

    /// The ranges that overlap the period from `first` to `last`, both inclusive.
    pub async fn ranges_over(
        &self,
        connection: &impl ConnectionTrait,
        schedule: Uuid,
        first: Timestamp,
        last: Timestamp,
    ) -> Result<Vec<RangeOver>, StoreError> {
        let statement = self.dialect().statement(
            "SELECT id AS fire_id, schedule_version, scheduled_at, last_scheduled_at FROM fire \
             WHERE schedule_id = $1 AND count > 1 AND scheduled_at <= $3 \
               AND last_scheduled_at >= $2 ORDER BY scheduled_at",
            [schedule.into(), first.0.into(), last.0.into()],
        );
        Ok(RangeOver::find_by_statement(statement).all(connection).await?)
    }

    /// The last instant of a schedule that had passed when its row was written.
    /// Instants that were skipped in advance on request do not count.
    ///
    /// A range that begins before other rows may end after them.
    /// There are few ranges, and they have an index of their own.
    pub async fn last_past_instant(
        &self,
        connection: &impl ConnectionTrait,
        schedule: Uuid,
    ) -> Result<Option<Timestamp>, StoreError> {
        #[derive(FromQueryResult)]
        struct LastInstant {
            at: Option<Timestamp>,
        }
        let statement = self.dialect().statement(
            "SELECT max(ends.at) AS at FROM ( \
               SELECT * FROM (SELECT last_scheduled_at AS at FROM fire \
                 WHERE schedule_id = $1 AND last_scheduled_at <= claimed_at \
                 ORDER BY scheduled_at DESC LIMIT 1) newest \
               UNION ALL \
               SELECT max(last_scheduled_at) AS at FROM fire \
               WHERE schedule_id = $1 AND count > 1 AND last_scheduled_at <= claimed_at) ends",
            [schedule.into()],
        );
        let row = LastInstant::find_by_statement(statement).one(connection).await?;
        Ok(row.and_then(|row| row.at))
    }

    /// The schedules among these that have rows between two instants, both inclusive.
    pub async fn schedules_with_rows(
        &self,
        connection: &impl ConnectionTrait,
        spans: &[(Uuid, Timestamp, Timestamp)],
    ) -> Result<HashSet<Uuid>, StoreError> {
        #[derive(FromQueryResult)]
        struct ScheduleKey {
            schedule_id: Uuid,
        }
        if spans.is_empty() {
            return Ok(HashSet::new());
        }
        let statement = BulkValues::default()
            .uuid("schedule_id", spans.iter().map(|(schedule, _, _)| *schedule))
            .int("from_at", spans.iter().map(|(_, first, _)| first.0))
            .int("to_at", spans.iter().map(|(_, _, last)| last.0))
            .days(DayRange::of_instants("fire.scheduled_at", spans.iter().flat_map(|s| [s.1, s.2])))
            .statement(
                self.dialect(),
                "SELECT v.schedule_id AS schedule_id FROM v \
                 WHERE EXISTS (SELECT 1 FROM fire WHERE fire.schedule_id = v.schedule_id \
                   AND fire.scheduled_at >= v.from_at AND fire.scheduled_at <= v.to_at {days})",
                vec![],
            );
        let rows = ScheduleKey::find_by_statement(statement).all(connection).await?;
        Ok(rows.into_iter().map(|row| row.schedule_id).collect())
    }

    /// The instants of a schedule from `first` to `last`, both inclusive,
    /// that have a row, in ascending order, up to a limit.
    pub async fn instants_taken(
        &self,
        connection: &impl ConnectionTrait,
        schedule: Uuid,
        first: Timestamp,
        last: Timestamp,
        limit: Option<usize>,
    ) -> Result<Vec<DateTime<Utc>>, StoreError> {
        let limit = limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(i64::MAX);
        let statement = self.dialect().statement(
            "SELECT scheduled_at AS at FROM fire \
             WHERE schedule_id = $1 AND scheduled_at >= $2 AND scheduled_at <= $3 \
             ORDER BY scheduled_at LIMIT $4",
            [schedule.into(), first.0.into(), last.0.into(), limit.into()],
        );
        let rows = InstantRow::find_by_statement(statement).all(connection).await?;
        Ok(rows.into_iter().map(|row| row.at.utc()).collect())
    }
}
