//! The loops of a worker: one pulls jobs, one sends heartbeats, one sends log lines.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{Notify, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    Error,
    answers::{Registered, read},
    http::{Http, delay_after, pause},
    job::{Given, Job},
    reports::Reports,
    task::Handler,
};

const LOG_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of jobs whose log lines are sent at the same time.
const MAX_SENDING: usize = 32;
/// How long the remaining log lines of a job may take after its end.
const LAST_LINES: Duration = Duration::from_secs(10);
/// How long a busy worker waits for more of its jobs to end before it asks for new ones.
const GATHERING: Duration = Duration::from_millis(10);
const LEAVE_PATIENCE: Duration = Duration::from_secs(6);
/// How long a job may take to report its outcome, after its function was dropped.
const REPORT_PATIENCE: Duration = Duration::from_secs(1);
/// How long the open poll may still last once the server knows that the worker takes no more jobs.
/// Jobs that the server handed out before arrive in this time.
const END_OF_POLL: Duration = Duration::from_millis(100);
const LATEST_END_OF_POLL: Duration = Duration::from_secs(2);

pub(crate) struct Loops {
    http: Http,
    registration: Value,
    capacity: usize,
    handler: Handler,
    reports: Reports,
    /// How long a function may continue after it was asked to stop.
    patience: Duration,
    jobs: watch::Sender<HashMap<String, Job>>,
    /// Cancelled when the worker is asked to stop. From then on, it makes no more polls.
    stopping: CancellationToken,
    /// Cancelled when everything is reported or the grace period is over. From then on, the worker
    /// sends no more requests.
    ended: CancellationToken,
    poll_ends: CancellationToken,
    beat_now: Notify,
    current: tokio::sync::Mutex<Registered>,
    fatal: Mutex<Option<Error>>,
}

impl Loops {
    pub(crate) fn new(
        http: Http,
        registration: Value,
        capacity: usize,
        handler: Handler,
        patience: Duration,
        stopping: CancellationToken,
    ) -> Self {
        let ended = CancellationToken::new();
        Self {
            reports: Reports::start(http.clone(), ended.clone()),
            http,
            registration,
            capacity,
            handler,
            patience,
            jobs: watch::Sender::default(),
            stopping,
            ended,
            poll_ends: CancellationToken::new(),
            beat_now: Notify::new(),
            current: tokio::sync::Mutex::new(Registered::default()),
            fatal: Mutex::new(None),
        }
    }

    /// Works until it is asked to stop and the current jobs have ended, or until a permanent error.
    pub(crate) async fn run(self: Arc<Self>, grace: Duration) -> Result<(), Error> {
        let done = self.work(grace).await;
        self.ended.cancel();
        match self.fatal().take() {
            Some(error) => Err(error),
            None => done,
        }
    }

    async fn work(self: &Arc<Self>, grace: Duration) -> Result<(), Error> {
        self.follow_signals()?;
        if self.register("").await.is_none() {
            return Ok(());
        }
        let beating = tokio::spawn(self.clone().beat());
        let flushing = tokio::spawn(self.clone().flush());
        self.clone().poll().await;
        self.drain(grace).await;
        self.ended.cancel();
        flushing.abort();
        let _ = beating.await;
        if self.fatal().is_none() {
            self.leave().await;
        }
        Ok(())
    }

    fn follow_signals(self: &Arc<Self>) -> Result<(), Error> {
        let refused = |error: std::io::Error| Error::Setting(format!("no signals: {error}"));
        let mut terminate = signal(SignalKind::terminate()).map_err(refused)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(refused)?;
        let loops = self.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                () = loops.stopping.cancelled() => {}
                () = loops.ended.cancelled() => return,
            }
            loops.stopping.cancel();
            // The heartbeat announces that the worker takes no more jobs.
            loops.beat_now.notify_one();
            loops.ended.run_until_cancelled(pause(LATEST_END_OF_POLL)).await;
            loops.poll_ends.cancel();
        });
        Ok(())
    }

    async fn poll(self: Arc<Self>) {
        let mut failures = 0;
        let mut jobs = self.jobs.subscribe();
        while !self.stopping.is_cancelled() {
            let room = self.stopping.run_until_cancelled(self.room(&mut jobs));
            let Some(Some(free)) = room.await else { return };
            let me = self.current.lock().await.clone();
            let body = json!({
                "workerId": me.worker_id, "free": free,
                "waitSeconds": me.max_wait_seconds,
                // The server hands out again the jobs that are missing in this list, because they
                // were lost on the way.
                "jobs": self.known(),
            });
            let timeout = Duration::from_secs(me.max_wait_seconds + 15);
            let asked = self.http.post_within("/worker/v1/poll", &body, timeout);
            let Some(answer) = self.poll_ends.run_until_cancelled(asked).await else { return };
            match answer.and_then(read) {
                Ok(polled) => {
                    for given in polled.jobs {
                        self.accept(given, &me);
                    }
                    self.end_jobs(&polled.stop, &polled.lost);
                    // This server is stopping. The next request goes to another server, or to this
                    // one after its restart.
                    if polled.drain {
                        self.stopping.run_until_cancelled(pause(delay_after(failures, None))).await;
                        failures += 1;
                    } else {
                        failures = 0;
                    }
                }
                Err(_) if self.stopping.is_cancelled() => return,
                Err(error) => {
                    let delay = delay_after(failures, error.retry_after());
                    if !self.recovers(error, &me).await {
                        failures += 1;
                        self.stopping.run_until_cancelled(pause(delay)).await;
                    }
                }
            }
        }
    }

    /// Waits until there is room for another job; returns the number of free slots. `None` if the
    /// worker has ended.
    async fn room(&self, jobs: &mut watch::Receiver<HashMap<String, Job>>) -> Option<usize> {
        let mut held = jobs.wait_for(|jobs| jobs.len() < self.capacity).await.ok()?.len();
        // If many jobs are in progress, several end at about the same time. A single request then
        // asks for all free slots.
        let many = self.capacity * 3 / 4;
        if held > many {
            let fewer = jobs.wait_for(|jobs| jobs.len() <= many);
            let _ = tokio::time::timeout(GATHERING, fewer).await;
            held = jobs.borrow().len();
        }
        Some(self.capacity.saturating_sub(held))
    }

    async fn beat(self: Arc<Self>) {
        let mut failures = 0;
        let mut delay = self.current.lock().await.heartbeat();
        loop {
            tokio::select! {
                () = self.ended.cancelled() => return,
                () = self.beat_now.notified() => {}
                () = pause(delay) => {}
            }
            let me = self.current.lock().await.clone();
            let is_draining = self.stopping.is_cancelled();
            let held: Vec<Value> = self
                .held()
                .iter()
                .map(|job| json!({ "id": job.id(), "token": job.token() }))
                .collect();
            let body = json!({ "workerId": me.worker_id, "jobs": held, "draining": is_draining });
            delay = me.heartbeat();
            let answer = self.http.post_within("/worker/v1/heartbeat", &body, delay).await;
            match answer.and_then(read) {
                Ok(beat) => {
                    failures = 0;
                    self.end_jobs(&beat.stop, &beat.lost);
                    if is_draining && !self.poll_ends.is_cancelled() {
                        self.ended.run_until_cancelled(pause(END_OF_POLL)).await;
                        self.poll_ends.cancel();
                    }
                }
                Err(error) => {
                    let backoff = delay_after(failures, error.retry_after());
                    if !self.recovers(error, &me).await {
                        failures += 1;
                        // The backoff must not delay the renewal of a lease.
                        delay = delay.min(backoff);
                    }
                }
            }
        }
    }

    async fn flush(self: Arc<Self>) {
        let mut sending = JoinSet::new();
        loop {
            pause(LOG_INTERVAL).await;
            while sending.try_join_next().is_some() {}
            for job in self.held() {
                if !job.must_flush() {
                    continue;
                }
                if sending.len() >= MAX_SENDING {
                    let _ = sending.join_next().await;
                }
                // In a task of its own, which ends, so that a job that prints without end delays no
                // other.
                sending.spawn(async move { job.flush_turn().await });
            }
        }
    }

    /// Registers the worker, unless it has already registered again since it was `stale`.
    async fn register(&self, stale: &str) -> Option<()> {
        let mut current = self.current.lock().await;
        if current.worker_id != stale {
            return Some(());
        }
        let path = "/worker/v1/register";
        let answer = self.http.call(path, &self.registration, &self.stopping).await;
        let problem = match answer.map(serde_json::from_value::<Registered>) {
            Ok(Ok(registered)) => {
                // By now, the server has given the worker's jobs to other workers.
                self.held().iter().for_each(Job::lose);
                tracing::info!(worker = registered.worker_id, "registered");
                *current = registered;
                return Some(());
            }
            Ok(Err(error)) => Error::Setting(format!("the answer cannot be read: {error}")),
            // The worker was asked to stop before the server answered.
            Err(error) if error.is_passing() => return None,
            Err(error) => error,
        };
        self.end_with(problem);
        None
    }

    /// Handles an error of a poll or a heartbeat. Returns false if the caller should wait and try
    /// again.
    async fn recovers(&self, error: Error, me: &Registered) -> bool {
        if error.is_passing() {
            tracing::warn!(%error, "trying again");
            return false;
        }
        if !error.is_status(StatusCode::NOT_FOUND) {
            // The worker is no longer registered, so it cannot report the outcome of its jobs.
            self.held().iter().for_each(Job::lose);
            self.end_with(error);
            return true;
        }
        if self.stopping.is_cancelled() {
            self.held().iter().for_each(Job::lose);
            return false;
        }
        tracing::warn!("the server has declared this worker lost; registering again");
        self.register(&me.worker_id).await;
        true
    }

    fn accept(self: &Arc<Self>, given: Value, me: &Registered) {
        let given: Given = match serde_json::from_value(given) {
            Ok(given) => given,
            // The lease of the job will expire, and the server will give the job to another worker.
            Err(error) => return tracing::error!(%error, "a job that cannot be read"),
        };
        let job = Job::new(given, self.http.clone(), me.worker_id.clone());
        let mut is_known = false;
        self.jobs.send_modify(|jobs| {
            // The server hands a job out again if its first answer seemed to be lost.
            is_known = jobs.get(job.id()).is_some_and(|there| there.token() == job.token());
            if !is_known && let Some(before) = jobs.insert(job.id().to_owned(), job.clone()) {
                before.lose();
            }
        });
        if is_known {
            return;
        }
        let loops = self.clone();
        tokio::spawn(async move {
            // The job's slot is released however this function ends.
            let _place = Place { jobs: &loops.jobs, job: &job };
            let ending = job.work(loops.handler.start(&job), loops.patience).await;
            // The outcome of the job does not wait for all of its log lines.
            let _ = tokio::time::timeout(LAST_LINES, job.flush()).await;
            if !job.is_lost() {
                job.tell(ending, &loops.reports, &loops.ended).await;
            }
        });
    }

    fn end_jobs(&self, stop: &[String], lost: &[String]) {
        let jobs = self.jobs.borrow();
        stop.iter()
            .filter_map(|id| jobs.get(id))
            .for_each(|job| job.stop("cancelled by the server"));
        lost.iter().filter_map(|id| jobs.get(id)).for_each(Job::lose);
    }

    async fn drain(&self, grace: Duration) {
        let mut jobs = self.jobs.subscribe();
        let all_end = jobs.wait_for(HashMap::is_empty);
        if tokio::time::timeout(grace, all_end).await.is_ok() {
            return;
        }
        let held = self.held();
        tracing::warn!(jobs = held.len(), "the grace is over");
        held.iter().for_each(|job| job.stop("the worker ends"));
        // Jobs that respond to the request can still report their outcome.
        let all_end = jobs.wait_for(HashMap::is_empty);
        let _ = tokio::time::timeout(self.patience.saturating_add(REPORT_PATIENCE), all_end).await;
    }

    async fn leave(&self) {
        let worker_id = self.current.lock().await.worker_id.clone();
        let body = json!({ "workerId": worker_id, "jobs": self.known() });
        let never = CancellationToken::new();
        let call = self.http.call("/worker/v1/leave", &body, &never);
        // If leaving fails, the worker's leases expire on their own.
        if let Ok(Err(error)) = tokio::time::timeout(LEAVE_PATIENCE, call).await {
            tracing::warn!(%error, "could not leave");
        }
    }

    fn end_with(&self, error: Error) {
        tracing::error!(%error, "the worker ends");
        self.fatal().get_or_insert(error);
        self.stopping.cancel();
    }

    fn known(&self) -> Vec<String> {
        self.jobs.borrow().keys().cloned().collect()
    }

    fn held(&self) -> Vec<Job> {
        self.jobs.borrow().values().cloned().collect()
    }

    fn fatal(&self) -> MutexGuard<'_, Option<Error>> {
        self.fatal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot that a job takes, until it is dropped.
struct Place<'a> {
    jobs: &'a watch::Sender<HashMap<String, Job>>,
    job: &'a Job,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let job = self.job;
        self.jobs.send_modify(|jobs| {
            if jobs.get(job.id()).is_some_and(|held| held.token() == job.token()) {
                jobs.remove(job.id());
            }
        });
    }
}
