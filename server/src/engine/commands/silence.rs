//! Refuses changes of calendars that would let no fire of a schedule through any more, as the
//! schedule itself would be refused. By hand that is asked of each change; of a deployment when
//! all of it is written, for a module may change calendars and schedules together.

use entity::{Keys, calendar::Model};

use super::{BadInput, CommandError, Commands, calendars::some_of, spec::Spec, suppression};
use crate::{
    engine::calendars as compiled,
    store::{DatabaseTransaction, calendars},
};

/// So many of the schedules that name a calendar are read at once.
const PAGE: u64 = 500;

/// So many that are silenced are enough to refuse a change.
const ENOUGH: usize = 20;

impl Commands {
    /// Schedules that name the calendar and that calendars, as this transaction sees them, let
    /// nothing through of any more, when those of `before` were like that: the first by name.
    pub(super) async fn silenced_by(
        &self,
        tx: &DatabaseTransaction,
        row: &Model,
        before: &[Model],
    ) -> Result<Vec<String>, CommandError> {
        let (now, dialect) = (self.clock.now(), self.store.dialect());
        let (mut silenced, mut last) = (Vec::new(), None::<String>);
        loop {
            let page = calendars::users(tx, dialect, row, last.as_deref(), PAGE).await?;
            let named = compiled::named(page.iter().map(|schedule| &schedule.calendars));
            let after =
                compiled::read(tx, Some(&Keys(named.into_iter().collect())), compiled::NOW).await?;
            let mut earlier = after.clone();
            earlier.extend(before.iter().map(|row| (row.id, compiled::compile(row))));
            last = page.last().map(|schedule| schedule.name.clone());
            for schedule in page {
                let timing = Spec::of(&schedule).timing;
                let definition = timing.definition(schedule.id, schedule.anchor_at.utc());
                // One whose timing cannot be read has another problem.
                let Ok(plain) = self.cache.timetable(&definition) else { continue };
                let is_silent = |current| {
                    let keys = schedule.calendars.as_ref();
                    let timetable = compiled::with(plain.clone(), keys, current);
                    timetable.is_ok_and(|timetable| suppression::silences(&timetable, now))
                };
                if is_silent(&after) && !is_silent(&earlier) {
                    silenced.push(schedule.name);
                }
            }
            if last.is_none() || silenced.len() >= ENOUGH {
                return Ok(silenced);
            }
        }
    }

    /// Refuses what this transaction has made of calendars that were like `before`, if one of them
    /// silences a schedule, whoever owns that; gives those that are not what they were.
    pub(super) async fn silences_nobody(
        &self,
        tx: &DatabaseTransaction,
        before: &[Model],
    ) -> Result<Vec<Model>, CommandError> {
        let mut redrawn = Vec::new();
        let keys: Vec<_> = before.iter().map(|row| row.id).collect();
        for row in calendars::by_ids(tx, &keys).await? {
            let was = before.iter().find(|was| was.id == row.id);
            if row.deleted_at.is_some() || was.is_some_and(|was| was.version == row.version) {
                continue;
            }
            let silenced = self.silenced_by(tx, &row, before).await?;
            if !silenced.is_empty() {
                let field = format!("calendars.{}", row.name);
                let names = some_of(&silenced);
                let problem = format!("would let no fire through any more of {names}");
                let help = "leave a time at which they fire, or change their timing along with it";
                return Err(BadInput::new(field, row.name, problem, help).into());
            }
            redrawn.push(row);
        }
        Ok(redrawn)
    }
}
