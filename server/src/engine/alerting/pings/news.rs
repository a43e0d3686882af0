//! The calls that changed runs require.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    ping::Event,
    run::{State, Trigger},
};
use uuid::Uuid;

use crate::{
    model::Ping,
    store::pings::{ChangedRun, ReportedEvent},
};

/// Events that are older than this are not reported: a watchdog takes each call as current.
const MAX_AGE: TimeDelta = TimeDelta::hours(1);

/// Whether an event is recent enough to be reported.
pub(super) fn is_fresh(happened_at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    now - happened_at <= MAX_AGE
}

/// The calls that a batch of the feed requires: the latest one of each schedule.
pub(super) fn news(runs: &[ChangedRun], now: DateTime<Utc>) -> Vec<ReportedEvent> {
    let mut last: HashMap<Uuid, ReportedEvent> = HashMap::new();
    for run in runs {
        if let Some(news) = of_run(run).filter(|news| is_fresh(news.happened_at.utc(), now)) {
            last.insert(news.schedule_id, news);
        }
    }
    let mut all: Vec<ReportedEvent> = last.into_values().collect();
    all.sort_unstable_by_key(|news| news.schedule_id);
    all
}

fn of_run(run: &ChangedRun) -> Option<ReportedEvent> {
    let (event, at) = match run.state {
        State::Running => (Event::Start, run.started_at),
        State::Succeeded => (Event::Success, run.finished_at),
        State::Failed | State::TimedOut => (Event::Failure, run.finished_at),
        // A cancelled run is not reported: the user who stopped it knows about it.
        State::Queued | State::Retrying | State::Cancelled => return None,
    };
    // A backfill's runs say nothing about the present, so they are not reported.
    let schedule_id = run.schedule_id.filter(|_| run.trigger != Trigger::Backfill)?;
    let ping: Ping = serde_json::from_value(run.ping.clone()?).ok()?;
    ping.address(event)?;
    Some(ReportedEvent { schedule_id, event, run_id: run.id, happened_at: at? })
}

#[cfg(test)]
mod tests {
    use entity::Timestamp;
    use serde_json::json;

    use super::*;

    fn run(schedule: u128, id: u128, state: State) -> ChangedRun {
        ChangedRun {
            id: Uuid::from_u128(id),
            schedule_id: Some(Uuid::from_u128(schedule)),
            state,
            trigger: Trigger::Schedule,
            started_at: Some(Timestamp(1_000)),
            finished_at: Some(Timestamp(2_000)),
            changed: 0,
            ping: Some(json!({ "success": "https://a/", "start": "https://a/start" })),
            seen: 0,
        }
    }

    fn told(runs: &[ChangedRun], now: DateTime<Utc>) -> Vec<(u128, Event, u128)> {
        let news = news(runs, now).into_iter();
        news.map(|n| (n.schedule_id.as_u128(), n.event, n.run_id.as_u128())).collect()
    }

    #[test]
    fn only_the_newest_wanted_event_of_each_schedule_is_sent() {
        let now = Timestamp(3_000).utc();
        let runs = [
            run(1, 10, State::Running),
            run(1, 10, State::Succeeded),
            run(2, 20, State::Running),
            // The ping of this schedule has no URL for failures.
            run(2, 20, State::Failed),
            ChangedRun { trigger: Trigger::Backfill, ..run(3, 30, State::Succeeded) },
            ChangedRun { ping: None, ..run(4, 40, State::Succeeded) },
            run(5, 50, State::Cancelled),
        ];
        assert_eq!(told(&runs, now), [(1, Event::Success, 10), (2, Event::Start, 20)]);
        let later = now + TimeDelta::hours(1);
        assert_eq!(told(&runs, later), [], "a watchdog takes a call for the present");
    }
}
