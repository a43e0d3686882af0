//! Sends the messages of alerts to their channels.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp, alert_channel,
    notification::{Model, State},
};
use futures::{StreamExt, stream};
use secrecy::SecretString;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    channel_config::{ChannelConfig, ChannelSecrets, Receiver, carrying},
    delivery::{DeliveryAttempt, DeliveryFate, DeliveryProgress, RequestFailure, pause},
    form::{self, ChannelCall},
};
use crate::{
    engine::{EngineError, core::Core, service::Service},
    random,
    store::alerts::{
        channels,
        outbox::{self, DeliveryOutcome},
    },
    target::{
        AttemptOutcome, Invocation, Letter, MailError, MailFault, Mailer, Target, TemplateNames,
    },
    vault::{Mask, SecretNamespace, VaultError},
};

/// Sends messages. Any node may send.
/// A node reserves the messages that it takes for as long as an attempt can last.
#[derive(Debug)]
pub(in crate::engine) struct NotificationSender {
    core: Arc<Core>,
    next: Option<Timestamp>,
}

/// The results of a round of sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotificationSenderReport {
    /// Messages that were delivered.
    pub sent: usize,
    /// Attempts that failed and will be made again.
    pub failed: usize,
    /// Messages whose delivery was given up.
    pub dead: usize,
}

/// Number of messages that a round takes, and how many of them are sent concurrently.
const BATCH: u64 = 24;
const AT_ONCE: usize = 8;

/// The time limit of one attempt.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long a batch is reserved. A node that takes longer counts as lost.
const TAKEN: TimeDelta = TimeDelta::seconds(120);

/// Maximum number of attempts per message. Unless it waits for other messages of its channel, they
/// are spread over about an hour and a quarter.
const MAX_ATTEMPTS: i32 = 9;

/// A message that has waited for longer than this is given up after its next failed attempt. The
/// messages of a channel wait for each other, so without this limit they would pile up while the
/// receiver is away.
const MAX_AGE: TimeDelta = TimeDelta::days(1);

impl NotificationSender {
    pub(in crate::engine) fn new(core: Arc<Core>) -> Self {
        Self { core, next: None }
    }

    /// Sends one message, and records the outcome immediately.
    async fn send(
        &self,
        message: &Model,
        channel: Option<&alert_channel::Model>,
    ) -> DeliveryOutcome {
        let sent = self.attempt(message, channel).await;
        let now = self.core.clock.now().into();
        // An error here must not delay the other messages.
        // This message is sent again when its reservation expires.
        if let Err(error) = outbox::settle_if_last(&self.core.store, &sent, now).await {
            tracing::error!(notification_id = %sent.id, %error, "failed to record a delivery");
        }
        sent
    }

    async fn attempt(
        &self,
        message: &Model,
        channel: Option<&alert_channel::Model>,
    ) -> DeliveryOutcome {
        let way = channel.map(|channel| ChannelConfig::read(channel, &self.core.settings.vault));
        let tried = match way {
            None => DeliveryAttempt::refused("its channel was deleted"),
            Some(Err(error)) => DeliveryAttempt::locked(&error),
            Some(Ok(ChannelConfig::Request(receiver, hidden))) => {
                self.requests(message, receiver, &hidden).await
            }
            Some(Ok(ChannelConfig::Email(to))) => self.mail(message, &to).await,
        };
        let DeliveryAttempt { fate, error, progress } = tried;
        let now = self.core.clock.now();
        let age = now - DeliveryProgress::since(message).utc();
        let is_last = message.attempts >= MAX_ATTEMPTS || age > MAX_AGE;
        let state = match fate {
            DeliveryFate::Arrived => State::Sent,
            DeliveryFate::Refused => State::Dead,
            DeliveryFate::Delayed | DeliveryFate::Failed if is_last => State::Dead,
            DeliveryFate::Partly
            | DeliveryFate::Delayed
            | DeliveryFate::Failed
            | DeliveryFate::Locked => State::Pending,
        };
        let next_attempt_at = (now + pause(message.attempts, random::unit())).into();
        let Model { id, channel_id, attempts, .. } = *message;
        // A failure of this kind would also affect the channel's other messages.
        let holds_up = matches!(fate, DeliveryFate::Failed | DeliveryFate::Locked);
        let counts = !matches!(fate, DeliveryFate::Partly | DeliveryFate::Locked);
        let progress = progress.or_else(|| message.progress.clone());
        DeliveryOutcome {
            id,
            channel_id,
            attempts,
            counts,
            state,
            next_attempt_at,
            error,
            progress,
            holds_up,
        }
    }

    /// Sends a mail to the recipients who have neither received nor refused it.
    async fn mail(&self, message: &Model, to: &[String]) -> DeliveryAttempt {
        let Some(mailer) = self.core.executor.mailer() else {
            return DeliveryAttempt::failed(
                "this server sends no mail: smtp.host is not set".to_owned(),
            );
        };
        let mut progress = DeliveryProgress::of(message);
        let had = progress.delivered.len();
        let failed = self.letters(message, to, mailer, &mut progress).await;
        let is_further = progress.delivered.len() > had;
        let fate = match &failed {
            None if progress.delivered.is_empty() => DeliveryFate::Refused,
            None => DeliveryFate::Arrived,
            Some(_) if is_further => DeliveryFate::Partly,
            Some(MailError { blame: MailFault::Server, .. }) => DeliveryFate::Failed,
            Some(MailError { blame: MailFault::Recipient | MailFault::Refused, .. }) => {
                DeliveryFate::Delayed
            }
        };
        let refused = progress.refused.iter().map(|(to, why)| format!("{to}: {why}"));
        let said: Vec<String> =
            failed.map(|failed| failed.text).into_iter().chain(refused).collect();
        let error = (!said.is_empty()).then(|| said.join("; "));
        DeliveryAttempt { fate, error, progress: Some(json!(progress)) }
    }

    /// Sends a mail to one recipient after another, until the mail server itself fails.
    /// Returns the mail server's failure, if any: the remaining recipients got no mail.
    async fn letters(
        &self,
        message: &Model,
        to: &[String],
        mailer: &Mailer,
        progress: &mut DeliveryProgress,
    ) -> Option<MailError> {
        let slow = |text: String| MailError { text, blame: MailFault::Server };
        let (text, begun) = (form::plain(&message.body), self.core.clock.instant());
        let mut failed = None;
        for recipient in progress.waiting(to, message.attempts) {
            if self.core.clock.instant() - begun >= PATIENCE {
                return Some(slow("the mail server is too slow for all".to_owned()));
            }
            let letter = Letter {
                id: message.id.to_string(),
                recipient,
                to,
                subject: &message.subject,
                text: text.clone(),
            };
            match self.core.clock.timeout(PATIENCE, mailer.send(&letter)).await {
                Ok(Ok(())) => progress.delivered.push(recipient.clone()),
                Ok(Err(MailError { text, blame: MailFault::Refused })) => {
                    progress.refused.insert(recipient.clone(), text);
                }
                Ok(Err(MailError { text, blame: blame @ MailFault::Recipient })) => {
                    let text = format!("{recipient}: {text}");
                    failed.get_or_insert(MailError { text, blame });
                }
                Ok(Err(error @ MailError { blame: MailFault::Server, .. })) => return Some(error),
                Err(_) => {
                    return Some(slow(format!("the mail server did not end within {PATIENCE:?}")));
                }
            }
        }
        failed
    }

    /// Sends the requests of a message that the receiver has not accepted yet, one after another,
    /// until one fails or time runs out. If the receiver refuses only one request, such as for its
    /// form, the later ones are still sent.
    async fn requests(
        &self,
        message: &Model,
        receiver: Receiver,
        hidden: &ChannelSecrets,
    ) -> DeliveryAttempt {
        let calls = form::calls(receiver, message);
        let request = hidden.request(receiver);
        let secrets = match self.opened(message, &request).await {
            Ok(secrets) => secrets,
            Err(tried) => return tried,
        };
        let (mut progress, begun) = (DeliveryProgress::of(message), self.core.clock.instant());
        let had = progress.accepted_requests();
        // The requests of a test open an incident and close it again, so they keep their order.
        let is_test = message.body["rule"].is_null();
        let (mut refused, mut failed) = (None, None);
        for (position, call) in calls.iter().enumerate() {
            if progress.has_request(position) {
                continue;
            }
            let left = PATIENCE.saturating_sub(self.core.clock.instant() - begun);
            let failure = if left.is_zero() {
                RequestFailure::new("it is too slow for all messages".to_owned())
            } else if let Err(failure) = self.request(message, &request, call, &secrets, left).await
            {
                failure
            } else {
                progress.accept_request(position);
                continue;
            };
            if failure.fate == DeliveryFate::Delayed && !is_test {
                refused.get_or_insert(failure);
            } else {
                failed = Some(failure);
                break;
            }
        }
        let Some(failure) = failed.or(refused) else {
            return DeliveryAttempt { fate: DeliveryFate::Arrived, error: None, progress: None };
        };
        let is_further = progress.accepted_requests() > had;
        let fate = if is_further { DeliveryFate::Partly } else { failure.fate };
        let progress = (calls.len() > 1).then(|| json!(progress));
        DeliveryAttempt { fate, error: Some(failure.text), progress }
    }

    /// Sends a request with the same client, and through the same guard, as the request of a
    /// target.
    async fn request(
        &self,
        message: &Model,
        request: &Target,
        call: &ChannelCall,
        secrets: &BTreeMap<String, SecretString>,
        timeout: Duration,
    ) -> Result<(), RequestFailure> {
        let invocation = Invocation {
            run_id: message.id,
            attempt: message.attempts,
            task: "alert".to_owned(),
            namespace: String::new(),
            namespace_id: Uuid::nil(),
            priority: 0,
            schedule: None,
            schedule_id: None,
            schedule_version: None,
            scheduled_at: None,
            idempotency_key: message.id.to_string(),
            traceparent: None,
            context: json!({}),
            timeout,
            kill_grace: Duration::ZERO,
        };
        let names = TemplateNames {
            invocation: &invocation,
            scheduled_at: message.created_at.utc(),
            previous_fire: None,
            tasks: &json!({}),
            secrets,
        };
        let filled_in = self.core.executor.fill_in(request, &names).await;
        let filled_in = filled_in.map_err(|error| RequestFailure::new(error.to_string()))?;
        let target = carrying(&filled_in, call);
        // The request's log lines are discarded.
        let (lines, _) = mpsc::channel(1);
        let stop = CancellationToken::new();
        let outcome = self.core.executor.execute(&target, &invocation, lines, stop).await;
        match Mask::of(secrets.values()).outcome(outcome) {
            AttemptOutcome::Succeeded { .. } => Ok(()),
            AttemptOutcome::Failed { message, output } => {
                Err(RequestFailure::answered(message, output["status"].as_u64()))
            }
            AttemptOutcome::TimedOut { message, .. } => Err(RequestFailure::new(message)),
            AttemptOutcome::Cancelled { .. } => {
                Err(RequestFailure::new("it was stopped".to_owned()))
            }
        }
    }

    /// Resolves the secrets in a request. If one does not exist, or no key of this node decrypts
    /// it, no attempt is made and the message waits.
    async fn opened(
        &self,
        message: &Model,
        request: &Target,
    ) -> Result<BTreeMap<String, SecretString>, DeliveryAttempt> {
        let (core, names) = (&self.core, request.secret_names());
        let whose = SecretNamespace::Namespace(message.namespace_id);
        let opening = core.settings.vault.opened(&core.store, &core.clock, whose, &names);
        match core.clock.timeout(PATIENCE, opening).await {
            Ok(Ok(secrets)) => Ok(secrets),
            Ok(Err(error @ VaultError::Store(_))) => {
                Err(DeliveryAttempt::failed(format!("failed to {error}")))
            }
            Ok(Err(error)) => Err(DeliveryAttempt::locked(&error)),
            Err(_) => Err(DeliveryAttempt::failed("failed to read its secrets in time".to_owned())),
        }
    }
}

impl Service for NotificationSender {
    type Report = NotificationSenderReport;
    const NAME: &'static str = "courier";

    async fn run_once(
        &mut self,
        now: DateTime<Utc>,
    ) -> Result<NotificationSenderReport, EngineError> {
        let mut report = NotificationSenderReport::default();
        let store = &self.core.store;
        self.next = None;
        // A node that is shutting down starts no new work.
        if !self.core.may_schedule().await? {
            return Ok(report);
        }
        self.next = outbox::next(store).await?;
        if self.next.is_none_or(|next| next.utc() > now) {
            return Ok(report);
        }
        let until = (now + TAKEN).into();
        let taken = outbox::take(store, now.into(), until, MAX_ATTEMPTS, BATCH).await?;
        report.dead += usize::try_from(taken.given_up).unwrap_or(usize::MAX);
        let ids: Vec<Uuid> = taken.messages.iter().map(|message| message.channel_id).collect();
        let channels = channels::by_ids(store.read(), &ids).await?;
        let mut sending = Vec::with_capacity(taken.messages.len());
        for message in &taken.messages {
            let channel = channels.iter().find(|channel| channel.id == message.channel_id);
            sending.push(self.send(message, channel));
        }
        let sent: Vec<DeliveryOutcome> =
            stream::iter(sending).buffer_unordered(AT_ONCE).collect().await;
        for sent in sent {
            match (sent.state, &sent.error) {
                (State::Sent, None) => report.sent += 1,
                (State::Sent, Some(error)) => {
                    report.sent += 1;
                    tracing::warn!(
                        notification_id = %sent.id,
                        %error,
                        "some recipients did not accept a mail"
                    );
                }
                (State::Pending, _) => report.failed += 1,
                (State::Dead, error) => {
                    report.dead += 1;
                    let error = error.as_deref().unwrap_or_default();
                    tracing::error!(notification_id = %sent.id, %error, "a message was given up");
                }
            }
        }
        self.next = outbox::next(store).await?;
        Ok(report)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        let poll = now + TimeDelta::from_std(self.core.settings.poll).unwrap_or_default();
        self.next.map_or(poll, |next| next.utc().clamp(now, poll))
    }

    fn is_notable(report: &NotificationSenderReport) -> bool {
        *report != NotificationSenderReport::default()
    }
}
