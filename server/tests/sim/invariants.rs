//! The conditions that must hold at the end, after a long calm.

use std::collections::{BTreeMap, HashMap};

use carillon::model::{Definition, When};
use chrono::{DateTime, Utc};
use entity::{
    fire::{self, Reason, Verdict},
    run,
    schedule::{CatchUp, Overlap},
    task_run, workflow,
};
use sea_orm::EntityTrait;
use uuid::Uuid;

use super::{
    backfills::Backfills,
    durations,
    expectation::{Expectations, History},
    moments::{self, Turns},
    order,
    plan::{FLOWS, ONLY_TASK, flow},
    proof, reckoning,
    removals::gone,
    scenario::Ending,
    truth,
    windows::Windows,
    workshop::Execution,
    world::Size,
};

/// A run, a task and the number of its attempt.
pub(crate) type Key = (Uuid, String, i32);

/// The tables, and the records of the outside world.
pub(crate) struct Ended {
    pub(crate) fires: BTreeMap<Uuid, fire::Model>,
    backfills: Backfills,
    pub(crate) runs: BTreeMap<Uuid, run::Model>,
    pub(crate) attempts: BTreeMap<Key, task_run::Model>,
    seen: HashMap<Key, Execution>,
    /// The workflows of several tasks.
    flows: HashMap<Uuid, Definition>,
    pub(crate) now: DateTime<Utc>,
}

impl Ended {
    /// Reads everything. Returns an error if an attempt was executed twice.
    pub(crate) async fn read(
        expected: &Expectations,
        executions: Vec<Execution>,
        now: DateTime<Utc>,
    ) -> Result<Self, String> {
        let store = expected.store();
        let read = store.read();
        let mut fires = gone::<fire::Model>(store, "fire").await;
        fires.extend(fire::Entity::find().all(read).await.unwrap());
        let mut runs = gone::<run::Model>(store, "run").await;
        runs.extend(run::Entity::find().all(read).await.unwrap());
        let mut attempts = gone::<task_run::Model>(store, "task_run").await;
        attempts.extend(task_run::Entity::find().all(read).await.unwrap());
        let mut seen = HashMap::new();
        for execution in executions {
            let key = (execution.run, execution.task.clone(), execution.attempt);
            let (run, task, attempt) = &key;
            let twice = format!("attempt {attempt} at {task} of run {run} was carried out twice");
            if seen.insert(key, execution).is_some() {
                return Err(twice);
            }
        }
        let workflows = workflow::Entity::find().all(read).await.unwrap().into_iter();
        let flows = workflows.filter(|row| FLOWS.contains(&row.name.as_str()));
        let key = |row: &task_run::Model| (row.run_id, row.task.clone(), row.attempt);
        Ok(Self {
            flows: flows.map(|row| (row.id, flow(&row.name))).collect(),
            fires: fires.into_iter().map(|fire| (fire.id, fire)).collect(),
            backfills: Backfills::read(store).await,
            runs: runs.into_iter().map(|run| (run.id, run)).collect(),
            attempts: attempts.into_iter().map(|row| (key(&row), row)).collect(),
            seen,
            now,
        })
    }

    /// The size that the world reached, for the record.
    pub(crate) fn size(&self) -> Size {
        Size {
            fires: self.fires.len(),
            runs: self.runs.len(),
            attempts: self.attempts.len(),
            backfills: self.backfills.count(),
            ..Size::default()
        }
    }

    /// Checks everything; returns the first violation.
    pub(crate) async fn check(
        &self,
        expected: &mut Expectations,
        is_steady: bool,
    ) -> Result<(), String> {
        expected.windows = Windows::read(expected.store()).await;
        for fire in self.fires.values() {
            let history = expected.history(fire.schedule_id).ok_or("a fire of no schedule")?;
            let problem = self.verdict(fire, history, &expected.windows);
            problem.map_err(|what| format!("{}: {what}: {fire:?}", history.name))?;
        }
        for run in self.runs.values() {
            self.run(run, expected).map_err(|what| format!("{what}: {run:?}"))?;
        }
        for attempt in self.attempts.values() {
            self.attempt(attempt).map_err(|what| format!("{what}: {attempt:?}"))?;
        }
        if let Some((run, task, attempt)) =
            self.seen.keys().find(|key| !self.attempts.contains_key(*key))
        {
            let what = "was carried out without a row";
            return Err(format!("attempt {attempt} at {task} of run {run} {what}"));
        }
        self.backfills.check(&self.runs, &self.fires)?;
        let moments = moments::all(expected.store()).await;
        let lives = truth::judge(&moments, is_steady)?;
        reckoning::check(&lives, self, expected).await?;
        let definitions = order::definitions(expected.store()).await;
        order::check(self, &definitions, is_steady)?;
        durations::check(&moments, self, &definitions, is_steady)?;
        self.backfills.were_needed(&moments, &self.runs)?;
        expected.check(self.fires.values(), &Turns::of(&moments), self.now).await?;
        proof::check(self, expected, is_steady).await
    }

    /// Whether a verdict is final, with a valid reason.
    fn verdict(
        &self,
        fire: &fire::Model,
        history: &History,
        windows: &Windows,
    ) -> Result<(), String> {
        let specs = || history.specs.values();
        let own = history.specs.get(&fire.schedule_version).ok_or("it has no version")?;
        let waits = match own.overlap {
            Overlap::BufferOne | Overlap::BufferAll | Overlap::CancelOther => true,
            Overlap::Skip | Overlap::TerminateOther | Overlap::Allow => false,
        };
        let was_changed = history.specs.len() > 1 || history.was_deleted;
        let there_can_be = match (fire.verdict, fire.reason) {
            (Verdict::Pending, Reason::AwaitingHandoff | Reason::Buffered) => {
                return if fire.due_at.utc() > self.now {
                    Ok(())
                } else {
                    Err("it is stuck".to_owned())
                };
            }
            (
                Verdict::Started,
                Reason::OnTime | Reason::Late | Reason::CaughtUp | Reason::Recovered,
            ) => true,
            (Verdict::Started, Reason::Backfilled) => true,
            (Verdict::Started, Reason::Buffered) => waits || fire.made_up_for.is_some(),
            (Verdict::Skipped, Reason::Overlap) => {
                own.overlap == Overlap::Skip && fire.detail.is_some()
            }
            (Verdict::Skipped, Reason::BufferFull) => {
                matches!(own.overlap, Overlap::BufferOne | Overlap::BufferAll)
            }
            // A fire of the same version or of a later one replaced this fire while it was being
            // handed over.
            (Verdict::Skipped, Reason::Replaced) => {
                let later = history.specs.range(fire.schedule_version..);
                let stops = [Overlap::CancelOther, Overlap::TerminateOther];
                later.map(|(_, spec)| spec.overlap).any(|overlap| stops.contains(&overlap))
            }
            // Another check compares each instant with the calendars.
            (Verdict::Skipped, Reason::Calendar) => true,
            (Verdict::Skipped, Reason::ByRequest | Reason::Purged) => fire.detail.is_some(),
            (Verdict::Skipped | Verdict::Collapsed, Reason::Paused) => {
                history.pauses.cover(fire) || windows.cover(fire, history.longest_jitter())
            }
            (Verdict::Skipped, Reason::Deadline) => {
                specs().any(|spec| spec.start_deadline_seconds.is_some())
            }
            (Verdict::Skipped | Verdict::Abandoned, Reason::Disabled) => {
                history.pauses.any() || windows.any()
            }
            (Verdict::Skipped | Verdict::Abandoned, Reason::Deleted) => history.was_deleted,
            (Verdict::Skipped | Verdict::Abandoned, Reason::StaleVersion) => {
                history.has_other_fires_after(fire.schedule_version)
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
            run::Trigger::Schedule
            | run::Trigger::Manual
            | run::Trigger::Retry
            | run::Trigger::Backfill => {}
        }
        let schedule = run.schedule_id.and_then(|id| expected.history(id));
        schedule.ok_or("it belongs to no schedule")?;
        if let Some(definition) = self.flows.get(&run.workflow_id) {
            return self.flow_run(run, definition);
        }
        let numbers = self.numbers(run.id, ONLY_TASK);
        if numbers != (1..=run.attempt).collect::<Vec<_>>() {
            return Err(format!("its attempts are {numbers:?}"));
        }
        if run.attempt > run.max_attempts {
            return Err("it had more attempts than it may have".to_owned());
        }
        let last = self.last(run.id, ONLY_TASK);
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

    /// The attempts at a task, in order.
    fn numbers(&self, run: Uuid, task: &str) -> Vec<i32> {
        let (from, to) = ((run, task.to_owned(), i32::MIN), (run, task.to_owned(), i32::MAX));
        self.attempts.range(from..=to).map(|((.., attempt), _)| *attempt).collect()
    }

    /// How the last attempt at a task ended.
    fn last(&self, run: Uuid, task: &str) -> Option<task_run::State> {
        let last = self.numbers(run, task).last().copied()?;
        self.attempts.get(&(run, task.to_owned(), last)).map(|attempt| attempt.state)
    }

    /// Checks a run of several tasks: no task has a gap in its attempts, an attempt after a
    /// success, or one before its turn; and all are done if the run succeeded.
    fn flow_run(&self, run: &run::Model, definition: &Definition) -> Result<(), String> {
        use task_run::State::{Failed, Lost, Skipped, Succeeded, TimedOut};
        for task in &definition.tasks {
            let numbers = self.numbers(run.id, &task.name);
            let all: Vec<i32> = (1..).take(numbers.len()).collect();
            if numbers != all {
                return Err(format!("the attempts at {} are {numbers:?}", task.name));
            }
            for attempt in numbers.iter().rev().skip(1) {
                let state = self.attempts[&(run.id, task.name.clone(), *attempt)].state;
                if !matches!(state, Failed | Lost | TimedOut) {
                    let name = &task.name;
                    return Err(format!(
                        "attempt {attempt} at {name} was {state:?}, and not the last"
                    ));
                }
            }
            let last = self.last(run.id, &task.name);
            let ended_well = match last {
                None => false,
                Some(Succeeded | Skipped) => true,
                Some(_) => task.allow_failure,
            };
            if run.state == run::State::Succeeded && !ended_well {
                return Err(format!("it succeeded, and {} is {last:?}", task.name));
            }
            if last.is_none_or(|state| state == Skipped) {
                continue;
            }
            let needs = || task.needs.iter().map(|need| self.last(run.id, need));
            let was_its_turn = match task.when {
                When::Success => needs().all(|state| state == Some(Succeeded)),
                When::Failure => needs().any(|state| state != Some(Succeeded)),
                When::Always => needs().all(|state| state.is_some()),
            };
            if !was_its_turn {
                return Err(format!("{} began before its turn", task.name));
            }
        }
        Ok(())
    }

    /// Whether a success was copied from the run that this run repeats from its failed task.
    fn is_kept(&self, attempt: &task_run::Model) -> bool {
        let run = self.runs.get(&attempt.run_id);
        let old = run.filter(|run| self.flows.contains_key(&run.workflow_id));
        let old = old.and_then(|run| run.retry_of);
        old.is_some_and(|old| self.last(old, &attempt.task) == Some(task_run::State::Succeeded))
    }

    /// Checks that the record of an attempt matches the outside world's record of it.
    fn attempt(&self, attempt: &task_run::Model) -> Result<(), String> {
        let seen = self.seen.get(&(attempt.run_id, attempt.task.clone(), attempt.attempt));
        let ending = seen.and_then(|execution| execution.ended);
        let says = |what| attempt.error.as_deref().is_some_and(|text| text.contains(what));
        let overran = says("exceeded its timeout") || says("time of the whole run");
        let ended_for_another = says("ended for a later fire");
        let fits = match attempt.state {
            task_run::State::Running => return Err("it is stuck".to_owned()),
            task_run::State::Succeeded => match seen {
                Some(_) => ending == Some(Ending::Success),
                None => self.is_kept(attempt),
            },
            task_run::State::Failed => ending == Some(Ending::Failure),
            task_run::State::TimedOut => overran || ending == Some(Ending::Timeout),
            // If an attempt is stopped before its target has begun, the outside world has no record
            // of it.
            task_run::State::Cancelled => {
                ended_for_another || seen.is_none() || ending == Some(Ending::Stopped)
            }
            // The node died, so its result was lost, whatever it was.
            task_run::State::Lost => true,
            // Tasks are skipped only in runs of several tasks.
            task_run::State::Skipped => seen.is_none(),
        };
        if fits { Ok(()) } else { Err(format!("the world outside saw {ending:?}")) }?;
        match (seen, self.runs.get(&attempt.run_id)) {
            (_, None) => Err("it belongs to no run".to_owned()),
            (Some(seen), Some(run)) => {
                let key = &run.idempotency_key;
                let own = match self.flows.contains_key(&run.workflow_id) {
                    true => seen.key == format!("{key}-{}", attempt.task),
                    false => seen.key == *key,
                };
                let key = &seen.key;
                if own { Ok(()) } else { Err(format!("it was carried out under the key {key}")) }
            }
            (None, Some(_)) => Ok(()),
        }
    }
}
