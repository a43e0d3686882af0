use std::io::Write;

use chrono::{DateTime, Utc};
use clap::{Args, ValueEnum};
use uuid::Uuid;

use super::{CliError, flags::Existing, offline::Office, output, when::past};
use crate::{
    commands::{CSV_HEAD, NamedAuditEvent, audit_page, audit_scope, csv_line, json_line},
    store::{PageWindow, audit},
};

/// Show or export who changed what, when, from where and why, newest first
#[derive(Debug, Args)]
pub(super) struct Audit {
    #[command(flatten)]
    place: Existing,
    /// Only changes in this namespace
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Only changes by this actor
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Only this action, such as schedule.pause
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// Only changes of this kind of object: schedule, run, user, token ...
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only changes of objects with this name at that time
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// At this instant or later, such as 2h, 'yesterday 02:00' or 2026-03-29T01:00:00Z
    #[arg(long, value_name = "WHEN", value_parser = past)]
    after: Option<DateTime<Utc>>,
    /// Before this instant
    #[arg(long, value_name = "WHEN", value_parser = past)]
    before: Option<DateTime<Utc>>,
    /// Maximum number of entries, newest first [default: 50 as a table, all otherwise]
    #[arg(long, value_name = "ENTRIES", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table for people
    Table,
    /// One line of JSON per entry
    Jsonl,
    /// CSV for spreadsheets; no cell is interpreted as a formula
    Csv,
}

/// The default number of entries in a table.
const USUAL: u64 = 50;
/// Number of entries read at once.
const BATCH: u64 = 500;

impl Audit {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let Office { store, owner, .. } = Office::open(&self.place).await?;
        let scope = audit_scope(&store, owner.who(), self.namespace.as_deref()).await?;
        let filter = audit::Filter {
            namespace: None,
            actor: self.actor,
            action: self.action,
            kind: self.kind,
            subject_id: None,
            subject: self.subject,
            after: self.after.map(Into::into),
            before: self.before.map(Into::into),
        };
        let table = self.format == Format::Table;
        let mut left = self.limit.unwrap_or(if table { USUAL } else { u64::MAX });
        let (mut after, mut rows): (Option<Uuid>, Vec<NamedAuditEvent>) = (None, vec![]);
        let (mut shown, mut has_more) = (0, false);
        if self.format == Format::Csv {
            raw(CSV_HEAD)?;
        }
        while left > 0 {
            let window = PageWindow { after, ..PageWindow::first(left.min(BATCH)) };
            let page = audit_page(&store, scope, filter.clone(), &window).await?;
            left -= u64::try_from(page.rows.len()).unwrap_or(left).min(left);
            after = page.rows.last().map(|entry| entry.row.id);
            (shown, has_more) = (shown + page.rows.len(), page.has_next);
            match self.format {
                Format::Table => rows.extend(page.rows),
                Format::Jsonl => raw(&page.rows.iter().map(json_line).collect::<String>())?,
                Format::Csv => raw(&page.rows.iter().map(csv_line).collect::<String>())?,
            }
            if !has_more {
                break;
            }
        }
        if table {
            print(&rows)?;
        }
        if has_more {
            output::aside(format!("{shown} shown, there are more: give --limit"));
        }
        Ok(())
    }
}

fn print(rows: &[NamedAuditEvent]) -> Result<(), CliError> {
    let row = |entry: &NamedAuditEvent| {
        let row = &entry.row;
        [
            row.at.utc().to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            row.actor.clone(),
            row.source.clone(),
            row.action.clone(),
            entry.namespace.clone().unwrap_or("-".to_owned()),
            row.subject.clone(),
            row.reason.clone().unwrap_or("-".to_owned()).escape_debug().to_string(),
        ]
    };
    let rows: Vec<[String; 7]> = rows.iter().map(row).collect();
    output::table(["WHEN", "WHO", "FROM", "ACTION", "NAMESPACE", "SUBJECT", "WHY"], &rows)
}

/// Writes text that already contains its line ends.
fn raw(text: &str) -> Result<(), CliError> {
    let written = std::io::stdout().lock().write_all(text.as_bytes());
    written.map_err(CliError::io("write to standard output"))
}
