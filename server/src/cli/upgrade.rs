//! `carillon upgrade --check`: whether this version can go on with what another one has left.
//!
//! It changes nothing, and needs no schema of its own: it is asked before any migration.

use clap::Args;
use secrecy::ExposeSecret;
use serde::Serialize;
use timetable::{DstPolicy, Timetable};
use uuid::Uuid;

use super::{CliError, flags::SettingsArgs, output, timing::definition};
use crate::{
    app,
    clock::Clock,
    model::Definition,
    store::{Options, Schema, Store, StoreError, backup, stored::Stored},
};

/// Check whether this version can take over the configured database, before it is migrated
///
/// Reads the configuration, the schema, all schedules and all workflows as this version reads them,
/// and changes nothing. Exits with 1 if something would not go on.
#[derive(Debug, Args)]
pub(super) struct Upgrade {
    #[command(flatten)]
    place: SettingsArgs,
    /// Only check: the upgrade itself is to replace the program, and to start it
    #[arg(long, required = true)]
    check: bool,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// The maximum number of unreadable objects that are named.
const MAX_NAMED: usize = 20;

/// What was found.
#[derive(Debug, Default, Serialize)]
struct Report {
    /// The version of this program.
    version: &'static str,
    /// The last applied migration.
    schema: Option<String>,
    /// The migrations that this version would apply.
    pending: Vec<String>,
    /// Nodes of other versions.
    nodes: Vec<Node>,
    /// The number of schedules and workflows that were read.
    schedules: usize,
    workflows: usize,
    /// The number of problems, and the first of them.
    problems: usize,
    named: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Node {
    name: String,
    version: String,
}

impl Upgrade {
    pub(super) async fn run(self) -> Result<(), CliError> {
        // The settings are read as this version reads them: an error of theirs ends here.
        let config = self.place.config()?;
        let options = app::database(&config);
        let mut report = Report { version: env!("CARGO_PKG_VERSION"), ..Report::default() };
        let file = backup::file_of(config.database.url.expose_secret()).ok();
        // Looking for a schema would create the file.
        if file.is_none_or(|file| file.exists()) {
            let Schema { applied, pending } = Store::schema(&options).await?;
            (report.schema, report.pending) = (applied.last().cloned(), pending);
        }
        // An empty database has nothing to go on with.
        if report.schema.is_some() {
            report.read(&options).await?;
        }
        if self.json {
            output::json(&report)?
        } else {
            report.print()?
        }
        match report.problems {
            0 => Ok(()),
            problems => Err(CliError::NotUpgradable(problems)),
        }
    }
}

impl Report {
    async fn read(&mut self, options: &Options) -> Result<(), StoreError> {
        let stored = Stored::open(options).await?;
        for node in stored.nodes().await? {
            if node.version != self.version {
                self.nodes.push(Node { name: node.name, version: node.version });
            }
        }
        let now = Clock::system().now();
        let mut after = Uuid::nil();
        loop {
            let timings = stored.timings_after(after).await?;
            let Some(last) = timings.last() else { break };
            after = last.id;
            self.schedules += timings.len();
            for row in &timings {
                let expressions = &row.expressions.0;
                let definition = definition(expressions, &row.zone, now, DstPolicy::default());
                match Timetable::new(&definition) {
                    Ok(_) => {}
                    // It was accepted when it still could.
                    Err(error) if error.never_fires => {}
                    Err(error) => {
                        self.problem(format!("schedule {}/{}: {error}", row.namespace, row.name));
                    }
                }
            }
        }
        let mut after = Uuid::nil();
        loop {
            let definitions = stored.definitions_after(after).await?;
            let Some(last) = definitions.last() else { break };
            after = last.id;
            self.workflows += definitions.len();
            for row in definitions {
                if let Err(error) = serde_json::from_value::<Definition>(row.definition) {
                    self.problem(format!("workflow {}/{}: {error}", row.namespace, row.name));
                }
            }
        }
        stored.close().await
    }

    fn problem(&mut self, text: String) {
        self.problems += 1;
        if self.named.len() < MAX_NAMED {
            self.named.push(text);
        }
    }

    fn print(&self) -> Result<(), CliError> {
        let Self { version, schedules, workflows, problems, .. } = self;
        output::line(format!("this is Carillon {version}"))?;
        match (&self.schema, self.pending.as_slice()) {
            (None, _) => output::line("the database is empty: there is nothing to upgrade")?,
            (Some(last), []) => output::line(format!("the schema is up to date ({last})"))?,
            (Some(last), pending) => {
                output::line(format!("the schema is at {last}; the next start applies:"))?;
                pending.iter().try_for_each(|name| output::line(format!("  {name}")))?;
                output::line("make a backup before: a migration cannot be undone")?;
            }
        }
        for Node { name, version } in &self.nodes {
            output::line(format!("the node '{name}' runs {version}: replace it as well"))?;
        }
        output::line(format!("{schedules} schedules and {workflows} workflows were read"))?;
        for name in &self.named {
            output::line(format!("cannot go on: {name}"))?;
        }
        if *problems > self.named.len() {
            output::line(format!("... and {} more", problems - self.named.len()))?;
        }
        Ok(())
    }
}
