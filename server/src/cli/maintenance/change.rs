use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{FACTS, preview, told};
use crate::{
    cli::{
        CliError,
        client::{ClientError, Server},
        output,
        resume::CatchUp,
        search as searches,
        when::future,
        why::Why,
    },
    search::SearchedList,
};

/// Change a maintenance window; of an active one only its title, its ticket and its end
#[derive(Debug, Args)]
pub(super) struct Change {
    #[command(flatten)]
    server: Server,
    /// The window's id; see 'carillon maintenance list'
    window: Uuid,
    /// What the maintenance is; 1 to 100 characters
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// When it begins
    #[arg(long, value_name = "WHEN", value_parser = future)]
    from: Option<DateTime<Utc>>,
    /// When it ends, at most 31 days after it begins
    #[arg(long, value_name = "WHEN", value_parser = future)]
    until: Option<DateTime<Utc>>,
    /// Search that selects the schedules; an empty one selects every schedule of the namespace
    #[arg(long, value_name = "SEARCH", allow_hyphen_values = true)]
    search: Option<String>,
    /// Ticket that it belongs to: a URL or an id; an empty text removes it
    #[arg(long, value_name = "TEXT")]
    ticket: Option<String>,
    /// What to do about the fires that fell into it, at its end
    #[arg(long, value_enum, value_name = "MODE", visible_alias = "catch-up")]
    missed: Option<CatchUp>,
    /// Only show what it would hold back
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    why: Why,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// Cancel a maintenance window: a planned one does not begin, the pauses of an active one end now
#[derive(Debug, Args)]
pub(super) struct Cancel {
    #[command(flatten)]
    server: Server,
    /// The window's id; see 'carillon maintenance list'
    window: Uuid,
    /// Reason, for the audit log
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

impl Change {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "change the maintenance";
        searches::check(SearchedList::Schedules, "--search", self.search.as_deref())?;
        let query = format!("query ($id: UUID!) {{ maintenanceWindow(id: $id) {{ {FACTS} }} }}");
        let found = self.server.ask(ACTION, &query, json!({ "id": self.window })).await?;
        let window = &found["maintenanceWindow"];
        if window.is_null() {
            let problem = format!(
                "there is no maintenance window '{}'; see 'carillon maintenance list'",
                self.window
            );
            return Err(ClientError::Refused { action: ACTION, problem }.into());
        }
        let input = self.input(window);
        if self.dry_run {
            return preview::show(&self.server, &input, Some(&window["id"]), self.json).await;
        }
        let query = format!(
            "mutation ($id: UUID!, $input: MaintenanceInput!, $reason: String) {{
                changeMaintenance(id: $id, input: $input, reason: $reason) {{
                    window {{ {FACTS} }}
                }}
            }}"
        );
        let variables = json!({ "id": self.window, "input": input, "reason": self.why.reason });
        let answer = self.server.ask(ACTION, &query, variables).await?;
        let window = &answer["changeMaintenance"]["window"];
        if self.json {
            return output::json(window);
        }
        output::line(told(window))
    }

    /// The whole window, with the changes.
    fn input(&self, window: &Value) -> Value {
        let text = |given: &Option<String>, field: &str| match given {
            Some(text) if text.trim().is_empty() => Value::Null,
            Some(text) => json!(text),
            None => window[field].clone(),
        };
        let instant = |given: Option<DateTime<Utc>>, field: &str| {
            given.map_or_else(|| window[field].clone(), |at| json!(at))
        };
        let title =
            self.title.as_ref().map_or_else(|| window["title"].clone(), |title| json!(title));
        let missed =
            self.missed.map_or_else(|| window["missed"].clone(), |missed| json!(missed.word()));
        json!({
            "namespace": window["namespace"],
            "title": title,
            "ticket": text(&self.ticket, "ticket"),
            "search": text(&self.search, "search"),
            "startsAt": instant(self.from, "startsAt"),
            "endsAt": instant(self.until, "endsAt"),
            "missed": missed,
        })
    }
}

impl Cancel {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let query = format!(
            "mutation ($id: UUID!, $reason: String!) {{
                cancelMaintenance(id: $id, reason: $reason) {{ window {{ {FACTS} }} }}
            }}"
        );
        let variables = json!({ "id": self.window, "reason": self.reason });
        let answer = self.server.ask("cancel the maintenance", &query, variables).await?;
        let window = &answer["cancelMaintenance"]["window"];
        if self.json {
            return output::json(window);
        }
        output::line(told(window))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        change: Change,
    }

    fn input(args: &[&str]) -> Value {
        let id = "01997e4c-1111-7000-8000-000000000001";
        let line = Line::try_parse_from([&["change", id][..], args].concat()).unwrap();
        line.change.input(&json!({
            "id": id, "namespace": "billing", "title": "Move", "ticket": "OPS-42",
            "search": "tag:eu", "startsAt": "2026-12-01T22:00:00.5Z",
            "endsAt": "2026-12-02T02:00:00Z", "missed": "ALL", "state": "PLANNED",
        }))
    }

    #[test]
    fn what_is_not_given_stays_as_it_is() {
        let same = input(&[]);
        let expected = json!({
            "namespace": "billing", "title": "Move", "ticket": "OPS-42", "search": "tag:eu",
            "startsAt": "2026-12-01T22:00:00.5Z", "endsAt": "2026-12-02T02:00:00Z",
            "missed": "ALL",
        });
        assert_eq!(same, expected);
        let changed = input(&["--until", "2026-12-02T03:00:00Z", "--missed", "latest"]);
        assert_eq!(changed["endsAt"], "2026-12-02T03:00:00Z");
        assert_eq!(
            (&changed["missed"], &changed["startsAt"]),
            (&json!("LATEST"), &same["startsAt"])
        );
    }

    #[test]
    fn an_empty_ticket_or_search_is_removed() {
        let changed = input(&["--ticket", "", "--search", " ", "--title", "Later"]);
        assert_eq!((&changed["ticket"], &changed["search"]), (&Value::Null, &Value::Null));
        assert_eq!(changed["title"], "Later");
    }
}
