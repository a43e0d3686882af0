//! A schedule's watchdog calls, and the result of the last one.

use async_graphql::{ComplexObject, Context, Enum, InputObject, SimpleObject};
use entity::ping;
use uuid::Uuid;

use super::{context::ContextExt, error::Result, loaders::PingRow, scalar::Instant};
use crate::{commands::secrets::watchdog::masked_address, target::SecretText};

/// The URLs that a schedule calls: an external watchdog, which notices when the calls stop. A URL
/// may use secrets after its host, such as `https://watchdog.example/{{ secrets.nightly }}`.
#[derive(InputObject)]
pub(crate) struct PingInput {
    /// Called when a run has succeeded.
    success: String,
    /// Called when a run starts.
    start: Option<String>,
    /// Called when a run has failed or timed out, after all of its attempts.
    failure: Option<String>,
}

impl From<PingInput> for crate::model::Ping {
    fn from(input: PingInput) -> Self {
        let PingInput { success, start, failure } = input;
        Self {
            success: SecretText::new(success),
            start: start.map(SecretText::new),
            failure: failure.map(SecretText::new),
        }
    }
}

/// The URLs that a schedule calls. Each is shown as its server and the names of its secrets;
/// passing a URL back as shown leaves it unchanged.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct Ping {
    /// Called when a run has succeeded.
    success: String,
    /// Called when a run starts.
    start: Option<String>,
    /// Called when a run has failed or timed out, after all of its attempts.
    failure: Option<String>,
    #[graphql(skip)]
    schedule: Uuid,
}

impl Ping {
    pub(super) fn of(row: &entity::schedule::Model) -> Option<Self> {
        let ping: crate::model::Ping = serde_json::from_value(row.ping.clone()?).ok()?;
        let shown = |address: &SecretText| masked_address(address.expose());
        Some(Self {
            success: shown(&ping.success),
            start: ping.start.as_ref().map(shown),
            failure: ping.failure.as_ref().map(shown),
            schedule: row.id,
        })
    }
}

#[ComplexObject]
impl Ping {
    /// The last call; null if there was none.
    async fn last(&self, cx: &Context<'_>) -> Result<Option<PingCall>> {
        Ok(cx.rows().load_one(PingRow(self.schedule)).await?.map(PingCall::from))
    }
}

/// The last call and its result.
#[derive(SimpleObject)]
pub(crate) struct PingCall {
    /// The event that it reports.
    event: PingEvent,
    /// The run that the call reports.
    run_id: Uuid,
    /// When that event occurred.
    happened_at: Instant,
    /// How many times the call was tried, including the first.
    attempts: i32,
    /// When the next attempt may be made; null if the call arrived, or was given up after an hour.
    next_attempt_at: Option<Instant>,
    /// Why the last attempt failed.
    error: Option<String>,
    /// When a call last arrived, whatever event it reported.
    sent_at: Option<Instant>,
}

impl From<ping::Model> for PingCall {
    fn from(row: ping::Model) -> Self {
        Self {
            event: row.event.into(),
            run_id: row.run_id,
            happened_at: row.happened_at.into(),
            attempts: row.attempts,
            next_attempt_at: row.next_attempt_at.map(Into::into),
            error: row.error,
            sent_at: row.sent_at.map(Into::into),
        }
    }
}

/// The event that a call reports.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "ping::Event")]
pub(crate) enum PingEvent {
    /// A run began.
    Start,
    /// A run succeeded.
    Success,
    /// A run failed or timed out.
    Failure,
}
