//! Concurrent calls that each create one schedule share a transaction.
//!
//! A transaction costs more than what it writes. Each caller checks and composes its own schedule,
//! which is then written together with all that are waiting by then. On PostgreSQL that is one
//! statement and its own transaction, in one round trip, unless there are new workflows. The
//! statement checks once more what a schedule was composed from, so that may have been looked up
//! long before.
//!
//! A schedule that cannot be written with the others (a name is taken, the database refuses a
//! value) must be created alone, in its own transaction: so no caller is refused for another one's
//! fault, and an error is always the caller's own. A schedule that requires row locks before it is
//! written goes alone from the beginning.
//!
//! A batch is carried out in a separate task: a caller that disconnects does not affect the others.

use std::{collections::HashMap, time::Duration};

use chrono::TimeDelta;
use entity::schedule::Model;
use uuid::Uuid;

use super::{
    Back,
    compose::{Composed, ScheduleParts, rows_of},
    usage_of,
};
use crate::{
    access::{Editor, Viewer},
    batcher::{Batcher, json_size},
    commands::{BadInput, CommandError, Commands, NewSchedule, Saved, Work, workflows::Resolved},
    engine::cluster::NodeReadiness,
    store::{
        StoreError,
        expected::{self, Expected, ExpectedWorkflow},
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
    composed: Composed,
    /// What it was composed from.
    expected: Expected,
}

/// The result of a request.
pub(in crate::commands) enum CommitAnswer {
    /// It was written.
    Row(Box<Model>),
    /// It must be created alone.
    Alone,
    /// The database did not answer for as long as a caller waits: creating it alone would take as
    /// long again.
    Unavailable,
}

/// If the database took this long to fail, it is not tried again for the same caller.
const PATIENCE: Duration = Duration::from_secs(1);

/// Why a schedule is not created together with others.
pub(in crate::commands) enum NotTogether {
    /// It must be created alone.
    Alone,
    /// It cannot be created.
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
    ) -> Result<Saved, NotTogether> {
        let place = self.place(right, new).await.ok_or(NotTogether::Alone)?;
        let expected = expected_of(new, &place);
        let bytes = json_size(&new.spec.context);
        let (composed, saved) = self.compose_apart(right.who(), &place, new.clone()).await?;
        match self.write_together(composed, expected, bytes).await {
            CommitAnswer::Row(row) => Ok(Saved { row: Some(row), ..saved }),
            CommitAnswer::Alone => Err(NotTogether::Alone),
            CommitAnswer::Unavailable => Err(NotTogether::Refused(StoreError::unanswered().into())),
        }
    }

    /// Its namespace and workflow, if finding them needs no locks.
    async fn place(&self, right: &Editor, new: &NewSchedule) -> Option<NamespaceWorkflow> {
        let NewSchedule { namespace, spec, work, .. } = new;
        if spec.group.is_some() || !spec.calendars.is_empty() {
            return None;
        }
        let workflow = match work {
            Work::Workflow(name) => &**name,
            // No workflow has an empty name. Whether one has the schedule's name is checked when it
            // is written.
            Work::Task(_) => "",
            Work::Past { .. } => return None,
        };
        // If not found, the request for it alone reports why.
        let place = self.places.find(&self.store, namespace, workflow).await.ok()??;
        if right.permit().over(place.namespace_id, "namespace", namespace).is_err() {
            // The name may belong to another namespace by now.
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
    ) -> Result<(Composed, Saved), NotTogether> {
        self.check_spec(&spec)?;
        if matches!(self.cluster.standing(&self.clock), NodeReadiness::ClockOff(_)) {
            // Whether this is still wrong is checked within a transaction.
            return Err(NotTogether::Alone);
        }
        let begin = self.begin();
        let timetable = self.cache.timetable(&spec.timing.definition(begin.id, begin.anchor));
        let timetable = timetable.map_err(BadInput::timing)?;
        let namespace = place.namespace_id;
        let work = match work {
            Work::Workflow(name) => {
                let found = place.workflow_id.zip(place.version);
                let (id, version) = found.ok_or(NotTogether::Alone)?;
                (Resolved::as_it_is(id, name, version), None)
            }
            Work::Task(task) => {
                self.own_work(self.store.read(), who, namespace, &spec.name, *task).await?
            }
            Work::Past { .. } => return Err(NotTogether::Alone),
        };
        let (index, module, calendars, group) = (0, None, None, None);
        let parts = ScheduleParts {
            index,
            begin,
            namespace,
            module,
            paused,
            timetable,
            calendars,
            group,
            work,
        };
        Ok(self.composed(who, spec, parts)?)
    }

    /// Its row, once it is written, or why there is none.
    async fn write_together(
        &self,
        composed: Composed,
        expected: Expected,
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
                // Its first fire may have passed by now, or the clock was set: it goes alone.
                continue;
            }
            all.push(composed);
            expected.push(one);
        }
        expected.sort();
        expected.dedup();
        // If it failed, each caller finds out why on its own.
        let begun = self.clock.instant();
        let made = self.make_together(all, &expected).await;
        let is_silent = made.as_ref().is_err_and(|error| error.unavailable().is_some())
            && self.clock.instant().duration_since(begun) >= PATIENCE;
        let made = made.unwrap_or_default();
        if made.is_empty() {
            for Expected { namespace, workflow, .. } in &expected {
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

    /// Creates all that can be created together.
    async fn make_together(
        &self,
        mut all: Vec<Composed>,
        expected: &[Expected],
    ) -> Result<Vec<Model>, CommandError> {
        let (store, dialect) = (&self.store, self.store.dialect());
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let brings_work = |one: &Composed| one.own_work().is_some();
        if dialect.is_postgres() && !all.iter().any(brings_work) {
            let Some(admitted) = self.admit_far_from_quotas(&usage_of(&all)).await? else {
                // Created alone, each finds out whether it still fits.
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
        let taken = self.taken_names(&tx, all.iter().filter_map(Composed::own_work)).await?;
        // An existing workflow is changed, which locks it: the others do not wait for that.
        all.retain(|one| {
            one.own_work().is_none_or(|(at, name)| !taken.contains(&(at, name.to_owned())))
        });
        let made = self.write(&tx, all, Back::Rows).await;
        let made = made.map_err(|refused| *refused.error)?;
        store.commit(tx).await?;
        Ok(made)
    }
}

/// What a schedule is composed from.
fn expected_of(new: &NewSchedule, place: &NamespaceWorkflow) -> Expected {
    let workflow = match &new.work {
        Work::Workflow(name) => place
            .workflow_id
            .zip(place.version)
            .map(|(id, version)| ExpectedWorkflow { id, name: name.clone(), version }),
        Work::Task(_) | Work::Past { .. } => None,
    };
    Expected {
        zone_data: timetable::zone_data().version,
        namespace: new.namespace.clone(),
        namespace_id: place.namespace_id,
        workflow,
    }
}
