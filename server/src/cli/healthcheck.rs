use clap::Args;
use serde_json::Value;

use super::{
    CliError,
    client::{Server, http, read, unreachable},
    output,
};

/// Check a running server's health; exit with 1 unless it is healthy
///
/// Without a token, issues are reported without the names of nodes and tags.
#[derive(Debug, Args)]
pub(super) struct Healthcheck {
    #[command(flatten)]
    server: Server,
    /// Check only the schedules of this namespace
    #[arg(long)]
    namespace: Option<String>,
    /// Check only the schedules with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

impl Healthcheck {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let connection = self.server.connection()?;
        let server = &connection.server;
        let narrow = [("namespace", &self.namespace), ("tag", &self.tag)];
        let narrow: Vec<_> = narrow.iter().filter_map(|(k, v)| Some((k, v.as_ref()?))).collect();
        let request = http(server)?.get(format!("{server}/healthz")).query(&narrow);
        let answer = connection.signed(request).send().await.map_err(unreachable(server))?;
        let (status, answer) = read(server, answer).await?;
        let healthy = status.is_success();
        if self.json {
            output::json(&answer)?;
        } else if healthy {
            output::line("healthy")?;
        }
        if healthy {
            return Ok(());
        }
        let issues = answer["issues"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let issues: Vec<&str> = issues.chain(answer["error"].as_str()).collect();
        Err(CliError::Unhealthy(server.clone(), issues.join("; ")))
    }
}
