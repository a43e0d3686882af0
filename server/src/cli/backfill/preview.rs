use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::FireSelection;
use crate::cli::{CliError, client::MoreEntries, output};

/// Show what a backfill would run
#[derive(Debug, Args)]
pub(super) struct Preview {
    #[command(flatten)]
    wanted: FireSelection,
    /// List only the fires in this state
    #[arg(long, value_enum)]
    standing: Option<InstantState>,
    /// Maximum number of fires to list, 1 to 10000
    #[arg(
        long,
        default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_FIRES))
    )]
    limit: u32,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum InstantState {
    Missing,
    Failed,
    Succeeded,
    Live,
    Suppressed,
    Forgotten,
}

impl InstantState {
    /// The field of a preview with the number of these fires; in capitals, the state in the API.
    fn figure(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Failed => "failed",
            Self::Succeeded => "succeeded",
            Self::Live => "live",
            Self::Suppressed => "suppressed",
            Self::Forgotten => "forgotten",
        }
    }
}

const PREVIEW: &str = "query (
    $id: UUID!, $from: DateTime!, $to: DateTime!, $mode: BackfillMode!,
    $standing: BackfillStanding, $first: Int!, $after: String
) {
    previewBackfill(scheduleId: $id, from: $from, to: $to, mode: $mode) {
        total missing succeeded failed live suppressed forgotten selected
        fires(standing: $standing, first: $first, after: $after) {
            nodes { at local offset kind standing selected fire { verdict reason { text } } }
            pageInfo { hasNextPage endCursor }
        }
    }
}";

/// Maximum number of fires that are listed.
const MAX_FIRES: u32 = 10_000;

/// The largest page that the server returns.
const PAGE: usize = 200;

impl Preview {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "preview the backfill";
        let mut variables = self.wanted.variables(ACTION).await?;
        variables["standing"] =
            json!(self.standing.map(|standing| standing.figure().to_uppercase()));
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let mut fires = Vec::new();
        let (mut preview, is_cut) = loop {
            variables["first"] = json!((limit - fires.len()).min(PAGE));
            let mut answer =
                self.wanted.named.server.ask(ACTION, PREVIEW, variables.clone()).await?;
            let mut preview = answer["previewBackfill"].take();
            let mut page = preview["fires"].take();
            if let Value::Array(nodes) = page["nodes"].take() {
                fires.extend(nodes);
            }
            let has_more = page["pageInfo"]["hasNextPage"] == true;
            if fires.len() >= limit || !has_more {
                break (preview, has_more);
            }
            variables["after"] = page["pageInfo"]["endCursor"].take();
        };
        let shown = fires.len();
        preview["fires"] = Value::Array(fires);
        if self.json { output::json(&preview) } else { print(&preview) }?;
        if is_cut {
            let total = preview[self.standing.map_or("total", InstantState::figure)].as_u64();
            MoreEntries::Some { total }.tell_up_to(shown, MAX_FIRES);
        }
        Ok(())
    }
}

fn print(preview: &Value) -> Result<(), CliError> {
    let row = |fire: &Value| {
        let runs = if fire["selected"] == true { "yes" } else { "no" };
        let standing = output::cell(&fire["standing"]).to_lowercase();
        let local = format!(
            "{} {}",
            output::cell(&fire["local"]).replace('T', " "),
            output::cell(&fire["offset"])
        );
        let why = output::cell(&fire["fire"]["reason"]["text"]);
        [output::cell(&fire["at"]), local, standing, runs.to_owned(), why]
    };
    let rows: Vec<[String; 5]> =
        preview["fires"].as_array().into_iter().flatten().map(row).collect();
    output::table(["AT", "LOCAL", "STANDING", "WOULD RUN", "LEDGER"], &rows)?;
    let count = |name: &str| preview[name].as_i64().unwrap_or(0);
    output::line(format!(
        "{} fires: {} missing, {} failed, {} succeeded, {} live, {} suppressed, \
         {} forgotten; {} would run",
        count("total"),
        count("missing"),
        count("failed"),
        count("succeeded"),
        count("live"),
        count("suppressed"),
        count("forgotten"),
        count("selected"),
    ))
}
