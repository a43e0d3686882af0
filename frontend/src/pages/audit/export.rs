//! The audit log as a file: all entries that match the filters, not only those on the page.

use leptos::task::spawn_local;
use serde_json::Value;

use crate::{
    api::{self, AuditQuery},
    components::save_text,
    model::{AuditEvent, Failure, Place},
    state::Notices,
    time::amount,
};

/// The maximum page size of the server.
const PAGE: usize = 200;
/// Maximum number of events in one file.
const MAX_ENTRIES: usize = 20_000;

/// The format of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    Json,
}

/// Reads all events, and saves them.
pub(super) fn export(query: AuditQuery, format: Format, notices: Notices) {
    spawn_local(async move {
        match read(query).await {
            Ok(events) => {
                let (name, kind, text) = match format {
                    Format::Csv => ("audit.csv", "text/csv", csv(&events)),
                    Format::Json => {
                        let text = serde_json::to_string_pretty(&events).unwrap_or_default();
                        ("audit.json", "application/json", text)
                    }
                };
                save_text(name, kind, &text);
                let more = if events.len() >= MAX_ENTRIES { ", the newest of more" } else { "" };
                let changes = amount(events.len() as i64, "change", "changes");
                notices.done(format!("{changes} saved as {name}{more}."));
            }
            Err(failure) => notices.failed(&failure),
        }
    });
}

async fn read(mut query: AuditQuery) -> Result<Vec<AuditEvent>, Failure> {
    let mut events = Vec::new();
    query.place = Place::First;
    loop {
        let page = api::audit_events(query.clone(), PAGE).send().await?;
        events.extend(page.rows.iter().map(|event| event.as_ref().clone()));
        match page.next {
            Some(next) if events.len() < MAX_ENTRIES => query.place = Place::After(next),
            Some(_) | None => return Ok(events),
        }
    }
}

const COLUMNS: &str = "at,actor,source,namespace,action,subject,subjectId,reason,before,after";

fn csv(events: &[AuditEvent]) -> String {
    let mut text = format!("{COLUMNS}\r\n");
    for event in events {
        let json = |value: &Option<Value>| value.as_ref().map(Value::to_string).unwrap_or_default();
        let at = event.at.to_rfc3339();
        let cells = [
            at.as_str(),
            &event.actor,
            &event.source,
            event.namespace.as_deref().unwrap_or_default(),
            &event.action,
            &event.subject,
            event.subject_id.as_deref().unwrap_or_default(),
            event.reason.as_deref().unwrap_or_default(),
            &json(&event.before),
            &json(&event.after),
        ];
        text.push_str(&cells.map(cell).join(","));
        text.push_str("\r\n");
    }
    text
}

/// One cell of a CSV file. If a spreadsheet would read the value as a formula, an apostrophe
/// precedes it.
fn cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    if guard.is_empty() && !text.contains(['"', ',', '\n', '\r']) {
        return text.to_owned();
    }
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn a_cell_is_quoted_where_it_must_be() {
        assert_eq!(cell("nightly"), "nightly");
        assert_eq!(cell("a, \"b\"\nc"), "\"a, \"\"b\"\"\nc\"");
        assert_eq!(cell("=HYPERLINK(1)"), "\"'=HYPERLINK(1)\"");
        assert_eq!(cell(""), "");
    }
}
