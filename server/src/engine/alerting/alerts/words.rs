//! Writes the text of a message, without IO. The body is JSON that contains no secret of a channel;
//! `form` converts it to each channel's format.

use chrono::SecondsFormat;
use entity::{
    Timestamp,
    alert::{Kind, Model},
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::store::alerts::{notes::word, pending::PendingAlerts};

/// The facts that every message of a rule contains.
#[derive(Clone, Debug)]
pub(super) struct MessageOrigin {
    pub(super) namespace: String,
    pub(super) rule: (Uuid, String),
    /// The public URL of the console, if one is configured.
    pub(super) console: Option<String>,
}

/// The field of a body with the keys of the alerts that are over and that the message only counts.
/// Incident services need them to close an incident for each; no receiver gets the field itself.
pub(super) const ENDED_LEFT_OUT: &str = "ended_left_out";

/// A message's subject and body, from the first alerts and from the counts of all alerts.
pub(super) fn message(
    place: &MessageOrigin,
    alerts: &[Model],
    counts: &[PendingAlerts],
) -> (String, Value) {
    let total: i64 = counts.iter().map(|count| count.alerts).sum();
    let summary = match alerts {
        [only] if total == 1 => sentence(only),
        _ => summary(counts),
    };
    let subject = one_line(&format!("[{}] {summary}", place.namespace));
    let counts: Map<String, Value> =
        counted(counts).into_iter().map(|(word, count)| (word, count.into())).collect();
    let shown: Vec<Value> = alerts.iter().map(|alert| told(place, alert)).collect();
    let left_out = total - i64::try_from(alerts.len()).unwrap_or(total);
    let body = json!({
        "namespace": place.namespace,
        "rule": { "id": place.rule.0, "name": place.rule.1 },
        "summary": one_line(&summary),
        "total": total,
        "counts": counts,
        "left_out": left_out,
        "alerts": shown,
    });
    (subject, body)
}

/// The subject and body of a test message.
pub(crate) fn test_body(namespace: &str, channel: &str, by: &str) -> (String, Value) {
    let summary = one_line(&format!("a test of the channel {channel}, requested by {by}"));
    let body = json!({
        "namespace": namespace,
        "rule": null,
        "summary": summary,
        "total": 0,
        "counts": {},
        "left_out": 0,
        "alerts": [],
    });
    (one_line(&format!("[{namespace}] {summary}")), body)
}

/// An alert as it appears in a message.
fn told(place: &MessageOrigin, alert: &Model) -> Value {
    let node = alert.schedule_id.is_none().then_some(&alert.subject);
    let schedule =
        alert.schedule_id.map(|id| json!({ "id": id, "name": one_line(&alert.subject) }));
    json!({
        "id": alert.id,
        "kind": word(alert.kind),
        "state": state(alert),
        "text": one_line(&sentence(alert)),
        "schedule": schedule,
        "node": node.map(|name| one_line(name)),
        "count": alert.count,
        "began_at": instant(alert.began_at),
        "last_at": instant(alert.last_at),
        "ended_at": alert.ended_at.map(instant),
        "run_id": alert.run_id,
        "fire_id": alert.fire_id,
        "error": alert.detail.as_deref().map(one_line),
        "url": place.console.as_deref().map(|console| url(console, alert)),
    })
}

fn url(console: &str, alert: &Model) -> String {
    let console = console.trim_end_matches('/');
    match (alert.run_id, alert.fire_id, alert.schedule_id) {
        (Some(run), ..) => format!("{console}/runs/{run}"),
        (None, Some(fire), _) => format!("{console}/ledger?fire={fire}"),
        (None, None, Some(schedule)) => format!("{console}/schedules/{schedule}"),
        (None, None, None) => format!("{console}/cluster"),
    }
}

/// The state of the problem, as one word.
fn state(alert: &Model) -> &'static str {
    match (alert.kind, alert.ended_at) {
        (Kind::Missed | Kind::Late | Kind::ClockChange, _) => "happened",
        (_, None) => "open",
        (_, Some(_)) => "recovered",
    }
}

/// An alert as a sentence. If it was reported before and is over, the sentence reports a recovery.
fn sentence(alert: &Model) -> String {
    let (subject, count) = (&alert.subject, alert.count);
    if alert.told_at.is_some() && alert.ended_at.is_some() {
        return match alert.kind {
            Kind::NodeLost => format!("node {subject} is back"),
            Kind::Stalled => format!("{subject} is running again"),
            Kind::Skipped => format!("{subject} no longer skips fires"),
            Kind::Slow => format!("the slow run of {subject} has ended"),
            Kind::Failed | Kind::Losing | Kind::Missed | Kind::Late | Kind::ClockChange => {
                format!("{subject} has recovered")
            }
        };
    }
    let since = match (alert.kind, alert.ended_at) {
        (Kind::Missed | Kind::Late | Kind::ClockChange, _) | (_, None) => "",
        (Kind::Slow, Some(_)) => ", and has ended since",
        (_, Some(_)) => ", and has recovered since",
    };
    let begun = match alert.kind {
        Kind::Failed if count == 1 => format!("{subject} failed"),
        Kind::Failed | Kind::Losing => format!("{subject} failed {count} times in a row"),
        Kind::Missed if count == 1 => format!("{subject} missed a fire"),
        Kind::Missed => format!("{subject} missed {count} fires"),
        Kind::Skipped => {
            let fires = if count == 1 { "a fire".to_owned() } else { format!("{count} fires") };
            let why = alert.detail.as_deref().map(|reasons| format!(" ({reasons})"));
            format!("{subject} skipped {fires} within an hour{}", why.unwrap_or_default())
        }
        Kind::Late => {
            let late = (alert.last_at.0 - alert.began_at.0) / 1_000;
            format!("{subject} started {} late", duration(late))
        }
        Kind::Stalled if alert.run_id.is_some() => match &alert.detail {
            Some(why) => format!("{subject} has a run that waits: {why} takes it"),
            None => format!("{subject} has a run that waits, and no node takes it"),
        },
        Kind::Stalled => format!("{subject} is due, and no node claims it"),
        Kind::Slow => match &alert.detail {
            Some(detail) => format!("{subject} has a slow run: {detail}"),
            None => format!("{subject} has a slow run"),
        },
        Kind::ClockChange => match &alert.detail {
            Some(effect) => format!("the clocks change for {subject}: {effect}"),
            None => format!("the clocks change for {subject}"),
        },
        Kind::NodeLost => format!("node {subject} is lost"),
    };
    begun + since
}

/// All alerts of a message, counted in one phrase.
fn summary(counts: &[PendingAlerts]) -> String {
    let phrases = counted(counts).into_iter().map(|(word, count)| format!("{count} {word}"));
    phrases.collect::<Vec<_>>().join(", ").replace('_', " ")
}

/// The counts by wording: first the alerts that began, then those of any kind that ended.
fn counted(counts: &[PendingAlerts]) -> Vec<(String, i64)> {
    let mut words: Vec<(bool, String, i64)> = Vec::new();
    for count in counts {
        let word = match (count.was_told, count.kind) {
            (false, kind) => word(kind),
            (true, Kind::NodeLost) => "node_back".to_owned(),
            (true, Kind::Slow) => "slow_run_ended".to_owned(),
            (
                true,
                Kind::Failed
                | Kind::Losing
                | Kind::Missed
                | Kind::Skipped
                | Kind::Late
                | Kind::Stalled
                | Kind::ClockChange,
            ) => "recovered".to_owned(),
        };
        match words.iter_mut().find(|(_, known, _)| *known == word) {
            Some((_, _, sum)) => *sum += count.alerts,
            None => words.push((count.was_told, word, count.alerts)),
        }
    }
    words.sort();
    words.into_iter().map(|(_, word, count)| (word, count)).collect()
}

/// An approximate duration in words.
pub(super) fn duration(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3_600),
    }
}

fn instant(at: Timestamp) -> String {
    at.utc().to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Removes line breaks and other control characters, so that a name in a header stays on one line.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() || "\u{2028}\u{2029}".contains(c) { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alert(kind: Kind, count: i64) -> Model {
        Model {
            id: Uuid::from_u128(1),
            namespace_id: Uuid::from_u128(2),
            rule_id: Uuid::from_u128(3),
            kind,
            occurrence: String::new(),
            schedule_id: (kind != Kind::NodeLost).then_some(Uuid::from_u128(4)),
            subject: "nightly".to_owned(),
            run_id: None,
            fire_id: None,
            detail: Some("exit code 1\r\nBcc: eve@example.com".to_owned()),
            count,
            began_at: Timestamp(0),
            last_at: Timestamp(150_000),
            ended_at: None,
            tell_at: None,
            told_at: None,
            acknowledged_at: None,
            acknowledged_by: None,
            acknowledged_note: None,
            acknowledged_until: None,
            withdrawn_at: None,
            changed: 0,
        }
    }

    fn place() -> MessageOrigin {
        MessageOrigin {
            namespace: "default".to_owned(),
            rule: (Uuid::from_u128(3), "all".to_owned()),
            console: Some("https://cron.example/".to_owned()),
        }
    }

    #[test]
    fn each_alert_is_a_sentence() {
        for (kind, count, said) in [
            (Kind::Failed, 1, "nightly failed"),
            (Kind::Losing, 5, "nightly failed 5 times in a row"),
            (Kind::Missed, 3, "nightly missed 3 fires"),
            (
                Kind::Skipped,
                4,
                "nightly skipped 4 fires within an hour (exit code 1\r\nBcc: eve@example.com)",
            ),
            (Kind::Late, 1, "nightly started 2 min late"),
            (Kind::Stalled, 1, "nightly is due, and no node claims it"),
            (Kind::Slow, 1, "nightly has a slow run: exit code 1\r\nBcc: eve@example.com"),
            (Kind::NodeLost, 1, "node nightly is lost"),
        ] {
            assert_eq!(sentence(&alert(kind, count)), said);
        }
        let over = Model { ended_at: Some(Timestamp(9)), ..alert(Kind::Failed, 1) };
        assert_eq!(sentence(&over), "nightly failed, and has recovered since");
        let told = Model { told_at: Some(Timestamp(5)), ..over };
        assert_eq!(sentence(&told), "nightly has recovered");
        let skipped = Model { kind: Kind::Skipped, ..told };
        assert_eq!(sentence(&skipped), "nightly no longer skips fires");
    }

    #[test]
    fn a_line_stays_a_line_whatever_is_in_it() {
        let mut bad = alert(Kind::Failed, 1);
        bad.subject = "x\r\nBcc: eve@example.com".to_owned();
        let count = PendingAlerts { kind: Kind::Failed, was_told: false, alerts: 1 };
        let (subject, body) = message(&place(), &[bad], &[count]);
        assert_eq!(subject, "[default] x  Bcc: eve@example.com failed");
        assert_eq!(body["alerts"][0]["error"], "exit code 1  Bcc: eve@example.com");
        assert!(body["alerts"][0]["url"].as_str().unwrap().starts_with("https://cron.example/s"));
    }

    #[test]
    fn an_alert_links_to_what_it_is_about() {
        let (run, fire) = (Some(Uuid::from_u128(7)), Some(Uuid::from_u128(8)));
        let missed = Model { fire_id: fire, ..alert(Kind::Missed, 1) };
        let failed = Model { run_id: run, fire_id: fire, ..alert(Kind::Failed, 1) };
        for (alert, path) in [
            (failed, "runs/00000000-0000-0000-0000-000000000007"),
            (missed, "ledger?fire=00000000-0000-0000-0000-000000000008"),
            (alert(Kind::Stalled, 1), "schedules/00000000-0000-0000-0000-000000000004"),
            (alert(Kind::NodeLost, 1), "cluster"),
        ] {
            assert_eq!(
                url("https://cron.example/", &alert),
                format!("https://cron.example/{path}")
            );
        }
    }

    #[test]
    fn many_are_counted() {
        let count = |kind, was_told, alerts| PendingAlerts { kind, was_told, alerts };
        let counts = [count(Kind::Failed, false, 9_999), count(Kind::Stalled, true, 1)];
        let (subject, body) = message(&place(), &[alert(Kind::Failed, 1)], &counts);
        assert_eq!(subject, "[default] 9999 failed, 1 recovered");
        assert_eq!((&body["total"], &body["left_out"]), (&json!(10_000), &json!(9_999)));
    }
}
