//! Reports how jobs ended. One request carries all reports that were made while another was on its
//! way. If the server refuses a request as a whole, each of its reports is sent alone.

use std::collections::VecDeque;

use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{ApiError, Error, http::Http};

const PATH: &str = "/worker/v1/report";
const COMPLETE: &str = "/worker/v1/complete";
const FAIL: &str = "/worker/v1/fail";
/// Maximum number of reports in one request.
const MAX_REPORTS: usize = 100;
/// Maximum size of the reports in one request, unless it has only one.
const MAX_BYTES: usize = 256 * 1024;

/// The answer to a report; `None` if the worker gave up before it got one.
type Answer = Option<Result<(), ApiError>>;

/// Sends reports. It ends when it is dropped.
pub(crate) struct Reports(mpsc::UnboundedSender<Report>);

struct Report {
    worker_id: String,
    end: Value,
    caller: oneshot::Sender<Answer>,
}

/// The answers to the reports of one request, in their order.
#[derive(Deserialize)]
struct Answers {
    answers: Vec<ReportAnswer>,
}

#[derive(Deserialize)]
struct ReportAnswer {
    status: u16,
    error: Option<ReportError>,
}

#[derive(Deserialize)]
struct ReportError {
    code: String,
    message: String,
}

impl ReportAnswer {
    fn into_result(self) -> Result<(), ApiError> {
        let ReportAnswer { status, error } = self;
        if status == StatusCode::OK.as_u16() {
            return Ok(());
        }
        let (code, message) = match error {
            Some(error) => (error.code, error.message),
            None => (format!("HTTP_{status}"), format!("the server answered with status {status}")),
        };
        Err(ApiError { status, code, message, retry_after: None })
    }
}

impl Reports {
    /// Sends reports until `given_up` is cancelled. A request that the server does not answer is
    /// repeated until then.
    pub(crate) fn start(http: Http, given_up: CancellationToken) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(send_all(http, given_up, receiver));
        Self(sender)
    }

    /// Reports the end of a job; returns the server's answer.
    pub(crate) async fn send(&self, worker_id: &str, end: Value) -> Answer {
        let (caller, answered) = oneshot::channel();
        let report = Report { worker_id: worker_id.to_owned(), end, caller };
        self.0.send(report).ok()?;
        answered.await.ok()?
    }
}

async fn send_all(
    http: Http,
    given_up: CancellationToken,
    mut reports: mpsc::UnboundedReceiver<Report>,
) {
    let mut waiting = VecDeque::new();
    loop {
        if waiting.is_empty() {
            let Some(report) = reports.recv().await else { return };
            waiting.push_back(report);
        }
        while let Ok(report) = reports.try_recv() {
            waiting.push_back(report);
        }
        let batch = next_batch(&mut waiting);
        send_batch(&http, &given_up, batch).await;
    }
}

/// Takes the reports of the next request: those of one registration that fit.
fn next_batch(waiting: &mut VecDeque<Report>) -> Vec<Report> {
    let mut batch = Vec::<Report>::new();
    let mut bytes = 0;
    while let Some(next) = waiting.front() {
        bytes += next.end.to_string().len();
        let fits = batch.first().is_none_or(|first| {
            first.worker_id == next.worker_id && bytes <= MAX_BYTES && batch.len() < MAX_REPORTS
        });
        if !fits {
            break;
        }
        batch.extend(waiting.pop_front());
    }
    batch
}

async fn send_batch(http: &Http, given_up: &CancellationToken, batch: Vec<Report>) {
    let Some(first) = batch.first() else { return };
    let body = {
        let ends: Vec<&Value> = batch.iter().map(|report| &report.end).collect();
        json!({ "workerId": first.worker_id, "ends": ends })
    };
    let answers: Vec<Answer> = match http.call(PATH, &body, given_up).await {
        Ok(answer) => match serde_json::from_value::<Answers>(answer) {
            Ok(read) => read.answers.into_iter().map(|one| Some(one.into_result())).collect(),
            Err(error) => {
                tracing::error!(%error, "the answer to reports cannot be read");
                Vec::new()
            }
        },
        Err(Error::Api(error)) if is_refused_as_a_whole(&error) => {
            tracing::debug!(%error, reports = batch.len(), "sending each report alone");
            for report in batch {
                tokio::spawn(send_alone(http.clone(), given_up.clone(), report));
            }
            return;
        }
        Err(Error::Api(error)) => vec![Some(Err(error)); batch.len()],
        Err(error) => {
            tracing::error!(%error, "the server did not answer the reports of jobs");
            Vec::new()
        }
    };
    let answers = answers.into_iter().chain(std::iter::repeat(None));
    for (report, answer) in batch.into_iter().zip(answers) {
        // A job that was dropped in the meantime needs no answer.
        let _ = report.caller.send(answer);
    }
}

/// Whether the refusal of a request says nothing about most of its reports: one of them cannot be
/// read, they are too large together, or the server is older than this request.
fn is_refused_as_a_whole(error: &ApiError) -> bool {
    [StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND, StatusCode::PAYLOAD_TOO_LARGE]
        .iter()
        .any(|status| error.status == status.as_u16())
}

/// Sends a report in a request of its own, which every server knows.
async fn send_alone(http: Http, given_up: CancellationToken, report: Report) {
    let Report { worker_id, end: mut body, caller } = report;
    let path = if body.get("message").is_some() { FAIL } else { COMPLETE };
    body["workerId"] = json!(worker_id);
    let answer = match http.call(path, &body, &given_up).await {
        Ok(_) => Some(Ok(())),
        Err(Error::Api(error)) => Some(Err(error)),
        Err(error) => {
            tracing::error!(%error, "the server did not answer the report of a job");
            None
        }
    };
    // A job that was dropped in the meantime needs no answer.
    let _ = caller.send(answer);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(worker_id: &str, size: usize) -> Report {
        let caller = oneshot::channel().0;
        Report { worker_id: worker_id.to_owned(), end: json!("x".repeat(size)), caller }
    }

    fn sizes(mut waiting: VecDeque<Report>) -> Vec<usize> {
        let next = || Some(next_batch(&mut waiting).len()).filter(|size| *size > 0);
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_request_has_at_most_a_hundred_reports() {
        assert_eq!(sizes((0..230).map(|_| report("a", 1)).collect()), [100, 100, 30]);
    }

    #[test]
    fn a_large_report_is_sent_alone() {
        let waiting = [1, MAX_BYTES, 1, MAX_BYTES / 2, MAX_BYTES / 2].map(|size| report("a", size));
        assert_eq!(sizes(waiting.into()), [1, 1, 2, 1]);
    }

    #[test]
    fn reports_of_two_registrations_are_sent_apart() {
        let waiting = ["a", "a", "b", "a"].map(|worker_id| report(worker_id, 1));
        assert_eq!(sizes(waiting.into()), [2, 1, 1]);
    }
}
