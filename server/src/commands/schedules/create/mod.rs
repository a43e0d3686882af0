//! Creating schedules: one, many at once, or those of a module.
//!
//! Each schedule is composed first (checked, its workflow found or composed, its cursor set). Then
//! all are written, in a few statements, however many there are. Whether names are free is not
//! checked beforehand: rows with a taken name are not written, so the missing rows show which names
//! are taken.
//!
//! Single calls, bulk requests and module files all take this path: `Commands::composed` composes
//! them, and `rows_of` makes their rows.
//!
//! - `compose`: a new schedule in the form of its rows
//! - `bulk`: many in one request
//! - `group_commit`: creates the schedules of concurrent calls in one transaction; `name_cache`:
//!   the names that these schedules refer to

mod bulk;
mod compose;
pub(in crate::commands) mod group_commit;
pub(in crate::commands) mod name_cache;

use std::collections::{BTreeMap, HashMap, HashSet};

use entity::schedule::Model;
use uuid::Uuid;

pub(in crate::commands) use self::compose::NewIdentity;
use self::compose::{ComposedSchedule, OwnWork, ScheduleParts, rows_of};
use crate::{
    access::Viewer,
    commands::{
        BadInput, CommandError, Commands, NewSchedule, SavedSchedule, ScheduleWork,
        error::schedule_name_taken,
        schedules::foreseen::ForeseenTiming,
        workflows::{self, Judgement, ResolvedWorkflow},
    },
    store::{DatabaseTransaction, StoreError, quotas::Usage, schedules, workflows as rows},
};

/// The context shared by all schedules that one request creates.
#[derive(Clone, Copy)]
pub(in crate::commands) struct CreationContext<'a> {
    pub(in crate::commands) tx: &'a DatabaseTransaction,
    pub(in crate::commands) who: &'a Viewer,
    /// The judgement on the task of each schedule, by its position.
    pub(in crate::commands) judged: &'a [Judgement],
    /// The timing of each schedule, by its position, if it was worked out beforehand.
    pub(in crate::commands) timings: &'a [Option<&'a ForeseenTiming>],
    pub(in crate::commands) module: Option<&'a str>,
}

/// The objects that a request has looked up so far.
#[derive(Default)]
pub(in crate::commands) struct ResolvedNames {
    workflows: HashMap<(Uuid, String), ResolvedWorkflow>,
    groups: HashMap<(Uuid, String), Option<Uuid>>,
}

/// What to return about the written schedules.
#[derive(Clone, Copy, Debug)]
pub(in crate::commands) enum ReturnedRows {
    Nothing,
    Rows,
}

/// A schedule of a request that cannot be created.
#[derive(Debug)]
pub(in crate::commands) struct RefusedSchedule {
    /// The schedule's position in the request.
    pub(in crate::commands) index: usize,
    pub(in crate::commands) error: Box<CommandError>,
}

impl RefusedSchedule {
    fn at(index: usize, error: impl Into<CommandError>) -> Self {
        Self { index, error: Box::new(error.into()) }
    }
}

impl Commands {
    /// Creates one schedule.
    pub(in crate::commands) async fn create_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        new: NewSchedule,
        judgement: &Judgement,
        timing: Option<&ForeseenTiming>,
        module: Option<&str>,
    ) -> Result<SavedSchedule, CommandError> {
        let (judged, timings) = (std::slice::from_ref(judgement), [timing]);
        let site = CreationContext { tx, who, judged, timings: &timings, module };
        let made = self.create_all(site, vec![(namespace, new)]).await;
        let mut made = made.map_err(|refused| *refused.error)?;
        made.pop().ok_or_else(|| CommandError::conflict("nothing was created", "try again"))
    }

    /// Creates schedules, each in its namespace.
    pub(in crate::commands) async fn create_all(
        &self,
        site: CreationContext<'_>,
        all: Vec<(Uuid, NewSchedule)>,
    ) -> Result<Vec<SavedSchedule>, RefusedSchedule> {
        let right_zones = self.has_right_zones(site.tx).await;
        right_zones.map_err(|error| RefusedSchedule::at(0, error))?;
        let own = all.iter().filter(|(_, new)| matches!(new.work, ScheduleWork::Task(_)));
        let names = own.map(|(namespace, new)| (*namespace, &*new.spec.name));
        let taken = self.taken_names(site.tx, names).await;
        let taken = taken.map_err(|error| RefusedSchedule::at(0, error))?;
        let held = self.hold_calendars_of(site, &all).await;
        held.map_err(|error| RefusedSchedule::at(0, error))?;
        let (mut known, mut waiting) = (ResolvedNames::default(), Vec::new());
        let mut saved = Vec::with_capacity(all.len());
        for (index, (namespace, new)) in all.into_iter().enumerate() {
            let key = (namespace, new.spec.name.clone());
            let is_taken = taken.contains(&key);
            if is_taken && matches!(new.work, ScheduleWork::Task(_)) {
                // The owner of the existing workflow is read from the tables, so the earlier rows
                // must be written first.
                let before = std::mem::take(&mut waiting);
                self.write(site.tx, before, ReturnedRows::Nothing).await?;
            }
            let composed = self.compose(site, namespace, index, new, is_taken, &mut known).await;
            let (composed, one) = composed.map_err(|error| RefusedSchedule::at(index, error))?;
            waiting.push(composed);
            saved.push(one);
        }
        self.write(site.tx, waiting, ReturnedRows::Nothing).await?;
        Ok(saved)
    }

    /// Locks the calendars of all schedules whose timings were worked out beforehand.
    async fn hold_calendars_of(
        &self,
        site: CreationContext<'_>,
        all: &[(Uuid, NewSchedule)],
    ) -> Result<(), CommandError> {
        let mut timings: BTreeMap<Uuid, Vec<&ForeseenTiming>> = BTreeMap::new();
        for ((namespace, _), timing) in all.iter().zip(site.timings) {
            timings.entry(*namespace).or_default().extend(*timing);
        }
        for (namespace, timings) in timings {
            self.hold_calendars(site.tx, namespace, timings.into_iter()).await?;
        }
        Ok(())
    }

    /// The names among `all` that belong to existing workflows.
    pub(in crate::commands) async fn taken_names(
        &self,
        tx: &DatabaseTransaction,
        all: impl Iterator<Item = (Uuid, &str)>,
    ) -> Result<HashSet<(Uuid, String)>, CommandError> {
        let mut names: HashMap<Uuid, Vec<&str>> = HashMap::new();
        for (namespace, name) in all {
            names.entry(namespace).or_default().push(name);
        }
        let mut taken = HashSet::new();
        for (namespace, names) in names {
            let found = rows::taken_names(tx, namespace, &names).await?;
            taken.extend(found.into_iter().map(|name| (namespace, name)));
        }
        Ok(taken)
    }

    /// A schedule's rows. `is_taken` says that a workflow already has the schedule's name.
    async fn compose(
        &self,
        site: CreationContext<'_>,
        namespace: Uuid,
        index: usize,
        new: NewSchedule,
        is_taken: bool,
        known: &mut ResolvedNames,
    ) -> Result<(ComposedSchedule, SavedSchedule), CommandError> {
        let CreationContext { tx, who, module, judged, timings } = site;
        let NewSchedule { spec, work, paused, .. } = new;
        self.check_spec(&spec)?;
        let timing = timings.get(index).copied().flatten();
        let begin = self.begin_as(timing.and_then(|timing| timing.begin));
        let (id, anchor) = (begin.id, begin.anchor);
        let facts = self.timing_facts(tx, namespace, &spec, id, anchor, timing);
        let (facts, calendars) = facts.await?;
        let none = Judgement::default();
        let judgement = judged.get(index).unwrap_or(&none);
        let work = self.work_of(site, namespace, &spec.name, work, judgement, is_taken, known);
        let work = work.await?;
        let group = self.known_group(tx, namespace, spec.group.as_deref(), known).await?;
        let parts = ScheduleParts {
            index,
            begin,
            namespace,
            module,
            paused,
            facts,
            calendars,
            group,
            work,
        };
        self.composed(who, spec, parts)
    }

    /// The workflow that a new schedule runs, and the workflow rows to write for it.
    async fn work_of(
        &self,
        CreationContext { tx, who, .. }: CreationContext<'_>,
        namespace: Uuid,
        schedule: &str,
        work: ScheduleWork,
        judgement: &Judgement,
        is_taken: bool,
        known: &mut ResolvedNames,
    ) -> Result<OwnWork, CommandError> {
        let task = match work {
            ScheduleWork::Task(task) if !is_taken => task,
            ScheduleWork::Workflow(name) => {
                let key = (namespace, name);
                if let Some(found) = known.workflows.get(&key) {
                    return Ok((found.clone(), None));
                }
                let named = ScheduleWork::Workflow(key.1.clone());
                let found = self.resolve(tx, who, namespace, schedule, None, named, judgement);
                let found = found.await?;
                known.workflows.insert(key, found.clone());
                return Ok((found, None));
            }
            work @ (ScheduleWork::Task(_) | ScheduleWork::Past { .. }) => {
                let found = self.resolve(tx, who, namespace, schedule, None, work, judgement);
                let found = found.await?;
                return Ok((found, None));
            }
        };
        let own = self.own_work(tx, who, namespace, schedule, *task, judgement).await?;
        let there = ResolvedWorkflow { change: None, unset: vec![], ..own.0.clone() };
        known.workflows.insert((namespace, schedule.to_owned()), there);
        Ok(own)
    }

    async fn known_group(
        &self,
        tx: &DatabaseTransaction,
        namespace: Uuid,
        name: Option<&str>,
        known: &mut ResolvedNames,
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

    /// Writes the composed schedules.
    pub(in crate::commands) async fn write(
        &self,
        tx: &DatabaseTransaction,
        all: Vec<ComposedSchedule>,
        back: ReturnedRows,
    ) -> Result<Vec<Model>, RefusedSchedule> {
        if all.is_empty() {
            return Ok(Vec::new());
        }
        self.admit(tx, usage_of(&all)).await.map_err(|(namespace, error)| {
            let first = all.iter().find(|one| one.namespace == namespace);
            RefusedSchedule { index: first.map_or(0, |one| one.index), error }
        })?;
        let places: Vec<(usize, Uuid, String)> =
            all.iter().map(|one| (one.index, one.id, one.name.clone())).collect();
        let brought: Vec<(usize, Uuid, String)> = all
            .iter()
            .filter_map(|one| Some((one.index, one.work.as_ref()?.0, one.name.clone())))
            .collect();
        let (works, news) = rows_of(all);
        let dialect = self.store.dialect();
        let failed = |error: StoreError| RefusedSchedule::at(places[0].0, error);
        if !brought.is_empty() {
            let written = rows::insert_if_names_free(tx, dialect, works).await;
            all_are_there(&brought, &written.map_err(failed)?, workflows::name_taken)?;
        }
        let (written, made) = match back {
            ReturnedRows::Nothing => {
                let written = schedules::insert_if_names_free(tx, dialect, news).await;
                (written.map_err(failed)?, Vec::new())
            }
            ReturnedRows::Rows => {
                let made = schedules::insert_and_return_if_names_free(tx, dialect, news).await;
                let made = made.map_err(failed)?;
                (made.iter().map(|row| row.id).collect(), made)
            }
        };
        all_are_there(&places, &written, schedule_name_taken)?;
        Ok(made)
    }
}

/// The usage that the schedules add to their namespaces.
pub(in crate::commands) fn usage_of(all: &[ComposedSchedule]) -> BTreeMap<Uuid, Usage> {
    let mut usage: BTreeMap<Uuid, Usage> = BTreeMap::new();
    for one in all {
        let of_namespace = usage.entry(one.namespace).or_default();
        of_namespace.schedules += 1;
        of_namespace.fires_an_hour += one.fires_an_hour;
    }
    usage
}

/// Fails if a row was left out because its name is taken.
fn all_are_there(
    places: &[(usize, Uuid, String)],
    written: &HashSet<Uuid>,
    taken: fn(&str) -> BadInput,
) -> Result<(), RefusedSchedule> {
    let missing = places.iter().filter(|(_, id, _)| !written.contains(id)).min();
    missing.map_or(Ok(()), |(index, _, name)| Err(RefusedSchedule::at(*index, taken(name))))
}
