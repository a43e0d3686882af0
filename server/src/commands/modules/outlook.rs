//! What the effect of a deployment is computed from: the schedules that it may affect and the
//! calendars that they name, before and after it.
//!
//! A schedule may name eight calendars, each with two thousand entries, and SQLite has a single
//! writer. So the calendars are read before the deployment's transaction, which compares their
//! versions and reads only those again that differ. It compiles none of them: the effect is
//! computed when it is over.

use std::sync::Arc;

use entity::{calendar, schedule};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::{
    declared::DeclaredNames,
    deploy::DeploymentContext,
    effect::{AffectedSchedules, CalendarRows, Outlooks},
    file::File,
};
use crate::{
    access::Editor,
    commands::{CommandError, Commands},
    model::calendars::named,
    store::{StoreError, calendars, schedules},
};

/// Maximum number of schedules outside the module that are checked because a changed calendar
/// affects them.
const OTHERS: u64 = 200;

impl Commands {
    /// Reads the calendars of the schedules that the deployment may affect, before its own
    /// transaction.
    pub(super) async fn read_calendars(
        &self,
        right: &Editor,
        file: &File,
        names: &DeclaredNames,
    ) -> Result<CalendarRows, CommandError> {
        let read = self.store.read();
        let Ok(namespace) = self.namespace(read, right.permit(), &file.namespace).await else {
            return Ok(CalendarRows::new());
        };
        let (rows, _) = self.affected(read, namespace, &file.module, names).await?;
        Ok(calendars_of(read, &rows, &CalendarRows::new()).await?)
    }

    /// The schedules that the deployment may affect, as they are before it. `known` are calendars
    /// that were read earlier.
    pub(super) async fn before(
        &self,
        site: &DeploymentContext<'_>,
        names: &DeclaredNames,
        known: &CalendarRows,
    ) -> Result<Outlooks, CommandError> {
        let tx = site.tx;
        let (rows, declared) = self.affected(tx, site.namespace, site.module, names).await?;
        let versions = declared.iter().map(|calendar| (calendar.id, calendar.version)).collect();
        let before = at_present(tx, rows, known).await?;
        Ok(Outlooks { before, versions, ..Outlooks::default() })
    }

    /// The schedules that the deployment may affect, as they are after it.
    pub(super) async fn after(
        &self,
        site: &DeploymentContext<'_>,
        names: &DeclaredNames,
        outlooks: &mut Outlooks,
    ) -> Result<(), CommandError> {
        let (tx, namespace) = (site.tx, site.namespace);
        let keys: Vec<Uuid> = outlooks.before.rows.keys().copied().collect();
        let mut rows = schedules::by_ids(tx, &keys).await?;
        rows.retain(|row| row.deleted_at.is_none());
        rows.extend(schedules::by_names(tx, namespace, &names.schedules).await?);
        let calendars = calendars::by_names(tx, namespace, &names.calendars, false).await?;
        outlooks.versions.retain(|id, version| {
            calendars.iter().any(|row| row.id == *id && row.version != *version)
        });
        outlooks.after = at_present(tx, rows, &outlooks.before.calendars).await?;
        Ok(())
    }

    /// The schedules that a deployment may affect, some of them twice, and the declared calendars
    /// that exist.
    async fn affected<C: ConnectionTrait>(
        &self,
        connection: &C,
        namespace: Uuid,
        module: &str,
        names: &DeclaredNames,
    ) -> Result<(Vec<schedule::Model>, Vec<calendar::Model>), StoreError> {
        let mut rows = schedules::of_module(connection, namespace, module).await?;
        rows.extend(schedules::by_names(connection, namespace, &names.schedules).await?);
        let declared = calendars::by_names(connection, namespace, &names.calendars, false).await?;
        let dialect = self.store.dialect();
        for calendar in &declared {
            rows.extend(calendars::users(connection, dialect, calendar, None, OTHERS).await?);
        }
        Ok((rows, declared))
    }
}

/// These schedules with the calendars that they name, as a transaction sees them.
async fn at_present<C: ConnectionTrait>(
    connection: &C,
    rows: Vec<schedule::Model>,
    known: &CalendarRows,
) -> Result<AffectedSchedules, StoreError> {
    let calendars = calendars_of(connection, &rows, known).await?;
    let rows = rows.into_iter().map(|row| (row.id, row)).collect();
    Ok(AffectedSchedules { rows, calendars })
}

/// The calendars that these schedules name, as `connection` sees them. Those in `known` are read
/// only if they have changed.
async fn calendars_of<C: ConnectionTrait>(
    connection: &C,
    rows: &[schedule::Model],
    known: &CalendarRows,
) -> Result<CalendarRows, StoreError> {
    let keys: Vec<Uuid> = named(rows.iter().map(|row| &row.calendars)).into_iter().collect();
    let mut found = CalendarRows::with_capacity(keys.len());
    if keys.is_empty() {
        return Ok(found);
    }
    let mut others = Vec::new();
    for calendars::CalendarVersion { id, version, .. } in
        calendars::versions(connection, &keys).await?
    {
        match known.get(&id).filter(|row| row.version == version) {
            Some(row) => {
                found.insert(id, Arc::clone(row));
            }
            None => others.push(id),
        }
    }
    if !others.is_empty() {
        let rows = calendars::by_ids(connection, &others).await?;
        found.extend(rows.into_iter().map(|row| (row.id, Arc::new(row))));
    }
    Ok(found)
}
