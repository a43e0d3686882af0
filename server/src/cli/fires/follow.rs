//! Follows the ledger: prints each row when it appears, and again when its verdict changes.

use std::{collections::HashMap, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::{Ledger, due};
use crate::{
    cli::{
        CliError,
        await_run::{AWAY, patiently},
        client::MAX_LISTED,
        output,
    },
    clock::Clock,
};

/// The interval between two polls.
const BETWEEN: Duration = Duration::from_secs(1);

/// Rows that were due longer ago than this rarely change, so they are not polled.
const WINDOW: TimeDelta = TimeDelta::hours(1);

/// Rows that were due within this time, or are not decided yet, are polled each time.
const RECENT: TimeDelta = TimeDelta::minutes(1);

/// How many rounds lie between two polls of the whole window: an hour of a busy ledger has many
/// pages.
const ROUNDS: u32 = 30;

/// Prints the last rows, and then new and changed ones until the process is stopped.
pub(super) async fn follow(
    ledger: &Ledger<'_>,
    since: Option<DateTime<Utc>>,
    limit: u32,
    json: bool,
) -> Result<(), CliError> {
    let clock = Clock::system();
    let mut told = PrintedVerdicts::default();
    let (mut rows, _) = ledger.newest(since, limit).await?;
    let start = rows.last().and_then(at).unwrap_or_else(|| clock.now());
    let mut round = 0_u32;
    loop {
        rows.reverse();
        for row in &rows {
            if told.is_news(row) {
                if json { output::json(row) } else { output::line(line(row)) }?;
            }
        }
        clock.sleep(BETWEEN).await;
        let now = clock.now();
        let window = start.max(now - WINDOW);
        told.forget(window);
        round = round.wrapping_add(1);
        let from = if round.is_multiple_of(ROUNDS) { window } else { told.open_from(window, now) };
        let newer = async || ledger.newest(Some(from), MAX_LISTED).await;
        rows = patiently(AWAY, newer).await?.0;
    }
}

/// The verdicts that were printed so far, by row.
#[derive(Default)]
struct PrintedVerdicts(HashMap<String, (DateTime<Utc>, String)>);

impl PrintedVerdicts {
    /// Whether a row is new, or its verdict has changed.
    fn is_news(&mut self, row: &Value) -> bool {
        let (Some(id), Some(at)) = (row["id"].as_str(), at(row)) else { return false };
        let verdict = output::cell(&row["verdict"]);
        let before = self.0.insert(id.to_owned(), (at, verdict.clone()));
        before.is_none_or(|(_, before)| before != verdict)
    }

    /// The instant from which on rows may change soon.
    fn open_from(&self, window: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
        let open = self.0.values().filter(|(_, verdict)| verdict == "PENDING").map(|(at, _)| *at);
        let recent = now - RECENT;
        window.max(open.min().map_or(recent, |open| open.min(recent)))
    }

    /// Forgets rows that are no longer polled.
    fn forget(&mut self, before: DateTime<Utc>) {
        self.0.retain(|_, (at, _)| *at >= before);
    }
}

fn at(row: &Value) -> Option<DateTime<Utc>> {
    row["scheduledAt"].as_str()?.parse().ok()
}

fn line(row: &Value) -> String {
    let verdict = output::state(&row["verdict"]);
    let schedule = output::cell(&row["schedule"]["name"]);
    format!("{}  {schedule}  {verdict}  {}", due(row), output::cell(&row["reason"]["text"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_is_printed_once_for_each_verdict() {
        let row = |verdict: &str| json!({ "id": "a", "scheduledAt": "2026-11-26T02:00:00Z", "verdict": verdict });
        let mut told = PrintedVerdicts::default();
        let news = ["PENDING", "PENDING", "STARTED", "STARTED"].map(|v| told.is_news(&row(v)));
        assert_eq!(news, [true, false, true, false]);
        told.forget("2026-11-26T03:00:00Z".parse().unwrap());
        assert!(told.0.is_empty());
    }

    #[test]
    fn what_is_not_decided_is_polled_however_old_it_is_within_the_window() {
        let time =
            |text: &str| -> DateTime<Utc> { format!("2026-11-26T{text}:00Z").parse().unwrap() };
        let (window, now) = (time("02:00"), time("03:00"));
        let mut told = PrintedVerdicts::default();
        assert_eq!(told.open_from(window, now), time("02:59"));
        assert_eq!(told.open_from(now, now), now, "nothing before the window");
        let row = |id: &str, at: &str, verdict: &str| json!({ "id": id, "scheduledAt": time(at), "verdict": verdict });
        told.is_news(&row("a", "02:10", "STARTED"));
        told.is_news(&row("b", "02:20", "PENDING"));
        assert_eq!(told.open_from(window, now), time("02:20"));
        told.is_news(&row("b", "02:20", "SKIPPED"));
        assert_eq!(told.open_from(window, now), time("02:59"));
    }
}
