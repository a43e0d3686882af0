//! The one loop that all services share.

use std::{fmt::Debug, future::Future, panic::AssertUnwindSafe, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::EngineError;
use crate::clock::Clock;

/// Something that the engine does again and again.
pub(super) trait Service: Send {
    /// What one round did: the log line, the metric and the test's assertion.
    type Report: Debug + Default + Clone + Send + Sync + 'static;

    /// For logs.
    const NAME: &'static str;

    /// Does all that there is to do at `now`.
    fn run_once(
        &mut self,
        now: DateTime<Utc>,
    ) -> impl Future<Output = Result<Self::Report, EngineError>> + Send;

    /// When the next round is wanted, if nothing wakes the service before.
    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc>;

    /// Whether the report is worth a line in the log.
    fn is_notable(report: &Self::Report) -> bool;
}

/// After a failure the next round waits: this long, then twice as long, up to the ceiling.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Runs `service` until `stop`. Each report is published on `reports`.
pub(super) async fn drive<S: Service>(
    mut service: S,
    clock: Clock,
    wake: impl AsRef<Notify> + Send,
    stop: CancellationToken,
    reports: watch::Sender<(u64, S::Report)>,
) {
    let mut pause = FIRST_PAUSE;
    loop {
        // Register first, then look at the tables: a wake-up in between is then kept.
        let woken = wake.as_ref().notified();
        let round = tokio::select! {
            biased;
            round = caught(service.run_once(clock.now())) => round,
            () = stopped_for_long(&stop, &clock) => return,
        };
        let now = clock.now();
        let next = match round {
            Ok(report) => {
                pause = FIRST_PAUSE;
                if S::is_notable(&report) {
                    tracing::debug!(service = S::NAME, ?report);
                }
                reports.send_modify(|(count, last)| {
                    *count += 1;
                    *last = report;
                });
                service.next_round(now)
            }
            Err(error) => {
                tracing::error!(service = S::NAME, retry_in = ?pause, "failed to {error}");
                let next = now + TimeDelta::from_std(pause).unwrap_or_default();
                pause = (pause * 2).min(LONGEST_PAUSE);
                next
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = woken => {}
            () = clock.sleep_from(now, next) => {}
        }
    }
}

/// A defect in one round must not end the service for good, unnoticed.
pub(super) async fn caught<R>(
    round: impl Future<Output = Result<R, EngineError>>,
) -> Result<R, EngineError> {
    let round = AssertUnwindSafe(round).catch_unwind().await;
    round.unwrap_or(Err(EngineError::Defect))
}

/// A round that is under way when the service stops may finish, but not for ever.
async fn stopped_for_long(stop: &CancellationToken, clock: &Clock) {
    stop.cancelled().await;
    clock.sleep(LONGEST_PAUSE).await;
}
