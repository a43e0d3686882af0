//! Converts a message to the format of each kind of channel, without IO.
//!
//! - `teams`: cards for Microsoft Teams
//! - `incidents`: events for incident services

mod incidents;
mod teams;

use chrono::{DateTime, SecondsFormat, Utc};
use entity::notification::Model;
use serde_json::{Value, json};

use super::{channel_config::Receiver, words::ENDED_LEFT_OUT};
use crate::model::shortened;

/// A request that carries a message, or a part of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChannelCall {
    /// The path and query to append to the channel's URL.
    pub(super) below: Option<String>,
    pub(super) body: Value,
}

/// The requests that deliver a message to `receiver`. They are the same on each attempt.
pub(super) fn calls(receiver: Receiver, message: &Model) -> Vec<ChannelCall> {
    let (subject, body) = (&message.subject, &message.body);
    let one = |body| vec![ChannelCall { below: None, body }];
    let id = message.id.to_string();
    match receiver {
        Receiver::Webhook => one(webhook(body, message.created_at.utc())),
        Receiver::Slack => one(slack(subject, body)),
        Receiver::Teams => one(teams::card(subject, body)),
        Receiver::Pagerduty => incidents::pagerduty(&id, body),
        Receiver::Opsgenie => incidents::opsgenie(&id, body),
    }
}

/// Maximum number of alerts in a message for people; a program gets all of them.
const LISTED: usize = 20;

/// The payload for a program, in the form recommended by the Standard Webhooks specification.
fn webhook(body: &Value, at: DateTime<Utc>) -> Value {
    let kind = if body["rule"].is_null() { "alerts.test" } else { "alerts.raised" };
    let mut data = body.clone();
    if let Some(fields) = data.as_object_mut() {
        fields.remove(ENDED_LEFT_OUT);
    }
    json!({
        "type": kind,
        "timestamp": at.to_rfc3339_opts(SecondsFormat::Millis, true),
        "data": data,
    })
}

/// The payload for Slack and compatible services.
fn slack(subject: &str, body: &Value) -> Value {
    let mut text = format!("*{}*", escaped(subject));
    for line in lines(body) {
        let said = match line.url {
            Some(url) => format!("<{}|{}>", entities(url), escaped(line.text).replace('|', "/")),
            None => escaped(line.text),
        };
        text.push_str(&format!("\n• {said}"));
        if let Some(error) = line.error {
            let error = escaped(&shortened(error, MAX_ERROR));
            // The error of a resolved alert must not look like the reason for its end.
            text.push_str(&match line.is_over {
                true => format!(" (the error was: {error})"),
                false => format!(": {error}"),
            });
        }
    }
    if let Some(more) = more(body) {
        text.push_str(&format!("\n{more}"));
    }
    json!({ "text": text })
}

/// The plain text of a mail.
pub(super) fn plain(body: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut plain = format!("{}\n", text(&body["summary"]));
    for line in lines(body) {
        plain.push_str(&format!("\n- {} ({})\n", line.text, line.since));
        let was = if line.is_over { "the error was: " } else { "" };
        let error = line.error.map(|error| format!("{was}{error}"));
        for more in [error.as_deref(), line.url].into_iter().flatten() {
            plain.push_str(&format!("  {more}\n"));
        }
    }
    if let Some(more) = more(body) {
        plain.push_str(&format!("\n{more}\n"));
    }
    let rule = body["rule"]["name"].as_str();
    if let Some(rule) = rule {
        let namespace = text(&body["namespace"]);
        plain.push_str(&format!("\nSent by the alert rule {rule} of the namespace {namespace}.\n"));
    }
    plain
}

struct MessageLine<'a> {
    text: &'a str,
    since: &'a str,
    error: Option<&'a str>,
    /// Whether the alert on this line is over.
    is_over: bool,
    url: Option<&'a str>,
}

fn lines(body: &Value) -> impl Iterator<Item = MessageLine<'_>> {
    let alerts = body["alerts"].as_array().into_iter().flatten().take(LISTED);
    alerts.map(|alert| MessageLine {
        text: alert["text"].as_str().unwrap_or_default(),
        since: alert["began_at"].as_str().unwrap_or_default(),
        error: alert["error"].as_str(),
        is_over: alert["state"] == "recovered",
        url: alert["url"].as_str(),
    })
}

/// The line that counts the alerts that are not listed.
fn more(body: &Value) -> Option<String> {
    let listed = body["alerts"].as_array().map_or(0, |alerts| alerts.len().min(LISTED));
    let more = body["total"].as_u64()?.checked_sub(listed as u64)?;
    (more > 0).then(|| format!("and {more} more"))
}

/// Escapes a text for Slack, and for receivers that read Markdown: no part of a name or an error
/// may become a link, a mention or formatting.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in entities(text).chars() {
        // A zero-width space keeps formatting characters from taking effect.
        // It goes after `@` and brackets, and before the other characters.
        match c {
            '*' | '`' | '~' => escaped.extend([INVISIBLE, c]),
            '@' | '[' | ']' => escaped.extend([c, INVISIBLE]),
            _ => escaped.push(c),
        }
    }
    escaped.replace("://", ":\u{200b}//")
}

const INVISIBLE: char = '\u{200b}';

/// Escapes the characters that could end the surrounding markup.
fn entities(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Maximum length of an error text in a chat message.
const MAX_ERROR: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn body() -> Value {
        let alert = |url: Value| {
            json!({
                "text": "nightly failed", "began_at": "2026-03-01T12:00:00Z",
                "error": "<!channel> & <https://evil.example|click>", "url": url,
            })
        };
        let alerts = [alert(json!("https://cron.example/runs/1")), alert(Value::Null)];
        json!({
            "namespace": "default", "rule": { "id": "1", "name": "all" },
            "summary": "10000 failed", "total": 10_000, "alerts": alerts,
        })
    }

    #[test]
    fn output_of_a_program_mentions_nobody() {
        let text = slack("[default] 10000 failed", &body())["text"].as_str().unwrap().to_owned();
        assert_eq!(
            text,
            "*[\u{200b}default]\u{200b} 10000 failed*\n\
             • <https://cron.example/runs/1|nightly failed>: &lt;!channel&gt; &amp; \
             &lt;https:\u{200b}//evil.example|click&gt;\n\
             • nightly failed: &lt;!channel&gt; &amp; &lt;https:\u{200b}//evil.example|click&gt;\n\
             and 9998 more"
        );
        assert_eq!(
            escaped("@all [click](https://evil.example) *now*"),
            "@\u{200b}all [\u{200b}click]\u{200b}(https:\u{200b}//evil.example) \
             \u{200b}*now\u{200b}*"
        );
    }

    #[test]
    fn a_mail_says_the_same_in_plain_text() {
        let text = plain(&body());
        assert!(
            text.starts_with("10000 failed\n\n- nightly failed (2026-03-01T12:00:00Z)\n  <!ch")
        );
        assert!(
            text.ends_with(
                "and 9998 more\n\nSent by the alert rule all of the namespace default.\n"
            )
        );
    }

    #[test]
    fn the_error_of_an_ended_alert_is_in_the_past_tense() {
        let mut body = body();
        body["alerts"] = json!([{
            "text": "nightly has recovered", "began_at": "2026-03-01T12:00:00Z",
            "state": "recovered", "error": "exited with code 1",
        }]);
        let text = slack("[default] nightly has recovered", &body)["text"].to_string();
        assert!(
            text.contains("nightly has recovered (the error was: exited with code 1)"),
            "{text}"
        );
        let text = plain(&body);
        assert!(
            text.contains("nightly has recovered (2026-03-01T12:00:00Z)\n  the error was: exited")
        );
    }
}
