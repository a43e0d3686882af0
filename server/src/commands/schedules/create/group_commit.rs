//! Calls that each make one schedule and come at the same time share a transaction.
//!
//! A transaction costs more than what it writes. Each caller checks and composes its own schedule;
//! then it is written with those of all who wait by then. On PostgreSQL that is one statement, a
//! transaction by itself, unless workflows come along: one round trip. What a schedule was composed
//! by is looked at once more there, so that it may have been found long before.
//!
//! What cannot be written with the others (a name is taken, the database refuses a value) is told
//! to go alone, in a transaction of its own: so nobody is refused for another one's fault, and an
//! error is always the caller's own. What locks rows before it is written goes alone from the
//! beginning.
//!
//! Once taken, orders are carried out in a task of their own: a caller who hangs up takes nobody
//! along.

use std::{collections::HashMap, time::Duration};

use chrono::TimeDelta;
use entity::schedule::Model;
use sea_orm::{ConnAcquireErr, DbErr};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::{
    Back, Refused,
    compose::{Composed, Parts, rows_of},
    usage_of,
};
use crate::{
    access::{Editor, Viewer},
    commands::{BadInput, CommandError, Commands, NewSchedule, Saved, Work, workflows::Resolved},
    engine::cluster::NodeReadiness,
    store::{
        StoreError,
        expected::{self, Expected, ExpectedWorkflow},
        schedules,
        workflows::NamespaceWorkflow,
    },
};

/// What was composed longer ago is composed anew.
const FRESH: TimeDelta = TimeDelta::seconds(1);

/// A schedule that somebody waits for.
pub(in crate::commands) struct Order {
    composed: Composed,
    /// By what it was composed.
    expected: Expected,
    answer: oneshot::Sender<Answer>,
}

/// What became of an order.
enum Answer {
    /// It is written.
    Row(Box<Model>),
    /// It must be made alone.
    Alone,
    /// The database did not answer for as long as a caller waits: to go alone would take as long
    /// again.
    Unavailable,
}

/// A database that took so long to fail is not asked again for the same caller.
const PATIENCE: Duration = Duration::from_secs(1);

/// Why a schedule is not made together with others.
pub(in crate::commands) enum NotTogether {
    /// It must be made alone.
    Alone,
    /// It cannot be made.
    Refused(CommandError),
}

impl<E: Into<CommandError>> From<E> for NotTogether {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

impl Commands {
    /// Makes a schedule together with those that others make at this moment.
    pub(in crate::commands) async fn create_together(
        &self,
        right: &Editor,
        new: &NewSchedule,
    ) -> Result<Saved, NotTogether> {
        let place = self.place(right, new).await.ok_or(NotTogether::Alone)?;
        let expected = expected_of(new, &place);
        let (composed, saved) = self.compose_apart(right.who(), &place, new.clone()).await?;
        match self.write_together(composed, expected).await {
            Answer::Row(row) => Ok(Saved { row: Some(row), ..saved }),
            Answer::Alone => Err(NotTogether::Alone),
            Answer::Unavailable => {
                let silent = DbErr::ConnectionAcquire(ConnAcquireErr::Timeout);
                Err(NotTogether::Refused(StoreError::Database(silent).into()))
            }
        }
    }

    /// Where it would lie and what it would run, if nothing has to be locked for that.
    async fn place(&self, right: &Editor, new: &NewSchedule) -> Option<NamespaceWorkflow> {
        let NewSchedule { namespace, spec, work, .. } = new;
        if spec.group.is_some() || !spec.calendars.is_empty() {
            return None;
        }
        let workflow = match work {
            Work::Workflow(name) => &**name,
            // No workflow has that name. Whether one has the schedule's is asked where it is
            // written.
            Work::Task(_) => "",
            Work::Past { .. } => return None,
        };
        // Why not, it learns alone.
        let place = self.places.find(&self.store, (namespace, workflow)).await.ok()??;
        if right.permit().over(place.namespace_id, "namespace", namespace).is_err() {
            // Another namespace may have that name by now.
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
            // Whether it still is wrong is asked within a transaction.
            return Err(NotTogether::Alone);
        }
        let begin = self.begin();
        let (id, anchor) = begin.place();
        let timetable = self.cache.timetable(&spec.timing.definition(id, anchor));
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
        let parts =
            Parts { index, begin, namespace, module, paused, timetable, calendars, group, work };
        Ok(self.composed(who, spec, parts)?)
    }

    /// Its row, once it is written, or why there is none.
    async fn write_together(&self, composed: Composed, expected: Expected) -> Answer {
        let (answer, answered) = oneshot::channel();
        self.gathering.put(Order { composed, expected, answer });
        let turn = async {
            let turn = self.gathering.turn().await;
            let commands = self.clone();
            tokio::spawn(async move {
                loop {
                    // Who has hung up is told that nothing was done: nothing is.
                    let is_wanted = |order: &Order| !order.answer.is_closed();
                    let orders = commands.gathering.take(is_wanted);
                    if orders.is_empty() {
                        break;
                    }
                    commands.carry_out(orders).await;
                }
                drop(turn);
            });
        };
        // Whoever has a turn may take this order along before this caller has one.
        let mut answered = std::pin::pin!(answered);
        tokio::select! {
            biased;
            answer = &mut answered => return answer.unwrap_or(Answer::Alone),
            () = turn => {}
        }
        answered.await.unwrap_or(Answer::Alone)
    }

    async fn carry_out(&self, orders: Vec<Order>) {
        let (mut all, mut expected, mut callers) = (Vec::new(), Vec::new(), Vec::new());
        let now = self.clock.now();
        for Order { composed, expected: one, answer } in orders {
            if (now - composed.made_at).abs() > FRESH {
                // Its first fire may lie behind by now, or the clock was set.
                let _ = answer.send(Answer::Alone);
                continue;
            }
            callers.push((composed.id, answer));
            all.push(composed);
            expected.push(one);
        }
        expected.sort();
        expected.dedup();
        // Why it failed, each caller learns alone.
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
        for (id, caller) in callers {
            // Who has hung up is not told.
            let _ = caller.send(match made.remove(&id) {
                Some(row) => Answer::Row(Box::new(row)),
                None if is_silent => Answer::Unavailable,
                None => Answer::Alone,
            });
        }
    }

    /// Makes all that can be made together.
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
                // Alone, each learns whether it still fits.
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
        // A workflow that is there is changed: others do not wait for that.
        all.retain(|one| {
            one.own_work().is_none_or(|(at, name)| !taken.contains(&(at, name.to_owned())))
        });
        let made = self.write(&tx, all, Back::Rows).await;
        let made = made.map_err(|(_, error): Refused| *error)?;
        store.commit(tx).await?;
        Ok(made)
    }
}

/// By what a schedule is composed.
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
