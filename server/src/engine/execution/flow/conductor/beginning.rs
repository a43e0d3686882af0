use std::time::Duration;

use entity::task_run;
use serde_json::Value;

use super::{
    super::{progress::AttemptFacts, results},
    Conductor, EndedAttempt,
};
use crate::{
    engine::execution::attempt::{self, Assignment},
    target::Invocation,
};

impl Conductor {
    /// How long an attempt may take before any node may treat it as stuck.
    pub(super) fn hard_limit(&self, index: usize) -> Duration {
        let task = self.known.task(index);
        task.timeout() + task.kill_grace() + self.core.settings.heartbeat_expiry
    }

    /// Starts an attempt that the tables already contain.
    pub(super) fn begin(&mut self, index: usize, attempt: i32) {
        let limit = self.hard_limit(index);
        let part = &mut self.parts[index];
        part.limit = Some(self.core.clock.instant() + limit);
        part.attempts.push(AttemptFacts {
            attempt,
            state: task_run::State::Running,
            finished_at: None,
            error: None,
            output: None,
        });
        let core = self.core.clone();
        let known = self.known.clone();
        let invocation = self.invocation(index, attempt);
        let (stands_for, tasks) = (self.stands_for, self.named(index));
        let numbers = self.numbers.clone();
        let stop = self.stop_tasks.child_token();
        self.at_work.spawn(async move {
            let assignment = Assignment {
                known: &known,
                index,
                invocation: &invocation,
                stands_for,
                tasks: &tasks,
                limit: Some(limit),
            };
            // The lines of a flow's task are written by now.
            let (outcome, _) = attempt::perform(&core, assignment, &numbers, stop).await;
            EndedAttempt { index, outcome }
        });
    }

    fn invocation(&self, index: usize, attempt: i32) -> Invocation {
        let task = self.known.task(index);
        let results: Vec<_> = self.parts.iter().map(|part| part.result.clone()).collect();
        let before = self.known.graph.before(index);
        let (run, number) = (self.hold.run_id, attempt::flow_number(index, attempt));
        // Receivers tell requests apart by this key, so each task of a flow needs a key of its own.
        let key = match self.known.definition.tasks.len() {
            1 => self.told.idempotency_key.clone(),
            _ => format!("{}-{}", self.told.idempotency_key, task.name),
        };
        Invocation {
            attempt,
            task: task.name.clone(),
            idempotency_key: key,
            traceparent: Some(self.core.metrics.traces().traceparent(run, number)),
            context: results::merged(&self.told.context, &results, &before),
            timeout: task.timeout(),
            kill_grace: task.kill_grace(),
            ..self.told.clone()
        }
    }

    /// The value of `tasks` in the templates of a task.
    fn named(&self, index: usize) -> Value {
        let before = self.known.graph.before(index);
        let tasks = self.known.definition.tasks.iter().zip(&self.parts).zip(before);
        results::named(tasks.filter(|(_, before)| *before).map(|((task, part), _)| {
            let last = part.attempts.last().map(|last| last.state);
            let succeeded = last == Some(task_run::State::Succeeded);
            (&*task.name, succeeded, part.result.as_ref())
        }))
    }
}
