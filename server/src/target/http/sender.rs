//! Sends a request, follows redirects, and enforces the time limit.

use std::sync::Arc;

use reqwest::{Client, Response};
use rustls::RootCertStore;
use serde_json::{Value, json};
use url::Url;

use super::{
    answer::KeptResponse,
    client::ClientFactory,
    definition::{Answers, Http},
    failure::{HttpFailure, explain},
    identity::{ClientCertificate, Clients},
    message::{HttpMessage, compose},
    place::{authority, origin},
    prepare::prepare,
    redirect,
};
use crate::{
    clock::Clock,
    target::{
        AttemptOutcome, Invocation, Policy, TargetError,
        egress::{EgressGuard, Resolver},
        log::AttemptLog,
        result::{self, MAX_NESTING, nesting, too_deep},
        text::{SecondsText, millis},
        time_limit::TimeLimit,
    },
};

/// Sends requests.
#[derive(Debug)]
pub(in crate::target) struct Sender {
    client: Client,
    factory: ClientFactory,
    /// The clients that have a certificate.
    certified: Clients,
    egress: EgressGuard,
    output_limit: usize,
    clock: Clock,
}

impl Sender {
    pub(in crate::target) fn new(policy: &Policy, clock: Clock) -> Result<Self, TargetError> {
        let resolver = Resolver::new(EgressGuard::new(policy.private_addresses));
        Self::resolving(resolver, policy, clock)
    }

    /// A sender whose names are resolved by `resolver`.
    fn resolving(resolver: Resolver, policy: &Policy, clock: Clock) -> Result<Self, TargetError> {
        let egress = EgressGuard::new(policy.private_addresses);
        let factory = ClientFactory::new(resolver, policy.ca_pem.as_deref())?;
        let (client, certified) = (factory.client()?, Clients::default());
        let output_limit = policy.output_limit_bytes;
        Ok(Self { client, factory, certified, egress, output_limit, clock })
    }

    /// The client for `identity`.
    fn client_of(&self, identity: Option<&ClientCertificate>) -> Result<Client, TargetError> {
        match identity {
            None => Ok(self.client.clone()),
            Some(identity) => self.certified.get(identity, || self.factory.client_with(identity)),
        }
    }

    /// The shared client without a certificate.
    pub(in crate::target) fn client(&self) -> &Client {
        &self.client
    }

    /// The certificate authorities that requests trust.
    pub(in crate::target) fn roots(&self) -> &Arc<RootCertStore> {
        self.factory.roots()
    }

    /// Whether `definition` could be sent.
    pub(in crate::target) fn check(&self, definition: &Http) -> Result<(), TargetError> {
        prepare(definition, &self.egress).map(drop)
    }

    /// Sends the request and checks the response.
    pub(in crate::target) async fn execute(
        &self,
        definition: &Http,
        invocation: &Invocation,
        log: &AttemptLog<'_>,
    ) -> AttemptOutcome {
        let limit = TimeLimit::start(&self.clock, invocation.timeout);
        let (ended, mut output) = match self.exchange(definition, invocation, log, &limit).await {
            Ok((answer, judged)) => {
                (judged.map_err(HttpFailure::Step), answer.output(limit.elapsed()))
            }
            // Without a response, the time is all there is to tell.
            Err(failure) => (Err(failure), json!({ "duration_ms": millis(limit.elapsed()) })),
        };
        let ended = match (ended, definition.output) {
            (Ok(()), Answers::Merge) => give_back(&mut output).map_err(HttpFailure::Step),
            (ended, Answers::Keep | Answers::Merge) => ended,
        };
        match ended {
            Ok(()) => AttemptOutcome::Succeeded { output },
            Err(HttpFailure::Step(message)) => AttemptOutcome::Failed { message, output },
            Err(HttpFailure::TimeLimit(message)) => AttemptOutcome::TimedOut { message, output },
        }
    }

    async fn exchange(
        &self,
        definition: &Http,
        invocation: &Invocation,
        log: &AttemptLog<'_>,
        limit: &TimeLimit<'_>,
    ) -> Result<(KeptResponse, Result<(), String>), HttpFailure> {
        let request = prepare(definition, &self.egress)
            .map_err(|error| HttpFailure::Step(error.to_string()))?;
        let message = compose(&request, invocation, &self.clock).map_err(HttpFailure::Step)?;
        log.system(format!("{} {}", message.method, origin(&request.url))).await;

        let client = self
            .client_of(request.identity.as_ref())
            .map_err(|error| HttpFailure::Step(error.to_string()))?;
        let first = Hop { client, url: request.url, message };
        let most = definition.max_redirects;
        let (response, url, redirects) = self.follow(first, most, log, limit).await?;
        let place = authority(&url);
        let answer = limit
            .keep(KeptResponse::read(response, self.output_limit, redirects))
            .await
            .map_err(|limit| {
                HttpFailure::TimeLimit(format!("the answer of {place} did not end {limit}"))
            })?
            .map_err(|error| HttpFailure::Step(explain(&error, &url)))?;
        log.system(format!("{place} {} in {}", answer.line(), SecondsText(limit.elapsed()))).await;
        let judged = answer.judge(definition).map_err(|problem| format!("{place} {problem}"));
        Ok((answer, judged))
    }

    /// Sends the first request and follows redirects. Each hop is checked before it is taken.
    async fn follow(
        &self,
        first: Hop,
        most: u8,
        log: &AttemptLog<'_>,
        limit: &TimeLimit<'_>,
    ) -> Result<(Response, Url, u8), HttpFailure> {
        let Hop { mut client, mut url, mut message } = first;
        let mut redirects = 0;
        loop {
            let response = send(&client, &url, &message, limit).await?;
            let status = response.status();
            let place = authority(&url);
            let step = |problem| HttpFailure::Step(format!("{place} {problem}"));
            if most == 0 {
                return Ok((response, url, redirects));
            }
            let next = redirect::location(&url, status, response.headers()).map_err(step)?;
            let Some(next) = next else { return Ok((response, url, redirects)) };
            if redirects == most {
                return Err(HttpFailure::Step(format!(
                    "more than {most} redirects, last by {place}"
                )));
            }
            self.egress.admit(&next).map_err(|refused| {
                HttpFailure::Step(format!(
                    "{place} redirected to where requests may not go: {refused}"
                ))
            })?;
            log.system(format!("{place} answered {status}, redirected to {}", origin(&next))).await;
            message = redirect::forward(message, status, &url, &next);
            if url.origin() != next.origin() {
                // The client certificate is not presented to another origin.
                client = self.client.clone();
            }
            url = next;
            redirects += 1;
        }
    }
}

/// A request, its destination, and the client for it.
struct Hop {
    client: Client,
    url: Url,
    message: HttpMessage,
}

async fn send(
    client: &Client,
    url: &Url,
    message: &HttpMessage,
    limit: &TimeLimit<'_>,
) -> Result<Response, HttpFailure> {
    // A header of the definition replaces ours of the same name.
    let sending = client
        .request(message.method.clone(), url.clone())
        .headers(message.headers.clone())
        .headers(message.private_headers.clone())
        .body(message.body.clone())
        .send();
    limit
        .keep(sending)
        .await
        .map_err(|limit| {
            HttpFailure::TimeLimit(format!("{} did not answer {limit}", authority(url)))
        })?
        .map_err(|error| HttpFailure::Step(explain(&error, url)))
}

/// Makes the response's body the result of the attempt.
fn give_back(output: &mut Value) -> Result<(), String> {
    let truncated = output["body_truncated"] == Value::Bool(true);
    let body = output["body"].take();
    if truncated || !body.is_object() {
        let levels = body.as_str().map_or(0, |text| nesting(text.as_bytes()));
        output["body"] = body;
        if levels > MAX_NESTING && !truncated {
            return Err(format!("its answer {}", too_deep(levels)));
        }
        let more = if truncated { " within the limit of what is kept of an answer" } else { "" };
        return Err(format!(
            "its answer is not a JSON object{more}, which `output: merge` requires"
        ));
    }
    result::keep(output, body)
}

#[cfg(test)]
#[path = "rebinding_tests.rs"]
mod tests;
