use entity::Timestamp;
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::WAITS;
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{
        bulk::{BulkValues, returned_ids},
        days::DayRange,
    },
};

/// An intent that is to be put into the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The key of the fire.
    pub id: Uuid,
    /// The fire's instant.
    pub scheduled_at: Timestamp,
    /// The fire's position in the buffer.
    pub place: i64,
    /// The run for which the fire waits, if one is known.
    pub behind: Option<String>,
}

impl Store {
    /// Puts unowned intents into the buffer.
    pub async fn buffer_intents(
        &self,
        tx: &DatabaseTransaction,
        fires: &[Queued],
    ) -> Result<(), StoreError> {
        if fires.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE fire SET reason = 'buffered', detail = v.detail, queue_position = v.place, \
               changed = {} \
             FROM v WHERE fire.id = v.id AND fire.verdict = 'pending' \
               AND fire.claimed_by IS NULL {{days}}",
            self.dialect().stamp("fire")
        );
        let statement = BulkValues::default()
            .uuid("id", fires.iter().map(|fire| fire.id))
            .int("place", fires.iter().map(|fire| fire.place))
            .text("detail", fires.iter().map(|fire| fire.behind.clone()))
            .days(DayRange::of_instants("fire.scheduled_at", fires.iter().map(|f| f.scheduled_at)))
            .statement(self.dialect(), &sql, vec![]);
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Ends all waiting fires of each schedule, except for the fire that replaces them.
    pub async fn replace_waiting(
        &self,
        tx: &DatabaseTransaction,
        places: &[(Uuid, Uuid)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if places.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE fire SET verdict = 'skipped', reason = 'replaced', detail = v.detail, \
               decided_at = {{0}}, queue_position = NULL, changed = {} \
             FROM v WHERE fire.schedule_id = v.schedule_id AND fire.id <> v.fire_id AND {WAITS}",
            self.dialect().stamp("fire")
        );
        let statement = BulkValues::default()
            .uuid("schedule_id", places.iter().map(|(schedule, _)| *schedule))
            .uuid("fire_id", places.iter().map(|(_, fire)| *fire))
            .text("detail", places.iter().map(|(_, fire)| fire.to_string()))
            .statement(self.dialect(), &sql, vec![now.0.into()]);
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Removes fires from the buffer of a schedule that this transaction has locked: those in
    /// `fires`, or all. Returns the removed ones.
    pub async fn purge_waiting(
        &self,
        tx: &DatabaseTransaction,
        schedule: Uuid,
        fires: Option<&[Uuid]>,
        who: &str,
        now: Timestamp,
    ) -> Result<Vec<Uuid>, StoreError> {
        if fires.is_some_and(<[Uuid]>::is_empty) {
            return Ok(vec![]);
        }
        let of = if fires.is_some() { "AND fire.id IN (SELECT id FROM v)" } else { "" };
        let sql = format!(
            "UPDATE fire SET verdict = 'skipped', reason = 'purged', detail = {{0}}, \
               decided_at = {{1}}, queue_position = NULL, changed = {} \
             WHERE fire.schedule_id = {{2}} AND {WAITS} {of} RETURNING fire.id",
            self.dialect().stamp("fire")
        );
        // If there is no filter, the statement ignores this single row.
        const NONE: [Uuid; 1] = [Uuid::nil()];
        let ids = fires.unwrap_or(&NONE).iter().copied();
        let values = vec![who.into(), now.0.into(), schedule.into()];
        let statement =
            BulkValues::default().uuid("id", ids).statement(self.dialect(), &sql, values);
        let mut purged: Vec<Uuid> = returned_ids(tx, statement).await?.into_iter().collect();
        purged.sort_unstable();
        Ok(purged)
    }

    /// Gives the fires of a schedule's buffer new positions.
    pub async fn place_waiting(
        &self,
        tx: &DatabaseTransaction,
        schedule: Uuid,
        places: &[(Uuid, i64)],
    ) -> Result<(), StoreError> {
        if places.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE fire SET queue_position = v.place, changed = {} \
             FROM v WHERE fire.id = v.id AND fire.schedule_id = {{0}} AND {WAITS}",
            self.dialect().stamp("fire")
        );
        let statement = BulkValues::default()
            .uuid("id", places.iter().map(|(id, _)| *id))
            .int("place", places.iter().map(|(_, place)| *place))
            .statement(self.dialect(), &sql, vec![schedule.into()]);
        tx.execute_raw(statement).await?;
        Ok(())
    }
}
