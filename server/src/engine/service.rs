//! The loop that all services share.

use std::{
    fmt::Debug,
    future::Future,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::EngineError;
use crate::clock::Clock;

/// A task that the engine repeats in rounds.
pub(super) trait Service: Send {
    /// The results of one round, for the log line, the metrics and test assertions.
    type Report: Debug + Default + Clone + Send + Sync + 'static;

    /// The service's name in logs.
    const NAME: &'static str;

    /// Does all the work that is due at `now`.
    fn run_once(
        &mut self,
        now: DateTime<Utc>,
    ) -> impl Future<Output = Result<Self::Report, EngineError>> + Send;

    /// When the next round is due if nothing wakes the service earlier.
    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc>;

    /// Whether the report is worth a log line.
    fn is_notable(report: &Self::Report) -> bool;
}

/// The first and the longest pause after failed rounds.
/// The pause doubles after each failure. It ends early if the failed operation may succeed again.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a round in progress may continue when the service stops.
const LAST_ROUND: Duration = Duration::from_secs(2);

/// The wake-ups that end a service's wait.
pub(super) struct Wakes<W> {
    /// Ends the wait between two rounds.
    pub(super) wake: W,
    /// Ends the pause after a failed round, when the store has replaced the database connections.
    pub(super) renewed: Arc<Notify>,
}

/// Runs `service` until `stop`. Publishes each report on `reports`.
pub(super) async fn drive<S: Service>(
    mut service: S,
    clock: Clock,
    Wakes { wake, renewed }: Wakes<impl AsRef<Notify> + Send>,
    stop: CancellationToken,
    reports: watch::Sender<(u64, S::Report)>,
) {
    let mut pause = FIRST_PAUSE;
    let mut failing = Failing::default();
    loop {
        // Register for wake-ups before the tables are
        // read, so that a wake-up in between is not lost.
        let woken = wake.as_ref().notified();
        let renewed = renewed.notified();
        let round = tokio::select! {
            biased;
            round = caught(service.run_once(clock.now())) => round,
            () = stopped_for_long(&stop, &clock) => return,
        };
        let now = clock.now();
        let has_failed = round.is_err();
        let next = match round {
            Ok(report) => {
                pause = FIRST_PAUSE;
                // A stop may have cut the round short, so the result of that round says nothing.
                if !stop.is_cancelled() {
                    failing.over(S::NAME, clock.instant());
                }
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
                failing.failed(S::NAME, &error, clock.instant());
                let next = now + TimeDelta::from_std(pause).unwrap_or_default();
                pause = (pause * 2).min(LONGEST_PAUSE);
                next
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = woken => {}
            () = renewed, if has_failed => pause = FIRST_PAUSE,
            () = clock.sleep_from(now, next) => {}
        }
    }
}

/// Since when a service has been failing for a transient reason. A database outage fails every
/// round of every service, so only its beginning and its end are logged.
#[derive(Debug, Default)]
struct Failing {
    since: Option<Instant>,
    rounds: u64,
}

impl Failing {
    fn failed(&mut self, service: &'static str, error: &EngineError, now: Instant) {
        self.rounds += 1;
        if !error.is_transient() {
            tracing::error!(service, %error, "a round failed");
        } else if self.since.is_none() {
            self.since = Some(now);
            tracing::warn!(
                service,
                %error,
                "a round failed; the service tries again until it succeeds"
            );
        } else {
            tracing::debug!(service, %error, "another round failed");
        }
    }

    fn over(&mut self, service: &'static str, now: Instant) {
        if let Some(since) = self.since.take() {
            let seconds = now.saturating_duration_since(since).as_secs();
            let rounds = self.rounds;
            tracing::info!(service, seconds, rounds, "the service succeeds again");
        }
        self.rounds = 0;
    }
}

/// Turns a panic into an error, because a bug in one round must not end the service unnoticed.
pub(super) async fn caught<R>(
    round: impl Future<Output = Result<R, EngineError>>,
) -> Result<R, EngineError> {
    let round = AssertUnwindSafe(round).catch_unwind().await;
    round.unwrap_or(Err(EngineError::Defect))
}

/// Completes some time after a stop was requested.
/// A round in progress may finish, but only within that time.
async fn stopped_for_long(stop: &CancellationToken, clock: &Clock) {
    stop.cancelled().await;
    clock.sleep(LAST_ROUND).await;
}

#[cfg(test)]
mod tests {
    use std::{io, sync::Mutex};

    use sea_orm::{ConnAcquireErr, DbErr};

    use super::*;
    use crate::{clock::ManualClock, store::StoreError};

    /// A service that fails in its first round.
    struct FailsOnce {
        rounds: usize,
        begun: Arc<Notify>,
    }

    impl Service for FailsOnce {
        type Report = ();
        const NAME: &'static str = "failing";

        async fn run_once(&mut self, _now: DateTime<Utc>) -> Result<(), EngineError> {
            self.rounds += 1;
            self.begun.notify_one();
            if self.rounds == 1 { Err(EngineError::Defect) } else { Ok(()) }
        }

        fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
            now + TimeDelta::hours(1)
        }

        fn is_notable((): &()) -> bool {
            false
        }
    }

    #[tokio::test]
    async fn a_service_that_failed_goes_on_when_the_connections_are_replaced() {
        // A manual clock stands still, so no pause ends on its own.
        let clock = ManualClock::new(DateTime::UNIX_EPOCH).clock();
        let (begun, renewed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (reports, mut last) = watch::channel((0, ()));
        let service = FailsOnce { rounds: 0, begun: begun.clone() };
        let wakes = Wakes { wake: Arc::new(Notify::new()), renewed: renewed.clone() };
        tokio::spawn(drive(service, clock, wakes, CancellationToken::new(), reports));
        begun.notified().await;
        renewed.notify_waiters();
        let round = Clock::system()
            .timeout(Duration::from_secs(60), last.wait_for(|(count, ())| *count == 1))
            .await;
        assert!(round.unwrap().is_ok());
    }

    /// A service that fails once and whose second round may be cut short by a stop.
    struct Outage {
        rounds: usize,
        stop: CancellationToken,
        ends_by_itself: bool,
    }

    impl Service for Outage {
        type Report = ();
        const NAME: &'static str = "outage";

        async fn run_once(&mut self, _now: DateTime<Utc>) -> Result<(), EngineError> {
            self.rounds += 1;
            if self.rounds == 1 {
                let lost = DbErr::ConnectionAcquire(ConnAcquireErr::Timeout);
                return Err(EngineError::Store(StoreError::from(lost)));
            }
            if self.rounds == 3 || !self.ends_by_itself {
                self.stop.cancel();
            }
            Ok(())
        }

        fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
            now
        }

        fn is_notable((): &()) -> bool {
            false
        }
    }

    /// Collects the lines of the log.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_round_that_a_stop_cuts_short_is_no_success() {
        for ends_by_itself in [false, true] {
            let log = Log::default();
            let writer = log.clone();
            let lines = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
            let subscribed = tracing::subscriber::set_default(lines);
            let stop = CancellationToken::new();
            let service = Outage { rounds: 0, stop: stop.clone(), ends_by_itself };
            let wakes = Wakes { wake: Arc::new(Notify::new()), renewed: Arc::default() };
            let (reports, _last) = watch::channel((0, ()));
            drive(service, Clock::system(), wakes, stop, reports).await;
            drop(subscribed);
            let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
            assert!(log.contains("tries again until it succeeds"), "{log}");
            assert_eq!(log.contains("succeeds again"), ends_by_itself, "{log}");
        }
    }
}
