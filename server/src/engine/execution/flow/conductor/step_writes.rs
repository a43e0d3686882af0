//! Writes a step of the run according to the plan.

use chrono::{DateTime, Utc};
use entity::{run, task_run};
use sea_orm::ActiveEnum;
use tokio::sync::oneshot;

use super::{
    super::{
        plan::{FlowPlan, NextStep},
        progress::AttemptFacts,
    },
    Conductor, TaskAttempts,
};
use crate::{
    engine::core::{StepOutcome, StepRequest},
    store::{
        StoreError,
        flows::{EndedTask, FlowStep, RunChange},
    },
};

impl Conductor {
    /// Writes ended attempts and the plan in one step.
    pub(super) async fn write(&mut self, plan: &FlowPlan, at: DateTime<Utc>) -> StepOutcome {
        let name = |index: usize| self.known.task(index).name.clone();
        let step = FlowStep {
            hold: self.hold,
            turn: self.turn(plan),
            ended: self.ended.clone(),
            begun: plan.begin.iter().map(|(index, attempt)| (name(*index), *attempt)).collect(),
            skipped: plan.skip.iter().map(|(index, why)| (name(*index), why.clone())).collect(),
            at: at.into(),
        };
        let stays = matches!(step.turn, RunChange::Held { .. });
        if stays && step.ended.is_empty() && step.begun.is_empty() && step.skipped.is_empty() {
            return StepOutcome::Done;
        }
        let (answer, answered) = oneshot::channel();
        // Sending cannot fail, because the writer outlives every run on this node.
        if self.core.steps.send(StepRequest { step, answer }).await.is_err() {
            return StepOutcome::Refused;
        }
        let written = answered.await.unwrap_or(StepOutcome::Refused);
        if written == StepOutcome::Done {
            for ended in self.ended.drain(..) {
                self.core.metrics.attempt(ended.state.to_value());
            }
            for (index, _) in &plan.skip {
                self.parts[*index].attempts.push(skipped(at));
            }
        }
        written
    }

    /// Ends the run because no node will ever be able to read its history.
    /// Otherwise, nodes would pass the run on to one another for ever.
    pub(super) async fn give_up(&mut self, problem: &StoreError) {
        tracing::error!(run_id = %self.hold.run_id, error = %problem, "gave up a run");
        let now = self.core.agreed_now().await;
        let error = format!("the progress of the run cannot be read: failed to {problem}");
        let left = self.core.store.tasks_at_work(self.hold.run_id).await.unwrap_or_default();
        self.ended = left.into_iter().map(|(task, attempt)| let_go(task, attempt, now)).collect();
        let state = run::State::Failed;
        let next = NextStep::Settle { state, error: Some(error) };
        let plan = FlowPlan { skip: vec![], begin: vec![], held_back: 0, next };
        if self.write(&plan, now).await == StepOutcome::Done {
            self.tell(state, now);
        }
    }

    /// Removes content that the database may refuse from the pending step.
    /// Returns whether there was such content.
    pub(super) fn strip(&mut self) -> bool {
        let mut any = false;
        for ended in self.ended.iter_mut().filter(|ended| ended.output.is_some()) {
            any = true;
            ended.output = None;
            ended.error = Some("the database refuses to store its result".to_owned());
            if ended.state == task_run::State::Succeeded {
                ended.state = task_run::State::Failed;
            }
            let tasks = self.known.definition.tasks.iter().zip(&mut self.parts);
            for (_, part) in tasks.filter(|(task, _)| task.name == ended.task) {
                part.result = None;
                if let Some(last) = part.attempts.last_mut() {
                    (last.state, last.output) = (ended.state, None);
                    last.error.clone_from(&ended.error);
                }
            }
        }
        any
    }

    fn turn(&self, plan: &FlowPlan) -> RunChange {
        match &plan.next {
            NextStep::Wait { .. } | NextStep::StopTasks => {
                let now = self.core.clock.instant();
                let left = self.parts.iter().filter_map(|part| part.limit);
                let left = left.map(|limit| limit.saturating_duration_since(now));
                let new = plan.begin.iter().map(|(index, _)| self.hard_limit(*index));
                RunChange::Held { hard_limit: left.chain(new).max().unwrap_or_default() }
            }
            NextStep::Park { until } => {
                let failed = |part: &TaskAttempts| {
                    let last = part.attempts.last()?;
                    last.error.clone().filter(|_| last.state != task_run::State::Skipped)
                };
                RunChange::Parked {
                    until: (*until).into(),
                    error: self.parts.iter().find_map(failed),
                }
            }
            NextStep::Settle { state, error } => {
                RunChange::Settled { state: *state, error: error.clone() }
            }
        }
    }
}

/// The end of an attempt that an earlier hold began and did not report on.
pub(super) fn let_go(task: String, attempt: i32, at: DateTime<Utc>) -> EndedTask {
    EndedTask {
        task,
        attempt,
        state: task_run::State::Lost,
        error: Some("the node that worked on it released the run".to_owned()),
        output: None,
        at: at.into(),
    }
}

fn skipped(at: DateTime<Utc>) -> AttemptFacts {
    AttemptFacts {
        attempt: 1,
        state: task_run::State::Skipped,
        finished_at: Some(at),
        error: None,
        output: None,
    }
}
