use clap::Args;
use serde_json::{Value, json};

use super::{PREVIEW, day, figures};
use crate::cli::{CliError, client::Server, output};

/// Show what the server's next round would remove
#[derive(Debug, Args)]
pub(super) struct Preview {
    #[command(flatten)]
    server: Server,
    /// Only history of this namespace [default: all history, including that without a namespace;
    /// for administrators of the instance]
    #[arg(long)]
    namespace: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

impl Preview {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let query =
            format!("query ($of: String) {{ retentionPreview(namespace: $of) {{ {PREVIEW} }} }}");
        let asked = json!({ "of": self.namespace });
        let mut answer = self.server.ask("look what would be removed", &query, asked).await?;
        let preview = answer["retentionPreview"].take();
        if self.json {
            return output::json(&preview);
        }
        let found: Vec<Value> = figures(&preview, None).cloned().collect();
        print(&preview, found)
    }
}

fn print(preview: &Value, mut found: Vec<Value>) -> Result<(), CliError> {
    if found.is_empty() {
        output::line("nothing is old enough to be removed")?;
    } else {
        found.sort_by_key(|figure| output::cell(&figure["namespace"]));
        let rows: Vec<[String; 6]> = found.iter().map(row).collect();
        output::table(
            ["NAMESPACE", "TABLE", "ROWS", "BYTES", "OLDEST (UTC)", "NEWEST (UTC)"],
            &rows,
        )?;
    }
    if preview["partitions"].as_i64().is_some_and(|partitions| partitions > 0) {
        output::line(format!("{} partitions are old enough to be removed", preview["partitions"]))?;
    }
    for oldest in preview["oldestKept"].as_array().into_iter().flatten() {
        let (table, day) = (output::cell(&oldest["table"]), day(&oldest["madeAt"]));
        output::line(format!("the oldest {table} that remains is from {day} (UTC)"))?;
    }
    Ok(())
}

fn row(figure: &Value) -> [String; 6] {
    [
        output::cell(&figure["namespace"]),
        output::cell(&figure["table"]),
        figure["rows"].to_string(),
        format!("~{}", figure["estimatedBytes"]),
        day(&figure["oldest"]),
        day(&figure["newest"]),
    ]
}
