//! Builds the timetable of a stored schedule before the transaction of a command that needs it.

use uuid::Uuid;

use crate::{
    access::Permit,
    commands::{CommandError, Commands},
    engine::planning::prepared::{PreparedTimetable, TimetableParts},
};

impl Commands {
    /// Builds the timetable that a command is about to end, if the schedule has calendars. Without
    /// calendars, building it takes too little time to be done in advance.
    pub(super) async fn prepare_ended(
        &self,
        permit: Permit<'_>,
        id: Uuid,
    ) -> Result<Option<PreparedTimetable>, CommandError> {
        let visible = self.visible_schedule(permit, id).await?;
        match visible.is_some_and(|row| row.calendars.is_some()) {
            true => self.prepare_timetable(permit, id, |timetable| timetable).await,
            false => Ok(None),
        }
    }

    /// Builds the timetable of a schedule, and does with it what takes a while as well: on a
    /// blocking thread if the schedule has calendars. `None` if there is no such schedule, the
    /// permission does not cover it or its timetable cannot be built, which the transaction
    /// reports. Must not be called while holding a transaction.
    pub(super) async fn prepare_timetable<T: Send + 'static>(
        &self,
        permit: Permit<'_>,
        id: Uuid,
        and: impl FnOnce(PreparedTimetable) -> T + Send + 'static,
    ) -> Result<Option<T>, CommandError> {
        let read = self.store.read();
        if self.visible_schedule(permit, id).await?.is_none() {
            return Ok(None);
        }
        let Some(schedule) = self.store.schedule_with_cursor(read, id).await? else {
            return Ok(None);
        };
        let parts = TimetableParts::read(read, &schedule).await?;
        let cache = self.cache.clone();
        let work = move || parts.build(&cache).ok().map(and);
        if schedule.calendars.is_none() {
            // A timing alone costs less than a place among those of the namespace.
            return Ok(work());
        }
        let prepared = self.compute(schedule.namespace_id, work).await?;
        tracing::debug!(timings = 1, "has worked out timings before a transaction");
        Ok(prepared)
    }
}
