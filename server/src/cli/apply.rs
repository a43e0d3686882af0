use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::{CliError, client::Server, output};

/// Deploy module files: what they declare is made, what they declared before and no longer do goes
#[derive(Debug, Args)]
pub(super) struct Apply {
    #[command(flatten)]
    server: Server,
    /// Module files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only say what would change
    #[arg(long)]
    dry_run: bool,
    /// Leave what the module no longer declares
    #[arg(long)]
    no_prune: bool,
    /// Answer as JSON, a line for each file
    #[arg(long)]
    json: bool,
}

const DEPLOY: &str = "mutation ($source: String!, $dryRun: Boolean!, $prune: Boolean!) {
    deployModule(source: $source, dryRun: $dryRun, prune: $prune) {
        module dryRun changes { action kind name detail warnings { message suggestion } }
    }
}";

impl Apply {
    pub(super) async fn run(self) -> Result<(), CliError> {
        // All files are read before the first one changes anything.
        let sources = self.files.iter().map(|file| Ok((file, read(file)?)));
        let sources: Vec<(&PathBuf, String)> = sources.collect::<Result<_, CliError>>()?;
        for (file, source) in sources {
            let variables =
                json!({ "source": source, "dryRun": self.dry_run, "prune": !self.no_prune });
            let answer = self.server.ask("apply the module", DEPLOY, variables).await;
            let answer = answer.map_err(|error| error.about(file))?;
            let deployed = &answer["deployModule"];
            if self.json { output::json(deployed)? } else { print(deployed)? }
        }
        Ok(())
    }
}

/// A module's text.
pub(super) fn read(file: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(file).map_err(|error| {
        CliError::Usage(format!("the module file '{}' cannot be read: {error}", file.display()))
    })
}

fn print(deployed: &Value) -> Result<(), CliError> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let would = if deployed["dryRun"] == Value::Bool(true) { " (nothing was changed)" } else { "" };
    output::line(format!("module {}{would}", text(&deployed["module"])))?;
    for change in deployed["changes"].as_array().into_iter().flatten() {
        let (action, kind) = (text(&change["action"]).to_lowercase(), text(&change["kind"]));
        let (name, detail) = (text(&change["name"]), text(&change["detail"]));
        let detail = if detail.is_empty() { detail } else { format!(": {detail}") };
        output::line(format!("  {action} {kind} {name}{detail}"))?;
        for warning in change["warnings"].as_array().into_iter().flatten() {
            output::line(format!("    warning: {}", text(&warning["message"])))?;
        }
    }
    Ok(())
}
