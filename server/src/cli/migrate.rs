use clap::Args;
use secrecy::ExposeSecret;
use serde_json::json;

use super::{CliError, flags::SettingsArgs, output};
use crate::{
    app,
    store::{Migrations, Options, Store, backup},
};

/// Bring the database's schema up to date
#[derive(Debug, Args)]
pub(super) struct Migrate {
    #[command(flatten)]
    place: SettingsArgs,
    /// Only show the schema's state and the pending migrations
    #[arg(long, visible_alias = "dry-run")]
    status: bool,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

impl Migrate {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let config = self.place.config()?;
        let options = app::database(&config);
        let file = backup::file_of(config.database.url.expose_secret()).ok();
        // Reading the schema of a missing file would create it.
        let before = if self.status && file.is_some_and(|file| !file.exists()) {
            Store::absent_schema()
        } else {
            Store::schema(&options).await?
        };
        if !self.status && !before.pending.is_empty() {
            if !self.json {
                let count = before.pending.len();
                let migrations = if count == 1 { "migration" } else { "migrations" };
                output::aside(format!(
                    "applying {count} {migrations}; this may take long on a large database"
                ));
            }
            let options = Options { migrations: Migrations::Apply, ..options };
            Store::open(&options).await?.close().await?;
        }
        let done = if self.status { Vec::new() } else { before.pending.clone() };
        let left = if self.status { before.pending } else { Vec::new() };
        if self.json {
            let applied = before.applied.len() + done.len();
            return output::json(&json!({ "applied": applied, "now": done, "pending": left }));
        }
        for name in &done {
            output::line(format!("applied {name}"))?;
        }
        for name in &left {
            output::line(format!("pending {name}"))?;
        }
        if done.is_empty() && left.is_empty() {
            let applied = before.applied.len();
            output::line(format!("the schema is up to date ({applied} migrations)"))?;
        }
        Ok(())
    }
}
