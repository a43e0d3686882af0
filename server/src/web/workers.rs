//! The protocol of workers: JSON by POST. docs/workers.md describes it.

use axum::{
    Extension, Json,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Web, auth::Requester, body::BodyPlace, refusal};
use crate::{
    access::{Viewer, ViewerKind},
    api,
    commands::{
        CommandError,
        workers::{
            HEARTBEAT_SECONDS, LEASE_SECONDS, MAX_WAIT_SECONDS, NewWorker, PollRequest, PolledJob,
            WorkerError, check_protocol,
        },
    },
    store::workers::jobs::{JobClaim, JobEnd},
};

/// Maximum size of a body: enough for a result of 256 KiB with escaped texts, or for a heartbeat
/// that names a thousand jobs.
pub(super) const BODY: usize = 1024 * 1024;

/// The words by which a worker reports on the jobs that it has.
const REPORTS: [&str; 7] = ["heartbeat", "log", "complete", "fail", "report", "extend", "leave"];

/// Whether this is the path of a report. While the server drains, its runs wait for their jobs, so
/// their workers must be able to end them.
pub(super) fn is_report(path: &str) -> bool {
    path.strip_prefix("/worker/v1/").is_some_and(|word| REPORTS.contains(&word))
}

#[derive(Deserialize)]
struct Protocol {
    protocol: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Register {
    protocol: u32,
    #[serde(default = "default_namespace")]
    namespace: String,
    name: String,
    queues: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
    capacity: i32,
    #[serde(default)]
    version: String,
    #[serde(default)]
    client: String,
}

fn default_namespace() -> String {
    "default".to_owned()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Poll {
    worker_id: Uuid,
    free: u64,
    #[serde(default)]
    wait_seconds: u64,
    jobs: Option<Vec<Uuid>>,
}

#[derive(Deserialize)]
struct JobRef {
    id: Uuid,
    token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeartbeatBody {
    worker_id: Uuid,
    #[serde(default)]
    jobs: Vec<JobRef>,
    #[serde(default)]
    draining: bool,
}

#[derive(Deserialize)]
struct WorkerLogLine {
    #[serde(default)]
    stream: Stream,
    text: String,
}

#[derive(Deserialize, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Stream {
    #[default]
    Stdout,
    Stderr,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfJob<T> {
    worker_id: Uuid,
    id: Uuid,
    token: String,
    #[serde(flatten)]
    said: T,
}

#[derive(Deserialize)]
struct Log {
    lines: Vec<WorkerLogLine>,
}

#[derive(Deserialize)]
struct Complete {
    #[serde(default)]
    output: Value,
}

#[derive(Deserialize)]
struct Fail {
    message: String,
    #[serde(default = "yes")]
    retry: bool,
}

fn yes() -> bool {
    true
}

/// How a job ended: with a message it failed, without one it succeeded.
#[derive(Deserialize)]
struct JobReport {
    id: Uuid,
    token: String,
    #[serde(default)]
    output: Value,
    message: Option<String>,
    #[serde(default = "yes")]
    retry: bool,
}

impl JobReport {
    fn into_end(self, worker: Uuid) -> (JobClaim, JobEnd) {
        let claim = JobClaim { worker, id: self.id, token: self.token };
        match self.message {
            Some(message) => (claim, JobEnd::Failed(message, !self.retry)),
            None => (claim, JobEnd::Completed(self.output)),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReportBody {
    worker_id: Uuid,
    ends: Vec<JobReport>,
}

#[derive(Deserialize)]
struct Extend {
    seconds: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Leave {
    worker_id: Uuid,
    jobs: Option<Vec<Uuid>>,
}

/// Handles one request of a worker.
pub(super) async fn word(
    State(web): State<Web>,
    Path(word): Path<String>,
    Extension(asking): Extension<Requester>,
    Extension(place): Extension<BodyPlace>,
    body: Bytes,
) -> Response {
    let viewer = asking.viewer.filter(|viewer| viewer.kind == ViewerKind::Token);
    let Some(viewer) = viewer else {
        let refused =
            Refused::new(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", "send a bearer token");
        return refused.into_response();
    };
    match answered(&web, &viewer, &word, body, &place).await {
        Ok(answer) => Json(answer).into_response(),
        Err(error) => Refused::from(&error).into_response(),
    }
}

async fn answered(
    web: &Web,
    who: &Viewer,
    word: &str,
    body: Bytes,
    place: &BodyPlace,
) -> Result<Value, WorkerError> {
    let commands = &web.commands;
    match word {
        "register" => {
            let Protocol { protocol } = read(&body)?;
            check_protocol(protocol)?;
            let asked: Register = read(&body)?;
            let new = NewWorker {
                protocol: asked.protocol,
                namespace: asked.namespace,
                name: asked.name,
                queues: asked.queues,
                tags: asked.tags,
                capacity: asked.capacity,
                version: asked.version,
                client: asked.client,
            };
            let id = commands.register_worker(who, new).await?;
            Ok(json!({
                "workerId": id, "leaseSeconds": LEASE_SECONDS,
                "heartbeatSeconds": HEARTBEAT_SECONDS, "maxWaitSeconds": MAX_WAIT_SECONDS,
            }))
        }
        "poll" => {
            let Poll { worker_id, free, wait_seconds, jobs } = read(&body)?;
            // A poll waits for a long time, and its body is large if the worker holds many jobs.
            drop(body);
            place.release();
            let asked = PollRequest { free, wait_seconds, has: jobs };
            let polled = commands.poll_jobs(who, worker_id, &asked, &web.draining).await?;
            let jobs: Vec<Value> = polled.jobs.into_iter().map(job).collect();
            Ok(json!({ "jobs": jobs, "stop": polled.stop, "drain": polled.drain }))
        }
        "heartbeat" => {
            let HeartbeatBody { worker_id, jobs, draining } = read(&body)?;
            let claims: Vec<JobClaim> =
                jobs.into_iter().map(|named| claim(worker_id, named)).collect();
            let kept = commands.keep_jobs(who, worker_id, &claims, draining).await?;
            let drain = web.draining.is_cancelled();
            Ok(json!({ "lost": kept.lost, "stop": kept.stop, "drain": drain }))
        }
        "log" => {
            let asked: OfJob<Log> = read(&body)?;
            let lines = asked.said.lines.into_iter();
            let lines = lines.map(|line| (line.stream == Stream::Stderr, line.text)).collect();
            let claim = JobClaim { worker: asked.worker_id, id: asked.id, token: asked.token };
            commands.log_job(who, asked.worker_id, &claim, lines).await?;
            Ok(json!({}))
        }
        "complete" => {
            let asked: OfJob<Complete> = read(&body)?;
            let claim = JobClaim { worker: asked.worker_id, id: asked.id, token: asked.token };
            let end = JobEnd::Completed(asked.said.output);
            commands.end_job(who, asked.worker_id, &claim, end).await?;
            Ok(json!({}))
        }
        "fail" => {
            let asked: OfJob<Fail> = read(&body)?;
            let claim = JobClaim { worker: asked.worker_id, id: asked.id, token: asked.token };
            let end = JobEnd::Failed(asked.said.message, !asked.said.retry);
            commands.end_job(who, asked.worker_id, &claim, end).await?;
            Ok(json!({}))
        }
        "report" => {
            let ReportBody { worker_id, ends } = read(&body)?;
            let ends = ends.into_iter().map(|end| end.into_end(worker_id)).collect();
            let answers = commands.end_jobs(who, worker_id, ends).await?;
            let answers: Vec<Value> = answers.iter().map(answer_to_end).collect();
            Ok(json!({ "answers": answers }))
        }
        "extend" => {
            let asked: OfJob<Extend> = read(&body)?;
            let claim = JobClaim { worker: asked.worker_id, id: asked.id, token: asked.token };
            let seconds = asked.said.seconds;
            commands.extend_job(who, asked.worker_id, &claim, seconds).await?;
            Ok(json!({ "leaseSeconds": seconds }))
        }
        "leave" => {
            let Leave { worker_id, jobs } = read(&body)?;
            commands.unregister_worker(who, worker_id, jobs.as_deref()).await?;
            Ok(json!({}))
        }
        other => Err(CommandError::not_found("word of the worker protocol", other).into()),
    }
}

fn claim(worker: Uuid, JobRef { id, token }: JobRef) -> JobClaim {
    JobClaim { worker, id, token }
}

fn job(job: PolledJob) -> Value {
    json!({
        "id": job.id, "token": job.token, "queue": job.queue, "task": job.task,
        "input": job.input, "timeoutSeconds": job.timeout.as_secs_f64(), "run": job.about,
    })
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, WorkerError> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "body".to_owned() } else { path };
        WorkerError::unreadable(field, &error.into_inner())
    })
}

/// The answer to one of several reports: the status and the body that it would get alone.
fn answer_to_end(ended: &Result<(), WorkerError>) -> Value {
    match ended {
        Ok(()) => json!({ "status": StatusCode::OK.as_u16() }),
        Err(error) => {
            let refused = Refused::from(error);
            json!({ "status": refused.status.as_u16(), "error": refused.to_json() })
        }
    }
}

/// A refusal of a request, as its caller reads it.
struct Refused {
    status: StatusCode,
    code: &'static str,
    message: String,
    field: Option<String>,
}

impl Refused {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), field: None }
    }

    fn in_field(self, field: &str) -> Self {
        Self { field: Some(field.to_owned()), ..self }
    }

    fn to_json(&self) -> Value {
        json!({ "code": self.code, "message": self.message, "field": self.field })
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut answer = (self.status, Json(json!({ "error": self.to_json() }))).into_response();
        if [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&self.status) {
            answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
        }
        answer
    }
}

impl From<&WorkerError> for Refused {
    fn from(error: &WorkerError) -> Self {
        let text = error.to_string();
        match error {
            WorkerError::Bad(bad) => {
                Self::new(StatusCode::BAD_REQUEST, "BAD_USER_INPUT", text).in_field(&bad.field)
            }
            WorkerError::Protocol { .. } => {
                Self::new(StatusCode::UPGRADE_REQUIRED, "PROTOCOL", text).in_field("protocol")
            }
            WorkerError::Unknown => Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", text),
            WorkerError::Stale => Self::new(StatusCode::CONFLICT, "STALE", text),
            WorkerError::TooMany(_) | WorkerError::TooManyOfToken(_) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", text)
            }
            WorkerError::Command(error) => Self::from(error),
        }
    }
}

impl From<&CommandError> for Refused {
    fn from(error: &CommandError) -> Self {
        let text = error.to_string();
        match error {
            CommandError::NotFound { .. } => Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", text),
            CommandError::Unauthenticated => {
                Self::new(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", text)
            }
            CommandError::PasswordChangeRequired => {
                Self::new(StatusCode::FORBIDDEN, api::PASSWORD_CHANGE_REQUIRED, text)
            }
            CommandError::Forbidden { .. }
            | CommandError::Denied { .. }
            | CommandError::OtherQueue { .. } => {
                Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", text)
            }
            other @ (CommandError::BadInput(_)
            | CommandError::Conflict { .. }
            | CommandError::Quota { .. }
            | CommandError::TooOften(_)
            | CommandError::Busy
            | CommandError::Unreadable { .. }
            | CommandError::Store(_)
            | CommandError::Engine(_)) => match other.unavailable() {
                Some(why) => Self::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", why),
                None => {
                    let defect = refusal::Refusal::internal(other).into_response();
                    let text = "the server could not answer; its log says why";
                    Self::new(defect.status(), "INTERNAL", text)
                }
            },
        }
    }
}
