//! A job that this worker holds.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    ApiError, Error, Failure,
    http::{Http, delay_after, pause},
    joblog::{JobLog, Stream, cut},
    reports::Reports,
    task::Running,
};

const MAX_MESSAGE_BYTES: usize = 4 * 1024;
const NO_MESSAGE: &str = "the function gave no reason";
const LOG_PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of requests with log lines that a job sends in one turn. They hold as many lines
/// as can wait, unless the lines are long.
const MAX_REQUESTS: usize = 50;

/// A job as the server hands it over.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Given {
    pub(crate) id: String,
    pub(crate) token: String,
    queue: String,
    pub(crate) task: String,
    #[serde(default)]
    input: Value,
    timeout_seconds: f64,
    run: Run,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    id: String,
    attempt: u32,
    task: String,
    namespace: String,
    schedule: Option<String>,
    schedule_id: Option<String>,
    schedule_version: Option<i32>,
    scheduled_at: Option<DateTime<Utc>>,
    idempotency_key: String,
    traceparent: Option<String>,
}

/// A job, for the code that the attributes generate.
#[derive(Clone)]
pub struct Job(Arc<Held>);

struct Held {
    given: Given,
    http: Http,
    worker_id: String,
    cancelled: CancellationToken,
    reason: Mutex<Option<&'static str>>,
    is_lost: AtomicBool,
    log: JobLog,
}

/// The report about a job that has ended.
pub(crate) enum Ending {
    Complete(Value),
    Fail(Failure),
}

/// The part of a job that its function can use.
#[derive(Clone)]
pub struct Context(Job);

impl Context {
    /// The id of the run that the job belongs to.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.0.0.given.run.id
    }

    /// The number of the attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.0.given.run.attempt
    }

    /// The name of the task in its workflow, which may differ from the function's.
    #[must_use]
    pub fn task(&self) -> &str {
        &self.0.0.given.run.task
    }

    /// The queue that the job waited in.
    #[must_use]
    pub fn queue(&self) -> &str {
        &self.0.0.given.queue
    }

    /// The namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.0.0.given.run.namespace
    }

    /// The schedule's name; `None` for a run without a schedule.
    #[must_use]
    pub fn schedule(&self) -> Option<&str> {
        self.0.0.given.run.schedule.as_deref()
    }

    /// The schedule's id, which it keeps when it is renamed; `None` for a run without a schedule.
    #[must_use]
    pub fn schedule_id(&self) -> Option<&str> {
        self.0.0.given.run.schedule_id.as_deref()
    }

    /// The schedule's version when the attempt started; `None` for a run without a schedule.
    #[must_use]
    pub fn schedule_version(&self) -> Option<i32> {
        self.0.0.given.run.schedule_version
    }

    /// The scheduled instant of the run.
    #[must_use]
    pub fn scheduled_at(&self) -> Option<DateTime<Utc>> {
        self.0.0.given.run.scheduled_at
    }

    /// The idempotency key. It is the same for each attempt, so a function can use it to make an
    /// effect happen only once.
    #[must_use]
    pub fn idempotency_key(&self) -> &str {
        &self.0.0.given.run.idempotency_key
    }

    /// The trace context to send along with requests, so that they belong to the same trace.
    #[must_use]
    pub fn traceparent(&self) -> Option<&str> {
        self.0.0.given.run.traceparent.as_deref()
    }

    /// The timeout of an attempt.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::try_from_secs_f64(self.0.0.given.timeout_seconds).unwrap_or(Duration::MAX)
    }

    /// Returns once the work should stop: the run was cancelled or timed out, another worker has
    /// the job, or this worker's grace period is over. Five seconds after that, or the worker's
    /// [`patience`](crate::Worker::patience), the function's future is dropped.
    pub async fn cancelled(&self) {
        self.0.0.cancelled.cancelled().await;
    }

    /// Whether the work should stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.0.cancelled.is_cancelled()
    }

    /// Writes to the log of the run. Lines are sent in batches, and all of them before the job
    /// ends.
    pub fn log(&self, text: impl AsRef<str>) {
        self.0.0.log.add(Stream::Stdout, text.as_ref());
    }

    /// Writes to the log of the run, like `log`, but to the given stream.
    pub fn log_to(&self, stream: Stream, text: impl AsRef<str>) {
        self.0.0.log.add(stream, text.as_ref());
    }

    /// Sends the waiting lines, and returns once the server has them. A function that writes much
    /// can so wait for the server, instead of losing lines. The lines of a request that the server
    /// does not answer within ten seconds are dropped.
    pub async fn flush(&self) {
        self.0.flush().await;
    }

    /// Keeps the job for this long without heartbeats; returns how long the server granted.
    ///
    /// # Errors
    ///
    /// The server refuses the extension, or does not answer.
    pub async fn extend(&self, time: Duration) -> Result<Duration, Error> {
        let job = &self.0;
        let body = job.body(json!({ "seconds": time.as_secs() }));
        let answer = job.0.http.post("/worker/v1/extend", &body).await;
        if answer.as_ref().is_err_and(Error::is_gone) {
            job.lose();
        }
        Ok(Duration::from_secs(answer?["leaseSeconds"].as_u64().unwrap_or_default()))
    }
}

impl Job {
    /// The job's input, deserialized for the function.
    ///
    /// # Errors
    ///
    /// The input does not fit the type; the failure names the field.
    pub fn input<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_path_to_error::deserialize(&self.0.given.input).map_err(|error| {
            let path = error.path().to_string();
            let field = if path == "." { "input" } else { &path };
            Failure::permanent(format!("{field}: {}", error.inner()))
        })
    }

    /// The part of the job that its function can use.
    #[must_use]
    pub fn context(&self) -> Context {
        Context(self.clone())
    }

    /// A function's return value, as JSON.
    ///
    /// # Errors
    ///
    /// The function's own error, or a value that cannot be serialized as JSON.
    pub fn output<T: Serialize, E: Into<Failure>>(given: Result<T, E>) -> Result<Value, Failure> {
        let value = given.map_err(Into::into)?;
        serde_json::to_value(value)
            .map_err(|error| Failure::permanent(format!("the output is not JSON: {error}")))
    }

    pub(crate) fn new(given: Given, http: Http, worker_id: String) -> Self {
        Self(Arc::new(Held {
            given,
            http,
            worker_id,
            cancelled: CancellationToken::new(),
            reason: Mutex::new(None),
            is_lost: AtomicBool::new(false),
            log: JobLog::default(),
        }))
    }

    pub(crate) fn id(&self) -> &str {
        &self.0.given.id
    }

    pub(crate) fn token(&self) -> &str {
        &self.0.given.token
    }

    /// The name by which the job calls its function.
    #[must_use]
    pub fn task(&self) -> &str {
        &self.0.given.task
    }

    /// Asks the function to end.
    pub(crate) fn stop(&self, reason: &'static str) {
        self.0.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        self.0.cancelled.cancel();
    }

    /// Marks the job as lost: the server no longer accepts its results.
    pub(crate) fn lose(&self) {
        self.0.is_lost.store(true, Ordering::Release);
        self.stop("the job now belongs to another worker");
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.0.is_lost.load(Ordering::Acquire)
    }

    /// Runs the function. A panic counts as a failure of the function. If the function continues
    /// for longer than `patience` after it was asked to stop, it is dropped.
    pub(crate) async fn work(&self, running: Option<Running>, patience: Duration) -> Ending {
        let Some(running) = running else {
            let problem = format!(
                "this worker has no task named {:?}; during a rolling deploy another one may have it",
                self.task()
            );
            return Ending::Fail(Failure::new(problem));
        };
        let mut running = tokio::spawn(running);
        let late = async {
            self.0.cancelled.cancelled().await;
            pause(patience).await;
        };
        tokio::select! {
            ended = &mut running => match ended {
                Ok(Ok(output)) => Ending::Complete(output),
                Ok(Err(failure)) => Ending::Fail(failure),
                Err(error) => Ending::Fail(Failure::new(format!("the function panicked: {error}"))),
            },
            () = late => {
                running.abort();
                let reason = *self.0.reason.lock().unwrap_or_else(PoisonError::into_inner);
                let reason = reason.unwrap_or_default();
                Ending::Fail(Failure::new(format!("ended, as asked: {reason}")))
            }
        }
    }

    /// Whether lines wait, and none are being sent.
    pub(crate) fn must_flush(&self) -> bool {
        let log = &self.0.log;
        !log.is_empty() && log.sending.try_lock().is_ok()
    }

    /// Sends waiting lines until it is the turn of another job: this one may print without end.
    pub(crate) async fn flush_turn(&self) {
        self.send_lines(MAX_REQUESTS).await;
    }

    /// Sends all waiting lines.
    pub(crate) async fn flush(&self) {
        self.send_lines(usize::MAX).await;
    }

    /// Sends the waiting lines, in order, with at most this many requests.
    async fn send_lines(&self, requests: usize) {
        let log = &self.0.log;
        let _sending = log.sending.lock().await;
        for _ in 0..requests {
            let lines = log.batch();
            if lines.is_empty() || self.is_lost() {
                return;
            }
            let body = self.body(json!({ "lines": lines }));
            let never = CancellationToken::new();
            let sent = self.0.http.call("/worker/v1/log", &body, &never);
            // If sending fails, these lines are lost: the result of the job matters more.
            if let Ok(Err(error)) = tokio::time::timeout(LOG_PATIENCE, sent).await
                && error.is_gone()
            {
                self.lose();
            }
        }
    }

    /// Reports the outcome to the server, and retries until the server has recorded it or
    /// `given_up` is cancelled.
    pub(crate) async fn tell(
        &self,
        ending: Ending,
        reports: &Reports,
        given_up: &CancellationToken,
    ) {
        let failure = match ending {
            Ending::Complete(output) => {
                match self.report(json!({ "output": output }), reports, given_up).await {
                    // The server refuses the report itself, for example because the output is too
                    // large. Another attempt would return the same output.
                    Some(Err(error)) if matches!(error.status, 400 | 413) => {
                        let said = error.message;
                        Failure::permanent(format!("the server refused the output: {said}"))
                    }
                    told => return self.was_told(told),
                }
            }
            Ending::Fail(failure) => failure,
        };
        // The server accepts no empty message.
        let blank = failure.message.trim().is_empty();
        let message = if blank { NO_MESSAGE } else { failure.message.as_str() };
        let message = cut(&message.replace('\0', "\u{fffd}"), MAX_MESSAGE_BYTES);
        let end = json!({ "message": message, "retry": failure.retry });
        self.was_told(self.report(end, reports, given_up).await);
    }

    /// Reports how the job ended until the answer is final; `None` if there was none.
    async fn report(
        &self,
        mut end: Value,
        reports: &Reports,
        given_up: &CancellationToken,
    ) -> Option<Result<(), ApiError>> {
        end["id"] = json!(self.id());
        end["token"] = json!(self.token());
        let mut failures = 0;
        loop {
            let answer = reports.send(&self.0.worker_id, end.clone()).await;
            let Some(Err(error)) = &answer else { return answer };
            if !error.is_passing() {
                return answer;
            }
            let delay = delay_after(failures, error.retry_after);
            failures += 1;
            tracing::warn!(job = self.id(), %error, ?delay, "reporting again");
            if given_up.run_until_cancelled(pause(delay)).await.is_none() {
                return answer;
            }
        }
    }

    fn was_told(&self, told: Option<Result<(), ApiError>>) {
        match told {
            Some(Ok(())) => {}
            Some(Err(error)) if error.is_gone() => {
                tracing::info!(
                    job = self.id(),
                    %error,
                    "the job belongs to another worker or has ended"
                );
            }
            Some(Err(error)) => {
                tracing::error!(job = self.id(), %error, "the end was not reported")
            }
            None => tracing::error!(job = self.id(), "the end was not reported"),
        }
    }

    fn body(&self, mut more: Value) -> Value {
        more["workerId"] = json!(self.0.worker_id);
        more["id"] = json!(self.id());
        more["token"] = json!(self.token());
        more
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Job").field(&self.id()).finish()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Context").field(&self.0.id()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{OnceLock, atomic::AtomicUsize};

    use axum::{Json, Router, extract::State, routing::post};

    use super::*;

    /// A job that prints a line before each request is answered, so that there is always one.
    #[derive(Clone, Default)]
    struct Endless {
        job: Arc<OnceLock<Job>>,
        requests: Arc<AtomicUsize>,
    }

    async fn answer(State(endless): State<Endless>, _: Json<Value>) -> Json<Value> {
        endless.requests.fetch_add(1, Ordering::Relaxed);
        if let Some(job) = endless.job.get() {
            job.context().log("more");
        }
        Json(json!({}))
    }

    #[tokio::test]
    async fn the_turn_of_a_job_that_prints_without_end_ends() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let endless = Endless::default();
        let router = Router::new().route("/worker/v1/log", post(answer));
        let router = router.with_state(endless.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let given = json!({
            "id": "job-1", "token": "fence-1", "queue": "emails", "task": "chatters",
            "timeoutSeconds": 300.0,
            "run": {
                "id": "run-1", "attempt": 1, "task": "main", "namespace": "default",
                "idempotencyKey": "key-1",
            },
        });
        let given: Given = serde_json::from_value(given).unwrap();
        let job = Job::new(given, Http::new(&url, "secret").unwrap(), "worker-1".to_owned());
        job.context().log("first");
        assert!(endless.job.set(job.clone()).is_ok());

        let turn = tokio::time::timeout(Duration::from_secs(20), job.flush_turn());
        turn.await.expect("the turn ends");
        assert_eq!(endless.requests.load(Ordering::Relaxed), MAX_REQUESTS);
        assert!(job.must_flush());
    }
}
