//! The service that reads the feed of runs and calls the watchdogs.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use sea_orm::ActiveEnum;
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::news::{is_fresh, news};
use crate::{
    engine::{
        EngineError,
        cluster::{LeaseTerm, lead},
        core::Core,
        service::Service,
    },
    model::Ping,
    store::{
        Cursor,
        pings::{self, DuePing, PingOutcome, PingTurn},
    },
    target::{AttemptOutcome, Invocation, SecretText, TemplateNames},
    vault::SecretNamespace,
};

/// The service that follows the runs of schedules with a ping, and makes the calls.
#[derive(Debug)]
pub(crate) struct Pings {
    core: Arc<Core>,
    is_more: bool,
}

/// The outcome of a call to a watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallOutcome {
    Arrived,
    Failed,
    /// The event is too old, or the schedule no longer has a URL for it.
    Dropped,
    /// The round ended before the call was made.
    Later,
}

/// The results of a round of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PingsReport {
    /// Number of calls that were recorded and are yet to be made.
    pub noted: usize,
    /// Number of calls that arrived.
    pub sent: usize,
    /// Number of attempts that failed.
    pub failed: usize,
}

const LEASE: &str = "pings";

/// Maximum number of runs per transaction, and of transactions per round.
const STRETCH: u64 = 1_000;
const MAX_STRETCHES: usize = 5;

/// Maximum number of calls per round to receivers whose last call succeeded, and to those whose
/// last call failed. The two groups are called concurrently, so unreachable receivers do not delay
/// the others.
/// others.
const REACHED: u64 = 256;
const AWAY: u64 = 16;

/// Maximum number of concurrent calls of each group, and of each namespace.
const AT_ONCE: usize = 32;
const OF_A_NAMESPACE: usize = 16;

/// How long a call may take, and how long a round starts new calls.
/// The round ends before its lease.
const PATIENCE: Duration = Duration::from_secs(5);
const TERM: Duration = Duration::from_secs(15);

/// The pause between the first two attempts, and the longest pause.
const FIRST_PAUSE: TimeDelta = TimeDelta::seconds(10);
const LONGEST_PAUSE: TimeDelta = TimeDelta::minutes(5);

impl Pings {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core, is_more: false }
    }

    /// Reads the next part of the feed.
    /// Returns the number of calls that it requires, and whether more is left to read.
    async fn look(
        &self,
        lease: &LeaseTerm,
        now: DateTime<Utc>,
    ) -> Result<(usize, bool), EngineError> {
        let (store, clock) = (&self.core.store, &self.core.clock);
        let Some(mut from) = pings::cursor(store).await? else {
            if let Some(tx) = lease.begin(store, clock).await? {
                pings::begin(store, &tx).await?;
                store.commit(tx).await?;
                // Read the existing rows immediately instead of in the next round.
                return Ok((0, true));
            }
            return Ok((0, false));
        };
        let mut noted = 0;
        for _ in 0..MAX_STRETCHES {
            let runs = pings::changed(store, from, STRETCH).await?;
            let Some(last) = runs.last() else { return Ok((noted, false)) };
            let to = Cursor { changed: last.changed, id: last.id };
            let is_full = last.seen >= STRETCH.cast_signed();
            let news = news(&runs, now);
            let Some(tx) = lease.begin(store, clock).await? else { return Ok((noted, false)) };
            if !pings::note_if_at(store, &tx, from, to, &news, now.into()).await? {
                tx.rollback().await?;
                return Ok((noted, false));
            }
            store.commit_unseen(tx).await?;
            noted += news.len();
            from = to;
            if !is_full {
                return Ok((noted, false));
            }
        }
        Ok((noted, true))
    }

    /// Makes the calls, a limited number of them concurrently.
    async fn make(&self, due: &[DuePing]) -> Vec<CallOutcome> {
        let (begun, all) = (self.core.clock.instant(), Semaphore::new(AT_ONCE));
        let mut namespaces: HashMap<&str, Arc<Semaphore>> = HashMap::new();
        let mut calls = Vec::with_capacity(due.len());
        for due in due {
            let own = namespaces.entry(&due.namespace);
            let own = own.or_insert_with(|| Arc::new(Semaphore::new(OF_A_NAMESPACE))).clone();
            calls.push(self.in_turn(due, own, &all, begun));
        }
        join_all(calls).await
    }

    /// Makes one call as soon as the concurrency limits permit it.
    async fn in_turn(
        &self,
        due: &DuePing,
        own: Arc<Semaphore>,
        all: &Semaphore,
        begun: Instant,
    ) -> CallOutcome {
        // The namespace's limit comes first: a call that waits for others of its namespace must not
        // take a place from other namespaces.
        let _own = own.acquire().await;
        let _one = all.acquire().await;
        if self.core.clock.instant() - begun >= PATIENCE {
            return CallOutcome::Later;
        }
        self.call(due).await
    }

    /// Makes one call, and records the outcome.
    async fn call(&self, due: &DuePing) -> CallOutcome {
        let now = self.core.clock.now();
        let ping: Option<Ping> =
            due.ping.clone().and_then(|ping| serde_json::from_value(ping).ok());
        let address = ping.as_ref().and_then(|ping| ping.address(due.event));
        let address = address.filter(|_| is_fresh(due.happened_at.utc(), now));
        let attempts = due.attempts.saturating_add(1);
        let answer = match address {
            Some(address) => Some(self.send(due, attempts, address).await),
            None => None,
        };
        let now = self.core.clock.now();
        let schedule_id = due.schedule_id;
        let mut ended = PingOutcome {
            schedule_id,
            event: due.event,
            run_id: due.run_id,
            attempts,
            failures: 0,
            next_attempt_at: None,
            error: None,
            sent_at: None,
        };
        let made = match answer {
            Some(Ok(())) => {
                ended.sent_at = Some(now.into());
                CallOutcome::Arrived
            }
            Some(Err(error)) => {
                ended.failures = due.failures.saturating_add(1);
                ended.error = Some(error);
                ended.next_attempt_at = Some((now + pause(ended.failures)).into());
                CallOutcome::Failed
            }
            None => {
                // A dropped call leaves the number of failures as it is.
                ended.attempts = due.attempts;
                (ended.failures, ended.error) = (due.failures, due.error.clone());
                CallOutcome::Dropped
            }
        };
        // If the outcome cannot be recorded, the call
        // is made again and the watchdog receives it twice.
        if let Err(error) = pings::settle_if_newest(&self.core.store, &ended).await {
            tracing::error!(%schedule_id, %error, "failed to record the result of a ping");
        }
        made
    }

    /// Sends a request with the same client, and through the same guard, as the request of a
    /// target.
    async fn send(&self, due: &DuePing, attempt: i32, address: &SecretText) -> Result<(), String> {
        let core = &self.core;
        let invocation = Invocation {
            run_id: due.run_id,
            attempt,
            task: "ping".to_owned(),
            namespace: due.namespace.clone(),
            namespace_id: Uuid::nil(),
            priority: 0,
            schedule: Some(due.schedule.clone()),
            schedule_id: Some(due.schedule_id),
            schedule_version: None,
            scheduled_at: None,
            idempotency_key: format!("{}-{}", due.run_id, due.event.to_value()),
            traceparent: None,
            context: json!({}),
            timeout: PATIENCE,
            kill_grace: Duration::ZERO,
        };
        let (target, tasks) = (Ping::request(address), json!({}));
        let (whose, asked) = (SecretNamespace::Run(due.run_id), target.secret_names());
        let opening = core.settings.vault.opened(&core.store, &core.clock, whose, &asked);
        let secrets = match core.clock.timeout(PATIENCE, opening).await {
            Ok(Ok(secrets)) => secrets,
            Ok(Err(error)) => return Err(format!("failed to {error}")),
            Err(_) => return Err("failed to read its secrets in time".to_owned()),
        };
        let names = TemplateNames {
            invocation: &invocation,
            scheduled_at: due.happened_at.utc(),
            previous_fire: None,
            tasks: &tasks,
            secrets: &secrets,
        };
        let target =
            core.executor.fill_in(&target, &names).await.map_err(|error| error.to_string())?;
        // The request's log lines are discarded.
        let (lines, _) = mpsc::channel(1);
        let stop = CancellationToken::new();
        match core.executor.execute(&target, &invocation, lines, stop).await {
            AttemptOutcome::Succeeded { .. } => Ok(()),
            AttemptOutcome::Failed { message, .. } | AttemptOutcome::TimedOut { message, .. } => {
                Err(message)
            }
            AttemptOutcome::Cancelled { .. } => Err("it was stopped".to_owned()),
        }
    }
}

impl Service for Pings {
    type Report = PingsReport;
    const NAME: &'static str = "pings";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<PingsReport, EngineError> {
        let (core, mut report) = (self.core.clone(), PingsReport::default());
        self.is_more = false;
        let is_any = pings::is_any(&core.store).await?;
        // If no schedule has a ping, the service reads nothing and holds no lease.
        if !is_any && pings::cursor(&core.store).await?.is_none() {
            return Ok(report);
        }
        let term = (core.settings.poll * 3).max(TERM);
        let Some(lease) = lead(&core, LEASE, term).await? else {
            return Ok(report);
        };
        if !is_any {
            // A ping that is added later covers only runs from then on.
            if let Some(tx) = lease.begin(&core.store, &core.clock).await? {
                pings::stop(&tx).await?;
                core.store.commit_unseen(tx).await?;
            }
            return Ok(report);
        }
        (report.noted, self.is_more) = self.look(&lease, now).await?;
        let reached = pings::due(&core.store, PingTurn::Reached, now.into(), REACHED).await?;
        let away = pings::due(&core.store, PingTurn::Away, now.into(), AWAY).await?;
        let is_full = |due: &[DuePing], most| u64::try_from(due.len()).is_ok_and(|due| due >= most);
        self.is_more |= is_full(&reached, REACHED) || is_full(&away, AWAY);
        let (reached, away) = tokio::join!(self.make(&reached), self.make(&away));
        for made in reached.into_iter().chain(away) {
            match made {
                CallOutcome::Arrived => report.sent += 1,
                CallOutcome::Failed => report.failed += 1,
                CallOutcome::Dropped => {}
                CallOutcome::Later => self.is_more = true,
            }
        }
        Ok(report)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        let poll = TimeDelta::from_std(self.core.settings.poll).unwrap_or_default();
        if self.is_more { now } else { now + poll }
    }

    fn is_notable(report: &PingsReport) -> bool {
        *report != PingsReport::default()
    }
}

/// The pause after a number of failures in a row. It doubles each time.
fn pause(failures: i32) -> TimeDelta {
    let doublings = failures.saturating_sub(1).clamp(0, 10);
    (FIRST_PAUSE * 2_i32.pow(doublings.unsigned_abs())).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_ever_further_apart() {
        let seconds: Vec<i64> = (1..=7).map(|n| pause(n).num_seconds()).collect();
        assert_eq!(seconds, [10, 20, 40, 80, 160, 300, 300]);
    }
}
