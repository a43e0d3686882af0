//! Formats alerts for Microsoft Teams as an Adaptive Card.

use serde_json::{Value, json};

use super::{INVISIBLE, MAX_ERROR, lines, more};
use crate::model::shortened;

/// A message for the URL of a Teams workflow ("when a Teams webhook request is received").
pub(super) fn card(subject: &str, body: &Value) -> Value {
    let mut blocks = vec![json!({
        "type": "TextBlock", "text": plain(subject), "weight": "Bolder", "size": "Medium",
        "wrap": true,
    })];
    for line in lines(body) {
        let said = match line.url {
            Some(url) => format!("- [{}]({})", plain(line.text), address(url)),
            None => format!("- {}", plain(line.text)),
        };
        blocks.push(json!({ "type": "TextBlock", "text": said, "wrap": true }));
        if let Some(error) = line.error {
            let was = if line.is_over { "The error was: " } else { "" };
            let error = format!("{was}{}", plain(&shortened(error, MAX_ERROR)));
            blocks.push(json!({
                "type": "TextBlock", "text": error, "wrap": true, "isSubtle": true,
                "spacing": "None",
            }));
        }
    }
    if let Some(more) = more(body) {
        blocks.push(json!({ "type": "TextBlock", "text": more, "wrap": true }));
    }
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "msteams": { "width": "Full" },
                "body": blocks,
            },
        }],
    })
}

/// Puts a zero-width space after each character that has a meaning in Markdown, so that the text
/// contains no formatting, no links and no `<at>` mention.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '*' | '_' | '`' | '~' | '[' | ']' | '(' | '<' | '&' | '{' | '#' => {
                plain.extend([c, INVISIBLE]);
            }
            _ => plain.push(c),
        }
    }
    plain.replace("://", ":\u{200b}//")
}

/// A URL in which characters that would end a Markdown link are escaped.
fn address(url: &str) -> String {
    url.replace('(', "%28").replace(')', "%29").replace(' ', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_links_the_runs_and_nothing_in_an_error_is_a_link_or_a_mention() {
        let body = json!({
            "rule": { "name": "all" }, "total": 3,
            "alerts": [{
                "text": "nightly failed", "began_at": "2026-03-01T12:00:00Z", "state": "open",
                "error": "<at>all</at> [click](https://evil.example)",
                "url": "https://cron.example/runs/1",
            }],
        });
        let card = card("[billing] nightly failed", &body);
        let content = &card["attachments"][0]["content"];
        let text = |index: usize| content["body"][index]["text"].as_str().unwrap().to_owned();
        assert_eq!(text(0), "[\u{200b}billing]\u{200b} nightly failed");
        assert_eq!(text(1), "- [nightly failed](https://cron.example/runs/1)");
        assert_eq!(
            text(2),
            "<\u{200b}at>all<\u{200b}/at> [\u{200b}click]\u{200b}(\u{200b}https:\u{200b}//evil.example)"
        );
        assert_eq!(text(3), "and 2 more");
        assert_eq!(content["version"], "1.4");
    }
}
