//! What a deployment computes before its transaction, during which SQLite allows no other write.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use chrono::{DateTime, Utc};
use serde_json::json;
use timetable::MAX_CALENDARS;
use uuid::Uuid;

use super::{
    declared::DeclaredNames,
    deploy::{DeploymentSource, unmask},
    file::File,
};
use crate::{
    access::Editor,
    commands::{
        CommandError, Commands,
        calendars::{silence::ForeseenEffect, spec_of},
        schedules::foreseen::{ForeseenCalendar, ForeseenTiming, PlannedTiming},
        workflows::Judgement,
    },
    engine::planning::prepared::{ManyTimetableParts, PreparedTimetable},
    store::{calendars, schedules, workflows},
};

impl Commands {
    /// Accounts for schedules that are far behind, before the deployment's own transaction.
    pub(super) async fn shorten_before(
        &self,
        right: &Editor,
        source: DeploymentSource<'_>,
        file: &File,
        names: &DeclaredNames,
    ) -> Result<(), CommandError> {
        let read = self.store.read();
        let namespace = match self.namespace(read, right.permit(), &file.namespace).await {
            Ok(namespace) => namespace,
            // The deployment reports the error later, once it is known that the call is not a
            // repeated one.
            Err(_) => return Ok(()),
        };
        let (prunes, adopts) = (source.prune, source.adopt);
        let (permit, names) = (right.permit(), &names.schedules);
        self.shorten_before_deployment(permit, namespace, &file.module, names, prunes, adopts).await
    }

    /// Computes the effect of the file's calendars on all schedules that name them, also on those
    /// of other modules, before the deployment's own transaction.
    pub(super) async fn foresee_calendars(
        &self,
        right: &Editor,
        file: &File,
        names: &DeclaredNames,
    ) -> Result<Option<ForeseenEffect>, CommandError> {
        let read = self.store.read();
        let Ok(namespace) = self.namespace(read, right.permit(), &file.namespace).await else {
            return Ok(None);
        };
        let mut changes = Vec::new();
        for row in calendars::by_names(read, namespace, &names.calendars, false).await? {
            let Some(entry) = file.calendars.get(&row.name) else { continue };
            let spec = entry.clone().spec(&row.name);
            if spec_of(&row).is_ok_and(|was| was != spec) {
                changes.push((row, spec));
            }
        }
        if changes.is_empty() {
            return Ok(None);
        }
        self.foresee(namespace, &changes).await
    }

    /// Judges the file's workflows and tasks before the deployment's own transaction, with their
    /// masks restored from what is stored now.
    pub(super) async fn judge_file(
        &self,
        right: &Editor,
        file: &File,
    ) -> Result<HashMap<String, Judgement>, CommandError> {
        let read = self.store.read();
        let Ok(namespace) = self.namespace(read, right.permit(), &file.namespace).await else {
            return Ok(HashMap::new());
        };
        let mut all = Vec::new();
        for (name, entry) in &file.schedules {
            all.extend(entry.task.clone().map(|task| (name, task.definition())));
        }
        // A workflow is applied before a task of the same name, which is refused.
        all.extend(file.workflows.iter().map(|(name, entry)| (name, entry.clone().definition())));
        let mut judged = HashMap::with_capacity(all.len());
        for (name, mut definition) in all {
            if let Some(row) = workflows::by_name(read, namespace, name).await? {
                unmask(&mut definition, &self.definition_of(read, &row).await?);
            }
            judged.insert(name.clone(), self.judge(namespace, &definition, None).await?);
        }
        Ok(judged)
    }

    /// Works out the timings of the file's schedules before the deployment's own transaction, with
    /// the calendars as they are now or as the file declares them.
    pub(super) async fn foresee_schedules(
        &self,
        right: &Editor,
        file: &File,
        names: &DeclaredNames,
    ) -> Result<HashMap<String, ForeseenTiming>, CommandError> {
        let read = self.store.read();
        let Ok(namespace) = self.namespace(read, right.permit(), &file.namespace).await else {
            return Ok(HashMap::new());
        };
        let rows = schedules::by_names(read, namespace, &names.schedules).await?;
        let there: HashMap<String, (Uuid, DateTime<Utc>)> =
            rows.into_iter().map(|row| (row.name, (row.id, row.anchor_at.utc()))).collect();
        // A schedule that names more is refused in the transaction.
        let named = file.schedules.values();
        let named = named.flat_map(|entry| entry.calendars.iter().take(MAX_CALENDARS).cloned());
        let mut known = self.foreseen_calendars(namespace, named.collect()).await?;
        for (name, entry) in &file.calendars {
            let spec = entry.clone().spec(name);
            let calendar = ForeseenCalendar::new(spec.name, spec.mode, json!(spec.entries));
            known.insert(name.clone(), Arc::new(calendar));
        }
        let mut planned = Vec::with_capacity(file.schedules.len());
        for (name, entry) in &file.schedules {
            let (begin, (id, anchor)) = match there.get(name) {
                Some(found) => (None, *found),
                None => {
                    let begin = self.begin();
                    (Some(begin), (begin.id, begin.anchor))
                }
            };
            let spec = entry.clone().spec(name);
            let definition = spec.timing.definition(id, anchor);
            planned.push(PlannedTiming::new(begin, definition, &spec.calendars, &known));
        }
        let foreseen = self.foresee_timings(namespace, planned).await?;
        let foreseen = file.schedules.keys().cloned().zip(foreseen);
        Ok(foreseen.filter_map(|(name, timing)| Some((name, timing?))).collect())
    }

    /// Builds the timetables of the schedules with calendars that a deployment may change or
    /// delete, by their keys. The end of a timing accounts for the instants that it leaves.
    pub(super) async fn prepare_declared(
        &self,
        right: &Editor,
        file: &File,
        names: &DeclaredNames,
    ) -> Result<HashMap<Uuid, PreparedTimetable>, CommandError> {
        let read = self.store.read();
        let Ok(namespace) = self.namespace(read, right.permit(), &file.namespace).await else {
            return Ok(HashMap::new());
        };
        let mut rows = schedules::of_module(read, namespace, &file.module).await?;
        rows.extend(schedules::by_names(read, namespace, &names.schedules).await?);
        let dated = rows.into_iter().filter(|row| row.calendars.is_some());
        let keys: HashSet<Uuid> = dated.map(|row| row.id).collect();
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let keys: Vec<Uuid> = keys.into_iter().collect();
        let found = self.store.schedules_with_cursor(read, &keys).await?;
        let parts = ManyTimetableParts::read(read, found).await?;
        let cache = self.cache.clone();
        self.compute(namespace, move || parts.build(&cache)).await
    }
}
