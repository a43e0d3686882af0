//! The dispatcher: takes runs that wait, as many as this node has room for.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::Ordering},
};

use chrono::{DateTime, TimeDelta, Utc};
use entity::{fire, run};
use sea_orm::ActiveEnum;
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::{
    EngineError,
    attempt::{self, Attempt, Times},
    core::Core,
    definition::Task,
    handoff::past_deadline,
    service::Service,
};
use crate::{
    store::{
        DatabaseTransaction,
        holds::Hold,
        queue::{Taker, Waiting},
        runs::Take,
    },
    target::Invocation,
};

/// Takes waiting runs.
#[derive(Debug)]
pub(super) struct Dispatcher {
    pub(super) core: Arc<Core>,
    next: Option<DateTime<Utc>>,
    /// Whether runs were left to others for a moment.
    has_left: bool,
}

/// What a round took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DispatcherReport {
    /// Attempts begun.
    pub taken: usize,
}

impl Dispatcher {
    pub(super) fn new(core: Arc<Core>) -> Self {
        Self { core, next: None, has_left: false }
    }

    /// Who takes.
    fn taker(&self, node: Uuid) -> Taker<'_> {
        Taker { node, tags: &self.core.settings.tags.0 }
    }

    /// Others go first for a moment, if they have clearly more room and may take it.
    fn is_left_to_others(&self, run: &Waiting, now: DateTime<Utc>) -> bool {
        let asked = run.runs_on.as_ref().map_or(&[][..], |tags| &tags.0);
        now < run.available_at.utc() + self.moment()
            && self.core.cluster.lets_others_go_first(asked)
    }

    /// For so long.
    fn moment(&self) -> TimeDelta {
        TimeDelta::from_std(self.core.settings.second_owner_after).unwrap_or_default()
    }

    /// Takes one batch; says how many waited.
    async fn take(
        &mut self,
        now: DateTime<Utc>,
        slots: &mut Vec<OwnedSemaphorePermit>,
    ) -> Result<usize, EngineError> {
        let (core, since) = (&self.core.clone(), self.core.clock.instant());
        let node = core.node_id().await;
        let tx = core.store.begin().await?;
        let waiting = core
            .store
            .lock_waiting_runs(&tx, self.taker(node), now.into(), slots.len() as u64)
            .await?;
        let (left, waiting): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|run| self.is_left_to_others(run, now));
        let found = waiting.len();
        let (late, waiting): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|run| is_too_late(run, now));
        let late_of: Vec<_> = late.iter().map(|run| run.schedule_id).collect();
        let late: Vec<_> = late.into_iter().map(|run| (run.id, run.scheduled_at)).collect();
        let waiting = self.within_limits(&tx, waiting, now).await?;
        let mut takes = Vec::with_capacity(found);
        let mut taken = Vec::with_capacity(found);
        let mut failed = Vec::new();
        for run in waiting {
            let key = (run.workflow_id, run.workflow_version);
            let known = match core.definitions.known(&core.store, &tx, key).await? {
                Ok(known) => known,
                Err(error) => {
                    tracing::error!(run = %run.id, "failed to {error}");
                    failed.push((run.id, format!("failed to {error}")));
                    continue;
                }
            };
            let (task, hard_limit) = known.start(core.settings.heartbeat_expiry);
            takes.push(Take {
                run_id: run.id,
                task,
                attempt: run.attempt + 1,
                epoch: run.epoch + 1,
                hard_limit,
            });
            taken.push((run, known));
        }
        self.has_left |= !left.is_empty();
        if failed.is_empty() && late.is_empty() && takes.is_empty() {
            // A commit would be news to all who follow, here and on other nodes.
            tx.rollback().await?;
            return Ok(found);
        }
        core.store.fail_locked_runs(&tx, &failed, now.into()).await?;
        core.store.skip_locked_runs(&tx, &late, now.into()).await?;
        core.store.take_locked_runs(&tx, &takes, node, now.into()).await?;
        let hold = |take: &Take| Hold {
            run_id: take.run_id,
            attempt: take.attempt,
            node_id: node,
            epoch: take.epoch,
        };
        let beginning = core.beginnings.enter(since, takes.iter().map(hold));
        core.store.commit(tx).await?;
        for schedule in late_of {
            let (skipped, deadline) = (fire::Verdict::Skipped, fire::Reason::Deadline);
            core.metrics.fires(schedule, skipped.to_value(), deadline.to_value(), 1);
        }
        if !(late.is_empty() && failed.is_empty()) {
            core.run_settled();
        }
        if core.backfills.has_any(failed.iter().map(|(run, _)| *run)) {
            core.signals.wake_backfill();
        }

        let lost = beginning.lost(core).await;
        for ((run, known), take) in taken.into_iter().zip(takes) {
            let hold = hold(&take);
            if lost.contains(&hold) {
                continue;
            }
            let Some(slot) = slots.pop() else { break };
            let max_attempts = run.max_attempts;
            let times = Times {
                by_fire: run.trigger == run::Trigger::Schedule,
                stands_for: run.scheduled_at.utc(),
                started_at: run.started_at.map_or(now, |at| at.utc()),
            };
            let invocation = invocation(core, run, known.task(0), &hold);
            let run = times;
            attempt::spawn(core, Attempt { hold, max_attempts, known, invocation, run, slot });
        }
        drop(beginning);
        if !lost.is_empty() {
            slots.clear();
            core.slot_freed();
        }
        Ok(found)
    }

    /// Leaves out the runs whose group has no room for them any more. The groups are locked, so
    /// what is left may be taken: nobody else takes one of theirs before this transaction ends.
    async fn within_limits(
        &self,
        tx: &DatabaseTransaction,
        mut waiting: Vec<Waiting>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Waiting>, EngineError> {
        let groups: HashSet<Uuid> = waiting.iter().filter_map(|run| run.group_id).collect();
        let mut room = self.core.store.lock_room(tx, &groups, now.into()).await?;
        waiting.retain(|run| {
            let free = run.group_id.and_then(|group| room.get_mut(&group));
            free.is_none_or(|free| {
                *free -= 1;
                *free >= 0
            })
        });
        Ok(waiting)
    }
}

impl Service for Dispatcher {
    type Report = DispatcherReport;
    const NAME: &'static str = "dispatcher";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<DispatcherReport, EngineError> {
        let mut report = DispatcherReport::default();
        if !self.core.may_take().await? {
            // By a wrong clock runs would be late or early. Once it is right, this is woken.
            self.next = None;
            return Ok(report);
        }
        let batch = usize::try_from(self.core.settings.batch).unwrap_or(usize::MAX);
        // Before the look at the tables: a place that is freed from now on wakes us again.
        self.core.backlog.store(true, Ordering::Relaxed);
        self.core.group_backlog.store(true, Ordering::Relaxed);
        loop {
            let mut slots = self.core.free_slots(batch);
            let room = slots.len();
            if room == 0 {
                // Whoever frees a place wakes us.
                self.next = None;
                return Ok(report);
            }
            let taken = self.take(now, &mut slots).await?;
            report.taken += taken;
            if taken < room {
                break;
            }
        }
        self.core.backlog.store(false, Ordering::Relaxed);
        let backlog = self.core.store.backlog(&self.core.settings.tags.0, now.into()).await?;
        self.core.group_backlog.store(backlog.grouped, Ordering::Relaxed);
        // What is due and was not taken is being taken by another, or waits until this node, declared
        // dead, has a new life: that wakes us.
        let next = backlog.next.map(|at| at.utc());
        self.next = next.filter(|next| report.taken > 0 || *next > now);
        if std::mem::take(&mut self.has_left) {
            // If the others do not take it, this node does.
            self.next = Some(now + self.moment());
        }
        Ok(report)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        let poll = now + TimeDelta::from_std(self.core.settings.poll).unwrap_or_default();
        self.next.map_or(poll, |next| next.clamp(now, poll))
    }

    fn is_notable(report: &DispatcherReport) -> bool {
        report.taken > 0
    }
}

/// Whether a run that a fire started has waited for room until after the fire's start deadline.
/// Once an attempt has begun, there is none any more.
fn is_too_late(run: &Waiting, now: DateTime<Utc>) -> bool {
    let (scheduled_at, due_at) = (run.scheduled_at.utc(), run.due_at.utc());
    let jitter = run.jitter_ms.unwrap_or_default();
    run.trigger == run::Trigger::Schedule
        && run.attempt == 0
        && past_deadline(scheduled_at, due_at, jitter, run.start_deadline_ms, now)
}

fn invocation(core: &Core, run: Waiting, task: &Task, hold: &Hold) -> Invocation {
    Invocation {
        run_id: run.id,
        attempt: hold.attempt,
        task: task.name.clone(),
        namespace: run.namespace,
        schedule: run.schedule,
        schedule_id: run.schedule_id,
        scheduled_at: match run.trigger {
            run::Trigger::Schedule | run::Trigger::Retry | run::Trigger::Backfill => {
                Some(run.scheduled_at.utc())
            }
            run::Trigger::Manual => None,
        },
        idempotency_key: run.idempotency_key,
        traceparent: Some(attempt::traceparent(core, hold)),
        context: run.context,
        timeout: task.timeout(),
        kill_grace: task.kill_grace(),
    }
}
