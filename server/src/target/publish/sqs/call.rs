//! One signed request to the server of a queue.

use chrono::{DateTime, Utc};
use reqwest::{Client, Response, StatusCode};
use serde_json::Value;
use url::Url;

use super::sign::{SigningKeys, sign};
use crate::target::publish::{definition::Sqs, problem::PublishProblem, queue::region};

/// Maximum size of an answer.
const MAX_ANSWER: usize = 64 * 1024;
const CONTENT_TYPE: &str = "application/x-amz-json-1.0";

/// A queue, and the credentials of the sender.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Queue {
    pub(super) url: String,
    /// The name of the server in errors.
    pub(super) place: String,
    endpoint: Url,
    region: String,
    key_id: String,
    key: String,
    token: Option<String>,
}

/// Why a call was not answered as expected.
pub(super) enum SqsFailure {
    /// The server has read the request and refuses all of it, so none of its messages is in the
    /// queue.
    Refused(PublishProblem),
    /// It is unknown what happened to the messages, or the same call would fail again.
    Failed(PublishProblem),
}

impl SqsFailure {
    pub(super) fn problem(self) -> PublishProblem {
        let (Self::Refused(problem) | Self::Failed(problem)) = self;
        problem
    }
}

impl Queue {
    pub(super) fn of(sqs: &Sqs) -> Result<Self, PublishProblem> {
        let url = Url::parse(&sqs.queue_url)
            .map_err(|_| PublishProblem::refused("the queue's address is not valid"))?;
        Ok(Self {
            url: sqs.queue_url.clone(),
            place: url.host_str().unwrap_or_default().to_owned(),
            endpoint: url
                .join("/")
                .map_err(|_| PublishProblem::refused("the queue has no server"))?,
            region: region(sqs)
                .ok_or_else(|| PublishProblem::refused("the region is not known"))?,
            key_id: sqs.access_key_id.clone(),
            key: sqs.secret_access_key.expose().to_owned(),
            token: sqs.session_token.as_ref().map(|token| token.expose().to_owned()),
        })
    }

    /// The origin of the queue's server.
    pub(super) fn server(&self) -> String {
        self.endpoint.origin().ascii_serialization()
    }

    /// Sends a request; returns the body of its answer.
    pub(super) async fn call(
        &self,
        client: &Client,
        action: &str,
        body: Vec<u8>,
        now: DateTime<Utc>,
    ) -> Result<Vec<u8>, SqsFailure> {
        let keys = SigningKeys {
            id: &self.key_id,
            secret: &self.key,
            token: self.token.as_deref(),
            region: &self.region,
        };
        let signed = sign(&self.endpoint, action, CONTENT_TYPE, &body, &keys, now);
        let mut request = client.post(self.endpoint.clone()).body(body);
        for (name, value) in signed {
            request = request.header(name, value);
        }
        let unreached = |error| SqsFailure::Failed(unreached(&self.place, &error));
        let answer = request.send().await.map_err(unreached)?;
        let status = answer.status();
        let text = self.read(answer).await.map_err(SqsFailure::Failed)?;
        if status.is_success() {
            return Ok(text);
        }
        let reason = reason(&text);
        let problem =
            PublishProblem::refused(format!("{} answered {status}: {reason}", self.place));
        // A throttled call must not be replaced by ten calls, one for each message.
        let is_throttled = reason.contains("Throttled");
        Err(if status == StatusCode::BAD_REQUEST && !is_throttled {
            SqsFailure::Refused(problem)
        } else {
            SqsFailure::Failed(problem)
        })
    }

    async fn read(&self, mut answer: Response) -> Result<Vec<u8>, PublishProblem> {
        let place = &self.place;
        let mut text = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(|error| unreached(place, &error))? {
            if text.len() + part.len() > MAX_ANSWER {
                return Err(PublishProblem::broken(format!("{place} sent an answer without end")));
            }
            text.extend(part);
        }
        Ok(text)
    }

    /// The problem for an unreadable answer.
    pub(super) fn unreadable(&self) -> PublishProblem {
        PublishProblem::refused(format!("{} answered 200 OK, but not as SQS does", self.place))
    }
}

/// The text of a refusal.
fn reason(answer: &[u8]) -> String {
    let Ok(answer) = serde_json::from_slice::<Value>(answer) else {
        return "without a reason".to_owned();
    };
    let kind = answer["__type"].as_str().unwrap_or_default();
    let kind = kind.rsplit('#').next().unwrap_or_default();
    let text = answer["message"].as_str().or(answer["Message"].as_str()).unwrap_or_default();
    format!("{kind} {text}").trim().chars().take(500).collect()
}

fn unreached(place: &str, error: &reqwest::Error) -> PublishProblem {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if let Some(refused) = cause.downcast_ref::<crate::target::egress::NameRefused>() {
        return PublishProblem::broken(format!("refused to connect to {place}: {refused}"));
    }
    PublishProblem::broken(format!("could not reach {place}: {cause}"))
}
