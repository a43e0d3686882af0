//! The calendars that a schedule names, looked up by name and stored by key. Also the complete
//! definition of a row, with the names of the objects that it refers to.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use entity::{Keys, Timestamp, calendar, schedule::Model};
use sea_orm::ConnectionTrait;
use timetable::Timetable;
use uuid::Uuid;

use crate::{
    commands::{BadInput, CommandError, Commands},
    model::{
        calendars::{self, CurrentCalendars},
        check,
        spec::Spec,
    },
    store::{DatabaseTransaction, calendars as rows},
};

impl Commands {
    /// The complete definition of a row.
    pub(in crate::commands) async fn spec_of<C: ConnectionTrait>(
        &self,
        connection: &C,
        row: &Model,
    ) -> Result<Spec, CommandError> {
        let names = match &row.calendars {
            Some(Keys(keys)) => rows::names(connection, keys).await?,
            None => HashMap::new(),
        };
        self.spec_with(connection, row, &names).await
    }

    /// The same, with the names of calendars that were read before.
    pub(in crate::commands) async fn spec_with<C: ConnectionTrait>(
        &self,
        connection: &C,
        row: &Model,
        calendars: &HashMap<Uuid, String>,
    ) -> Result<Spec, CommandError> {
        let mut spec = Spec::of(row);
        if let Some(Keys(keys)) = &row.calendars {
            let name = |key: &Uuid| calendars.get(key).cloned().unwrap_or_else(|| key.to_string());
            spec.calendars = keys.iter().map(name).collect();
        }
        spec.group = self.group_name(connection, row.group_id).await?;
        Ok(spec)
    }

    /// The timetable of a row with its calendars, from its cursor on.
    pub(crate) async fn timetable_of<C: ConnectionTrait>(
        &self,
        connection: &C,
        row: &Model,
    ) -> Result<Timetable, CommandError> {
        self.timetable_since(connection, row, row.next_scheduled_at.unwrap_or(calendars::NOW)).await
    }

    /// The timetable of a row with only the current version of each calendar.
    pub(in crate::commands) async fn timetable_as_of_now<C: ConnectionTrait>(
        &self,
        connection: &C,
        row: &Model,
    ) -> Result<Timetable, CommandError> {
        self.timetable_since(connection, row, calendars::NOW).await
    }

    async fn timetable_since<C: ConnectionTrait>(
        &self,
        connection: &C,
        row: &Model,
        since: Timestamp,
    ) -> Result<Timetable, CommandError> {
        let definition = Spec::of(row).timing.definition(row.id, row.anchor_at.utc());
        let plain = self.cache.timetable(&definition).map_err(BadInput::timing)?;
        let current = calendars::read(connection, row.calendars.as_ref(), since).await?;
        let timetable = calendars::with(plain, row.calendars.as_ref(), &current);
        Ok(timetable.map_err(BadInput::of_calendars)?)
    }

    /// The timetable of a definition, for a schedule with this key and anchor, and the keys of its
    /// calendars. The calendars are locked until the transaction ends.
    pub(in crate::commands) async fn timetable(
        &self,
        tx: &DatabaseTransaction,
        namespace: Uuid,
        spec: &Spec,
        id: Uuid,
        anchor: DateTime<Utc>,
    ) -> Result<(Timetable, Option<Keys>), CommandError> {
        let definition = spec.timing.definition(id, anchor);
        let plain = self.cache.timetable(&definition).map_err(BadInput::timing)?;
        self.suppressed(tx, namespace, plain, &spec.calendars, true).await
    }

    /// Adds the calendars of these names to the timetable; also returns their keys. Calendars that
    /// are locked cannot be deleted before the transaction ends.
    pub(crate) async fn suppressed<C: ConnectionTrait>(
        &self,
        connection: &C,
        namespace: Uuid,
        plain: Timetable,
        names: &[String],
        are_held: bool,
    ) -> Result<(Timetable, Option<Keys>), CommandError> {
        let named = calendars_named(connection, namespace, names, are_held).await?;
        let current: CurrentCalendars =
            named.iter().map(|row| (row.id, calendars::compile(row))).collect();
        let keys = keys_of(&named);
        let timetable = calendars::with(plain, keys.as_ref(), &current);
        Ok((timetable.map_err(BadInput::of_calendars)?, keys))
    }
}

/// The rows of the calendars with these names, in this order. Calendars that are locked cannot be
/// deleted before the transaction ends.
pub(in crate::commands) async fn calendars_named<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    names: &[String],
    are_held: bool,
) -> Result<Vec<calendar::Model>, CommandError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    check::calendars(names)?;
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            let field = format!("calendars[{index}]");
            return Err(BadInput::new(field, name, "is named twice", "name it once").into());
        }
    }
    let mut found = rows::by_names(connection, namespace, names, are_held).await?;
    let mut named = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let place = found.iter().position(|row| row.name == *name).ok_or_else(|| {
            let help = "name a calendar of this namespace, or create it first";
            BadInput::new(format!("calendars[{index}]"), name, "does not exist", help)
        })?;
        named.push(found.swap_remove(place));
    }
    Ok(named)
}

/// The keys of calendars as a schedule stores them: none if it names no calendar.
fn keys_of(rows: &[calendar::Model]) -> Option<Keys> {
    (!rows.is_empty()).then(|| Keys(rows.iter().map(|row| row.id).collect()))
}

/// Refuses calendars that suppress every fire of a timing, if the timing has fires without them.
pub(crate) fn allows_something(
    names: &[String],
    timetable: &Timetable,
    now: DateTime<Utc>,
) -> Result<(), BadInput> {
    if silences(timetable, now) { Err(silenced(names)) } else { Ok(()) }
}

/// The refusal of such calendars.
pub(in crate::commands) fn silenced(names: &[String]) -> BadInput {
    let help = "change the timing, or leave out the calendar that is too strict";
    BadInput::new("calendars", names.join(", "), "never allow any fire of this timing", help)
}

/// Whether a timetable would have more fires without its calendars.
pub(in crate::commands) fn silences(timetable: &Timetable, now: DateTime<Utc>) -> bool {
    timetable.has_calendars()
        && timetable.next(now).is_some()
        && timetable.next_allowed(now).is_none()
}
