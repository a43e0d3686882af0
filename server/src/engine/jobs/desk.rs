//! One attempt as a job: created, followed, ended.

use std::{pin::Pin, sync::Arc, time::Duration};

use entity::{
    Strings,
    job::{ActiveModel, Model, State},
};
use sea_orm::Set;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    LEASE,
    watcher::{AWAITED, News, Watcher},
};
use crate::{
    clock::Clock,
    random::new_id,
    store::{
        Store, StoreError,
        workers::awaited::{self, JobOrigin},
    },
    target::{Invocation, Jobs, Log, Outcome, Stream, Worker, completed},
};

/// How long after the end of a job its last lines may take to arrive.
const LAST_LINES: Duration = Duration::from_secs(30);
/// The pause before a failed database query is repeated.
const RETRY: Duration = Duration::from_millis(500);

/// Creates jobs for workers, and waits for them.
#[derive(Debug)]
pub(crate) struct Desk {
    store: Store,
    clock: Clock,
    watcher: Arc<Watcher>,
}

/// A job that is being waited for; dropping this abandons the job.
struct Awaited {
    id: Uuid,
    desk_store: Store,
    clock: Clock,
    watcher: Arc<Watcher>,
    /// Whether the job's end was seen.
    is_over: bool,
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.watcher.leave(self.id);
        if self.is_over {
            return;
        }
        let (store, clock, id) = (self.desk_store.clone(), self.clock.clone(), self.id);
        // Without a runtime the process is ending, and the job's wait is no longer renewed.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Err(error) = store.abandon_job(id, clock.now().into()).await {
                // The job's wait is no longer renewed: that has the same effect, later.
                tracing::debug!(job = %id, "failed to abandon a job: {error}");
            }
        });
    }
}

/// Why a job must end before its worker has ended it.
#[derive(Clone, Copy)]
enum EarlyEnd {
    TimedOut,
    Cancelled,
}

impl Desk {
    pub(crate) fn new(store: Store, clock: Clock) -> Self {
        let watcher = Arc::new(Watcher::new(store.clone(), clock.clone()));
        Self { store, clock, watcher }
    }

    async fn attempt(
        &self,
        definition: &Worker,
        invocation: &Invocation,
        log: &Log<'_>,
        stop: &CancellationToken,
    ) -> Result<Outcome, StoreError> {
        let now = self.clock.now();
        let id = new_id(now);
        let (namespace, run) = (&invocation.namespace, invocation.run_id);
        let Some(origin) = awaited::origin(&self.store, namespace, run).await? else {
            let message = format!("there is no namespace {namespace:?} any more");
            return Ok(Outcome::Failed { message, output: json!({}) });
        };
        // Before the job exists: whatever ends this attempt also abandons the job.
        let mut awaited = Awaited {
            id,
            desk_store: self.store.clone(),
            clock: self.clock.clone(),
            watcher: self.watcher.clone(),
            is_over: false,
        };
        self.store.add_job(self.row(id, origin, definition, invocation), now.into()).await?;
        let mut news = self.watcher.join(id);
        let outcome = self.follow(id, definition, invocation, log, stop, &mut news).await;
        // After the grace period, the worker may still be working on it.
        awaited.is_over = news.borrow().state.is_some_and(is_ended);
        Ok(outcome)
    }

    fn row(
        &self,
        id: Uuid,
        origin: JobOrigin,
        definition: &Worker,
        invocation: &Invocation,
    ) -> ActiveModel {
        let now = self.clock.now();
        let milliseconds = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        let tags = (!definition.tags.is_empty()).then(|| Strings(definition.tags.clone()));
        ActiveModel {
            id: Set(id),
            namespace_id: Set(origin.namespace_id),
            run_id: Set(invocation.run_id),
            run_task: Set(invocation.task.clone()),
            attempt: Set(invocation.attempt),
            state: Set(State::Waiting),
            queue: Set(definition.queue.clone()),
            task: Set(definition.task.clone()),
            tags: Set(tags),
            input: Set(definition.input.clone().unwrap_or_else(|| invocation.context.clone())),
            about: Set(about(invocation)),
            priority: Set(origin.priority),
            timeout_ms: Set(milliseconds(invocation.timeout)),
            created_at: Set(now.into()),
            awaited_until: Set((now + AWAITED).into()),
            worker_id: Set(None),
            token: Set(None),
            taken_at: Set(None),
            lease_until: Set(None),
            lease_ms: Set(milliseconds(LEASE)),
            stop: Set(false),
            lines: Set(0),
            line_bytes: Set(0),
            output: Set(None),
            error: Set(None),
            is_final: Set(false),
            ended_at: Set(None),
        }
    }

    /// Follows the job to its end, or until its deadline and its grace period have passed. The
    /// outcome that the worker was told was accepted decides how the attempt ends: a database that
    /// does not answer for a while is queried again.
    async fn follow(
        &self,
        id: Uuid,
        definition: &Worker,
        invocation: &Invocation,
        log: &Log<'_>,
        stop: &CancellationToken,
        news: &mut watch::Receiver<News>,
    ) -> Outcome {
        let (mut lines, mut taken) = (0, false);
        let mut ending = None::<EarlyEnd>;
        let mut limit = Box::pin(self.clock.sleep(invocation.timeout));
        let mut page = None;
        loop {
            let now = news.borrow_and_update().clone();
            if !taken && let (Some(State::Held), Some(worker)) = (now.state, &now.worker) {
                taken = true;
                log.system(format!("the worker {worker} took it")).await;
            }
            if now.state.is_some_and(is_ended) {
                drop(page);
                self.relay_rest(id, lines, log).await;
                let row = self.ended_row(id).await;
                return ended(row, now.worker, ending, definition, invocation);
            }
            if page.is_none() && now.lines > lines {
                page = Some(Box::pin(self.relay(id, lines, log)));
            }
            let is_stopped = async {
                if ending.is_some() { std::future::pending().await } else { stop.cancelled().await }
            };
            let relayed = async {
                match &mut page {
                    Some(page) => page.await,
                    None => std::future::pending().await,
                }
            };
            let order = tokio::select! {
                biased;
                () = is_stopped => EarlyEnd::Cancelled,
                () = &mut limit => match ending {
                    None => EarlyEnd::TimedOut,
                    Some(_) => {
                        return ended(None, now.worker, ending, definition, invocation);
                    }
                },
                // The watcher keeps its end of the channel until this job leaves.
                _ = news.changed() => continue,
                after = relayed => {
                    (page, lines) = (None, after.max(lines));
                    continue;
                }
            };
            match self.store.stop_job(id, self.clock.now().into()).await {
                Ok(true) => {
                    ending = Some(order);
                    limit = Box::pin(self.clock.sleep(invocation.kill_grace));
                }
                // It has just ended on its own: that counts.
                Ok(false) => self.until_ended(news).await,
                Err(error) => {
                    tracing::warn!(job = %id, "failed to stop a job, and tries again: {error}");
                    Clock::system().sleep(RETRY).await;
                }
            }
        }
    }

    /// Waits until the watcher has seen the job end.
    async fn until_ended(&self, news: &mut watch::Receiver<News>) {
        // The watcher keeps its end of the channel until this job leaves.
        let _seen = news.wait_for(|news| news.state.is_some_and(is_ended)).await;
    }

    /// The ended job, as soon as the database returns it.
    async fn ended_row(&self, id: Uuid) -> Option<Model> {
        loop {
            match awaited::by_id(self.store.read(), id).await {
                Ok(row) => return row,
                Err(error) => {
                    tracing::warn!(job = %id, "failed to read how a job ended, and tries again: {error}");
                    Clock::system().sleep(RETRY).await;
                }
            }
        }
    }

    /// Copies lines after `after` into the attempt's log; returns the number of the last one. Lines
    /// that cannot be read now are read the next time.
    async fn relay(&self, id: Uuid, mut after: i64, log: &Log<'_>) -> i64 {
        match awaited::lines_after(self.store.read(), id, after).await {
            Ok(rows) => {
                for row in rows {
                    after = row.seq;
                    let stream = if row.is_error { Stream::Stderr } else { Stream::Stdout };
                    log.write(stream, row.text).await;
                }
            }
            Err(error) => {
                tracing::warn!(job = %id, "failed to read what a job printed: {error}");
                Clock::system().sleep(RETRY).await;
            }
        }
        after
    }

    /// The same for all remaining lines, after the end and within limits: the outcome of a job does
    /// not wait for its output.
    async fn relay_rest(&self, id: Uuid, mut after: i64, log: &Log<'_>) {
        let rest = async {
            loop {
                let last = self.relay(id, after, log).await;
                if last == after {
                    return;
                }
                after = last;
            }
        };
        if Clock::system().timeout(LAST_LINES, rest).await.is_err() {
            log.system("the rest of what the worker printed was left out").await;
        }
    }
}

impl Jobs for Desk {
    fn carry_out<'a>(
        &'a self,
        definition: &'a Worker,
        invocation: &'a Invocation,
        log: &'a Log<'a>,
        stop: &'a CancellationToken,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        Box::pin(async move {
            let attempt = self.attempt(definition, invocation, log, stop).await;
            attempt.unwrap_or_else(|error| Outcome::Failed {
                message: format!("failed to hand it to a worker: {error}"),
                output: json!({}),
            })
        })
    }
}

fn is_ended(state: State) -> bool {
    !matches!(state, State::Waiting | State::Held)
}

/// What a worker receives about the run.
fn about(invocation: &Invocation) -> Value {
    json!({
        "id": invocation.run_id,
        "attempt": invocation.attempt,
        "task": invocation.task,
        "namespace": invocation.namespace,
        "schedule": invocation.schedule,
        "scheduledAt": invocation.scheduled_at.map(|at| at.to_rfc3339()),
        "idempotencyKey": invocation.idempotency_key,
        "traceparent": invocation.traceparent,
    })
}

/// The attempt's outcome, from that of its job.
fn ended(
    row: Option<Model>,
    worker: Option<String>,
    ending: Option<EarlyEnd>,
    definition: &Worker,
    invocation: &Invocation,
) -> Outcome {
    let seen = |more: Value| {
        let mut seen = json!({ "worker": worker });
        if let (Some(seen), Value::Object(more)) = (seen.as_object_mut(), more) {
            seen.extend(more);
        }
        seen
    };
    let who = worker.as_deref().unwrap_or("somebody");
    match ending {
        Some(EarlyEnd::Cancelled) => return Outcome::Cancelled { output: seen(json!({})) },
        Some(EarlyEnd::TimedOut) => {
            let limit = invocation.timeout;
            let queue = &definition.queue;
            let message = match &worker {
                Some(worker) => format!("the worker {worker} did not end it within {limit:?}"),
                None => format!("no worker of the queue {queue} took it within {limit:?}"),
            };
            return Outcome::TimedOut { message, output: seen(json!({})) };
        }
        None => {}
    }
    let Some(row) = row else {
        let message = "its job was removed".to_owned();
        return Outcome::Failed { message, output: seen(json!({})) };
    };
    match row.state {
        State::Succeeded => completed(who, row.output.unwrap_or_default()),
        State::Failed => Outcome::Failed {
            message: row.error.unwrap_or_default(),
            output: seen(json!({ "retry": !row.is_final })),
        },
        State::Lost => {
            // A worker that left at once may be gone before its name was read.
            let who = worker
                .as_ref()
                .map_or_else(|| "its worker".to_owned(), |worker| format!("the worker {worker}"));
            let message = format!("{who} was lost: it left, or was not heard in time");
            Outcome::Failed { message, output: seen(json!({})) }
        }
        State::Cancelled | State::Waiting | State::Held => Outcome::Failed {
            message: "its job was taken back".to_owned(),
            output: seen(json!({})),
        },
    }
}
