//! Schedules that are made: one, many at once, or those of a module.
//!
//! Each is composed first (checked, its workflow found or composed, its cursor set) and then all
//! are written, a table at a time: the same rows in a few statements, however many they are. That
//! a name is free is not asked: rows whose name is taken are not written, and so are known.

use std::collections::{HashMap, HashSet};

use chrono::SubsecRound;
use entity::{
    Timestamp, audit_event,
    schedule::{self, Model},
    schedule_version,
};
use sea_orm::Set;
use uuid::Uuid;

use super::{
    BadInput, CommandError, Commands, NewSchedule, Saved, UnsetSecret, Viewer, Work,
    audit::Entry,
    cursor, suppression, unset_secrets,
    workflows::{self, At, NewRows, Resolved},
    writing::{name_taken, snapshot},
};
use crate::{
    engine::{Definition, core::new_id},
    store::{DatabaseTransaction, audit, schedules, workflows as rows},
};

/// What is the same for all schedules that one order makes.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) tx: &'a DatabaseTransaction,
    pub(super) who: &'a Viewer,
    pub(super) module: Option<&'a str>,
}

/// A schedule that can be written.
pub(super) struct Composed {
    /// Where it stands in the order.
    index: usize,
    name: String,
    id: Uuid,
    row: schedule::ActiveModel,
    version: schedule_version::ActiveModel,
    entry: audit_event::ActiveModel,
    /// The workflow that it brings along.
    work: Option<(Uuid, NewRows)>,
}

impl Composed {
    /// When it is due for the first time, unless it is paused or never fires.
    pub(super) fn due_at(&self) -> Option<Timestamp> {
        let is_enabled = *self.row.enabled.try_as_ref()?;
        self.row.next_fire_at.try_as_ref().copied().flatten().filter(|_| is_enabled)
    }
}

/// What an order has looked up.
#[derive(Default)]
pub(super) struct Known {
    workflows: HashMap<(Uuid, String), Resolved>,
    groups: HashMap<(Uuid, String), Option<Uuid>>,
}

/// What is given back of schedules that are written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Back {
    Nothing,
    Rows,
}

/// Which schedule of an order cannot be made, and why.
pub(super) type Refused = (usize, Box<CommandError>);

impl Commands {
    /// Makes one schedule.
    pub(super) async fn create_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        new: NewSchedule,
        module: Option<&str>,
    ) -> Result<Saved, CommandError> {
        let site = Site { tx, who, module };
        let made = self.create_all(site, vec![(namespace, new)]).await;
        let mut made = made.map_err(|(_, error)| *error)?;
        made.pop().ok_or_else(|| CommandError::conflict("nothing was made", "try again"))
    }

    /// Makes schedules, each in its namespace.
    pub(super) async fn create_all(
        &self,
        site: Site<'_>,
        all: Vec<(Uuid, NewSchedule)>,
    ) -> Result<Vec<Saved>, Refused> {
        let right_zones = self.has_right_zones(site.tx).await;
        right_zones.map_err(|error| (0, Box::new(error)))?;
        let names = all.iter().map(|(namespace, new)| (*namespace, new));
        let taken = self.taken_names(site.tx, names).await.map_err(|error| (0, Box::new(error)))?;
        let (mut known, mut waiting) = (Known::default(), Vec::new());
        let mut saved = Vec::with_capacity(all.len());
        for (index, (namespace, new)) in all.into_iter().enumerate() {
            let key = (namespace, new.spec.name.clone());
            let is_taken = taken.contains(&key);
            if is_taken && matches!(new.work, Work::Task(_)) {
                // Whose workflow that is, is asked of the tables: they must know all before it.
                let before = std::mem::take(&mut waiting);
                self.write(site.tx, before, Back::Nothing).await?;
            }
            let composed = self.compose(site, namespace, (index, new), is_taken, &mut known).await;
            let (composed, one) = composed.map_err(|error| (index, Box::new(error)))?;
            waiting.push(composed);
            saved.push(one);
        }
        self.write(site.tx, waiting, Back::Nothing).await?;
        Ok(saved)
    }

    /// Those names of schedules with a task of their own that workflows have already.
    pub(super) async fn taken_names(
        &self,
        tx: &DatabaseTransaction,
        all: impl Iterator<Item = (Uuid, &NewSchedule)>,
    ) -> Result<HashSet<(Uuid, String)>, CommandError> {
        let mut names: HashMap<Uuid, Vec<&str>> = HashMap::new();
        for (namespace, new) in all {
            if matches!(new.work, Work::Task(_)) {
                names.entry(namespace).or_default().push(&new.spec.name);
            }
        }
        let mut taken = HashSet::new();
        for (namespace, names) in names {
            let found = rows::taken_names(tx, namespace, &names).await?;
            taken.extend(found.into_iter().map(|name| (namespace, name)));
        }
        Ok(taken)
    }

    /// A schedule as its rows will have it. `is_taken` says that a workflow has its name.
    pub(super) async fn compose(
        &self,
        site: Site<'_>,
        namespace: Uuid,
        (index, new): (usize, NewSchedule),
        is_taken: bool,
        known: &mut Known,
    ) -> Result<(Composed, Saved), CommandError> {
        let Site { tx, who, module } = site;
        let NewSchedule { spec, work, paused, .. } = new;
        self.check_spec(&spec)?;
        let now = self.clock.now();
        let id = new_id(now);
        let anchor = now.trunc_subsecs(0);
        let (timetable, keys) = self.timetable(tx, namespace, &spec, (id, anchor)).await?;
        suppression::allows_something(&spec.calendars, &timetable, now)?;
        let place = (namespace, &*spec.name);
        let (resolved, brought) = self.work_of(site, place, work, is_taken, known).await?;

        let mut row = spec.columns();
        row.calendars = Set(keys);
        row.fire_count = Set(0);
        row.group_id = Set(self.known_group(tx, namespace, spec.group.as_deref(), known).await?);
        row.id = Set(id);
        row.namespace_id = Set(namespace);
        row.workflow_id = Set(resolved.id);
        row.version = Set(1);
        row.fires_version = Set(1);
        row.anchor_at = Set(anchor.into());
        row.shard = Set(cursor::shard(id));
        row.enabled = Set(!paused);
        row.module = Set(module.map(str::to_owned));
        row.created_at = Set(now.into());
        row.updated_at = Set(now.into());
        row.paused_reason = Set(paused.then(|| "made paused".to_owned()));
        row.paused_by = Set(paused.then(|| who.name.clone()));
        row.paused_at = Set(paused.then(|| now.into()));
        cursor::Cursor::after(&timetable, now).fill(&mut row);
        let entry = Entry {
            action: "schedule.create",
            namespace: Some(namespace),
            subject_id: Some(id),
            subject: &spec.name,
            after: Some(snapshot(&spec, &resolved)),
            ..Entry::default()
        };
        let unset = resolved.unset.iter().cloned().map(UnsetSecret::of_own_task).collect();
        let composed = Composed {
            index,
            id,
            row,
            version: self.version_row(who, id, 1, &spec, &resolved, "made"),
            entry: self.entry(who, entry),
            work: brought.map(|rows| (resolved.id, rows)),
            name: spec.name,
        };
        Ok((composed, Saved { id, row: None, warnings: cursor::warnings(&timetable, now), unset }))
    }

    /// What a new schedule runs, and the rows of it that are to be written.
    async fn work_of(
        &self,
        Site { tx, who, .. }: Site<'_>,
        (namespace, schedule): (Uuid, &str),
        work: Work,
        is_taken: bool,
        known: &mut Known,
    ) -> Result<(Resolved, Option<NewRows>), CommandError> {
        let task = match work {
            Work::Task(task) if !is_taken => task,
            Work::Workflow(name) => {
                let key = (namespace, name);
                if let Some(found) = known.workflows.get(&key) {
                    return Ok((found.clone(), None));
                }
                let named = Work::Workflow(key.1.clone());
                let found = self.resolve(tx, who, namespace, (schedule, None), named).await?;
                known.workflows.insert(key, found.clone());
                return Ok((found, None));
            }
            work @ (Work::Task(_) | Work::Past { .. }) => {
                let found = self.resolve(tx, who, namespace, (schedule, None), work).await?;
                return Ok((found, None));
            }
        };
        let mut definition = Definition::single(*task);
        self.check_definition(At::Task("task"), &mut definition, None)?;
        let (mut made, rows) =
            self.compose_workflow(who, namespace, schedule, &definition, None)?;
        let there = Resolved { change: None, ..made.clone() };
        made.unset = unset_secrets(tx, namespace, &definition).await?;
        known.workflows.insert((namespace, schedule.to_owned()), there);
        Ok((made, Some(rows)))
    }

    async fn known_group(
        &self,
        tx: &DatabaseTransaction,
        namespace: Uuid,
        name: Option<&str>,
        known: &mut Known,
    ) -> Result<Option<Uuid>, CommandError> {
        let Some(name) = name else { return Ok(None) };
        let key = (namespace, name.to_owned());
        if let Some(found) = known.groups.get(&key) {
            return Ok(*found);
        }
        let found = self.group_key(tx, namespace, Some(name)).await?;
        known.groups.insert(key, found);
        Ok(found)
    }

    /// Writes what is composed, a table at a time.
    pub(super) async fn write(
        &self,
        tx: &DatabaseTransaction,
        mut all: Vec<Composed>,
        back: Back,
    ) -> Result<Vec<Model>, Refused> {
        if all.is_empty() {
            return Ok(Vec::new());
        }
        // Two orders that share names wait for each other in one direction only.
        all.sort_by(|a, b| a.name.cmp(&b.name));
        let places: Vec<(usize, Uuid, String)> =
            all.iter().map(|one| (one.index, one.id, one.name.clone())).collect();
        let brought: Vec<(usize, Uuid, String)> = all
            .iter()
            .filter_map(|one| Some((one.index, one.work.as_ref()?.0, one.name.clone())))
            .collect();
        let (mut works, mut definitions, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        let (mut rows_of, mut versions) = (Vec::new(), Vec::new());
        for one in all {
            if let Some((_, NewRows { workflow, version, entry })) = one.work {
                works.push(workflow);
                definitions.push(version);
                entries.push(entry);
            }
            rows_of.push(one.row);
            versions.push(one.version);
            entries.push(one.entry);
        }
        let dialect = self.store.dialect();
        let failed = |error| (places[0].0, Box::new(CommandError::from(error)));
        if !works.is_empty() {
            let written = rows::insert_if_names_free(tx, dialect, (works, definitions)).await;
            all_are_there(&brought, &written.map_err(failed)?, workflows::name_taken)?;
        }
        let (written, made) = match back {
            Back::Nothing => {
                let written = schedules::insert_if_names_free(tx, dialect, rows_of).await;
                (written.map_err(failed)?, Vec::new())
            }
            Back::Rows => {
                let made = schedules::insert_and_return_if_names_free(tx, dialect, rows_of).await;
                let made = made.map_err(failed)?;
                (made.iter().map(|row| row.id).collect(), made)
            }
        };
        all_are_there(&places, &written, name_taken)?;
        schedules::insert_versions(tx, dialect, versions).await.map_err(failed)?;
        audit::insert_all(tx, dialect, entries).await.map_err(failed)?;
        Ok(made)
    }
}

/// A row that was left out has a name that another one has.
fn all_are_there(
    places: &[(usize, Uuid, String)],
    written: &HashSet<Uuid>,
    taken: fn(&str) -> BadInput,
) -> Result<(), Refused> {
    let missing = places.iter().filter(|(_, id, _)| !written.contains(id)).min();
    missing.map_or(Ok(()), |(index, _, name)| Err((*index, Box::new(taken(name).into()))))
}
