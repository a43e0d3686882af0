//! The dry run of a bulk request: which of the found items would be refused, and why.
//!
//! The checks are those of the commands for single items, as far as the stored rows suffice for
//! them. What takes a transaction or computes a timetable is left to the request itself: whether
//! calendars leave a fire to skip, whether they silence a changed schedule, and whether a quota
//! admits the change.

use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};

use chrono::{DateTime, Utc};
use entity::schedule::Model;
use uuid::Uuid;

use super::{
    MAX, ManyDone,
    actions::BulkAction,
    many,
    refusals::{ItemRefusal, refusal},
};
use crate::{
    commands::{
        CommandError, Commands, ManyEdit,
        error::{group_missing, workflow_missing},
        runs,
        schedules::{owned_by_people, skip, suppression::calendars_named},
    },
    model::{Spec, check, laid_over},
    store::{
        groups,
        reads::batches::{self, RunStatus},
        schedules, workflows,
    },
};

/// Number of rows in memory at once: the context of each may be large.
const BATCH: usize = 50;

impl Commands {
    /// Adds to the answer of a dry run which of the found items would be refused. If there are too
    /// many items, the request is refused as a whole, and none is checked. The items that are not
    /// checked by `until` are counted as remaining.
    pub(super) async fn preview(
        &self,
        namespace: Uuid,
        deed: &BulkAction,
        found: &[Uuid],
        until: Instant,
        mut told: ManyDone,
    ) -> Result<ManyDone, CommandError> {
        if many(found) > MAX || !may_refuse(deed, self.clock.now()) {
            return Ok(told);
        }
        let named = self.names_refused(namespace, deed).await?;
        let mut left = many(found);
        for ids in found.chunks(BATCH) {
            let _turn = self.many.enter(namespace).await;
            if self.clock.instant() >= until {
                told.remaining = left;
                break;
            }
            left -= many(ids);
            match deed {
                BulkAction::Cancel { .. } | BulkAction::Retry { .. } => {
                    self.preview_runs(deed, ids, &mut told).await?;
                }
                BulkAction::Pause { .. }
                | BulkAction::Resume { .. }
                | BulkAction::Trigger { .. }
                | BulkAction::Delete { .. }
                | BulkAction::SkipNext { .. }
                | BulkAction::Change { .. } => {
                    self.preview_schedules(deed, ids, named.as_ref(), &mut told).await?;
                }
            }
        }
        Ok(told)
    }

    /// Checks schedules; `named` is the refusal of those that pass all other checks.
    async fn preview_schedules(
        &self,
        deed: &BulkAction,
        ids: &[Uuid],
        named: Option<&ItemRefusal>,
        told: &mut ManyDone,
    ) -> Result<(), CommandError> {
        let rows = schedules::by_ids(self.store.read(), ids).await?;
        let rows: HashMap<Uuid, Model> = rows.into_iter().map(|row| (row.id, row)).collect();
        for id in ids {
            let checked = match rows.get(id).filter(|row| row.deleted_at.is_none()) {
                Some(row) => self.check_schedule(deed, row),
                None => Err(CommandError::not_found("schedule", id)),
            };
            let refused = match checked {
                Ok(()) => named.cloned(),
                Err(error) => Some(refusal(error)?),
            };
            if let Some(refused) = refused {
                told.refuse(*id, refused);
            }
        }
        Ok(())
    }

    /// The checks of the action's command that need only the schedule's row.
    fn check_schedule(&self, deed: &BulkAction, row: &Model) -> Result<(), CommandError> {
        match deed {
            BulkAction::Pause { end, .. } => {
                if let Some(end) = end {
                    end.check(self.clock.now())?;
                }
            }
            BulkAction::Trigger { by_hand, .. } => {
                if let Some(context) = &by_hand.context {
                    check::context("context", context)?;
                    check::context("context", &laid_over(&row.context, Some(context)))?;
                }
            }
            BulkAction::Delete { .. } => owned_by_people(row)?,
            BulkAction::SkipNext { .. } => skip::check_row(row)?,
            BulkAction::Change { change, .. } => {
                owned_by_people(row)?;
                // Calendars and a group that the schedule keeps were checked when it was saved.
                let mut spec = Spec::of(row);
                change.apply(&mut spec);
                self.check_spec(&spec)?;
            }
            BulkAction::Resume { .. } | BulkAction::Cancel { .. } | BulkAction::Retry { .. } => {}
        }
        Ok(())
    }

    /// The refusal of every item if a change names an object that does not exist.
    async fn names_refused(
        &self,
        namespace: Uuid,
        deed: &BulkAction,
    ) -> Result<Option<ItemRefusal>, CommandError> {
        let BulkAction::Change { change, .. } = deed else { return Ok(None) };
        match self.check_names(namespace, change).await {
            Ok(()) => Ok(None),
            Err(error) => refusal(error).map(Some),
        }
    }

    async fn check_names(&self, namespace: Uuid, change: &ManyEdit) -> Result<(), CommandError> {
        let read = self.store.read();
        if let Some(names) = &change.calendars {
            calendars_named(read, namespace, names, false).await?;
        }
        if let Some(name) = &change.workflow {
            let found = workflows::by_name(read, namespace, name).await?;
            found.ok_or_else(|| workflow_missing(name))?;
        }
        if let Some(Some(name)) = &change.group {
            let found = groups::by_name(read, namespace, name).await?;
            found.ok_or_else(|| group_missing(name))?;
        }
        Ok(())
    }

    /// Checks runs that are to be cancelled or retried.
    async fn preview_runs(
        &self,
        deed: &BulkAction,
        ids: &[Uuid],
        told: &mut ManyDone,
    ) -> Result<(), CommandError> {
        let rows = batches::run_states(&self.store, ids).await?;
        let is_retry = matches!(deed, BulkAction::Retry { .. });
        let current = if is_retry { self.current_of(&rows).await? } else { HashSet::new() };
        let rows: HashMap<Uuid, RunStatus> = rows.into_iter().map(|row| (row.id, row)).collect();
        for id in ids {
            let checked = match rows.get(id) {
                None => Err(CommandError::not_found("run", id)),
                Some(row) if is_retry => check_retry(row, &current),
                Some(row) => runs::check_live(*id, row.state),
            };
            if let Err(error) = checked {
                told.refuse(*id, refusal(error)?);
            }
        }
        Ok(())
    }

    /// The workflows of these runs that are not deleted.
    async fn current_of(&self, rows: &[RunStatus]) -> Result<HashSet<Uuid>, CommandError> {
        let ids: HashSet<Uuid> = rows.iter().map(|row| row.workflow_id).collect();
        let ids: Vec<Uuid> = ids.into_iter().collect();
        let found = workflows::by_ids(self.store.read(), &ids).await?;
        let current = found.into_iter().filter(|workflow| workflow.deleted_at.is_none());
        Ok(current.map(|workflow| workflow.id).collect())
    }
}

/// Refuses to retry a live run, or one whose workflow is not among the `current` ones.
fn check_retry(row: &RunStatus, current: &HashSet<Uuid>) -> Result<(), CommandError> {
    runs::check_settled(row.id, row.state)?;
    if current.contains(&row.workflow_id) {
        return Ok(());
    }
    Err(CommandError::not_found("workflow", row.workflow_id))
}

/// Whether the stored rows can show that an item is refused. If not, they need not be read.
fn may_refuse(deed: &BulkAction, now: DateTime<Utc>) -> bool {
    match deed {
        BulkAction::Pause { end, .. } => end.is_some_and(|end| end.check(now).is_err()),
        BulkAction::Trigger { by_hand, .. } => by_hand.context.is_some(),
        BulkAction::Resume { .. } => false,
        BulkAction::Delete { .. }
        | BulkAction::SkipNext { .. }
        | BulkAction::Change { .. }
        | BulkAction::Cancel { .. }
        | BulkAction::Retry { .. } => true,
    }
}
