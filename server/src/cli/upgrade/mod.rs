//! `carillon upgrade --check`: whether this version can use the data that another version has
//! stored.
//!
//! The check changes nothing, and works with the schema of the earlier version, because it runs
//! before any migration.
//!
//! - `readable`: reads each stored text with the parser that the server uses for it

mod readable;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use clap::Args;
use secrecy::ExposeSecret;
use serde::Serialize;

use super::{CliError, flags::SettingsArgs, output};
use crate::{
    app,
    clock::Clock,
    store::{
        MigrationState, Options, Store, StoreError, backup,
        stored::{Stored, StoredKind, StoredText},
    },
};

/// Check whether this version can take over the configured database, before it is migrated
///
/// Reads the configuration, the schema and everything that is stored as JSON as this version reads
/// it: schedules and workflows with their versions, calendars, modules, alert rules and channels,
/// quotas, settings of users. Changes nothing. Exits with 1 if something cannot be read.
#[derive(Debug, Args)]
pub(super) struct Upgrade {
    #[command(flatten)]
    place: SettingsArgs,
    /// Only check; to upgrade, replace the program and start it
    #[arg(long, required = true)]
    check: bool,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// Maximum number of unreadable objects that are named.
const MAX_NAMED: usize = 20;

/// The findings.
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
    /// The numbers of other objects that were read, by kind.
    others: BTreeMap<&'static str, usize>,
    /// The number of problems, and the first of them.
    problems: usize,
    named: Vec<String>,
    /// The number of fields with credentials in clear, and the first of them.
    credentials: usize,
    held_in: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Node {
    name: String,
    version: String,
}

impl Upgrade {
    pub(super) async fn run(self) -> Result<(), CliError> {
        // Reads the settings with this version's rules. An error in them ends the check here.
        let config = self.place.config()?;
        let options = app::database(&config);
        let mut report = Report { version: env!("CARGO_PKG_VERSION"), ..Report::default() };
        let file = backup::file_of(config.database.url.expose_secret()).ok();
        // If the database file is missing, reading the schema would create it.
        if file.is_none_or(|file| file.exists()) {
            let MigrationState { applied, pending } = Store::schema(&options).await?;
            (report.schema, report.pending) = (applied.last().cloned(), pending);
        }
        // An empty database contains nothing to check.
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
        for kind in StoredKind::ALL {
            // An earlier schema may not have the column for this kind.
            if stored.has(kind).await? {
                self.read_all(&stored, kind, now).await?;
            }
        }
        stored.close().await
    }

    /// Reads all texts of one kind, page by page.
    async fn read_all(
        &mut self,
        stored: &Stored,
        kind: StoredKind,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let mut last: Option<StoredText> = None;
        loop {
            let mut rows = stored.after(kind, last.as_ref()).await?;
            for row in &rows {
                self.count(kind, row);
                if let Some(problem) = readable::problem(kind, row, now) {
                    self.problem(format!("{}: {problem}", readable::subject(kind, row)));
                }
                for field in readable::credentials(kind, row) {
                    self.credential(format!("{}: {field}", readable::subject(kind, row)));
                }
            }
            last = rows.pop();
            if last.is_none() {
                return Ok(());
            }
        }
    }

    fn count(&mut self, kind: StoredKind, row: &StoredText) {
        if kind == StoredKind::Schedule {
            self.schedules += 1;
        } else if kind == StoredKind::Workflow && row.about.is_some() {
            self.workflows += 1;
        } else if let Some(name) = readable::counted(kind) {
            *self.others.entry(name).or_default() += 1;
        }
    }

    fn problem(&mut self, text: String) {
        self.problems += 1;
        if self.named.len() < MAX_NAMED {
            self.named.push(text);
        }
    }

    fn credential(&mut self, text: String) {
        self.credentials += 1;
        if self.held_in.len() < MAX_NAMED {
            self.held_in.push(text);
        }
    }

    fn print(&self) -> Result<(), CliError> {
        let Self { version, schedules, workflows, others, problems, .. } = self;
        output::line(format!("this is Carillon {version}"))?;
        match (&self.schema, self.pending.as_slice()) {
            (None, _) => output::line("the database is empty: there is nothing to upgrade")?,
            (Some(last), []) => output::line(format!("the schema is up to date ({last})"))?,
            (Some(last), pending) => {
                output::line(format!("the schema is at {last}; the next start applies:"))?;
                pending.iter().try_for_each(|name| output::line(format!("  {name}")))?;
                output::line("make a backup first: a migration cannot be undone")?;
            }
        }
        for Node { name, version } in &self.nodes {
            output::line(format!("the node '{name}' runs {version}: replace it as well"))?;
        }
        output::line(format!("{schedules} schedules and {workflows} workflows were read"))?;
        if !others.is_empty() {
            let counts = others.iter().map(|(kind, count)| format!("{kind} {count}"));
            let counts = counts.collect::<Vec<_>>().join(", ").replace('_', " ");
            output::line(format!("also read: {counts}"))?;
        }
        for name in &self.named {
            output::line(format!("cannot be read: {name}"))?;
        }
        if *problems > self.named.len() {
            output::line(format!("... and {} more", problems - self.named.len()))?;
        }
        self.print_credentials()
    }

    fn print_credentials(&self) -> Result<(), CliError> {
        for field in &self.held_in {
            output::line(format!("contains a credential in plain text: {field}"))?;
        }
        if self.credentials > self.held_in.len() {
            output::line(format!("... and {} more", self.credentials - self.held_in.len()))?;
        }
        if self.credentials > 0 {
            output::line(
                "servers refuse these at the next change: keep each as a secret (carillon secret \
                 set NAME), and write {{ secrets.NAME }} in its place",
            )?;
        }
        Ok(())
    }
}
