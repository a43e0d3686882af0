//! `carillon feeds`: calendar feeds of upcoming runs, to which calendar programs subscribe, and
//! badges.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    CliError,
    client::{ClientError, Server},
    output, search,
    session::{CookieSession, typed},
    why::Why,
};
use crate::search::SearchedList;

/// Manage your calendar feeds of upcoming runs, and badges
#[derive(Debug, Args)]
pub(super) struct Feeds {
    #[command(flatten)]
    server: Server,
    /// Owner of the feeds: tokens cannot create feeds, so the password is asked for
    #[arg(long, value_name = "USER", global = true)]
    user: Option<String>,
    /// Read the password from standard input
    #[arg(long, global = true)]
    stdin: bool,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List your feeds
    List {
        /// Answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// Create a feed and print its address, which is shown only this once
    Create {
        /// Unique among your feeds
        name: String,
        /// Namespace of the feed
        #[arg(long, default_value = "default")]
        namespace: String,
        /// Only this schedule
        #[arg(long, value_name = "NAME", conflicts_with = "search")]
        schedule: Option<String>,
        /// Only schedules that match this search, such as 'tag:billing'
        #[arg(long, value_name = "SEARCH", allow_hyphen_values = true)]
        search: Option<String>,
        /// A badge with the results of the last runs, instead of a calendar
        #[arg(long)]
        badge: bool,
        #[command(flatten)]
        why: Why,
        /// Answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a feed: its address stops working
    Revoke {
        /// The feed's name or id
        feed: String,
        #[command(flatten)]
        why: Why,
    },
}

const LIST: &str =
    "{ calendarFeeds { id name kind namespace scheduleId search createdAt usedAt } }";

const CREATE: &str = "mutation ($input: CreateCalendarFeedInput!) {
    made: createCalendarFeed(input: $input) { path calendarFeed { id name } }
}";

const REVOKE: &str = "mutation ($id: UUID!, $reason: String) {
    done: revokeCalendarFeed(id: $id, reason: $reason) { id }
}";

impl Feeds {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Some(user) = &self.user else {
            return Err(CliError::Usage("give --user: a feed belongs to a user".to_owned()));
        };
        let server = self.server.connection()?.server;
        let password = typed("Password: ", self.stdin)?;
        let session = CookieSession::open(&server, user, &password).await?;
        let done = self.action.carry_out(&session, &server).await;
        session.close().await;
        done
    }
}

impl Action {
    async fn carry_out(self, session: &CookieSession<'_>, server: &str) -> Result<(), CliError> {
        match self {
            Self::List { json } => {
                let feeds = feeds(session, "list the feeds").await?;
                if json { output::json(&feeds) } else { print(&feeds) }
            }
            Self::Create { name, namespace, schedule, search, badge, why, json } => {
                search::check(SearchedList::Schedules, "--search", search.as_deref())?;
                let input = json!({
                    "name": name, "kind": if badge { "BADGE" } else { "CALENDAR" },
                    "namespace": namespace, "schedule": schedule, "search": search,
                    "reason": why.reason,
                });
                let answer = session.ask("create the feed", CREATE, json!({ "input": input }));
                let made = answer.await?["made"].take();
                let address = format!("{server}{}", made["path"].as_str().unwrap_or_default());
                if json {
                    let feed = &made["calendarFeed"];
                    return output::json(&json!({
                        "id": feed["id"], "name": feed["name"], "address": address,
                    }));
                }
                // Only the address goes to standard output, for scripts; the rest is for people.
                output::aside(format!(
                    "created the feed '{name}'; anybody who has its address can read it"
                ));
                output::line(address)
            }
            Self::Revoke { feed, why } => {
                const ACTION: &str = "revoke the feed";
                let id = id(session, ACTION, &feed).await?;
                let asked = json!({ "id": id, "reason": why.reason });
                session.ask(ACTION, REVOKE, asked).await?;
                output::line(format!("revoked the feed '{feed}'"))
            }
        }
    }
}

async fn feeds(session: &CookieSession<'_>, action: &'static str) -> Result<Vec<Value>, CliError> {
    let mut answer = session.ask(action, LIST, json!({})).await?;
    Ok(serde_json::from_value(answer["calendarFeeds"].take()).unwrap_or_default())
}

async fn id(
    session: &CookieSession<'_>,
    action: &'static str,
    feed: &str,
) -> Result<Value, CliError> {
    if let Ok(id) = Uuid::try_parse(feed) {
        return Ok(json!(id));
    }
    let mut feeds = feeds(session, action).await?;
    let found = feeds.iter_mut().find(|one| one["name"] == feed);
    found.map(|one| one["id"].take()).ok_or_else(|| {
        let problem = format!("you have no feed '{feed}'; 'carillon feeds list' shows yours");
        ClientError::Refused { action, problem }.into()
    })
}

fn print(feeds: &[Value]) -> Result<(), CliError> {
    let row = |feed: &Value| {
        let shows = match (feed["scheduleId"].as_str(), feed["search"].as_str()) {
            (Some(schedule), _) => format!("schedule {schedule}"),
            (None, Some(search)) => search.to_owned(),
            (None, None) => "all".to_owned(),
        };
        let used = feed["usedAt"].as_str().unwrap_or("never").to_owned();
        let kind = feed["kind"].as_str().unwrap_or_default().to_lowercase();
        [output::cell(&feed["name"]), kind, output::cell(&feed["namespace"]), shows, used]
    };
    let rows: Vec<[String; 5]> = feeds.iter().map(row).collect();
    output::table(["FEED", "KIND", "NAMESPACE", "SHOWS", "LAST USE"], &rows)
}
