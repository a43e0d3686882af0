//! What must hold in the end, when all has been calm for long enough.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use entity::{
    fire::{self, Reason, Verdict},
    run,
    schedule::{CatchUp, Overlap},
    task_run,
};
use sea_orm::{EntityTrait, QueryOrder};
use uuid::Uuid;

use super::{
    expectation::{Expectations, History},
    scenario::Ending,
    workshop::Execution,
};

/// The tables, and what the world outside has seen.
pub(crate) struct Ended {
    fires: Vec<fire::Model>,
    runs: BTreeMap<Uuid, run::Model>,
    attempts: BTreeMap<(Uuid, i32), task_run::Model>,
    seen: HashMap<(Uuid, i32), Execution>,
    now: DateTime<Utc>,
}

impl Ended {
    /// Reads all of it. An attempt that was carried out twice is an error already.
    pub(crate) async fn read(
        expected: &Expectations,
        executions: Vec<Execution>,
        now: DateTime<Utc>,
    ) -> Result<Self, String> {
        let read = expected.store().read();
        let fires = fire::Entity::find().order_by_asc(fire::Column::ScheduledAt);
        let runs = run::Entity::find().all(read).await.unwrap();
        let attempts = task_run::Entity::find().all(read).await.unwrap();
        let mut seen = HashMap::new();
        for execution in executions {
            let key = (execution.run, execution.attempt);
            if seen.insert(key, execution).is_some() {
                return Err(format!("attempt {} of run {} was carried out twice", key.1, key.0));
            }
        }
        Ok(Self {
            fires: fires.all(read).await.unwrap(),
            runs: runs.into_iter().map(|run| (run.id, run)).collect(),
            attempts: attempts.into_iter().map(|row| ((row.run_id, row.attempt), row)).collect(),
            seen,
            now,
        })
    }

    /// How large the world became, for the record.
    pub(crate) fn size(&self) -> (usize, usize, usize) {
        (self.fires.len(), self.runs.len(), self.attempts.len())
    }

    /// Whether all is as it must be; the first thing that is not.
    pub(crate) async fn check(&self, expected: &mut Expectations) -> Result<(), String> {
        for fire in &self.fires {
            let history = expected.history(fire.schedule_id).ok_or("a fire of no schedule")?;
            let problem = self.verdict(fire, history);
            problem.map_err(|what| format!("{}: {what}: {fire:?}", history.name))?;
        }
        for run in self.runs.values() {
            self.run(run, expected).map_err(|what| format!("{what}: {run:?}"))?;
        }
        for attempt in self.attempts.values() {
            self.attempt(attempt).map_err(|what| format!("{what}: {attempt:?}"))?;
        }
        for (run, attempt) in self.seen.keys() {
            if !self.attempts.contains_key(&(*run, *attempt)) {
                return Err(format!(
                    "attempt {attempt} of run {run} was carried out without a row"
                ));
            }
        }
        expected.check(&self.fires, self.now).await
    }

    /// A verdict that is final, for a reason that there can be.
    fn verdict(&self, fire: &fire::Model, history: &History) -> Result<(), String> {
        let specs = || history.specs.values();
        let own = history.specs.get(&fire.schedule_version).ok_or("it has no version")?;
        let waits = match own.overlap {
            Overlap::BufferOne | Overlap::BufferAll | Overlap::CancelOther => true,
            Overlap::Skip | Overlap::TerminateOther | Overlap::Allow => false,
        };
        let is_suppressed = history.is_suppressed(fire.schedule_version, fire.scheduled_at.utc());
        let was_changed = history.specs.len() > 1 || history.was_deleted;
        let there_can_be = match (fire.verdict, fire.reason) {
            (Verdict::Pending, Reason::AwaitingHandoff | Reason::Buffered) => {
                return if fire.due_at.utc() > self.now {
                    Ok(())
                } else {
                    Err("it is stuck".to_owned())
                };
            }
            (Verdict::Started, Reason::OnTime | Reason::CaughtUp | Reason::Recovered) => true,
            (Verdict::Started, Reason::Buffered) => waits,
            (Verdict::Skipped, Reason::Overlap) => {
                own.overlap == Overlap::Skip && fire.detail.is_some()
            }
            (Verdict::Skipped, Reason::BufferFull) => {
                matches!(own.overlap, Overlap::BufferOne | Overlap::BufferAll)
            }
            (Verdict::Skipped, Reason::Replaced) => {
                matches!(own.overlap, Overlap::CancelOther | Overlap::TerminateOther)
            }
            (Verdict::Skipped, Reason::Calendar) => is_suppressed,
            (Verdict::Skipped, Reason::ByRequest | Reason::Purged) => fire.detail.is_some(),
            (Verdict::Skipped | Verdict::Collapsed, Reason::Paused) => history.was_paused,
            (Verdict::Skipped, Reason::Deadline) => {
                specs().any(|spec| spec.start_deadline_seconds.is_some())
            }
            (Verdict::Skipped | Verdict::Abandoned, Reason::Disabled) => history.was_paused,
            (Verdict::Skipped | Verdict::Abandoned, Reason::Deleted) => history.was_deleted,
            (Verdict::Skipped | Verdict::Abandoned, Reason::StaleVersion) => {
                history.specs.len() > 1
            }
            (Verdict::Missed, Reason::Outage) => {
                own.misfire.catch_up == CatchUp::Skip || was_changed
            }
            (Verdict::Collapsed, Reason::Outage) => own.misfire.catch_up == CatchUp::Latest,
            (Verdict::Missed, Reason::CatchUpLimit) => own.misfire.catch_up == CatchUp::All,
            (Verdict::Missed, Reason::CatchUpWindow) => true,
            (Verdict::Abandoned, Reason::AttemptsExhausted | Reason::TooOld) => true,
            (
                Verdict::Pending
                | Verdict::Started
                | Verdict::Skipped
                | Verdict::Missed
                | Verdict::Collapsed
                | Verdict::Abandoned,
                _,
            ) => false,
        };
        let has_run = self.runs.get(&fire.id).is_some_and(|run| run.fire_id == Some(fire.id));
        let (linked, decided) = (fire.run_id == Some(fire.id), fire.decided_at.is_some());
        if !there_can_be {
            Err("there can be no such verdict".to_owned())
        } else if is_suppressed && fire.reason != Reason::Calendar {
            Err("a calendar suppresses it".to_owned())
        } else if fire.verdict == Verdict::Started && !(has_run && linked) {
            Err("it has no run".to_owned())
        } else if has_run != linked {
            Err("it is linked to no run, or its run is not linked".to_owned())
        } else if !decided {
            Err("it was decided at no time".to_owned())
        } else {
            Ok(())
        }
    }

    fn run(&self, run: &run::Model, expected: &Expectations) -> Result<(), String> {
        if run.state.is_live() {
            return Err("it is stuck".to_owned());
        }
        if run.finished_at.is_none() {
            return Err("it ended at no time".to_owned());
        }
        match run.trigger {
            run::Trigger::Schedule if run.fire_id != Some(run.id) => {
                return Err("it was started by no fire".to_owned());
            }
            run::Trigger::Schedule | run::Trigger::Manual | run::Trigger::Retry => {}
        }
        let own = self.attempts.range((run.id, i32::MIN)..=(run.id, i32::MAX));
        let numbers: Vec<i32> = own.map(|((_, attempt), _)| *attempt).collect();
        if numbers != (1..=run.attempt).collect::<Vec<_>>() {
            return Err(format!("its attempts are {numbers:?}"));
        }
        if run.attempt > run.max_attempts {
            return Err("it had more attempts than it may have".to_owned());
        }
        let schedule = run.schedule_id.and_then(|id| expected.history(id));
        schedule.ok_or("it belongs to no schedule")?;
        let last = self.attempts.get(&(run.id, run.attempt)).map(|attempt| attempt.state);
        let fits = match run.state {
            run::State::Succeeded => last == Some(task_run::State::Succeeded),
            run::State::TimedOut => last == Some(task_run::State::TimedOut),
            run::State::Failed => {
                matches!(last, Some(task_run::State::Failed | task_run::State::Lost))
            }
            run::State::Cancelled => last != Some(task_run::State::Succeeded),
            run::State::Queued | run::State::Running | run::State::Retrying => false,
        };
        if fits { Ok(()) } else { Err(format!("its last attempt ended as {last:?}")) }
    }

    /// What is recorded of an attempt is what the world outside saw of it.
    fn attempt(&self, attempt: &task_run::Model) -> Result<(), String> {
        let seen = self.seen.get(&(attempt.run_id, attempt.attempt));
        let ending = seen.and_then(|execution| execution.ended);
        let says = |what| attempt.error.as_deref().is_some_and(|text| text.contains(what));
        let (overran, ended_for_another) = (says("outlived"), says("ended for a later fire"));
        let fits = match attempt.state {
            task_run::State::Running => return Err("it is stuck".to_owned()),
            task_run::State::Succeeded => ending == Some(Ending::Success),
            task_run::State::Failed => ending == Some(Ending::Failure),
            task_run::State::TimedOut => overran || ending == Some(Ending::Timeout),
            task_run::State::Cancelled => ended_for_another || ending == Some(Ending::Stopped),
            // Its outcome was lost with its node, whatever it was.
            task_run::State::Lost => true,
            // Of runs of several tasks.
            task_run::State::Skipped => seen.is_none(),
        };
        if fits { Ok(()) } else { Err(format!("the world outside saw {ending:?}")) }?;
        match (seen, self.runs.get(&attempt.run_id)) {
            (_, None) => Err("it belongs to no run".to_owned()),
            (Some(seen), Some(run)) if seen.key != run.idempotency_key => {
                Err(format!("it was carried out under the key {:?}", seen.key))
            }
            (Some(_) | None, Some(_)) => Ok(()),
        }
    }
}
