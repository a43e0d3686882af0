//! Subscriptions to metrics and health, which are polled because no table's change feed reports
//! their changes.

use std::time::Duration;

use async_graphql::{Context, SimpleObject, Subscription as Subscribable};
use chrono::{DateTime, TimeDelta, Utc};
use futures::stream;
use sha2::{Digest, Sha256};

use super::{
    answer_cache::AnswerCache,
    context::ContextExt,
    error::{ApiError, Result},
    health::{Health, HealthWatch},
    metrics::{Metrics, MetricsCache, figures},
    query::namespace_id,
    scalar::Instant,
    subscription::Events,
};
use crate::{
    clock::Clock,
    commands::BadInput,
    store::{StoreError, reads::within::Within},
};

/// Subscriptions to metrics and health.
#[derive(Default)]
pub(super) struct Watching;

/// The cached health for subscribers.
pub(super) type HealthCache = AnswerCache<Within, Health>;

/// Subscriptions to metrics and health.
#[Subscribable]
impl Watching {
    /// The metrics of a namespace, every ten seconds. With the cursor of the last tick, the next
    /// one comes ten seconds after that tick, or at once if that time has passed: missed ticks are
    /// replaced by current metrics.
    async fn metrics_tick(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(
            desc = "The cursor of the last event that you saw; if absent, the first one comes at \
                    once."
        )]
        since: Option<String>,
    ) -> Result<Events<MetricsTick>> {
        cx.viewer()?;
        let namespace = namespace_id(cx, &namespace).await?;
        let last = since.as_deref().map(tick).transpose()?;
        let (store, clock) = (cx.store().clone(), cx.commands().clock.clone());
        let kept = cx.data_unchecked::<std::sync::Arc<MetricsCache>>().clone();
        let pause = kept.moment();
        let wait = last.map_or(Duration::ZERO, |last| rest_of(pause, last, clock.now()));
        Ok(Box::pin(stream::unfold(Some(wait), move |wait| {
            let (store, clock, kept) = (store.clone(), clock.clone(), kept.clone());
            async move {
                // Real time rather than the application's clock, because this only limits the load
                // on the database.
                Clock::system().sleep(wait?).await;
                let read = figures(&store, &clock, &kept, Within::One(namespace)).await;
                let tick = read.map(|metrics| MetricsTick {
                    cursor: clock.now().timestamp_millis().to_string(),
                    metrics,
                });
                Some(event(tick, pause))
            }
        })))
    }

    /// The health of a namespace, or of all that the caller may see, whenever the set of failing
    /// checks and exceeded budgets changes. A mere change of values sends no event. With the cursor
    /// of the last event, nothing is sent until the set differs.
    async fn health_events(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "If absent, all namespaces that you may see.")] namespace: Option<String>,
        #[graphql(
            desc = "The cursor of the last event that you saw; if absent, the first one comes at \
                    once."
        )]
        since: Option<String>,
    ) -> Result<Events<HealthEvent>> {
        cx.viewer()?;
        let watched = HealthWatch::of(cx, namespace).await?;
        let last = since.map(fingerprint).transpose()?;
        let kept = cx.data_unchecked::<std::sync::Arc<HealthCache>>().clone();
        let pause = kept.moment();
        let begin = Some((last, Duration::ZERO));
        Ok(Box::pin(stream::unfold(begin, move |state| {
            let (watched, kept) = (watched.clone(), kept.clone());
            async move {
                let (last, mut wait) = state?;
                loop {
                    Clock::system().sleep(wait).await;
                    wait = pause;
                    let read =
                        kept.answer(&watched.clock, watched.within().clone(), watched.look());
                    let health = match read.await {
                        Ok(health) => health,
                        Err(error) => return Some((Err(ApiError::from(error).into()), None)),
                    };
                    let cursor = shape(&health);
                    if last.as_ref() != Some(&cursor) {
                        let next = Some((Some(cursor.clone()), pause));
                        let at = watched.clock.now().into();
                        return Some((Ok(HealthEvent { cursor, at, health }), next));
                    }
                }
            }
        })))
    }
}

/// The current metrics.
#[derive(SimpleObject)]
pub(crate) struct MetricsTick {
    /// Pass this cursor to resume after the event.
    cursor: String,
    /// The metrics.
    metrics: Metrics,
}

/// The health after a change in the set of failing checks.
#[derive(SimpleObject)]
pub(crate) struct HealthEvent {
    /// Pass this cursor to resume after the event.
    cursor: String,
    /// When the checks were made.
    at: Instant,
    /// The health at that time.
    health: Health,
}

/// The event to send, and how long to wait before polling again; after an error there are no
/// further polls.
fn event<T>(
    read: std::result::Result<T, StoreError>,
    pause: Duration,
) -> (async_graphql::Result<T>, Option<Duration>) {
    match read {
        Ok(found) => (Ok(found), Some(pause)),
        Err(error) => (Err(ApiError::from(error).into()), None),
    }
}

/// The rest of a pause that began at `began`. With a cursor from the future, this is at most one
/// pause.
fn rest_of(pause: Duration, began: DateTime<Utc>, now: DateTime<Utc>) -> Duration {
    let over = (now - began).max(TimeDelta::zero()).to_std().unwrap_or_default();
    pause.saturating_sub(over)
}

fn tick(text: &str) -> Result<DateTime<Utc>> {
    let at = text.parse().ok().and_then(DateTime::from_timestamp_millis);
    Ok(at.ok_or_else(|| not_a_cursor(text))?)
}

fn fingerprint(text: String) -> Result<String> {
    let is_one = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_one { Ok(text) } else { Err(not_a_cursor(&text).into()) }
}

fn not_a_cursor(text: &str) -> BadInput {
    let help = "give the cursor of the last event that you saw, or leave it out";
    BadInput::new("since", text, "is not a cursor of this feed", help)
}

/// A short digest of the names of the failing checks.
fn shape(health: &Health) -> String {
    let digest = Sha256::digest(health.failing().join(" "));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_that_was_seen_is_not_sent_again_before_its_time() {
        let (pause, began) = (Duration::from_secs(10), DateTime::UNIX_EPOCH);
        let after = |seconds| rest_of(pause, began, began + TimeDelta::seconds(seconds));
        assert_eq!(after(4), Duration::from_secs(6));
        assert_eq!(after(60), Duration::ZERO);
        assert_eq!(after(-60), pause);
    }
}
