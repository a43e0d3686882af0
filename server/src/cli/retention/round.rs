//! Runs a retention round now, on the configured database.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use clap::Args;
use serde_json::json;
use uuid::Uuid;

use super::super::{
    CliError,
    flags::{Existing, SettingsArgs},
    offline::Office,
    output,
    progress::ProgressLine,
};
use crate::{
    app,
    commands::CommandError,
    engine::maintenance::retention::{self, RemovalPreview, RetentionReport, RoundOptions},
    store::{deleted_namespaces::known_name, namespaces},
    telemetry::Instruments,
};

/// Removes history that is old enough, as the server does each hour; or shows what would be
/// removed.
#[derive(Debug, Args)]
pub(super) struct Round {
    #[command(flatten)]
    place: SettingsArgs,
    /// Create the database if it does not exist yet
    // Not global as in `Existing`: the subcommands ask a server.
    #[arg(long)]
    init: bool,
    /// Only show what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// The pause between two chunks on SQLite, where a server in another process retries every 100 ms.
const PAUSE: Duration = Duration::from_millis(150);

/// A row of the output: table, namespace, rows, estimated bytes.
type RemovedRows = (&'static str, Option<String>, i64, i64);

impl Round {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let place = Existing { place: self.place, init: self.init };
        let settings = app::retention(&place.place.config()?);
        let Office { store, clock, .. } = Office::open(&place).await?;
        if self.dry_run {
            let preview = retention::preview(&settings, &store, clock.now(), None, None).await;
            let preview = preview.map_err(CommandError::from)?;
            let ids: Vec<_> = preview.figures.iter().filter_map(|row| row.namespace_id).collect();
            let named = namespaces::by_ids(store.read(), &ids).await?;
            let name = |id: Option<Uuid>| {
                named.iter().find(|row| Some(row.id) == id).cloned().map(known_name)
            };
            let lines = preview.figures.iter();
            let lines = lines.map(|row| (row.table, name(row.namespace_id), row.rows, row.bytes));
            let lines: Vec<RemovedRows> = lines.collect();
            return if self.json { as_json(&preview, &lines) } else { print(&preview, &lines) };
        }
        let metrics = Instruments::unread(clock.clone());
        if !self.json
            && let Some(node) = store.lease_holder(retention::LEASE).await?
        {
            output::line(format!("the server '{node}' also does this, every hour"))?;
        }
        // On SQLite, a server that uses the same database gets the write lock only by retrying, so
        // pause in between.
        let pause = if store.dialect().is_postgres() { Duration::ZERO } else { PAUSE };
        let removed = Arc::new(AtomicU64::new(0));
        let manner = RoundOptions::by_hand(pause, removed.clone());
        let now = clock.now();
        let line = ProgressLine::begin("remove old history");
        let how_far = || format!("{} rows removed", removed.load(Ordering::Relaxed));
        let round = pin!(retention::run_once(&settings, &store, &clock, &metrics, now, manner));
        let report = line.during(&clock, how_far, round).await;
        drop(line);
        let report = report.map_err(CommandError::from)?;
        if self.json { done_as_json(&report) } else { say_done(&report) }
    }
}

fn as_json(preview: &RemovalPreview, lines: &[RemovedRows]) -> Result<(), CliError> {
    let tables = lines.iter().map(|(table, namespace, rows, bytes)| {
        json!({ "table": table, "namespace": namespace, "rows": rows, "estimatedBytes": bytes })
    });
    let oldest = preview.oldest.iter();
    let oldest = oldest.map(|row| json!({ "table": row.table, "madeAt": row.made_at.utc() }));
    output::json(&json!({
        "longestDays": preview.policies.longest,
        "shortestDays": preview.policies.shortest,
        "tables": tables.collect::<Vec<_>>(),
        "partitions": preview.partitions,
        "oldestKept": oldest.collect::<Vec<_>>(),
    }))
}

fn print(preview: &RemovalPreview, lines: &[RemovedRows]) -> Result<(), CliError> {
    let row = |(table, namespace, rows, bytes): &RemovedRows| {
        let namespace = namespace.clone().unwrap_or_else(|| "-".to_owned());
        [(*table).to_owned(), namespace, rows.to_string(), format!("~{bytes}")]
    };
    let rows: Vec<[String; 4]> = lines.iter().map(row).collect();
    output::table(["TABLE", "NAMESPACE", "ROWS", "BYTES"], &rows)?;
    if preview.partitions > 0 {
        output::line(format!("{} partitions are old enough to be removed", preview.partitions))?;
    }
    for oldest in &preview.oldest {
        let at = oldest.made_at.utc().to_rfc3339();
        output::line(format!("the oldest {} that remains is from {at}", oldest.table))?;
    }
    Ok(())
}

fn done_as_json(report: &RetentionReport) -> Result<(), CliError> {
    output::json(&json!({
        "fires": report.fires,
        "runs": report.runs,
        "attempts": report.attempts,
        "lines": report.lines,
        "others": report.leftovers,
        "partitionsMade": report.made,
        "partitionsDropped": report.dropped,
        "postponed": report.postponed,
        "clockIsAhead": report.is_clock_ahead,
    }))
}

fn say_done(report: &RetentionReport) -> Result<(), CliError> {
    let RetentionReport { fires, runs, attempts, lines, leftovers, dropped, postponed, .. } =
        report;
    if report.is_clock_ahead {
        return output::line("nothing was removed: the clock here is ahead of the database's");
    }
    output::line(format!(
        "removed {fires} fires, {runs} runs, {attempts} attempts, {lines} lines of logs and \
         {leftovers} other rows; dropped {dropped} partitions"
    ))?;
    if *postponed > 0 {
        output::line("some partitions were in use; the next round tries them again")?;
    }
    Ok(())
}
