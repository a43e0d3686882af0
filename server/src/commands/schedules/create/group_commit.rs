//! Lets concurrent calls that each create one schedule share a transaction.
//!
//! A transaction costs more than its rows. Each caller checks and composes its own schedule, which
//! is then written together with all others that are waiting by then. On PostgreSQL, unless there
//! are new workflows, that is a single statement with its own transaction, in one round trip. The
//! statement checks again the objects from which each schedule was composed, so those lookups may
//! be old.
//!
//! If a schedule cannot be written with the others (its name is taken, the database refuses a
//! value), it must be created alone in its own transaction. So no caller is refused because of
//! another, and an error is always the caller's own. A schedule that requires row locks beforehand
//! is created alone from the start.
//!
//! A separate task carries out a batch, so a caller that disconnects does not affect the others.

use std::{collections::HashMap, time::Duration};

use chrono::TimeDelta;
use entity::schedule::Model;
use uuid::Uuid;

use super::{
    ReturnedRows,
    compose::{ComposedSchedule, ScheduleParts, rows_of},
    usage_of,
};
use crate::{
    access::{Editor, Viewer},
    batcher::{Batcher, json_size},
    commands::{
        BadInput, CommandError, Commands, NewSchedule, SavedSchedule, ScheduleWork,
        schedules::foreseen::TimingFacts,
        workflows::{Judgement, ResolvedWorkflow},
    },
    engine::cluster::NodeReadiness,
    store::{
        StoreError,
        expected::{self, ExpectedObjects, ExpectedWorkflow},
        schedules,
        workflows::NamespaceWorkflow,
    },
};

/// Schedules composed longer ago than this are composed again.
const FRESH: TimeDelta = TimeDelta::seconds(1);

/// Concurrent calls that create schedules.
pub(in crate::commands) type CreateBatcher = Batcher<QueuedSchedule, CommitAnswer>;

/// A schedule whose caller is waiting.
pub(in crate::commands) struct QueuedSchedule {
    composed: ComposedSchedule,
    /// The lookups from which the schedule was composed.
    expected: ExpectedObjects,
}

/// The result for one schedule.
pub(in crate::commands) enum CommitAnswer {
    /// The schedule was written.
    Row(Box<Model>),
    /// The schedule must be created alone.
    Alone,
    /// The database did not answer within the time that a caller waits. Creating the schedule alone
    /// would take as long again.
    Unavailable,
}

/// If the database takes this long to fail, no second try is made for the same caller.
const PATIENCE: Duration = Duration::from_secs(1);

/// Why a schedule is not created together with others.
pub(in crate::commands) enum NotTogether {
    /// The schedule must be created alone.
    Alone,
    /// The schedule cannot be created.
    Refused(CommandError),
}

impl<E: Into<CommandError>> From<E> for NotTogether {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

impl Commands {
    /// Creates a schedule together with those of concurrent callers.
    pub(in crate::commands) async fn create_together(
        &self,
        right: &Editor,
        new: &NewSchedule,
        judgement: &Judgement,
    ) -> Result<SavedSchedule, NotTogether> {
        let place = self.place(right, new).await.ok_or(NotTogether::Alone)?;
        let expected = expected_of(new, &place);
        let bytes = json_size(&new.spec.context);
        let composed = self.compose_apart(right.who(), &place, new.clone(), judgement);
        let (composed, saved) = composed.await?;
        match self.write_together(composed, expected, bytes).await {
            CommitAnswer::Row(row) => Ok(SavedSchedule { row: Some(row), ..saved }),
            CommitAnswer::Alone => Err(NotTogether::Alone),
            CommitAnswer::Unavailable => Err(NotTogether::Refused(StoreError::unanswered().into())),
        }
    }

    /// The schedule's namespace and workflow, if they can be found without locks.
    async fn place(&self, right: &Editor, new: &NewSchedule) -> Option<NamespaceWorkflow> {
        let NewSchedule { namespace, spec, work, .. } = new;
        if spec.group.is_some() || !spec.calendars.is_empty() {
            return None;
        }
        let workflow = match work {
            ScheduleWork::Workflow(name) => &**name,
            // No workflow has an empty name. Whether a workflow has the schedule's name is checked
            // when the schedule is written.
            ScheduleWork::Task(_) => "",
            ScheduleWork::Past { .. } => return None,
        };
        // If the namespace or workflow is not found, the transaction for this schedule alone
        // reports why.
        let place = self.places.find(&self.store, namespace, workflow).await.ok()??;
        if right.permit().over(place.namespace_id, "namespace", namespace).is_err() {
            // Meanwhile the name may belong to another namespace.
            self.places.forget(namespace, workflow);
            return None;
        }
        Some(place)
    }

    async fn compose_apart(
        &self,
        who: &Viewer,
        place: &NamespaceWorkflow,
        NewSchedule { spec, work, paused, .. }: NewSchedule,
        judgement: &Judgement,
    ) -> Result<(ComposedSchedule, SavedSchedule), NotTogether> {
        self.check_spec(&spec)?;
        if matches!(self.cluster.standing(&self.clock), NodeReadiness::ClockOff(_)) {
            // The transaction for this schedule alone checks again whether the definition is wrong.
            return Err(NotTogether::Alone);
        }
        let begin = self.begin();
        let timetable = self.cache.timetable(&spec.timing.definition(begin.id, begin.anchor));
        let facts = TimingFacts::of(timetable.map_err(BadInput::timing)?, self.clock.now());
        let namespace = place.namespace_id;
        let work = match work {
            ScheduleWork::Workflow(name) => {
                let found = place.workflow_id.zip(place.version);
                let (id, version) = found.ok_or(NotTogether::Alone)?;
                (ResolvedWorkflow::as_it_is(id, name, version), None)
            }
            ScheduleWork::Task(task) => {
                let (read, name) = (self.store.read(), &spec.name);
                self.own_work(read, who, namespace, name, *task, judgement).await?
            }
            ScheduleWork::Past { .. } => return Err(NotTogether::Alone),
        };
        let (index, module, calendars, group) = (0, None, None, None);
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
        Ok(self.composed(who, spec, parts)?)
    }

    /// The row once it is written, or the reason why it is not.
    async fn write_together(
        &self,
        composed: ComposedSchedule,
        expected: ExpectedObjects,
        bytes: usize,
    ) -> CommitAnswer {
        let commands = self.clone();
        let answer =
            self.gathering.submit(QueuedSchedule { composed, expected }, bytes, move |orders| {
                let commands = commands.clone();
                async move { commands.carry_out(orders).await }
            });
        answer.await.unwrap_or(CommitAnswer::Alone)
    }

    async fn carry_out(&self, orders: Vec<QueuedSchedule>) -> Vec<CommitAnswer> {
        let (mut all, mut expected) = (Vec::new(), Vec::new());
        let now = self.clock.now();
        let ids: Vec<Uuid> = orders.iter().map(|order| order.composed.id).collect();
        for QueuedSchedule { composed, expected: one } in orders {
            if (now - composed.made_at).abs() > FRESH {
                // Its first fire may have passed by now, or the clock was set, so the schedule is
                // created alone.
                continue;
            }
            all.push(composed);
            expected.push(one);
        }
        expected.sort();
        expected.dedup();
        // If this fails, each caller creates its schedule alone and gets its own error.
        let begun = self.clock.instant();
        let made = self.make_together(all, &expected).await;
        let is_silent = made.as_ref().is_err_and(|error| error.unavailable().is_some())
            && self.clock.instant().duration_since(begun) >= PATIENCE;
        let made = made.unwrap_or_default();
        if made.is_empty() {
            for ExpectedObjects { namespace, workflow, .. } in &expected {
                let workflow = workflow.as_ref().map_or("", |found| &*found.name);
                self.places.forget(namespace, workflow);
            }
        }
        let due = made.iter().filter(|row| row.enabled).filter_map(|row| row.next_fire_at);
        if let Some(first) = due.min() {
            self.signals.schedules_made(first, self.clock.now().into());
        }
        let mut made: HashMap<Uuid, Model> = made.into_iter().map(|row| (row.id, row)).collect();
        let answer = |id: Uuid| match made.remove(&id) {
            Some(row) => CommitAnswer::Row(Box::new(row)),
            None if is_silent => CommitAnswer::Unavailable,
            None => CommitAnswer::Alone,
        };
        ids.into_iter().map(answer).collect()
    }

    /// Creates all schedules that can be created together.
    async fn make_together(
        &self,
        mut all: Vec<ComposedSchedule>,
        expected: &[ExpectedObjects],
    ) -> Result<Vec<Model>, CommandError> {
        let (store, dialect) = (&self.store, self.store.dialect());
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let brings_work = |one: &ComposedSchedule| one.own_work().is_some();
        if dialect.is_postgres() && !all.iter().any(brings_work) {
            let Some(admitted) = self.admit_far_from_quotas(&usage_of(&all)).await? else {
                // Each schedule is then created alone, and its own transaction checks the quota
                // exactly.
                return Ok(Vec::new());
            };
            let (_, rows) = rows_of(all);
            let made = schedules::make_at_once_if_names_free(store, rows, expected).await;
            drop(admitted);
            return Ok(made?);
        }
        let tx = store.begin().await?;
        if !expected::holds(&tx, dialect, expected).await? {
            return Ok(Vec::new());
        }
        let taken =
            self.taken_names(&tx, all.iter().filter_map(ComposedSchedule::own_work)).await?;
        // If the workflow already exists, it is changed, which locks it. The other schedules must
        // not wait for that lock.
        all.retain(|one| {
            one.own_work().is_none_or(|(at, name)| !taken.contains(&(at, name.to_owned())))
        });
        let made = self.write(&tx, all, ReturnedRows::Rows).await;
        let made = made.map_err(|refused| *refused.error)?;
        store.commit(tx).await?;
        Ok(made)
    }
}

/// The lookups that a schedule is composed from.
fn expected_of(new: &NewSchedule, place: &NamespaceWorkflow) -> ExpectedObjects {
    let workflow = match &new.work {
        ScheduleWork::Workflow(name) => place
            .workflow_id
            .zip(place.version)
            .map(|(id, version)| ExpectedWorkflow { id, name: name.clone(), version }),
        ScheduleWork::Task(_) | ScheduleWork::Past { .. } => None,
    };
    ExpectedObjects {
        zone_data: timetable::zone_data().version,
        namespace: new.namespace.clone(),
        namespace_id: place.namespace_id,
        workflow,
    }
}
