//! Executes one attempt as a job for a worker: creates the job, follows it, and ends it.

use std::{ops::Range, pin::Pin, sync::Arc, time::Duration};

use entity::Strings;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    LEASE,
    outcome::{EarlyEnd, ended},
    watcher::{AWAITED, JobNews, Watcher, is_ended},
};
use crate::{
    batcher::{Batcher, json_size},
    clock::Clock,
    random::new_id,
    store::{
        Store, StoreError,
        workers::awaited::{self, NewJob},
    },
    target::{
        AttemptLog, AttemptOutcome, Invocation, Jobs, MAX_TAIL_BYTES, Stream, Tail, WorkerTarget,
    },
};

/// How long after the end of a job the copying of its last lines may take.
const LAST_LINES: Duration = Duration::from_secs(30);
/// The pause before a failed database query is repeated.
const RETRY: Duration = Duration::from_millis(500);

/// Creates jobs for workers, and waits until they end.
#[derive(Debug)]
pub(crate) struct Desk {
    store: Store,
    clock: Clock,
    watcher: Arc<Watcher>,
    adding: Arc<Batcher<Addition, bool>>,
}

/// A job that is to be created together with those of other attempts.
#[derive(Debug)]
struct Addition {
    job: NewJob,
    /// Cancelled when the attempt no longer waits for the job.
    left: CancellationToken,
}

/// A job for which an attempt waits. Dropping this value abandons the job.
struct Awaited {
    id: Uuid,
    left: CancellationToken,
    desk_store: Store,
    clock: Clock,
    watcher: Arc<Watcher>,
    /// Whether the attempt has seen the end of the job.
    is_over: bool,
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.watcher.leave(self.id);
        // The token comes first, because the job may not exist yet when it is abandoned.
        self.left.cancel();
        if self.is_over {
            return;
        }
        let (store, clock, id) = (self.desk_store.clone(), self.clock.clone(), self.id);
        // Without a runtime, the process is ending.
        // The job's wait is no longer renewed, which also abandons the job.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Err(error) = store.abandon_job(id, clock.now().into()).await {
                // The job's wait is no longer renewed, which has the same effect later.
                tracing::debug!(job_id = %id, %error, "failed to abandon a job");
            }
        });
    }
}

impl Desk {
    pub(crate) fn new(store: Store, clock: Clock) -> Self {
        let watcher = Arc::new(Watcher::new(store.clone(), clock.clone()));
        Self { store, clock, watcher, adding: Arc::default() }
    }

    async fn attempt(
        &self,
        definition: &WorkerTarget,
        invocation: &Invocation,
        log: &AttemptLog<'_>,
        stop: &CancellationToken,
    ) -> Result<AttemptOutcome, StoreError> {
        let (now, began) = (self.clock.now(), self.clock.instant());
        let id = new_id(now);
        // This value exists before the job, so that any end of this attempt also abandons the job.
        let mut awaited = Awaited {
            id,
            left: CancellationToken::new(),
            desk_store: self.store.clone(),
            clock: self.clock.clone(),
            watcher: self.watcher.clone(),
            is_over: false,
        };
        let job = self.job(id, definition, invocation);
        if let Err(error) = self.add(job, awaited.left.clone(), invocation.timeout, stop).await {
            // If the job is there after all, it is abandoned together with `awaited`.
            if stop.is_cancelled() {
                return Ok(AttemptOutcome::Cancelled { output: json!({}) });
            }
            return Err(error);
        }
        let mut news = self.watcher.join(id);
        // The time that it took to create the job counts, so that the attempt ends before recovery
        // considers it stuck.
        let took = self.clock.instant().saturating_duration_since(began);
        let left = invocation.timeout.saturating_sub(took);
        let outcome = self.follow(id, left, definition, invocation, log, stop, &mut news).await;
        // After the grace period, the worker may still be working on the job.
        awaited.is_over = news.borrow().state.is_some_and(is_ended);
        Ok(outcome)
    }

    fn job(&self, id: Uuid, definition: &WorkerTarget, invocation: &Invocation) -> NewJob {
        let now = self.clock.now();
        let milliseconds = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        let tags = (!definition.tags.is_empty()).then(|| Strings(definition.tags.clone()));
        NewJob {
            id,
            namespace_id: invocation.namespace_id,
            run_id: invocation.run_id,
            run_task: invocation.task.clone(),
            attempt: invocation.attempt,
            queue: definition.queue.clone(),
            task: definition.task.clone(),
            tags,
            input: definition.input.clone().unwrap_or_else(|| invocation.context.clone()),
            about: about(invocation),
            priority: invocation.priority,
            timeout_ms: milliseconds(invocation.timeout),
            lease_ms: milliseconds(LEASE),
            created_at: now.into(),
            awaited_until: (now + AWAITED).into(),
        }
    }

    /// Creates a job in one transaction with those of other attempts. If that transaction fails,
    /// each attempt creates its own job, so that none fails because of another. That is repeated
    /// for at most `patience` while the database does not answer, because an outage is not the
    /// run's fault.
    async fn add(
        &self,
        mut job: NewJob,
        left: CancellationToken,
        patience: Duration,
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        let began = self.clock.instant();
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let bytes = json_size(&job.input) + json_size(&job.about);
        let addition = Addition { job: job.clone(), left };
        let added = self.adding.submit(addition, bytes, move |additions| {
            let (store, clock) = (store.clone(), clock.clone());
            async move { add_together(&store, &clock, additions).await }
        });
        if added.await == Some(true) {
            return Ok(());
        }
        loop {
            let now = self.clock.now();
            job.awaited_until = (now + AWAITED).into();
            let added = self.store.add_jobs(std::slice::from_ref(&job), now.into()).await;
            let Err(error) = added else { return Ok(()) };
            let is_late = self.clock.instant().saturating_duration_since(began) >= patience;
            if is_late || !error.is_transient() {
                return Err(error);
            }
            tracing::debug!(job_id = %job.id, %error, "failed to create a job; trying again");
            let pacer = Clock::system();
            if stop.run_until_cancelled(pacer.sleep(RETRY)).await.is_none() {
                return Err(error);
            }
        }
    }

    /// Follows the job until it ends, or until the time that is left and its grace period have
    /// passed. If the server told the worker that it accepted an outcome, that outcome decides how
    /// the attempt ends. So the query is repeated while the database does not answer.
    async fn follow(
        &self,
        id: Uuid,
        left: Duration,
        definition: &WorkerTarget,
        invocation: &Invocation,
        log: &AttemptLog<'_>,
        stop: &CancellationToken,
        news: &mut watch::Receiver<JobNews>,
    ) -> AttemptOutcome {
        let (mut lines, mut taken, mut is_long) = (0, false, false);
        let mut is_expired = false;
        let mut ending = None::<EarlyEnd>;
        let mut limit = Box::pin(self.clock.sleep(left));
        let mut page = None;
        loop {
            let now = news.borrow_and_update().clone();
            // A short job may have ended before this node saw it running.
            if !taken && let Some(worker) = &now.worker {
                taken = true;
                log.system(format!("the worker {worker} took it")).await;
            }
            if is_expired || now.state.is_some_and(is_ended) {
                // The copy in progress may already have written some of its lines.
                if let Some(page) = page.take()
                    && let Ok(Ok(after) | Err(after)) =
                        Clock::system().timeout(LAST_LINES, page).await
                {
                    lines = lines.max(after);
                }
                let now = if is_expired { self.refreshed(id, now).await } else { now };
                self.relay_rest(id, lines..now.lines, now.is_long, log).await;
                return ended(now, ending, definition, invocation);
            }
            if page.is_none() && now.lines > lines {
                page = Some(Box::pin(self.relay(id, lines..now.lines, log)));
            } else if page.is_none() && now.is_long && !is_long {
                is_long = true;
                log.system("the output is long: its end follows when the job has ended").await;
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
                        is_expired = true;
                        continue;
                    }
                },
                // This wait cannot fail: the watcher keeps
                // its end of the channel until this job leaves.
                _ = news.changed() => continue,
                after = relayed => {
                    let (Ok(after) | Err(after)) = after;
                    (page, lines) = (None, lines.max(after));
                    continue;
                }
            };
            match self.store.stop_job(id, self.clock.now().into()).await {
                Ok(true) => {
                    ending = Some(order);
                    limit = Box::pin(self.clock.sleep(invocation.kill_grace));
                }
                // The job has just ended on its own, so its own outcome counts.
                Ok(false) => self.until_ended(news).await,
                Err(error) => {
                    tracing::warn!(job_id = %id, %error, "failed to stop a job; trying again");
                    Clock::system().sleep(RETRY).await;
                    if matches!(order, EarlyEnd::TimedOut) {
                        // The wait is over, and polling it again would panic.
                        limit = Box::pin(self.clock.sleep(Duration::ZERO));
                    }
                }
            }
        }
    }

    /// Waits until the watcher has seen the job end.
    async fn until_ended(&self, news: &mut watch::Receiver<JobNews>) {
        // This wait cannot fail: the watcher keeps its end of the channel until this job leaves.
        let _seen = news.wait_for(|news| news.state.is_some_and(is_ended)).await;
    }

    /// Copies a page of the job's lines with these numbers into the attempt's log. Returns the
    /// number of the last line that was copied: as an error if the lines cannot be read now.
    async fn relay(&self, id: Uuid, numbers: Range<i64>, log: &AttemptLog<'_>) -> Result<i64, i64> {
        let mut after = numbers.start;
        match awaited::lines_between(self.store.read(), id, after, numbers.end).await {
            Ok(rows) => {
                for row in rows {
                    after = row.seq;
                    let stream = if row.is_error { Stream::Stderr } else { Stream::Stdout };
                    log.write(stream, row.text).await;
                }
            }
            Err(error) => {
                tracing::warn!(job_id = %id, %error, "failed to read what a job printed");
                Clock::system().sleep(RETRY).await;
                return Err(after);
            }
        }
        Ok(after)
    }

    /// Copies all remaining lines after the job's end, within a time limit:
    /// the outcome of a job must not wait for its output.
    async fn relay_rest(
        &self,
        id: Uuid,
        mut lines: Range<i64>,
        is_long: bool,
        log: &AttemptLog<'_>,
    ) {
        let rest = async {
            while !lines.is_empty() {
                match self.relay(id, lines.clone(), log).await {
                    // The lines were removed in the meantime.
                    Ok(last) if last == lines.start => return,
                    Ok(last) | Err(last) => lines.start = last,
                }
            }
            if is_long {
                self.relay_tail(id, log).await;
            }
        };
        if Clock::system().timeout(LAST_LINES, rest).await.is_err() {
            log.system("the rest of what the worker printed was left out").await;
        }
    }
}

impl Desk {
    /// The news, with the current number of printed lines.
    /// The last lines of a job that has not ended may not have been seen.
    async fn refreshed(&self, id: Uuid, news: JobNews) -> JobNews {
        match awaited::job(self.store.read(), id).await {
            Ok(Some(job)) => JobNews {
                lines: job.head_lines.unwrap_or(job.lines),
                is_long: job.head_lines.is_some(),
                ..news
            },
            Ok(None) => news,
            Err(error) => {
                tracing::warn!(job_id = %id, %error, "failed to read how much a job printed");
                news
            }
        }
    }

    /// Copies the end of a long output into the attempt's log,
    /// after a mark in place of the lines that were removed.
    async fn relay_tail(&self, id: Uuid, log: &AttemptLog<'_>) {
        let kept = loop {
            match awaited::tail_of_job(self.store.read(), id).await {
                Ok(Some(kept)) => break kept,
                // The job was removed in the meantime.
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(job_id = %id, %error, "failed to read what a job printed");
                    Clock::system().sleep(RETRY).await;
                }
            }
        };
        let mut tail = Tail::new(MAX_TAIL_BYTES);
        tail.leave_out(kept.removed_lines, kept.removed_bytes);
        for row in kept.lines {
            let stream = if row.is_error { Stream::Stderr } else { Stream::Stdout };
            tail.push(log.line(stream, row.text, 0));
        }
        if let Some(mark) = tail.mark() {
            log.system(mark).await;
        }
        for line in tail.take() {
            log.write_line(line).await;
        }
    }
}

impl Jobs for Desk {
    fn carry_out<'a>(
        &'a self,
        definition: &'a WorkerTarget,
        invocation: &'a Invocation,
        log: &'a AttemptLog<'a>,
        stop: &'a CancellationToken,
    ) -> Pin<Box<dyn Future<Output = AttemptOutcome> + Send + 'a>> {
        Box::pin(async move {
            let attempt = self.attempt(definition, invocation, log, stop).await;
            attempt.unwrap_or_else(|error| AttemptOutcome::Failed {
                message: format!("failed to hand it to a worker: {error}"),
                output: json!({}),
            })
        })
    }
}

/// Creates the jobs in one transaction. Returns for each whether it was created.
async fn add_together(store: &Store, clock: &Clock, additions: Vec<Addition>) -> Vec<bool> {
    let (jobs, left): (Vec<NewJob>, Vec<CancellationToken>) =
        additions.into_iter().map(|Addition { job, left }| (job, left)).unzip();
    if let Err(error) = store.add_jobs(&jobs, clock.now().into()).await {
        tracing::debug!(jobs = jobs.len(), %error, "failed to create jobs together");
        return vec![false; jobs.len()];
    }
    // An attempt that was dropped in the meantime may
    // have abandoned its job before the job existed.
    for (job, left) in jobs.iter().zip(left) {
        if left.is_cancelled()
            && let Err(error) = store.abandon_job(job.id, clock.now().into()).await
        {
            // The job's wait is not renewed, which has the same effect later.
            tracing::debug!(job_id = %job.id, %error, "failed to abandon a job");
        }
    }
    vec![true; jobs.len()]
}

/// The facts about a run that its worker receives.
fn about(invocation: &Invocation) -> Value {
    json!({
        "id": invocation.run_id,
        "attempt": invocation.attempt,
        "task": invocation.task,
        "namespace": invocation.namespace,
        "schedule": invocation.schedule,
        "scheduleId": invocation.schedule_id,
        "scheduleVersion": invocation.schedule_version,
        "scheduledAt": invocation.scheduled_at.map(|at| at.to_rfc3339()),
        "idempotencyKey": invocation.idempotency_key,
        "traceparent": invocation.traceparent,
    })
}
